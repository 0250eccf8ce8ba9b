package main

import (
	"fmt"
	"slices"
	"strings"

	"bolt/bench/measure"
)

// report returns the tables in Markdown.
func report(results []result) string {
	var b strings.Builder
	count := func(is func(r result) bool) (n int) {
		for _, r := range results {
			if is(r) {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(&b, "%d of %d modules compile without Ruby.", count(func(r result) bool { return r.compiles.ok }), len(results))
	if n := count(func(r result) bool { return r.same.done }); n > 0 {
		fmt.Fprintf(&b, " %d of %d compared catalogs are the same as with Puppet.", count(func(r result) bool { return r.same.ok }), n)
	}
	fmt.Fprintf(&b, " bolt has providers for all types in the catalogs of %d modules.\n", count(func(r result) bool { return r.compiles.ok && len(r.foreign) == 0 }))

	if n := count(func(r result) bool { return r.applies.done }); n > 0 {
		fmt.Fprintf(&b, "\n%d modules were applied in disposable machines: %d without a failure, %d unchanged in a second run, %d with a tree equal to that of Puppet.\n",
			n, count(func(r result) bool { return r.applies.ok }), count(func(r result) bool { return r.second.ok }), count(func(r result) bool { return r.equal.ok }))
	}
	b.WriteByte('\n')

	var rows [][]string
	for i, r := range results {
		rows = append(rows, []string{fmt.Sprint(i + 1), r.module.name, r.version, r.compiles.cell(), r.same.cell(),
			r.applies.cell(), r.second.cell(), r.equal.cell(), strings.Join(r.foreign, ", ")})
	}
	table(&b, []string{"", "module", "version", "compiles", "as puppet", "applies", "second run", "equal tree", "types without a provider"}, rows)
	b.WriteString("\n## Reasons\n\n")
	reasons(&b, "does not compile", results, func(r result) string { return r.compiles.reason })
	reasons(&b, "the catalog differs", results, func(r result) string {
		if !r.compiles.ok {
			return "" // for the same reason
		}
		return r.same.reason
	})
	reasons(&b, "does not apply", results, func(r result) string { return r.applies.reason })
	reasons(&b, "the second run changes something", results, func(r result) string { return r.second.reason })
	reasons(&b, "the tree differs (Puppet, bolt)", results, func(r result) string { return r.equal.reason })
	reasons(&b, "is not installed", results, func(r result) string {
		if r.version == "" {
			return "there is no directory of the module"
		}
		return ""
	})
	b.WriteString("## Types without a provider\n\n")
	uses := map[string][]string{}
	for _, r := range results {
		for _, typ := range r.foreign {
			uses[typ] = append(uses[typ], r.module.short())
		}
	}
	folded(&b, "type", uses)
	return b.String()
}

// reasons prints the modules of each reason.
func reasons(b *strings.Builder, title string, results []result, reason func(r result) string) {
	by := map[string][]string{}
	for _, r := range results {
		if text := reason(r); text != "" {
			by[text] = append(by[text], r.module.short())
		}
	}
	if len(by) > 0 {
		folded(b, title, by)
		b.WriteByte('\n')
	}
}

// folded prints the keys with the most modules first.
func folded(b *strings.Builder, title string, by map[string][]string) {
	var keys []string
	for k := range by {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y string) int {
		if n := len(by[y]) - len(by[x]); n != 0 {
			return n
		}
		return strings.Compare(x, y)
	})
	var rows [][]string
	for _, k := range keys {
		rows = append(rows, []string{cell(k), strings.Join(by[k], ", "), fmt.Sprint(len(by[k]))})
	}
	table(b, []string{title, "modules", "count"}, rows)
}

// cell returns a text as one line without the separators of tables.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ReplaceAll(s, "|", `\|`)
}

func table(b *strings.Builder, header []string, rows [][]string) {
	_ = measure.Markdown(b, len(header), header, rows) // a Builder does not fail
}
