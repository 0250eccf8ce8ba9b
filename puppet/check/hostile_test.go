package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bolt/internal/cputest"
	"bolt/puppet/syntax"
)

func nest(n int, open, inside, end string) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(end, n)
}

// long are programs of about n bytes with many elements in one place.
var long = map[string]func(n int) string{
	"problems on one line": func(n int) string { return strings.Repeat("$A=1 ", n/5) },
	"a key of a list":      func(n int) string { return "$a = {[" + strings.Repeat("1,", n/2) + "] => 1}" },
	"a type":               func(n int) string { return "class a(Tuple[" + strings.Repeat("A[1],", n/5) + "B] $a) { }" },
	"heredocs in heredocs": func(n int) string {
		var b strings.Builder
		for i := range n / 20 {
			fmt.Fprintf(&b, "$a = @(A%d:pp)\n", i)
		}
		for i := range n / 20 {
			fmt.Fprintf(&b, "A%d\n", n/20-1-i)
		}
		return b.String()
	},
}

// deep are programs of about n bytes with a given depth.
var deep = map[string]func(n, depth int) string{
	"keys in keys": func(n, depth int) string {
		return "$a = " + nest(depth, "{", "["+strings.Repeat("1,", n/2)+"]", "=>1}")
	},
	"keys in keys, one each": func(n, depth int) string {
		return strings.Repeat("$a = "+nest(depth, "{", "1", "=>1}")+"\n", n/depth/5)
	},
	"conditions": func(n, depth int) string {
		return nest(depth, "if 1 { case 1 { "+strings.Repeat("1,", n/2/depth)+"1: {", "f()", " } } f() } ")
	},
	"parentheses": func(n, depth int) string {
		return strings.Repeat("f("+nest(depth, "(", "1", ")")+")\n", n/depth/2)
	},
	"signs": func(n, depth int) string {
		return strings.Repeat("f("+strings.Repeat("!", depth)+"1)\n", n/depth)
	},
	"defaults": func(n, depth int) string {
		return nest(depth, "define a($x = ", "["+strings.Repeat("1,", n/2)+"]", ") { }")
	},
	"defaults with a type": func(n, depth int) string {
		return nest(depth, "define a(T[{$b = 1 => 1}] $x = ", "["+strings.Repeat("1,", n/2)+"]", ") { }")
	},
}

// quickest returns the shortest of several times that checking a program takes.
func quickest(t *testing.T, src string) time.Duration {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("x.pp", src), syntax.Options{Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	least := time.Hour
	for range 3 {
		least = min(least, cputest.Used(t, func() {
			for range 3 {
				Program(p, Options{})
				Program(p, Options{Tasks: true})
			}
		}))
	}
	return max(least, 10*time.Millisecond)
}

// compare fails if a comparison fails several times. Another program can have
// used the caches of the processor.
func compare(t *testing.T, ask func() (what string, ok bool)) {
	t.Helper()
	var what string
	for range 3 {
		var ok bool
		if what, ok = ask(); ok {
			return
		}
	}
	t.Error(what)
}

// TestLongProgramsTakeLinearTime fails if a program of eight times the size
// takes much more than eight times as long. A quadratic algorithm takes 64
// times as long.
func TestLongProgramsTakeLinearTime(t *testing.T) {
	for name, src := range long {
		t.Run(name, func(t *testing.T) {
			const n = 60_000
			compare(t, func() (string, bool) {
				small, large := quickest(t, src(n)), quickest(t, src(8*n))
				return fmt.Sprintf("%d bytes take %v, %d bytes %v", n, small, 8*n, large), large <= 32*small
			})
		})
	}
}

// TestDeepProgramsTakeLinearTime fails if a program of the same size with ten
// times the depth takes much longer.
func TestDeepProgramsTakeLinearTime(t *testing.T) {
	for name, src := range deep {
		t.Run(name, func(t *testing.T) {
			const n = 100_000
			compare(t, func() (string, bool) {
				flat, deep := quickest(t, src(n, 20)), quickest(t, src(n, 200))
				return fmt.Sprintf("at a depth of 20 it takes %v, of 200 %v", flat, deep), deep <= 4*flat
			})
		})
	}
}

// TestNestingSteps limits the number of steps for deep programs of any length.
func TestNestingSteps(t *testing.T) {
	idle := nest(300, "if 1 { ", "f()", " 1 }")
	p, err := syntax.Parse(syntax.NewFile("x.pp", idle), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{file: p.File}
	c.program(p)
	if c.idles.steps > 50*300 {
		t.Errorf("%d steps for %d conditions in one another", c.idles.steps, 300)
	}
}

// TestProblemLimit checks that problems are reported up to a limit, and that
// errors are never lost.
func TestProblemLimit(t *testing.T) {
	count := func(l Problems, s Severity) (n int) {
		for _, p := range l {
			if p.Severity == s {
				n++
			}
		}
		return n
	}
	found, err := judge(strings.Repeat("class c(Integer[$x] $a) { } ", 30)+strings.Repeat("$A = 1 ", 50), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if count(found, Error) != maxProblems+1 || count(found, Deprecation) != maxProblems+1 {
		t.Errorf("%d errors, %d deprecations", count(found, Error), count(found, Deprecation))
	}
	last := found[len(found)-2]
	if last.Kind != "more-problems" || last.Msg != "from here on, errors are only counted: there are 30" || last.Position().Column != 30*28+20*7+1 {
		t.Errorf("got %v (%s)", last.Error, last.Kind)
	}
	if last = found[len(found)-1]; last.Msg != "from here on, deprecations are only counted: there are 10" {
		t.Errorf("got %v", last.Error)
	}
	found, _ = judge(strings.Repeat("class c(Integer[$x] $a) { } ", 1000)+"$A = 1", Options{})
	if errs := found.Err(); errs == nil || !strings.Contains(errs.Error(), "$A is not the name of a variable") {
		t.Errorf("got %v", errs)
	}
}

// TestLongNames checks that messages stay short.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("A", 100_000)
	for _, src := range []string{"$" + name + " = 1", "{ '" + name + "' => 1, '" + name + "' => 2 }", "node '" + name + " ' { }", "::" + name + "<||> = 1", "/(" + name + "/"} {
		found, err := judge(src, Options{})
		if err != nil || found.Err() == nil {
			t.Errorf("%.20s: %v, %v", src, found, err)
		}
		for _, p := range found {
			if len(p.Msg) > 500 {
				t.Errorf("%.20s: a message of %d bytes", src, len(p.Msg))
			}
		}
	}
}
