package corpustest

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/internal/buildtest"
)

const (
	root   = "../.."
	corpus = root + "/testdata/bolt"
)

// margin is the part of the test's own deadline that is reserved for
// stopping the servers.
const margin = 30 * time.Second

// An outcome is the report of run.py on one case.
type outcome struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Why    string `json:"why"`
}

func TestCorpus(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the corpus makes users and sudo rules: run this test as root, or leave it out with go test -skip '^TestCorpus$'")
	}
	names := cases(t)
	later, differs := list(t, "later.txt", names), list(t, "differs.txt", names)
	for name := range differs {
		if _, both := later[name]; both {
			t.Errorf("%s is in later.txt and in differs.txt", name)
		}
	}
	readSources(t, corpus)
	bolt := buildtest.Build(t, root, "cmd/bolt")
	for _, way := range []struct {
		name string
		env  []string
	}{
		{"direct", []string{"BOLT_POOL=off"}},
		{"pool", withDaemon(t, bolt)},
	} {
		t.Run(way.name, func(t *testing.T) {
			results := play(t, bolt, way.env)
			for _, name := range names {
				t.Run(name, func(t *testing.T) { judge(t, name, results, later, differs) })
			}
		})
	}
}

// withDaemon returns the environment in which every command goes through a
// daemon of the test's own. The daemon ends with the test.
func withDaemon(t *testing.T, bolt string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bolt-corpus") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"BOLT_POOL=required", "BOLT_POOL_SOCKET=" + filepath.Join(dir, "pool.sock")}
	t.Cleanup(func() {
		stop := exec.Command(bolt, "pool", "stop")
		stop.Env = append(os.Environ(), env...)
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("stop the daemon: %v\n%s", err, out)
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "pool.log"))
			t.Logf("the daemon's log:\n%s", log)
		}
		os.RemoveAll(dir)
	})
	return env
}

// judge compares the outcome of a case with the expected outcome.
func judge(t *testing.T, name string, results map[string]outcome, later, differs map[string]string) {
	r, ran := results[name]
	if !ran {
		t.Fatal("not run for lack of time")
	}
	for file, entries := range map[string]map[string]string{"later.txt": later, "differs.txt": differs} {
		reason, listed := entries[name]
		if !listed {
			continue
		}
		if r.Passed {
			t.Errorf("passes, but is in %s (%s): remove it there", file, reason)
		}
		return
	}
	if !r.Passed {
		t.Errorf("differs from Bolt; for the details: testdata/bolt/run.py --bolt bin/bolt --show --only '^%s$'\n%s", name, r.Why)
	}
}

// play runs all cases in an environment and returns the outcome of each.
func play(t *testing.T, bolt string, env []string) map[string]outcome {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("the corpus runner needs python3 (scripts/setup.sh installs it): %v", err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	args := []string{filepath.Join(corpus, "run.py"), "--bolt", bolt, "--json", report}
	if end, ok := t.Deadline(); ok {
		left := time.Until(end) - margin
		args = append(args, "--time-limit", strconv.Itoa(int(left.Seconds())))
	}
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	// The status is 1 as soon as one case fails; only a missing report is an
	// error of the runner.
	data, readErr := os.ReadFile(report)
	if readErr != nil {
		t.Fatalf("run.py: %v\n%s", err, out)
	}
	var doc struct {
		Cases []outcome `json:"cases"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s: %v", report, err)
	}
	results := make(map[string]outcome, len(doc.Cases))
	for _, c := range doc.Cases {
		results[c.Name] = c
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Log(lines[len(lines)-1])
	return results
}

// cases returns the names of all cases, in the order of the file.
func cases(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		var c struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("cases.jsonl: %v in %q", err, line)
		}
		names = append(names, c.Name)
	}
	return names
}

// list reads lines of the form "case reason", where # begins a comment.
func list(t *testing.T, file string, names []string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known := make(map[string]bool, len(names))
	for _, n := range names {
		known[n] = true
	}
	entries := make(map[string]string)
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch reason = strings.TrimSpace(reason); {
		case name == "":
		case !known[name]:
			t.Errorf("%s:%d: there is no case %q", file, n, name)
		case reason == "":
			t.Errorf("%s:%d: no reason for %s", file, n, name)
		case entries[name] != "":
			t.Errorf("%s:%d: %s is there twice", file, n, name)
		default:
			entries[name] = reason
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return entries
}

// readSources opens the sources of the program and of the corpus. The test
// cache knows the files that a test opens, but not the files that its child
// processes open. Without readSources, a passed corpus would stay "(cached)"
// after a change to the program.
func readSources(t *testing.T, corpus string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != root && !strings.HasPrefix(name, filepath.Clean(corpus)) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") || d.Name() == "go.mod" || d.Name() == "go.sum" || strings.HasPrefix(name, filepath.Clean(corpus)) {
			_, err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
