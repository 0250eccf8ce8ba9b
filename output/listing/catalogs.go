package listing

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"bolt/catalog"
	catalogdiff "bolt/catalog/diff"
	"bolt/catalog/site"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/internal/spelling"
	"bolt/output/layout"
)

// oneLine returns a text of a catalog that is safe to show and stays on its line.
func oneLine(text string) string {
	return safetext.TerminalString(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text))
}

// redacted stands for the value of a secret parameter.
const redacted = "[redacted]"

// PrintCompiled prints the outcome for one node. Text has one line, and none after an error
// (see PrintFailures). With JSON it is the catalog itself, in which secrets are clear text, or
// its PuppetDB form if it has one, or an object with the error. If the catalog was written to a file, JSON has the name of that.
func PrintCompiled(w *bufio.Writer, o Options, c *site.Compiled, file string) error {
	switch {
	case o.Format.Data:
		var err error
		switch {
		case c.Err != nil:
			m := ordered.Of("node", c.Node)
			setError(m, c.Err)
			err = layout.WriteLine(w, m)
		case file != "":
			err = layout.WriteLine(w, ordered.Of("node", c.Node, "file", file, "digest", c.Catalog.Digest()))
		case c.Stored != nil:
			err = layout.WriteLine(w, c.Stored)
		default:
			err = writeCatalog(w, c.Catalog)
		}
		if err != nil {
			return err
		}
		return w.Flush()
	case c.Err != nil:
		return nil
	}
	applied, declared := 0, 0
	for _, r := range c.Catalog.Resources() {
		switch {
		case !r.Virtual && !r.Container():
			applied++
		case r.Type == "Class" && r.Title != "main" && r.Title != "Settings": // each catalog has these two
			declared++
		}
	}
	fmt.Fprintf(w, "%s %s, %s, digest %.12s\n", layout.Paint(layout.Green, o.Color, oneLine(c.Node)+":"),
		layout.Plural(applied, "resource"), classes(declared), c.Catalog.Digest())
	return w.Flush()
}

// setError adds the error of a node, and its hint if it has one.
func setError(m *ordered.Map, err error) {
	m.Set("error", err.Error())
	if hint := site.Hint(err); hint != "" {
		m.Set("hint", hint)
	}
}

// writeCatalog prints a catalog on one line. It is JSON already, and can be large.
func writeCatalog(w *bufio.Writer, c *catalog.Catalog) error {
	text, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// PrintFailures prints the errors of nodes, each cause once with its nodes, in the order in
// which they are given, and then each hint once. of is added to the names of the nodes.
func PrintFailures(w io.Writer, o Options, of string, failed []*site.Compiled) error {
	nodes := make(map[string][]string)
	var causes, hints []string
	for _, c := range failed {
		text := c.Err.Error()
		if hint := site.Hint(c.Err); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
		if nodes[text] == nil {
			causes = append(causes, text)
		}
		nodes[text] = append(nodes[text], c.Node)
	}
	out := bufio.NewWriter(w)
	for _, text := range causes {
		name := oneLine(nodeset.Fold(nodes[text]) + of)
		if n := len(nodes[text]); n > 1 {
			name += fmt.Sprintf(" (%d nodes)", n)
		}
		fmt.Fprintf(out, "%s %s\n", layout.Paint(layout.Red, o.Color, name+":"), safetext.TerminalString(text))
	}
	for _, hint := range hints {
		fmt.Fprintf(out, "hint: %s\n", safetext.TerminalString(hint))
	}
	return out.Flush()
}

func classes(n int) string {
	if n == 1 {
		return "1 class"
	}
	return fmt.Sprintf("%d classes", n)
}

// PrintOrder prints resources in the order in which they are applied.
func PrintOrder(w io.Writer, o Options, c *catalog.Catalog, order []*catalog.Resource) error {
	in := c.Containers()
	if o.Format.Data {
		list := make([]any, len(order))
		for i, r := range order {
			list[i] = resourceData(r, in)
		}
		return layout.WriteDocument(w, ordered.Of("name", c.Name, "digest", c.Digest(), "resources", list))
	}
	out := bufio.NewWriter(w)
	rows := make([]Described, len(order))
	for i, r := range order {
		rows[i] = Described{oneLine(r.String()), "in " + oneLine(in[r.Ref].String())}
		if in[r.Ref] == (catalog.Ref{}) {
			rows[i].Description = ""
		}
	}
	heading(out, o.Color, "Resources")
	columns(out, rows)
	fmt.Fprintf(out, "\n%s; digest %s\n", layout.Plural(len(order), "resource"), c.Digest())
	return out.Flush()
}

// PrintResource prints one resource with its parameters and the containers around it.
func PrintResource(w io.Writer, o Options, c *catalog.Catalog, r *catalog.Resource) error {
	in := c.Containers()
	if o.Format.Data {
		return layout.WriteDocument(w, resourceData(r, in))
	}
	out := bufio.NewWriter(w)
	heading(out, o.Color, oneLine(r.String()))
	for name, v := range r.Params.All() {
		fmt.Fprintf(out, "  %s => %s\n", oneLine(name), shownParam(r.Secret(name), v))
	}
	if r.File != "" {
		fmt.Fprintf(out, "  declared at %s:%d\n", oneLine(r.File), r.Line)
	}
	if chain := containment(r.Ref, in); len(chain) > 0 {
		fmt.Fprintf(out, "  contained in %s\n", oneLine(strings.Join(chain, ", in ")))
	}
	if len(r.Tags) > 0 {
		fmt.Fprintf(out, "  tags %s\n", oneLine(strings.Join(r.Tags, ", ")))
	}
	if r.Virtual {
		fmt.Fprintln(out, "  virtual: it is not applied")
	}
	return out.Flush()
}

// resourceData returns a resource as data for JSON, without secrets.
func resourceData(r *catalog.Resource, in map[catalog.Ref]catalog.Ref) *ordered.Map {
	params := &ordered.Map{}
	for name, v := range r.Params.All() {
		if r.Secret(name) {
			v = redacted
		}
		params.Set(name, v)
	}
	m := ordered.Of("resource", r.String(), "parameters", params, "containment", containment(r.Ref, in), "tags", r.Tags)
	if r.File != "" {
		m.Set("file", r.File)
		m.Set("line", int64(r.Line))
	}
	return m
}

// containment returns the containers around a resource, the nearest first.
func containment(r catalog.Ref, in map[catalog.Ref]catalog.Ref) []string {
	chain := []string{}
	for range in { // the loop ends also if there is a cycle
		container, is := in[r]
		if !is {
			break
		}
		chain = append(chain, container.String())
		r = container
	}
	return chain
}

// shownParam returns a value for people, on one line.
func shownParam(secret bool, v any) string {
	if secret {
		return redacted
	}
	return value(v)
}

func value(v any) string {
	if text, is := v.(string); is && text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' }) {
		return oneLine(text)
	}
	var b strings.Builder
	if err := safejson.Write(&b, v); err != nil {
		return "?"
	}
	return b.String()
}

