package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
)

// TestApplyDaemonKilled kills the pool daemon at random points of an apply. The helper finishes its current
// resource, and the next apply has the result of an undisturbed one. "go test -count" tries more points.
func TestApplyDaemonKilled(t *testing.T) {
	t.Parallel()
	const units = 8
	d := newDesk(t, sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"}))
	managed := filepath.Join(d.dir, "managed")
	manifest := fmt.Sprintf(`Integer[1, %[1]d].each |$i| {
  file { "%[2]s/file${i}": ensure => file, content => "text ${i}\n" }
  -> exec { "slow ${i}": command => "echo begin ${i} >>%[2]s/log; sleep 0.02; echo end ${i} >>%[2]s/log; touch %[2]s/done${i}", creates => "%[2]s/done${i}", provider => shell }
}
`, units, managed)
	for name, text := range map[string]string{"bolt-project.yaml": "name: killed\napply-settings:\n  dir: " + d.dir + "/state\n", "site.pp": manifest} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(word string) int {
		text, _ := os.ReadFile(filepath.Join(managed, "log")) // it does not exist at first
		return strings.Count(string(text), word+" ")
	}
	apply := []string{"apply", "site.pp", "-t", "host1"}
	for range 4 {
		if err := os.RemoveAll(managed); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(managed, 0o755); err != nil {
			t.Fatal(err)
		}
		d.works("command", "run", "true", "-t", "host1")
		pid := d.status().PID
		cmd := d.command(apply...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		at := rand.IntN(units + 1)
		until(t, "a part of the resources", func() bool { return lines("begin") >= at })
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		inTime(t, cmd, time.Minute)
		until(t, "the end of the command that had begun", func() bool { return lines("begin") == lines("end") })
		if out := d.works(apply...); !strings.Contains(out, "failed: 0") {
			t.Error(out)
		}
		if out := d.works(apply...); !strings.Contains(out, fmt.Sprintf("changed: 0, failed: 0, unchanged: %d ", 2*units)) {
			t.Error(out)
		}
		if lines("begin") != units || lines("end") != units {
			t.Errorf("%d commands began and %d ended, instead of %d", lines("begin"), lines("end"), units)
		}
	}
}
