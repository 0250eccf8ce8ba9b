package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

// TestTimeoutOfMeta checks that the timeout of an attempt ends all processes of the command, and that the next attempt takes place.
func TestTimeoutOfMeta(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "hang")
	// The first attempt hangs, with a child. The second one is right.
	text := fmt.Sprintf("#!/bin/sh\ncd %s\nif test -e pids; then exit 0; fi\nsleep 100000 &\necho $$ $! > part; mv part pids\nwait\n", dir)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	// A busy machine can need several attempts.
	h := hosttest.Host(t)
	got := hosttest.Apply(t, h, map[string]resource.Type{"Exec": Type()}, false, fmt.Sprintf(`Exec[%s] {"meta":{"timeout":5000,"retry":5}}`, script))
	if !strings.Contains(got, "changed") || strings.Contains(got, "failed") {
		t.Errorf("got %s", got)
	}
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatalf("the first attempt did not begin: %v", err)
	}
	for _, text := range strings.Fields(string(pids)) {
		var pid int
		if _, err := fmt.Sscan(text, &pid); err != nil {
			t.Fatal(err)
		}
		for range 1000 { // the killed child can be a zombie until its new parent has waited for it
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				pid = 0
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if pid != 0 {
			t.Errorf("the process %d is still there", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
