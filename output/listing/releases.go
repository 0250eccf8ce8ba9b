package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"bolt/catalog/site"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/output/layout"
	"bolt/release"
	"bolt/store"
)

// A Release is a release of an archive with its signatures.
type Release struct {
	*release.Release
	Imported bool
	Signers  []Signer
}

// A Signer is a signature of a release.
type Signer struct {
	Key        string // the fingerprint
	Principals string // of an allowed signer; "" if the key is not allowed, or if nothing is configured
	Problem    string // the reason why the key is not allowed
}

// PrintCreated prints a new release.
func PrintCreated(w io.Writer, o Options, r *release.Release) error {
	if o.Format.Data {
		nodes := &ordered.Map{}
		for _, name := range r.Names() {
			nodes.Set(name, ordered.Of("catalog", string(r.Nodes[name].Catalog), "changed", r.Nodes[name].Changed))
		}
		return layout.WriteDocument(w, ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "nodes", nodes))
	}
	out := bufio.NewWriter(w)
	printReleaseChanges(out, o, r)
	fmt.Fprintf(out, "Release %d (%s) of %s: %d changed\n", r.Sequence, release.Short(r.ID), layout.Plural(len(r.Nodes), "node"), r.Changed())
	return out.Flush()
}

// printReleaseChanges prints the changes of a release, once for the nodes with the same
// changes.
func printReleaseChanges(out *bufio.Writer, o Options, r *release.Release) {
	fresh := make(map[string]bool) // changed nodes without changes are new
	for name, n := range r.Nodes {
		fresh[name] = n.Changed
	}
	for _, g := range r.Changes {
		for _, name := range g.Nodes {
			fresh[name] = false
		}
		same := ""
		if len(g.Nodes) > 1 {
			same = "the same "
		}
		fmt.Fprintf(out, "%s %s%s", layout.Paint(layout.Yellow, o.Color, oneLine(nodeset.Fold(g.Nodes))+":"), same, layout.Plural(len(g.Changes), "change"))
		if len(g.Nodes) > 1 {
			fmt.Fprintf(out, " on %s", layout.Plural(len(g.Nodes), "node"))
		}
		_ = out.WriteByte('\n')
		for _, c := range g.Changes {
			printReleaseChange(out, o.Color, &c)
		}
	}
	var names []string
	for _, name := range r.Names() {
		if fresh[name] {
			names = append(names, name)
		}
	}
	if names != nil {
		fmt.Fprintf(out, "%s new\n", layout.Paint(layout.Green, o.Color, oneLine(nodeset.Fold(names))+":"))
	}
}

func printReleaseChange(out *bufio.Writer, color bool, c *release.Change) {
	name := oneLine(c.Resource)
	switch c.Change {
	case "added":
		fmt.Fprintln(out, layout.Paint(layout.Green, color, "  + "+name))
	case "removed":
		fmt.Fprintln(out, layout.Paint(layout.Red, color, "  - "+name))
	case "moved":
		fmt.Fprintln(out, "  ~ the order of the resources")
	case "engine":
		fmt.Fprintln(out, "  ~ the engine")
	case "plugins":
		fmt.Fprintln(out, "  ~ the Ruby code of the modules")
	default:
		fmt.Fprintf(out, "%s: %s\n", layout.Paint(layout.Cyan, color, "  ~ "+name), oneLine(strings.Join(c.Parameters, ", ")))
	}
}

// PrintReleases prints the releases of an archive, the newest first. list has the oldest first.
func PrintReleases(w io.Writer, o Options, list []Release) error {
	if o.Format.Data {
		all := make([]any, len(list))
		for i, r := range list {
			all[len(list)-1-i] = ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "time", r.Time.Format(time.RFC3339), "author", r.Author, "environment", textOrNull(r.Environment),
				"code", codeData(r.Code), "nodes", int64(len(r.Nodes)), "changed", int64(r.Changed()), "signatures", int64(len(r.Signers)), "imported", r.Imported)
		}
		return layout.WriteDocument(w, ordered.Of("releases", all))
	}
	out := bufio.NewWriter(w)
	heading(out, o.Color, "Releases")
	if len(list) == 0 {
		_, _ = out.WriteString("  No release was created. Run 'bolt release create'.\n")
		return out.Flush()
	}
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range slices.Backward(list) {
		fmt.Fprintf(columns, "  %d\t%s\t%s\t%s\t%s\t%d changed\t%s\t%s\n", r.Sequence, release.Short(r.ID), r.Time.Local().Format("2006-01-02 15:04"), oneLine(r.Author),
			layout.Plural(len(r.Nodes), "node"), r.Changed(), codeText(r.Code), releaseMarks(&r))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	return out.Flush()
}

