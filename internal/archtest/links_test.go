package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline  = regexp.MustCompile("`[^`]*`")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

// TestLinks checks each link between the documents: the file exists, and so does the heading if the link
// has one.
func TestLinks(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	headings := make(map[string]map[string]bool)
	texts := make(map[string]string)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name == ".git" || name == "dist") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		texts[name] = fenced.ReplaceAllString(string(data), "")
		headings[name] = make(map[string]bool)
		for _, m := range heading.FindAllStringSubmatch(texts[name], -1) {
			headings[name][anchor(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := fs.Stat(root, file); err != nil {
				t.Errorf("%s: the link to %s: %v", name, m[1], err)
				continue
			}
			if fragment != "" && !headings[file][fragment] {
				t.Errorf("%s: the link to %s: %s has no such heading", name, m[1], file)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// anchor returns the fragment by which GitHub links to a heading.
func anchor(text string) string {
	text = strings.ToLower(link.ReplaceAllString(text, ""))
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
