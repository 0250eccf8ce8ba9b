package check

import (
	"strings"
	"testing"
)

// TestHeredocs compares errors in texts of heredocs with those of Puppet 8. The
// messages are specific to this package.
func TestHeredocs(t *testing.T) {
	for _, c := range []struct{ syntax, text, want string }{
		{"json", "{}", ""},
		{"json", "[1,]", "invalid character ']'"},
		{"application+json", "[1,]", "invalid character ']'"},
		{"json+", "[1,]", "invalid character ']'"},
		{"json+other", "[1,]", ""},
		{"jSON", "[1,]", ""}, // nobody knows it
		{"base64", "YQ==", ""},
		{"base64", " Y\tQ=\u00a0=", ""},
		{"base64", "YQ=?=", ""},
		{"base64", "YR==", "illegal base64 data"},
		{"base64", "YQ", "illegal base64 data"},
		{"base64", "a-b_", "illegal base64 data"},
		{"pp", "notice(1)", ""},
		{"pp", "notice(", "the text ends where more has to come, in line 3"},
		{"pp", "notice(1)\n\n  1 )", "unexpected ')', in line 4"},
		{"pp", "1\n2", "a literal value has no effect here"}, // the program is checked, too
		{"pp", "plan a() { }", "neither a resource type nor a reference to resources, in line 2"},
		{"epp", "<% if true { %>a", "the '{' of line 2 is closed with '}', in line 3"},
		{"epp", "<%= 1 %>", ""},
	} {
		lines := "  " + strings.ReplaceAll(c.text, "\n", "\n  ")
		for _, src := range []string{"$x = @(X:" + c.syntax + ")\n" + lines + "\n  | X", "$x = @(X:" + c.syntax + ")\n" + c.text + "\nX"} {
			found, err := judge(src, Options{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && found != nil:
				t.Errorf("%s: %v", src, found[0])
			case c.want != "" && (len(found) != 1 || found[0].Kind != "bad-heredoc" || !strings.Contains(found[0].Msg, c.want)):
				t.Errorf("%s: %v, want %s", src, found.Err(), c.want)
			case c.want != "" && found[0].Position().Line != 2:
				t.Errorf("%s: at %v", src, found[0].Position())
			}
		}
		// The evaluator checks the same text without its file.
		err := Heredoc(c.syntax, c.text, false)
		if (err == nil) != (c.want == "") {
			t.Errorf("%s %q: %v", c.syntax, c.text, err)
		}
	}
}

// TestHeredocOfPlans checks that code in a heredoc of a plan is parsed with the
// rules of plans.
func TestHeredocOfPlans(t *testing.T) {
	for src, want := range map[string]string{
		"plan p() {\n  $x = @(A:pp)\n    plan q() { }\n    | A\n}": "",
		"plan p() {\n  $x = @(A:pp)\n    class q { }\n    | A\n}":  "cannot be defined where plans are, in line 3",
	} {
		found, err := judge(src, Options{Tasks: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Err(); (got == nil) != (want == "") || got != nil && !strings.HasSuffix(got.Error(), want) {
			t.Errorf("%s: %v, want %s", src, got, want)
		}
	}
	if err := Heredoc("pp", "plan q() { }", true); err != nil {
		t.Error(err)
	}
}

// TestHeredocLines checks that messages contain the line of the file if it is
// known.
func TestHeredocLines(t *testing.T) {
	for src, want := range map[string]string{
		"\n\n$x = @(A:pp)\n  $y = 1\n  $z = )\n  | A":           "in line 5",
		"\n\n$x = @(A:pp/L)\n  $y = \\\n  1\n  $z = )\n  | A":   "in line 2 of the text",
		"\n\n$x = @(A:pp/n)\n  $y = 1\\n\\n\n  $z = )\n  | A":   "in line 4 of the text",
		"\r\n\r\n$x = @(A:pp)\r\n  $y = 1\r\n  $z = )\r\n  | A": "in line 5",
	} {
		found, err := judge(src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Err(); got == nil || !strings.HasSuffix(got.Error(), want) {
			t.Errorf("%q: %v, want %s", src, got, want)
		}
	}
}
