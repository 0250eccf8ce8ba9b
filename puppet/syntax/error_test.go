package syntax

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func errorsOf(t *testing.T, src string) Errors {
	t.Helper()
	_, err := Parse(NewFile("x.pp", src), Options{})
	if err == nil {
		return nil
	}
	list, ok := err.(Errors)
	if !ok {
		t.Fatalf("%T is not Errors", err)
	}
	return list
}

func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		src, want  string // place and kind of each
		incomplete bool
	}{
		{"$x = ]", "1:6 unexpected-token", false},
		{"$x = ", "1:6 unexpected-end", true},
		{"class a {\n  $x = 1\n", "3:1 unexpected-end", true},
		{"'abc", "1:2 unclosed-string", true},
		{"\"abc ${x", "1:9 unclosed-string", true},
		{"/* abc", "1:1 unclosed-comment", true},
		{"$x = @(END)\nabc", "2:1 unclosed-heredoc", true},
		{"$x = @(END", "1:6 unclosed-heredoc-tag", true},
		{"$x = @(END)", "1:12 heredoc-without-text", true},
		{"$x = @(E/q)\nE\n", "1:12 bad-heredoc-escape", false},
		{"$x = 089", "1:6 bad-number", false},
		{"$x = 1x", "1:6 bad-number", false},
		{"$x = 99999999999999999999", "1:6 number-out-of-range", false},
		{"$x = 1e999", "1:6 number-out-of-range", false},
		{"$x = Foo::bar", "1:10 bad-type-name", false},
		{"$x = foo::", "1:11 bad-name", false},
		{"class 'a' { }", "1:7 quoted-name", false},
		{"class class { }", "1:7 reserved-word", false},
		{"1, 2", "1:2 unexpected-list", false},
		{"foo 1, 2", "1:6 call-without-parentheses", false},
		{"@foo", "1:1 not-a-resource", false},
		{"$x { a => 1 }", "1:1 not-a-resource", false},
		{"\"\\u{ffffff}\"", "1:2 bad-unicode-escape", false},
		{"\xef\xbb\xbf$x", "1:1 byte-order-mark", false},
		{"$x = 'é\xe9'", "1:8 invalid-utf-8", false},
		{"$x = 1\n# caf\xe9 \xff\n", "2:6 invalid-utf-8", false},
		{"$x = '\ufffd\xe2\x82'", "1:8 invalid-utf-8", false},
	} {
		var got []string
		list := errorsOf(t, c.src)
		for _, e := range list {
			p := e.Position()
			got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, e.Kind))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q: %v, want %s", c.src, list, c.want)
		}
		if len(list) > 0 && list[0].Incomplete != c.incomplete {
			t.Errorf("%q: incomplete is %v", c.src, list[0].Incomplete)
		}
	}
}

// TestRecovery expects one error for each invalid statement, and the rest of
// the tree.
func TestRecovery(t *testing.T) {
	src := `class a {
  $x = = 1
  file { '/a':
    ensure = present,
    mode   => '0644',
  }
  notice 'kept'
  if $x {
    notice(]
  }
}

class b { }

define c($y {
  notice $y
}

node 'd' {
  $z = Foo::bar
}
notice 'end' end(
`
	prog, err := Parse(NewFile("x.pp", src), Options{})
	var got []string
	for _, e := range err.(Errors) {
		p := e.Position()
		got = append(got, fmt.Sprintf("%d:%d", p.Line, p.Column))
	}
	if want := "2:8 4:12 9:12 15:13 20:12 23:1"; strings.Join(got, " ") != want {
		t.Errorf("errors at %v, want %s\n%v", got, want, err)
	}
	if tree := dumpText(t, prog, PN); !strings.Contains(tree, `"kept"`) || !strings.Contains(tree, `(class {:name "b"})`) {
		t.Errorf("what is right is not in the tree: %s", tree)
	}
	var one *Error
	if !errors.As(err, &one) {
		t.Error("errors.As does not find an *Error")
	}
}