func releaseMarks(r *Release) string {
	var marks []string
	if len(r.Signers) > 0 {
		marks = append(marks, "signed")
	}
	if r.Imported {
		marks = append(marks, "imported")
	}
	return strings.Join(marks, ", ")
}

func codeData(c *release.Code) any {
	if c == nil {
		return nil
	}
	return ordered.Of("commit", c.Commit, "dirty", c.Dirty)
}

func codeText(c *release.Code) string {
	if c == nil {
		return "-"
	}
	const digits = 12
	text := oneLine(c.Commit)
	if text = text[:min(digits, len(text))]; text == "" {
		text = "no commit"
	}
	if c.Dirty {
		text += " (changed)"
	}
	return text
}

func signersData(list []Signer) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = ordered.Of("key", s.Key, "principals", textOrNull(s.Principals), "problem", textOrNull(s.Problem))
	}
	return all
}

// PrintRelease prints one release.
func PrintRelease(w io.Writer, o Options, r *Release) error {
	if o.Format.Data {
		nodes := &ordered.Map{}
		for _, name := range r.Names() {
			n := r.Nodes[name]
			nodes.Set(name, ordered.Of("catalog", string(n.Catalog), "blob", string(n.Blob), "changed", n.Changed, "compiler", textOrNull(n.Compiler), "engine", cmp.Or(n.Engine, "bolt"), "plugins", textOrNull(string(n.Plugins))))
		}
		contents := make([]any, len(r.Contents))
		for i, d := range r.Contents {
			contents[i] = string(d)
		}
		groups := make([]any, len(r.Changes))
		for i, g := range r.Changes {
			changes := make([]any, len(g.Changes))
			for k, c := range g.Changes {
				changes[k] = ordered.Of("change", c.Change, "resource", textOrNull(c.Resource), "parameters", ordered.Strings(c.Parameters))
			}
			groups[i] = ordered.Of("nodes", g.Nodes, "changes", changes)
		}
		return layout.WriteDocument(w, ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "parent", textOrNull(string(r.Parent)), "time", r.Time.Format(time.RFC3339), "author", r.Author,
			"environment", textOrNull(r.Environment), "code", codeData(r.Code), "imported", r.Imported, "nodes", nodes, "contents", contents, "changes", groups, "signatures", signersData(r.Signers)))
	}
	out := bufio.NewWriter(w)
	heading(out, o.Color, fmt.Sprintf("Release %d", r.Sequence))
	rows := [][2]string{{"ID", string(r.ID)}, {"Created", r.Time.Local().Format("2006-01-02 15:04:05") + " by " + r.Author}}
	if r.Imported {
		rows = append(rows, [2]string{"Imported", "yes"})
	}
	if r.Environment != "" {
		rows = append(rows, [2]string{"Environment", r.Environment})
	}
	rows = append(rows, [2]string{"Code", codeText(r.Code)}, [2]string{"Nodes", fmt.Sprintf("%d, %d changed", len(r.Nodes), r.Changed())}, [2]string{"Contents", fmt.Sprint(len(r.Contents))})
	rows = append(rows, programRows(r.Release)...)
	if r.Parent != "" {
		rows = append(rows, [2]string{"Parent", release.Short(r.Parent)})
	}
	for _, s := range r.Signers {
		rows = append(rows, [2]string{"Signature", signerText(&s)})
	}
	table(out, rows, 2)
	if r.Changed() > 0 {
		_ = out.WriteByte('\n')
		heading(out, o.Color, "Changes")
		printReleaseChanges(out, o, r.Release)
	}
	return out.Flush()
}

// programRows returns the compilers of nodes if bolt is not the only compiler, and their engines if bolt is not the only engine.
func programRows(r *release.Release) (rows [][2]string) {
	compilers, engines := make(map[string][]string), make(map[string][]string)
	for _, name := range r.Names() {
		n := r.Nodes[name]
		compilers[n.Compiler] = append(compilers[n.Compiler], name)
		engines[cmp.Or(n.Engine, "bolt")] = append(engines[cmp.Or(n.Engine, "bolt")], name)
	}
	list := func(title string, by map[string][]string) {
		for _, program := range slices.Sorted(maps.Keys(by)) {
			rows = append(rows, [2]string{title, cmp.Or(program, "not known") + ": " + nodeset.Fold(by[program])})
		}
	}
	if len(compilers) > 1 || compilers["bolt"] == nil && compilers[""] == nil {
		list("Compiler", compilers)
	}
	if len(engines) > 1 || engines["bolt"] == nil {
		list("Engine", engines)
	}
	return rows
}

