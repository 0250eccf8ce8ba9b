package executor

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bolt/puppet/eval"
)

// TestReference compares docs/plan-functions.md with the functions. With BOLT_UPDATE_REFERENCE=1 it writes the list.
func TestReference(t *testing.T) {
	const file, begin, end = "../../docs/plan-functions.md", "<!-- functions: begin -->\n", "<!-- functions: end -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the list", file)
	}
	want := []byte(before + begin + functionList() + "\n" + end + after)
	if bytes.Equal(page, want) {
		return
	}
	if os.Getenv("BOLT_UPDATE_REFERENCE") == "" {
		t.Fatalf("%s does not have the present functions. Run this test with BOLT_UPDATE_REFERENCE=1", file)
	}
	if err := os.WriteFile(file, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// functionList describes each function with its signatures, and lists the members of each type.
func functionList() string {
	list := functions()
	slices.SortFunc(list, func(a, b *eval.Function) int { return cmp.Compare(a.Name, b.Name) })
	var b strings.Builder
	members := map[string][]string{}
	for _, f := range list {
		if _, member, is := strings.Cut(f.Name, "."); is {
			kind, _, _ := strings.Cut(f.Signatures[0].Params, " ")
			members[kind] = append(members[kind], "`"+member+"`")
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n```puppet\n", f.Name, f.Doc)
		for _, s := range f.Signatures {
			fmt.Fprintf(&b, "%s(%s)", f.Name, s.Params)
			if s.Block != "" {
				fmt.Fprintf(&b, " |%s|", s.Block)
			}
			if s.Returns != "" {
				fmt.Fprintf(&b, " >> %s", s.Returns)
			}
			b.WriteByte('\n')
		}
		b.WriteString("```\n")
	}
	b.WriteString("\n### Members of types\n\n| type | members |\n|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", kind, strings.Join(members[kind], ", "))
	}
	return b.String()
}
