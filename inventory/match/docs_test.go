package match_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"bolt/inventory/match"
)

// TestParsesDocumentedExpressions parses the expressions in the documentation
// and in the help.
func TestParsesDocumentedExpressions(t *testing.T) {
	files := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../cmd/bolt/help/*.txt"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	shown := regexp.MustCompile(`--where '([^']+)'|(?m)^ +match: (.+)$`)
	n := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			n++
			x := m[1] + m[2]
			if _, err := match.Parse(x); err != nil {
				t.Errorf("%s: %s: %v", f, x, err)
			}
		}
	}
	if n < 6 {
		t.Errorf("%d expressions were found", n)
	}
}
