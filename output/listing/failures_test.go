package listing

import (
	"errors"
	"strings"
	"testing"

	"bolt/catalog/site"
	"bolt/format/fault"
)

// TestPrintFailures checks that each cause has its nodes, and that each hint is
// printed once, after the causes.
func TestPrintFailures(t *testing.T) {
	refused := func(msg string) error { return &fault.Error{Kind: "k", Msg: msg, Hint: "ask for\x1b[31m access"} }
	var out strings.Builder
	err := PrintFailures(&out, Options{}, " in old", []*site.Compiled{
		{Node: "n1", Err: refused("403")}, {Node: "n2", Err: errors.New("other")}, {Node: "n3", Err: refused("403")}, {Node: "n4", Err: refused("404")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "n[1,3] in old (2 nodes): 403\nn2 in old: other\nn4 in old: 404\nhint: ask for"
	if got := out.String(); !strings.HasPrefix(got, want) || strings.Count(got, "hint:") != 1 || strings.Contains(got, "\x1b") {
		t.Errorf("%q, want %q once, without escapes", got, want)
	}
}
