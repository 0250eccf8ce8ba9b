package puppetdb

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
)

const (
	// maxNodes is the maximum number of nodes in the result of a query. maxKept
	// is the approximate maximum size in memory of the facts of all nodes.
	maxNodes = 1_000_000
	maxKept  = 512 << 20
	// batch is the number of nodes in one query for facts by name. The time that
	// PuppetDB needs to parse a list of names grows with its square: 0.1 s for
	// 500 names, 6 s for 5,000.
	batch = 500
	// share is the ratio of rows that are as fast in a query of all nodes as one
	// row in a batch.
	share = 10
)

// A Node is a node in the result of a query.
type Node struct {
	Certname string
	// Facts contains the requested columns of PuppetDB: a value under
	// "facts.os.name", a map under "facts".
	Facts *ordered.Map
}

// Nodes returns the nodes in the rows of a query, each once, in the order of
// their first rows. The query is a string in PQL or its syntax tree. Each row
// must have a certname.
//
// paths are the facts to return for each node: "facts.os.name",
// "facts.disks.0.size", or "facts" for all of them. Node.Facts contains them, or
// the columns that contain them. Facts are taken from the rows if the rows
// contain them. Otherwise they are queried: only these columns, for some hundred
// nodes at a time, or for all nodes if that is faster. If PuppetDB has no facts
// of a node, Facts has none.
func (i *Instances) Nodes(ctx context.Context, query any, instance string, paths []string) ([]Node, error) {
	c, err := i.client(ctx, instance)
	if err != nil {
		return nil, err
	}
	return c.nodes(ctx, query, paths)
}

// Certnames returns the certnames in the rows of a query in PQL, each once.
func (i *Instances) Certnames(ctx context.Context, query, instance string) ([]string, error) {
	nodes, err := i.Nodes(ctx, query, instance, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Certname
	}
	return names, nil
}

func (c *Client) nodes(ctx context.Context, query any, paths []string) ([]Node, error) {
	k := &keeper{client: c, want: columns(paths)}
	var nodes []Node
	var known map[string]bool
	var found bool // the rows contain all requested facts
	err := c.every(ctx, Query{Text: query}, func() {
		nodes, known, found, k.size = nil, make(map[string]bool), true, 0
	}, func(row any) error {
		m, _ := row.(*ordered.Map)
		name, ok := m.Value("certname").(string)
		switch {
		case !ok:
			return c.unfit(fmt.Sprintf("the query %s must return a certname for each row, but one row has %s", inWords(query), has(m)), "use a query like inventory[certname] { ... }")
		case !hostname(name):
			return c.unfit(fmt.Sprintf("the certname %q is not a valid name of a target", name), "")
		case known[name]:
			return nil
		case len(nodes) == maxNodes:
			return c.unfit(fmt.Sprintf("the query %s returns more than %d nodes", inWords(query), maxNodes), "")
		}
		known[name] = true
		nodes = append(nodes, Node{Certname: name})
		if !found {
			return nil
		}
		var err error
		found, err = k.keep(&nodes[len(nodes)-1], m)
		return err
	})
	if err != nil || found {
		return nodes, err
	}
	return nodes, c.fill(ctx, nodes, k)
}

// fill queries the requested facts of nodes.
func (c *Client) fill(ctx context.Context, nodes []Node, k *keeper) error {
	missing := make(map[string]*Node, len(nodes))
	for i := range nodes {
		missing[nodes[i].Certname] = &nodes[i]
		nodes[i].Facts = nil
	}
	k.size = 0
	ask := func(which ...any) error {
		cols := []any{"certname"}
		for _, w := range k.want {
			cols = append(cols, w)
		}
		text := append([]any{"extract", cols}, which...)
		return c.every(ctx, Query{Entity: "inventory", Text: text}, func() {}, func(row any) error {
			m, _ := row.(*ordered.Map)
			name, _ := m.Value("certname").(string)
			n, ok := missing[name]
			if !ok {
				return nil
			}
			delete(missing, name)
			_, err := k.keep(n, m)
			return err
		})
	}
	if len(nodes) > batch {
		all, err := c.count(ctx)
		if err != nil {
			return err
		}
		if int64(len(nodes))*share >= all {
			if err := ask(); err != nil {
				return err
			}
		}
	}
	var names []any
	for i := range nodes {
		if missing[nodes[i].Certname] != nil {
			names = append(names, nodes[i].Certname)
		}
	}
	for part := range slices.Chunk(names, batch) {
		if err := ask([]any{"in", "certname", []any{"array", part}}); err != nil {
			return err
		}
	}
	return nil
}

