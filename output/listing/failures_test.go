package listing

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"bolt/catalog/site"
	"bolt/format/fault"
	"bolt/output/layout"
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

// TestPrintFailedAsJSON checks that the line of a node that failed has the error
// and its hint.
func TestPrintFailedAsJSON(t *testing.T) {
	var text strings.Builder
	out := bufio.NewWriter(&text)
	for _, err := range []error{&fault.Error{Kind: "k", Msg: "403", Hint: "ask"}, errors.New("other")} {
		c := &site.Compiled{Node: "n", Err: err}
		if err := errors.Join(PrintCompiled(out, Options{Format: layout.NDJSON}, c, ""), PrintInputs(out, Options{Format: layout.NDJSON}, c)); err != nil {
			t.Fatal(err)
		}
	}
	const want = `{"node":"n","error":"403","hint":"ask"}
{"node":"n","facts":[],"keys":[],"collected":[],"error":"403","hint":"ask"}
{"node":"n","error":"other"}
{"node":"n","facts":[],"keys":[],"collected":[],"error":"other"}
`
	if got := text.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
