package syntax

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"bolt/internal/cputest"
)

// hostile are texts of about n bytes that are slow to parse if the parser reads
// the rest of the text again at many positions.
var hostile = map[string]func(n int) string{
	"slashes":         func(n int) string { return "$a = " + strings.Repeat(`/\`, n/2) },
	"slashes, blanks": func(n int) string { return "$a = 1 / 2" + strings.Repeat(` + \/`, n/5) },
	"parentheses far from the margin": func(n int) string {
		return strings.Repeat(" ", n/2) + strings.Repeat("(1) ", n/8)
	},
	"an error, then a long line": func(n int) string { return ") " + strings.Repeat("a ", n/2) },
	"an error, then a long line far from the margin": func(n int) string {
		return ")\n" + strings.Repeat(" ", n/2) + strings.Repeat("a ", n/4)
	},
	"errors on one line":         func(n int) string { return strings.Repeat("$x = ) ; ", n/9) },
	"heredocs behind an error":   func(n int) string { return ")\n" + heredocs(n) },
	"tags of heredocs":           func(n int) string { return "$a = " + strings.Repeat("@(", n/2) + "\n)" },
	"tags of heredocs, colons":   func(n int) string { return "$a = " + strings.Repeat("@(x:", n/4) + ")" },
	"dollars behind an escape":   func(n int) string { return `$a = "\n` + strings.Repeat("$ ", n/2) + `"` },
	"dollars in a heredoc":       func(n int) string { return "$a = @(\"A\"/n)\n\\n" + strings.Repeat("$ ", n/2) + "\nA\n" },
	"variables behind an escape": func(n int) string { return `$a = "` + strings.Repeat(`\n$a `, n/5) + `"` },
	"host names":                 func(n int) string { return "node a" + strings.Repeat(".a", n/2) + " { }" },
	"definitions in a long name": func(n int) string {
		return "class " + strings.Repeat("a", n/2) + " {" + strings.Repeat("class b { } ", n/24) + "}"
	},
	"definitions in many names": func(n int) string {
		return strings.Repeat("class aaa {", 350) + strings.Repeat("class b { } ", n/12) + strings.Repeat("}", 350)
	},
	"comments over heredocs": func(n int) string {
		return strings.Repeat("@(A) /*\nA\n", n/30) + "*/ " + strings.Repeat("f() ", n/6) + "\n"
	},
	"numbers that are none":  func(n int) string { return "$a = " + strings.Repeat("1.5x ", n/5) },
	"words with hyphens":     func(n int) string { return "$a = a" + strings.Repeat("-", n) },
	"quotes and backslashes": func(n int) string { return strings.Repeat(`'\\' "\\" `, n/10) },
	"nested heredocs": func(n int) string {
		var b strings.Builder
		b.WriteString("$a = ")
		for i := range 150 {
			fmt.Fprintf(&b, "@(\"A%d\")\n ${", i)
		}
		b.WriteString(strings.Repeat("$x\n", n/3))
		for i := range 150 {
			fmt.Fprintf(&b, "}\n | A%d\n", 149-i)
		}
		return b.String()
	},
}

// heredocs returns a line with many heredocs that begins with blanks.
func heredocs(n int) string {
	return strings.Repeat(" ", n/2) + strings.Repeat("@(A) ", n/14) + "\n" + strings.Repeat("A\n", n/14)
}

var hostileTemplates = map[string]func(n int) string{
	"percents":         func(n int) string { return strings.Repeat("<%%", n/3) },
	"closing percents": func(n int) string { return "<%#" + strings.Repeat("%%>", n/3) },
	"comments":         func(n int) string { return strings.Repeat("a<%#-%>", n/7) + "a" },
	"tags":             func(n int) string { return strings.Repeat("a<%- -%>", n/8) },
	"blanks":           func(n int) string { return strings.Repeat(" <%#-%>", n/7) + "<%- 1 %>" },
}

// grows fails if a text of eight times the size takes much more than eight
// times as long. A quadratic algorithm takes 64 times as long. If a text is
// parsed very fast, the limit is larger.
func grows(t *testing.T, n int, read func(n int)) {
	t.Helper()
	quickest := func(n int) time.Duration {
		least := time.Hour
		for range 3 {
			least = min(least, cputest.Used(t, func() { read(n) }))
		}
		return least
	}
	var small, large time.Duration
	for range 3 { // another program can have used the caches of the processor
		small, large = max(quickest(n), 5*time.Millisecond), quickest(8*n)
		if large <= 32*small {
			return
		}
	}
	t.Errorf("%d bytes take %v, %d bytes %v", n, small, 8*n, large)
}

func TestHostileGrowth(t *testing.T) {
	const n = 60_000
	for name, src := range hostile {
		t.Run(name, func(t *testing.T) {
			grows(t, n, func(n int) { _, _ = Parse(NewFile("x.pp", src(n)), Options{}) })
		})
	}
	for name, src := range hostileTemplates {
		t.Run("template of "+name, func(t *testing.T) {
			grows(t, n, func(n int) { _, _ = ParseTemplate(NewFile("x.epp", src(n)), Options{}) })
		})
	}
}

// TestHostileMemory checks that the memory for a text does not depend on its
// position.
func TestHostileMemory(t *testing.T) {
	const n = 400_000
	for _, name := range []string{"definitions in a long name", "definitions in many names", "nested heredocs", "an error, then a long line", "variables behind an escape"} {
		src := hostile[name](n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Parse(NewFile("x.pp", src), Options{})
		runtime.ReadMemStats(&after)
		if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 200 {
			t.Errorf("%s: %d bytes for each byte of the text", name, per)
		}
	}
}