// PrintReleaseDifferences prints the differences between two releases.
func PrintReleaseDifferences(w io.Writer, o Options, found *site.Differences, programs map[string][]release.Program) error {
	type group struct {
		release.Program
		nodes []string
	}
	var groups []*group
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		for _, p := range programs[name] {
			i := slices.IndexFunc(groups, func(g *group) bool { return g.Program == p })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{Program: p})
			}
			groups[i].nodes = append(groups[i].nodes, name)
		}
	}
	if o.Format.Data {
		list := make([]any, len(groups))
		for i, g := range groups {
			list[i] = ordered.Of("nodes", g.nodes, "program", g.Name, "old", textOrNull(g.Old), "new", textOrNull(g.New))
		}
		doc := differencesData(found)
		doc.Set("programs", list)
		return layout.WriteDocument(w, doc)
	}
	if err := PrintDifferences(w, o, found); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, g := range groups {
		before, after := cmp.Or(g.Old, "not known"), cmp.Or(g.New, "not known")
		if g.Name == "plugins" {
			before, after = cmp.Or(release.Short(store.Digest(g.Old)), "none"), cmp.Or(release.Short(store.Digest(g.New)), "none")
		}
		fmt.Fprintf(out, "%s %s: %s -> %s\n", layout.Paint(layout.Yellow, o.Color, oneLine(nodeset.Fold(g.nodes))+":"), g.Name, oneLine(before), oneLine(after))
	}
	return out.Flush()
}

func signerText(s *Signer) string {
	switch {
	case s.Principals != "":
		return s.Key + " of " + s.Principals
	case s.Problem != "":
		return s.Key + ", not allowed: " + s.Problem
	}
	return s.Key
}

// PrintVerified prints that a release is complete and has the required signatures. checked is
// set if allowed signers are configured.
func PrintVerified(w io.Writer, o Options, r *Release, checked bool) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "whole", true, "allowed_signers", checked, "signatures", signersData(r.Signers)))
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Release %d (%s) is whole: %s, %s\n", r.Sequence, release.Short(r.ID), layout.Plural(len(r.Nodes), "node"), layout.Plural(len(r.Contents), "content"))
	for _, s := range r.Signers {
		fmt.Fprintf(out, "  signed with %s\n", oneLine(signerText(&s)))
	}
	if !checked {
		_, _ = out.WriteString("  no allowed signers are configured, so signatures are not required\n")
	}
	return out.Flush()
}

// PrintSigned prints that a release has a new signature.
func PrintSigned(w io.Writer, o Options, r *release.Release, key string) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "key", key))
	}
	_, err := fmt.Fprintf(w, "Release %d (%s) is signed with %s\n", r.Sequence, release.Short(r.ID), key)
	return err
}

// PrintTransferred prints that a release was exported to a file, or imported from one.
func PrintTransferred(w io.Writer, o Options, r *release.Release, file string, imported bool) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("release", string(r.ID), "sequence", int64(r.Sequence), "file", file, "nodes", int64(len(r.Nodes))))
	}
	verb := "exported to"
	if imported {
		verb = "imported from"
	}
	_, err := fmt.Fprintf(w, "Release %d (%s) of %s was %s %s\n", r.Sequence, release.Short(r.ID), layout.Plural(len(r.Nodes), "node"), verb, oneLine(file))
	return err
}

// PrintCollected prints the releases and contents that were removed, or would be with noop.
func PrintCollected(w io.Writer, o Options, c *release.Collected, noop bool) error {
	if o.Format.Data {
		entries := func(list []release.Entry) []any {
			all := make([]any, len(list))
			for i, e := range list {
				all[i] = ordered.Of("release", string(e.ID), "sequence", int64(e.Sequence))
			}
			return all
		}
		return layout.WriteDocument(w, ordered.Of("removed", entries(c.Releases), "in_use", entries(c.InUse), "contents", int64(c.Contents), "noop", noop))
	}
	verb := "Removed"
	if noop {
		verb = "Would remove"
	}
	out := bufio.NewWriter(w)
	for _, e := range c.InUse {
		fmt.Fprintf(out, "Release %d (%s) stays: a rollout names it\n", e.Sequence, release.Short(e.ID))
	}
	fmt.Fprintf(out, "%s %s and %s\n", verb, layout.Plural(len(c.Releases), "release"), layout.Plural(c.Contents, "content"))
	return out.Flush()
}
