package corpustest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/internal/buildtest"
)

const applied = root + "/testdata/apply"

// TestApply applies manifests to disposable roots, and compares the results with the recorded results of the
// real puppet apply.
func TestApply(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the cases make and enter roots: run this test as root, or leave it out with go test -skip '^TestApply$'")
	}
	readSources(t, applied)
	results := playApply(t, buildWithHelpers(t))
	for _, r := range results {
		t.Run(r.Name, func(t *testing.T) {
			if !r.Passed {
				t.Errorf("differs from puppet apply; for the output: testdata/apply/run.py judge --bolt bin/bolt -v --id '%s'\n%s", r.Name, r.Why)
			}
		})
	}
}

// buildWithHelpers makes the program with the helpers that it sends to machines.
func buildWithHelpers(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("scripts/helpers.sh")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the helpers: %v\n%s", err, out)
	}
	return buildtest.Build(t, root, "cmd/bolt")
}

// playApply runs all cases and returns the outcome of each.
func playApply(t *testing.T, bolt string) []outcome {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	args := []string{filepath.Join(applied, "run.py"), "judge", "--bolt", bolt, "--json", report}
	if end, ok := t.Deadline(); ok {
		left := time.Until(end) - margin
		args = append(args, "--limit", strconv.Itoa(int(left.Seconds())))
	}
	out, runErr := exec.Command("python3", args...).CombinedOutput()
	data, err := os.ReadFile(report)
	if err != nil { // the status is 1 as soon as one case fails
		t.Fatalf("run.py: %v\n%s", runErr, out)
	}
	var doc struct {
		Cases []outcome `json:"cases"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s: %v", report, err)
	}
	if len(doc.Cases) == 0 {
		t.Fatalf("run.py has no cases:\n%s", out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Log(lines[len(lines)-1])
	return doc.Cases
}
