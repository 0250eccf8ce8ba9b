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
	// maxNodes is how many nodes a query may be answered with, and maxKept about
	// how many bytes of memory the facts of all of them may take.
	maxNodes = 1_000_000
	maxKept  = 512 << 20
	// batch is of how many nodes facts are asked at once by their names. What
	// PuppetDB needs to take a list of names grows with its square: of 500 it
	// takes 0.1 s, of 5,000 6 s.
	batch = 500
	// share is how many rows of all nodes are as quick as one of a batch.
	share = 10
)

// A Node is one in the answer to a query.
type Node struct {
	Certname string
	// Facts has what was asked for, as columns of PuppetDB: a value under
	// "facts.os.name", a map under "facts".
	Facts *ordered.Map
}

// Nodes returns the nodes in the rows of a query, a string in PQL or the syntax
// tree of one, each once, in the order in which they come first. Each row needs
// a certname.
//
// paths are facts that are wanted of each: "facts.os.name",
// "facts.disks.0.size", or "facts" for all of them. Node.Facts has them, or what
// they are in. They are taken from the rows if these have them, and asked for
// otherwise: those columns alone, of some hundred nodes at a time, or of all
// nodes if that is quicker. A node of which PuppetDB has no facts has none.
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
	var found bool // all that is wanted is in the rows
	err := c.every(ctx, Query{Text: query}, func() {
		nodes, known, found, k.size = nil, make(map[string]bool), true, 0
	}, func(row any) error {
		m, _ := row.(*ordered.Map)
		name, ok := m.Value("certname").(string)
		switch {
		case !ok:
			return c.unfit(fmt.Sprintf("the query %s must return a certname for each row, and one has %s", inWords(query), has(m)), "a query like inventory[certname] { ... } does")
		case !hostname(name):
			return c.unfit(fmt.Sprintf("the certname %q is no name of a target", name), "")
		case known[name]:
			return nil
		case len(nodes) == maxNodes:
			return c.unfit(fmt.Sprintf("the query %s is answered with more than %d nodes", inWords(query), maxNodes), "")
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

// fill asks for what is wanted of nodes.
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

// count is the number of nodes that are active.
func (c *Client) count(ctx context.Context) (n int64, err error) {
	rows, err := c.Rows(ctx, Query{Entity: "nodes", Text: []any{"extract", []any{[]any{"function", "count"}}}})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	m, _ := rows[0].(*ordered.Map)
	n, _ = m.Value("count").(int64)
	return n, nil
}

// every hands on each row of an answer of any size, as Query does, but may begin
// again with the next server: begin is called before each.
func (c *Client) every(ctx context.Context, q Query, begin func(), row func(any) error) error {
	return c.servers.Ask(ctx, func(at *url.URL) error {
		begin()
		return c.rows(ctx, at, q, 0, row)
	})
}

// unfit is the error of an answer that no targets can be made of.
func (c *Client) unfit(what, hint string) error {
	return &fault.Error{Kind: kind, Msg: service(c.o.Name).Label + ": " + c.servers.Clean(what), Hint: hint}
}

// inWords is a query as it is shown.
func inWords(query any) string {
	if text, ok := query.(string); ok {
		return "'" + text + "'"
	}
	return "that is a syntax tree"
}

// columns are what PuppetDB is asked for to know what stands at paths. It takes
// no index of a list, and no mark of its own syntax, in a column: the column is
// what is before it.
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

// plain reports whether a word may be a part of a column.
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

// A keeper keeps what is wanted of rows, as long as there is room.
type keeper struct {
	client *Client
	want   []string // columns
	size   int64
}

// keep gives a node the facts in a row. ok is false if the row does not have
// them all.
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
		return false, k.client.unfit(fmt.Sprintf("the facts that are wanted of all nodes would take more than %d MiB of memory", k.client.maxKept>>20),
			"ask for the facts that are needed instead of all, or for fewer nodes")
	}
	return true, nil
}

// whole reports whether a row has all facts of a node as a map of them. A
// factset has a list instead, with a link to it.
func whole(row *ordered.Map) bool {
	facts, ok := row.Value("facts").(*ordered.Map)
	_, linked := facts.Get("href")
	return ok && (!linked || facts.Len() != 2)
}

// within is what stands at a path of maps, nil if there is nothing.
func within(v any, path []string) any {
	for _, key := range path {
		m, _ := v.(*ordered.Map)
		v = m.Value(key)
	}
	return v
}

// weight is about what a value takes of memory.
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

// has says what is in a row.
func has(row *ordered.Map) string {
	if row.Len() == 0 {
		return "nothing"
	}
	return strings.Join(row.Keys(), ", ")
}

// hostname reports whether a certname is what PuppetDB has: letters, digits and
// a few marks, and nothing that has a meaning where targets are named.
func hostname(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("._-", r)
	})
}
