package listing

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"bolt/environment/program"
	"bolt/output/layout"
)

func TestEvaluationLine(t *testing.T) {
	notice := []program.Finding{{Level: "notice", Msg: "n", Line: 1, Column: 2}}
	for _, c := range []struct {
		e    program.Evaluation
		want string
	}{
		{program.Evaluation{Value: json.RawMessage("2"), Type: "Integer", String: "2"}, `{"value":2,"type":"Integer","string":"2"}`},
		{program.Evaluation{Errors: []program.Finding{{Msg: "bad", Line: 3, Kind: "k", Stack: []string{"f"}}}}, `{"error":{"line":3,"message":"bad","kind":"k","stack":["f"]}}`},
		{
			program.Evaluation{Value: json.RawMessage("2"), Type: "Integer", String: "2", ID: json.RawMessage(`{"a":1}`), Logs: notice},
			`{"id":{"a":1},"value":2,"type":"Integer","string":"2","logs":[{"level":"notice","message":"n","line":1,"column":2}]}`,
		},
	} {
		var b strings.Builder
		w := bufio.NewWriter(&b)
		if err := PrintEvaluationLine(w, &c.e); err != nil || w.Flush() != nil || b.String() != c.want+"\n" {
			t.Errorf("%v, is %s want %s", err, b.String(), c.want)
		}
	}
}

// TestWarningID checks that a warning shows the ID for disable-warnings, as a
// warning of the log does.
func TestWarningID(t *testing.T) {
	var b strings.Builder
	e := &program.Evaluation{Text: "1", Type: "Integer", Logs: []program.Finding{{Level: "warning", Kind: "lookup", ID: "lookup", Msg: "odd"}}}
	if err := PrintSaid(&b, false, e.Logs...); err != nil || b.String() != "warning: odd [ID: lookup]\n" {
		t.Errorf("%v, is %q", err, b.String())
	}
}

// TestRendered checks that the text of a template is printed as it is, and that
// there is no text after an error.
func TestRendered(t *testing.T) {
	e := &program.Evaluation{Rendered: true, Text: `"a\n"`, String: "a\n", Type: "String"}
	for want, e := range map[string]*program.Evaluation{"a\n": e, "": {Rendered: true, Errors: []program.Finding{{Level: "error", Msg: "bad"}}}} {
		var b strings.Builder
		if err := PrintEvaluation(&b, layout.Human, false, false, e); err != nil || b.String() != want {
			t.Errorf("%v, is %q, want %q", err, b.String(), want)
		}
	}
}

// TestEvaluationText checks that control characters of a value are removed on
// terminals, and nowhere else.
func TestEvaluationText(t *testing.T) {
	e := &program.Evaluation{Text: "'a\u009b2Jb\x1b[31m'", Type: "String"}
	for terminal, want := range map[bool]string{true: "'a2Jb'\ntype: String\n", false: e.Text + "\ntype: String\n"} {
		var b strings.Builder
		if err := PrintEvaluation(&b, layout.Human, terminal, false, e); err != nil || b.String() != want {
			t.Errorf("%v: %v, is %q, want %q", terminal, err, b.String(), want)
		}
	}
}
