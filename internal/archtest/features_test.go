package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	featureRow  = regexp.MustCompile(`^\| ([A-Z][0-9]+) \| [^|]+ \| ([^|]+) \|$`)
	featureTest = regexp.MustCompile("^`([a-z0-9/-]+)\\.(Test[A-Za-z0-9]+)(?:/([a-z0-9-]+))?`$")
)

// TestFeatureTestsExist checks that each test named in docs/features.md exists.
func TestFeatureTestsExist(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/features.md")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, f := range source(t) {
		if f.test {
			for _, m := range regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`).FindAllSubmatch(f.text, -1) {
				known[f.pkg+"."+string(m[1])] = true
			}
		}
	}
	rows := 0
	for n, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| id |") {
			continue
		}
		row := featureRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("docs/features.md:%d: not a row of id, feature and tests", n+1)
			continue
		}
		rows++
		for _, word := range strings.Fields(row[2]) {
			test := featureTest.FindStringSubmatch(word)
			if test == nil {
				t.Errorf("docs/features.md:%d: %s is not `FOLDER.TEST`", n+1, word)
				continue
			}
			if !known[test[1]+"."+test[2]] {
				t.Errorf("docs/features.md:%d: there is no test %s.%s", n+1, test[1], test[2])
			}
			if script := test[3]; script != "" {
				if _, err := os.Stat(filepath.Join(root, test[1], "testdata", "script", script+".txtar")); err != nil {
					t.Errorf("docs/features.md:%d: %v", n+1, err)
				}
			}
		}
	}
	if rows == 0 {
		t.Error("docs/features.md has no rows")
	}
}
