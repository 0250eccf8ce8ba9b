package hiera_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bolt/puppet/eval"
)

// corpus is the directory of the manifests for which results of Puppet were
// recorded.
const corpus = "../../testdata/puppet"

// tree reads the files below dir under another name.
func tree(t *testing.T, into map[string]string, dir, as string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		into[filepath.Join(as, rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCorpus runs the manifests of the corpus that need no catalog.
func TestCorpus(t *testing.T) {
	f, err := os.Open(filepath.Join(corpus, "expected/cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	header := regexp.MustCompile(`(?m)^# (\w+): (.*)$`)
	ran := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var want struct {
			Case  string
			Error json.RawMessage
			Logs  []struct{ Level, Message string }
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(want.Case, "hiera/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(corpus, "cases", want.Case+".pp"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "include") || strings.Contains(string(text), "class {") {
			continue // packages above this one run these
		}
		ran++
		t.Run(want.Case, func(t *testing.T) {
			o := worldOptions{files: map[string]string{}}
			for _, m := range header.FindAllStringSubmatch(string(text), -1) {
				switch m[1] {
				case "hiera":
					tree(t, o.files, filepath.Join(corpus, "env/hiera", m[2]), "env/production")
				case "facts":
					o.facts = json.RawMessage(m[2])
				}
			}
			tree(t, o.files, filepath.Join(corpus, "env/modules"), "env/production/modules")
			w := newWorld(t, o)
			_, err := w.eval(t, string(text))
			if len(want.Error) > 0 {
				if err == nil {
					t.Fatal("no error")
				}
				var at struct{ Line, Column int }
				if json.Unmarshal(want.Error, &at) == nil && at.Line > 0 {
					if p := eval.AsError(err).Pos; p.Line != at.Line || p.Column != at.Column {
						t.Errorf("error at %d:%d, want %d:%d: %v", p.Line, p.Column, at.Line, at.Column, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var notices []string
			for _, l := range want.Logs {
				if l.Level == "notice" {
					notices = append(notices, l.Message)
				}
			}
			if got, want := strings.Join(w.notices, "\n"), strings.Join(notices, "\n"); got != want {
				t.Errorf("notices:\n%s\nwant:\n%s", got, want)
			}
		})
	}
	if ran < 5 {
		t.Fatalf("only %d cases ran", ran)
	}
}
