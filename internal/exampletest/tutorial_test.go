package exampletest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bolt/internal/buildtest"
)

// A typed is a command of a document, with the output that the document shows.
type typed struct {
	command string
	output  []string
}

// varying matches the parts of the output that differ from run to run: numbers, digests and the driver of a
// rollout.
var varying = regexp.MustCompile(`driven by .*|\b[0-9a-f]{12,}\b|[0-9]+(\.[0-9]+)?`)

// TestTutorial runs the commands of docs/tutorial.md and docs/send-recv.md on three machines, and compares the output. A file that
// a page shows with cat is written first. A line "..." stands for any lines. Lines can come in another
// order, because targets answer at the same time.
func TestTutorial(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the test makes machines: run it as root")
	}
	var steps []typed
	for _, page := range []string{"tutorial.md", "send-recv.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		of := console(string(text))
		if len(of) < 3 {
			t.Fatalf("%s has only %d commands", page, len(of))
		}
		steps = append(append(steps, typed{command: "mkdir -p ~/fleet && cd ~/fleet"}), of...)
	}
	var script strings.Builder
	for _, s := range steps {
		if file, is := strings.CutPrefix(s.command, "cat "); is && !strings.HasPrefix(file, ">") {
			fmt.Fprintf(&script, "mkdir -p \"$(dirname %[1]s)\"\ncat >%[1]s <<'@end@'\n%[2]s\n@end@\n", file, strings.Join(s.output, "\n"))
		}
		fmt.Fprintf(&script, "echo @@@\n{ %s\n} 2>&1\n", s.command)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	run("scripts/helpers.sh")
	bolt := buildtest.Build(t, root, "cmd/bolt")
	out := run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "bash", "internal/exampletest/machines.sh", bolt, script.String())
	printed := strings.Split(out, "@@@\n")[1:]
	if len(printed) != len(steps) {
		t.Fatalf("%d of %d commands ended:\n%s", len(printed), len(steps), out)
	}
	for i, s := range steps {
		got := strings.Split(strings.TrimSuffix(printed[i], "\n"), "\n")
		some := slices.Contains(s.output, "...")
		for _, line := range compared(s.output) {
			if line == "..." {
				continue
			}
			at := slices.Index(compared(got), line)
			if at < 0 {
				t.Errorf("%s: the page shows %q, bolt printed\n%s", s.command, line, printed[i])
				continue
			}
			got = slices.Delete(got, at, at+1)
		}
		if !some && len(got) > 0 && printed[i] != "" {
			t.Errorf("%s: the page does not show %q", s.command, got)
		}
	}
}

// compared returns lines without the parts that vary.
func compared(lines []string) []string {
	var c []string
	for _, line := range lines {
		c = append(c, varying.ReplaceAllString(strings.TrimRight(line, " "), "#"))
	}
	return c
}

// console returns the commands in the console examples of a document, with their output.
func console(text string) []typed {
	var steps []typed
	inside, here := false, false // in an example; in a here-document
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && is:
			steps = append(steps, typed{command: command})
			here = strings.HasSuffix(command, "<<'EOF'")
		case inside && here:
			steps[len(steps)-1].command += "\n" + line
			here = line != "EOF"
		case inside && len(steps) > 0:
			last := &steps[len(steps)-1]
			last.output = append(last.output, line)
		}
	}
	return steps
}