func TestExcerpt(t *testing.T) {
	if got, want := errorsOf(t, "$a = 1\n\t$b = 'é' + ) + 2\n")[0].Excerpt(), "\t$b = 'é' + ) + 2\n\t           ^"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestExcerptOfLongLine checks that a line of megabytes is truncated, with the
// caret in the right column.
func TestExcerptOfLongLine(t *testing.T) {
	for name, c := range map[string]struct{ src, line, under string }{
		"in the middle":   {"$a = '" + strings.Repeat("é", 1<<20) + "' + ) + '" + strings.Repeat("x", 1<<20) + "'", "…" + strings.Repeat("é", 76) + "' + ) + '" + strings.Repeat("x", 75) + "…", ")"},
		"at the end":      {"$a = '" + strings.Repeat("x", 1<<20) + "' + )", "…" + strings.Repeat("x", 155) + "' + )", ")"},
		"at the begin":    {") + '" + strings.Repeat("x", 1<<20) + "'", ") + '" + strings.Repeat("x", 155) + "…", ")"},
		"just as long":    {") + '" + strings.Repeat("x", 154) + "'", ") + '" + strings.Repeat("x", 154) + "'", ")"},
		"one is too much": {") + '" + strings.Repeat("x", 155) + "'", ") + '" + strings.Repeat("x", 155) + "…", ")"},
	} {
		line, caret, _ := strings.Cut(errorsOf(t, c.src)[0].Excerpt(), "\n")
		at := utf8.RuneCountInString(caret) - 1
		if line != c.line || !strings.HasSuffix(caret, " ^") && at > 0 || string([]rune(line)[at]) != c.under {
			t.Errorf("%s: %q with the caret at %d, want %q", name, line, at, c.line)
		}
	}
	long := NewFile("f", "1\n"+strings.Repeat("x", 1<<20))
	if got := long.Excerpt(Position{Line: 2}); got != strings.Repeat("x", 160)+"…" {
		t.Errorf("without a column: %q", got)
	}
	// Text that is not UTF-8 has positions, too.
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, 100+r.IntN(600))
		for i := range b {
			b[i] = "\xe2\x82\xac\xf0x\t"[r.IntN(6)]
		}
		got := NewFile("f", string(b)).Excerpt(Position{Line: 1, Column: 1 + r.IntN(len(b)+10)})
		if line, caret, _ := strings.Cut(got, "\n"); !strings.HasSuffix(caret, "^") || utf8.RuneCountInString(line) > 160+2 {
			t.Fatalf("%q: %q", b, got)
		}
	}
}

func TestErrorLimit(t *testing.T) {
	if n := len(errorsOf(t, strings.Repeat("$x = )\n", 1000))); n != maxErrors {
		t.Errorf("%d errors, want %d", n, maxErrors)
	}
}

// TestHostileTextsEnd expects an error soon and without a deep stack.
func TestHostileTextsEnd(t *testing.T) {
	const n = 200_000
	for name, src := range map[string]string{
		"parentheses":    strings.Repeat("(", n),
		"lists":          strings.Repeat("[", n),
		"hashes":         strings.Repeat("{a=>", n),
		"blocks":         strings.Repeat("if true {", n),
		"elsif":          "if true { }" + strings.Repeat(" elsif true { }", n),
		"not":            strings.Repeat("!", n) + "1",
		"minus":          strings.Repeat("-", n) + "1",
		"virtual":        strings.Repeat("@", n) + "file",
		"assignments":    strings.Repeat("$x = ", n) + "1",
		"sum":            "1" + strings.Repeat(" + 1", n),
		"methods":        "1" + strings.Repeat(".a", n),
		"indexes":        "$x" + strings.Repeat("[1]", n),
		"calls":          "f" + strings.Repeat("()", n),
		"relations":      "a" + strings.Repeat(" -> a", n),
		"bodies":         "file" + strings.Repeat("{a:}", n),
		"selectors":      "1" + strings.Repeat(" ? a => 1", n),
		"brace selector": "1" + strings.Repeat(" ? { a => 1 }", n),
		"strings":        strings.Repeat(`"${`, n),
		"lambdas":        strings.Repeat("f() |$x| {", n),
		"classes":        strings.Repeat("class a {", n),
		"collectors":     strings.Repeat("A <| ", n),
		"types":          "type A = " + strings.Repeat("B[", n),
		"heredocs":       strings.Repeat("@(\"A\")\n${", n),
		"sums in sums":   strings.Repeat("(", 900) + "1" + strings.Repeat(strings.Repeat(" + 1", 100)+")", 900),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			list := errorsOf(t, src)
			if list == nil {
				t.Error("no error")
			}
			if d := time.Since(begin); d > 5*time.Minute {
				t.Errorf("took %v", d)
			}
		})
	}
}

