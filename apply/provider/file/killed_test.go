package file_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bolt/apply/resource"
)

// TestKilled kills a process that applies files at random points. No file is half written, and the next run ends in the state of
// a run that nothing disturbed.
func TestKilled(t *testing.T) {
	const mark = "BOLT_TEST_KILLED"
	old, wanted := strings.Repeat("old\n", 5000), strings.Repeat("wanted\n", 5000)
	resources := func() (list []*resource.Resource) {
		for i := range 20 {
			list = append(list, res(fmt.Sprintf("f%d", i), "content", wanted, "mode", "0640", "backup", []any{false, ".b"}[i%2]),
				res(fmt.Sprintf("l%d", i), "ensure", "link", "target", wanted[:100]), res(fmt.Sprintf("d%d", i), "ensure", "directory", "force", true))
		}
		return list
	}
	prepare := func(m *machine) {
		for i := range 20 {
			m.write(fmt.Sprintf("f%d", i), old, 0o600)
			m.write(fmt.Sprintf("d%d", i), old, 0o600)
			if err := os.Symlink("old", m.path(fmt.Sprintf("l%d", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if dir := os.Getenv(mark); dir != "" {
		m := newMachine(t)
		m.dir = dir
		m.run(resources()...)
		return
	}
	m := newMachine(t)
	prepare(m)
	start := time.Now()
	m.run(resources()...)
	took, want := time.Since(start), m.tree()
	for round := range 8 {
		m := newMachine(t)
		prepare(m)
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), mark+"="+m.dir, "TMPDIR="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(2*took + 20*time.Millisecond))))
		_ = cmd.Process.Kill() // it can have ended
		_ = cmd.Wait()
		for i := range 20 {
			if text := m.read(fmt.Sprintf("f%d", i)); text != old && text != wanted {
				t.Fatalf("round %d: f%d has %d bytes", round, i, len(text))
			}
		}
		m.run(resources()...)
		if got := m.tree(); got != want {
			t.Fatalf("round %d: the tree is\n%swant\n%s", round, got, want)
		}
	}
}
