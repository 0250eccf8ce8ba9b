package ssh

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

// TestLostWithFiles checks that no file and no process stays on the machine,
// wherever the connection ends while a task's files are sent or the task runs.
func TestLostWithFiles(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	u := transporttest.Users(t).Free
	for _, as := range []transport.RunAs{{}, {User: u.Name}} {
		for _, kept := range []bool{false, true} {
			for _, sent := range []int64{0, 4000, 3 << 20, 12 << 20} {
				for _, how := range []string{"cut", "killed"} {
					t.Run(fmt.Sprintf("%s after %d bytes, kept %v, run-as %v", how, sent, kept, as.User != ""), func(t *testing.T) {
						t.Parallel()
						lostWithFiles(t, s, as, kept, sent, how == "killed")
					})
				}
			}
		}
	}
}

func lostWithFiles(t *testing.T, s *sshtest.Server, as transport.RunAs, kept bool, sent int64, kill bool) {
	l := newLab(t, func(o *Options) { o.Keep = kept }, s)
	link := sshtest.Delay(t, s.Addr, 0)
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
	c := l.mustDial(t, to)
	var out bytes.Buffer
	if _, err := c.Run(t.Context(), &transport.Cmd{Line: "echo $PPID | cat", Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	var server int
	if _, err := fmt.Sscan(out.String(), &server); err != nil {
		t.Fatal(err)
	}
	if kept {
		warmUp(t, c)
	}
	dir := everyonesDir(t)
	cmd := transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Env: []string{"PT_a=b"}, RunAs: as, Stdin: []byte("in"), Files: []transport.File{
		{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\ncat >/dev/null; sleep 100\n")}, {Name: "data", Mode: 0o600, Data: make([]byte, 10<<20)},
	}}
	before, _ := link.Carried()
	var work sync.WaitGroup
	work.Go(func() {
		_, err := c.Run(t.Context(), &cmd)
		class := transport.ClassOf(err)
		// A ready shell is sent some thousand bytes, too, so the command may not have begun.
		if class != transport.ClassLost && (sent > 4000 || class != transport.ClassConnect) {
			t.Errorf("got %v, want a lost connection", err)
		}
	})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if to, _ := link.Carried(); to-before > min(sent, 10<<20) {
			break
		}
	}
	if sent > 10<<20 { // everything was sent
		for end := time.Now().Add(30 * time.Second); !processWith(t, dir, "/x") && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
	}
	if kill {
		if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	} else {
		link.Cut()
	}
	work.Wait()
	for end := time.Now().Add(30 * time.Second); len(entries(t, dir)) > 0 || processWith(t, dir, ""); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left: %q, a process: %v", entries(t, dir), processWith(t, dir, ""))
		}
	}
}

// processWith reports whether a process's command line has a path that begins
// with dir and ends with end.
func processWith(t *testing.T, dir, end string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, f := range all {
		line, _ := os.ReadFile(f) // the process may have ended
		for _, word := range strings.Split(string(line), "\x00") {
			if strings.HasPrefix(word, dir) && strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}
