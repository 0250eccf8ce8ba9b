package sshtest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// heedVariable makes TestHeedSignals act as the child program.
const heedVariable = "SSHTEST_HEEDS"

// TestHeedSignals runs itself with ignored signals, as nohup(1) does. The child process
// must be ended by the signal.
func TestHeedSignals(t *testing.T) {
	if os.Getenv(heedVariable) == "" {
		again := exec.Command("sh", "-c", `trap '' HUP INT QUIT; exec "$0" -test.run='^TestHeedSignals$'`, os.Args[0])
		again.Env = append(os.Environ(), heedVariable+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("with ignored signals: %v\n%s", err, out)
		}
		return
	}
	HeedSignals()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		cmd := exec.Command("sleep", "30")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s {
			t.Errorf("signal %v: %v", s, cmd.ProcessState)
		}
	}
}