// TestLargeProgramsParse checks that programs that are large but not deep can
// be parsed.
func TestLargeProgramsParse(t *testing.T) {
	for name, src := range map[string]string{
		"string":      "$x = '" + strings.Repeat("x", 10<<20) + "'",
		"expressions": strings.Repeat("$x\n", 200_000),
		"list":        "[" + strings.Repeat("1,", 300_000) + "]",
		"strings":     "\"" + strings.Repeat("$x ${y}", 100_000) + "\"",
		"dollars":     "\"" + strings.Repeat("$ ", 200_000) + "\"",
		"escapes":     "\"" + strings.Repeat(`\n`, 500_000) + "\"",
		"lines":       "@(END)\n" + strings.Repeat("  line\n", 200_000) + "  | END\n",
		"comments":    strings.Repeat("/**/", 500_000),
		"elsif":       "if true { }" + strings.Repeat(" elsif true { }", 500),
		"sum":         "1" + strings.Repeat(" + 1", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if list := errorsOf(t, src); list != nil {
				t.Error(list)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	prog, err := Parse(NewFile("x.pp", `$x = "a\qb\u00"`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range prog.Warnings {
		got = append(got, w.Kind)
	}
	if strings.Join(got, " ") != "unknown-escape bad-unicode-escape" {
		t.Errorf("%v", prog.Warnings)
	}
}

// TestLongNumber checks that a number of megabytes is an error immediately,
// with a short message.
func TestLongNumber(t *testing.T) {
	_, err := Parse(NewFile("", strings.Repeat("9", 5_000_000)), Options{}) // 30 s if it were converted
	errs, ok := errors.AsType[Errors](err)
	if !ok || errs[0].Kind != "number-out-of-range" || len(errs[0].Msg) > 200 {
		t.Errorf("got %.300v", err)
	}
}

// TestUnexpectedTokenMessages checks that messages describe an unexpected token
// without an article, and the construct that is not closed.
func TestUnexpectedTokenMessages(t *testing.T) {
	for src, want := range map[string]string{
		"$x = [1 'b']":          "unexpected string",
		"$x = 1 + elsif":        "unexpected word 'elsif'",
		"$x = @(END)\nabc":      "the heredoc whose text begins here has no line with its end tag 'END'",
		"$x = { a => 1 'b' }":   "unexpected string",
		"notice('\xc3')":        "the text has to be UTF-8, and the byte \\xc3 is not valid here",
		"$x = [1 @(E)]\nx\nE\n": "unexpected heredoc",
	} {
		if list := errorsOf(t, src); len(list) == 0 || list[0].Msg != want {
			t.Errorf("%q: %v, want %q", src, list, want)
		}
	}
}

// TestTemplateEncoding checks that templates must be UTF-8, too.
func TestTemplateEncoding(t *testing.T) {
	_, err := ParseTemplate(NewFile("a.epp", "x\n\xffy"), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "a.epp:2:1: the text has to be UTF-8") {
		t.Errorf("got %v", err)
	}
}