// PrintDifferences prints the differences of nodes. Text has a block for the nodes with the same
// differences, and a line for nodes that only one side has. JSON has an object for each change with
// its nodes.
func PrintDifferences(w io.Writer, o Options, d *site.Differences) error {
	nodes, different := len(d.Changes), d.Count()
	if o.Format.Data {
		return layout.WriteDocument(w, differencesData(d))
	}
	out := bufio.NewWriter(w)
	changes := maps.Clone(d.Changes)
	maps.DeleteFunc(changes, func(node string, _ []catalogdiff.Change) bool { return d.Single(node) })
	for _, g := range catalogdiff.Fold(changes) {
		name := oneLine(nodeset.Fold(g.Nodes))
		switch {
		case g.Changes == nil:
			fmt.Fprintf(out, "%s %s\n", layout.Paint(layout.Green, o.Color, name+":"), "no differences")
			continue
		case len(g.Nodes) == 1:
			fmt.Fprintf(out, "%s %s\n", layout.Paint(layout.Yellow, o.Color, name+":"), layout.Plural(len(g.Changes), "change"))
		default:
			fmt.Fprintf(out, "%s the same %s on %s\n", layout.Paint(layout.Yellow, o.Color, name+":"), layout.Plural(len(g.Changes), "change"), layout.Plural(len(g.Nodes), "node"))
		}
		for _, c := range g.Changes {
			printChange(out, o.Color, &c)
		}
	}
	printSingle(out, o, "BEFORE", d.Before, d.Changes)
	printSingle(out, o, "AFTER", d.After, d.Changes)
	fmt.Fprintf(out, "%d of %d nodes differ\n", different, nodes)
	return out.Flush()
}

func differencesData(d *site.Differences) *ordered.Map {
	return ordered.Of("nodes", int64(len(d.Changes)), "different", int64(d.Count()), "changes", sharedData(catalogdiff.ByChange(d.Changes)))
}

// printSingle prints a line about the nodes that only one side has.
func printSingle(out io.Writer, o Options, side string, nodes []string, changes map[string][]catalogdiff.Change) {
	if len(nodes) == 0 {
		return
	}
	text := layout.Plural(len(nodes), "node")
	if len(nodes) == 1 {
		text = layout.Plural(len(changes[nodes[0]]), "resource")
	}
	fmt.Fprintf(out, "%s only in %s (%s)\n", layout.Paint(layout.Yellow, o.Color, oneLine(nodeset.Fold(nodes))+":"), side, text)
}