// count returns the number of active nodes.
func (c *Client) count(ctx context.Context) (n int64, err error) {
	rows, err := c.Rows(ctx, Query{Entity: "nodes", Text: []any{"extract", []any{[]any{"function", "count"}}}})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	m, _ := rows[0].(*ordered.Map)
	n, _ = m.Value("count").(int64)
	return n, nil
}

// every calls row for each row of a response of any size, as Query does. But it
// may start again with the next server: it calls begin before each attempt.
func (c *Client) every(ctx context.Context, q Query, begin func(), row func(any) error) error {
	return c.servers.Ask(ctx, func(at *url.URL) error {
		begin()
		return c.rows(ctx, at, q, 0, row)
	})
}

// unfit returns the error for a response that no targets can be made from.
func (c *Client) unfit(what, hint string) error {
	return &fault.Error{Kind: kind, Msg: service(c.o.Name).Label + ": " + c.servers.Clean(what), Hint: hint}
}

// inWords returns a query in printed form.
func inWords(query any) string {
	if text, ok := query.(string); ok {
		return "'" + text + "'"
	}
	return "that is a syntax tree"
}

// columns returns the columns of PuppetDB that contain the values at paths. A
// column cannot contain an index of a list or a special character of PuppetDB's
// syntax; such a path is cut before that part.
func columns(paths []string) []string {
	var cols []string
	for _, p := range paths {
		parts := strings.Split(p, ".")
		n := 1
		for n < len(parts) && plain(parts[n]) {
			n++
		}
		if col := strings.Join(parts[:n], "."); !slices.Contains(cols, col) {
			cols = append(cols, col)
		}
	}
	if slices.Contains(cols, "facts") {
		return []string{"facts"}
	}
	return cols
}

// plain reports whether a word can be part of a column.
func plain(word string) bool {
	digits := true
	for _, r := range word {
		switch {
		case '0' <= r && r <= '9':
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r == '-':
			digits = false
		default:
			return false
		}
	}
	return !digits
}

// A keeper keeps the requested facts of rows, up to the memory limit.
type keeper struct {
	client *Client
	want   []string // columns
	size   int64
}

// keep adds the facts in a row to a node. ok is false if the row does not
// contain all of them.
func (k *keeper) keep(n *Node, row *ordered.Map) (ok bool, err error) {
	if len(k.want) == 0 {
		return true, nil
	}
	n.Facts = &ordered.Map{}
	for _, col := range k.want {
		v, ok := row.Get(col)
		if !ok || col == "facts" {
			if !whole(row) {
				return false, nil
			}
			v = within(row, strings.Split(col, "."))
		}
		n.Facts.Set(col, v)
		k.size += weight(v)
	}
	if k.size > k.client.maxKept {
		return false, k.client.unfit(fmt.Sprintf("the requested facts of all nodes need more than %d MiB of memory", k.client.maxKept>>20),
			"request fewer facts or fewer nodes")
	}
	return true, nil
}

// whole reports whether a row contains all facts of a node as a map. A factset
// contains a list instead, with a link to it.
func whole(row *ordered.Map) bool {
	facts, ok := row.Value("facts").(*ordered.Map)
	_, linked := facts.Get("href")
	return ok && (!linked || facts.Len() != 2)
}

// within returns the value at a path of nested maps, nil if there is none.
func within(v any, path []string) any {
	for _, key := range path {
		m, _ := v.(*ordered.Map)
		v = m.Value(key)
	}
	return v
}

// weight returns the approximate size of a value in memory.
func weight(v any) int64 {
	const each = 48 // of a value in a map or a list, with its key
	n := int64(each)
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case *ordered.Map:
		for k, e := range v.All() {
			n += int64(len(k)) + weight(e)
		}
	}
	return n
}

// has lists the keys of a row.
func has(row *ordered.Map) string {
	if row.Len() == 0 {
		return "nothing"
	}
	return strings.Join(row.Keys(), ", ")
}

// hostname reports whether a certname has only characters that PuppetDB allows:
// letters, digits and a few others. None of them is special in names of targets.
func hostname(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("._-", r)
	})
}