// PrintFound prints resources with the nodes that have them.
func PrintFound(w io.Writer, o Options, found *site.Found) error {
	if o.Format.Data {
		list := make([]any, len(found.Resources))
		for i, s := range found.Resources {
			params := &ordered.Map{}
			for _, p := range s.Params {
				if p.Secret {
					params.Set(p.Name, redacted)
				} else {
					params.Set(p.Name, p.New)
				}
			}
			list[i] = ordered.Of("resource", s.Resource.String(), "parameters", params, "nodes", s.Nodes)
		}
		return layout.WriteDocument(w, ordered.Of("nodes", int64(found.Nodes), "resources", list))
	}
	out := bufio.NewWriter(w)
	with := make(map[string]bool)
	for _, s := range found.Resources {
		fmt.Fprintf(out, "%s on %s: %s\n", layout.Paint(layout.Cyan, o.Color, oneLine(s.Resource.String())), layout.Plural(len(s.Nodes), "node"), oneLine(nodeset.Fold(s.Nodes)))
		for _, p := range s.Params {
			fmt.Fprintf(out, "  %s => %s\n", oneLine(p.Name), shownParam(p.Secret, p.New))
		}
		for _, n := range s.Nodes {
			with[n] = true
		}
	}
	fmt.Fprintf(out, "%d of %d nodes have such a resource\n", len(with), found.Nodes)
	if found.Similar != nil {
		fmt.Fprintf(out, "Did you mean %s?\n", oneLine(spelling.Or(found.Similar)))
	}
	return out.Flush()
}

func sharedData(list []catalogdiff.Shared) []any {
	all := make([]any, len(list))
	for i, s := range list {
		params := make([]any, len(s.Params))
		for j, p := range s.Params {
			m := ordered.Of("name", p.Name)
			if p.Secret {
				m.Set("secret", true)
			} else {
				m.Set("old", p.Old)
				m.Set("new", p.New)
			}
			params[j] = m
		}
		m := ordered.Of("change", string(s.Kind))
		if s.Kind != catalogdiff.Moved {
			m.Set("resource", s.Resource.String())
		}
		m.Set("parameters", params)
		m.Set("nodes", s.Nodes)
		all[i] = m
	}
	return all
}

func printChange(out *bufio.Writer, color bool, c *catalogdiff.Change) {
	name := oneLine(c.Resource.String())
	switch c.Kind {
	case catalogdiff.Added:
		fmt.Fprintln(out, layout.Paint(layout.Green, color, "  + "+name))
	case catalogdiff.Removed:
		fmt.Fprintln(out, layout.Paint(layout.Red, color, "  - "+name))
		return
	case catalogdiff.Moved:
		fmt.Fprintln(out, "  ~ the order of the resources")
		return
	default:
		fmt.Fprintln(out, layout.Paint(layout.Cyan, color, "  ~ "+name))
	}
	for _, p := range c.Params {
		param := oneLine(p.Name)
		was, isText := p.Old.(string)
		now, alsoText := p.New.(string)
		switch {
		case p.Secret:
			fmt.Fprintf(out, "      %s: changed (it is secret)\n", param)
		case isText && alsoText && strings.Contains(was+now, "\n"):
			fmt.Fprintf(out, "      %s:\n", param)
			printUnified(out, color, was, now)
		case c.Kind == catalogdiff.Added:
			fmt.Fprintf(out, "      %s: %s\n", param, value(p.New))
		case p.Old == nil:
			fmt.Fprintf(out, "      %s: added, %s\n", param, value(p.New))
		case p.New == nil:
			fmt.Fprintf(out, "      %s: removed, was %s\n", param, value(p.Old))
		default:
			fmt.Fprintf(out, "      %s: %s -> %s\n", param, value(p.Old), value(p.New))
		}
	}
}

// printUnified prints the unified difference (diff -u) of two texts without the names.
func printUnified(out *bufio.Writer, color bool, was, now string) {
	lines := strings.SplitN(string(diff.Diff("old", []byte(was), "new", []byte(now))), "\n", 4)
	if len(lines) < 4 {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(lines[3], "\n"), "\n") {
		text := safetext.TerminalString(strings.ReplaceAll(line, "\r", `\r`))
		switch {
		case strings.HasPrefix(line, "-"):
			text = layout.Paint(layout.Red, color, text)
		case strings.HasPrefix(line, "+"):
			text = layout.Paint(layout.Green, color, text)
		}
		fmt.Fprintf(out, "        %s\n", text)
	}
}
