package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/internal/ptytest"
	"bolt/internal/sshtest"
)

// TestWatch watches a rollout on real servers in a terminal: it is resized, left in all ways, and watched to its end.
// Afterwards, the terminal is as it was.
func TestWatch(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bolt-project.yaml":         "name: watched\n",
		"inventory.yaml":            "targets: [host1, host2, host3]\n",
		"strategy.yaml":             "rollout: web\norder: [name]\nstrategy: {waves: [{name: canary, count: 1}, {name: others, rest: true}]}\n",
		"modules/hold/tasks/one.sh": "#!/bin/sh\nuntil [ -e '" + dir + "/go' ]; do sleep 0.05; done\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := awaited{text: "host1: started", seen: make(chan struct{})}
	driver := startBoltIn(t, dir, server, &log, "rollout", "start", "--task", "hold::one", "--strategy", "strategy.yaml", "-t", "all", "--yes")
	defer func() {
		if t.Failed() {
			t.Logf("the driver printed:\n%s", log.String())
		}
	}()

	select {
	case <-log.seen:
	case <-time.After(time.Minute):
		t.Fatal("the rollout did not start")
	}
	begun := func(s *ptytest.Screen) bool {
		text := s.String()
		return s.Alternate && strings.Contains(text, "host1 ") && strings.Contains(text, " of 20m") && strings.Contains(text, "Driven by ")
	}
	for name, leave := range map[string]func(t *testing.T, p *ptytest.Terminal, pid int){
		"q":       func(t *testing.T, p *ptytest.Terminal, _ int) { p.Type(t, "q") },
		"ctrl-c":  func(t *testing.T, p *ptytest.Terminal, _ int) { p.Type(t, "\x03") },
		"SIGINT":  func(t *testing.T, _ *ptytest.Terminal, pid int) { kill(t, pid, syscall.SIGINT) },
		"SIGTERM": func(t *testing.T, _ *ptytest.Terminal, pid int) { kill(t, pid, syscall.SIGTERM) },
		"SIGHUP":  func(t *testing.T, _ *ptytest.Terminal, pid int) { kill(t, pid, syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			p, pid := watchIn(t, dir, driver.Env)
			p.Wait(t, "the rollout", begun)
			leave(t, p, pid())
			p.Wait(t, "the end of the command", func(s *ptytest.Screen) bool { return strings.Contains(s.String(), "status 0") })
			p.Wait(t, "the state of the rollout as text", func(s *ptytest.Screen) bool {
				return !s.Alternate && strings.Contains(s.String(), "-web: running: wave 1 of 2: canary. Nodes: 2 pending, 1 ")
			})
			if err := p.Restored(t); err != nil {
				t.Error(err)
			}
		})
	}

	p, pid := watchIn(t, dir, driver.Env)
	p.Wait(t, "the rollout", begun)
	p.Resize(t, 40, 10)
	p.Wait(t, "a small picture", func(s *ptytest.Screen) bool {
		return begun(s) && !strings.Contains(s.String(), "Waves") && strings.Contains(s.String(), "> 1 canary running 0/1, 1 in work")
	})
	kill(t, pid(), syscall.SIGSTOP)
	kill(t, pid(), syscall.SIGCONT)
	p.Resize(t, 100, 30)
	p.Wait(t, "a large picture", func(s *ptytest.Screen) bool { return begun(s) && strings.Contains(s.String(), "Last decisions") })
	p.Wait(t, "a clock that runs", func(s *ptytest.Screen) bool { return !strings.Contains(s.String(), " 0s of 20m") })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Wait(t, "the last state as text", func(s *ptytest.Screen) bool {
		text := s.String()
		return !s.Alternate && strings.Contains(text, "succeeded: 3 of 3 nodes are done") && strings.Contains(text, "host3") && strings.Contains(text, "status 0")
	})
	if err := p.Restored(t); err != nil {
		t.Error(err)
	}
	p.Wait(t, "only known sequences", func(s *ptytest.Screen) bool { return s.Unknown == 0 })
	if err := driver.Wait(); err != nil {
		t.Errorf("the driver ended with %v", err)
	}
}

// awaited is a buffer that closes seen when it contains a text.
type awaited struct {
	lockedBuffer
	text string
	once sync.Once
	seen chan struct{}
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.lockedBuffer.Write(p)
	if strings.Contains(a.String(), a.text) {
		a.once.Do(func() { close(a.seen) })
	}
	return n, err
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// watchIn starts "bolt rollout watch" in a terminal. A shell is the leader of the session, because the end of the leader
// hangs up the terminal. It prints the status of bolt. pid returns the process of bolt.
func watchIn(t *testing.T, dir string, env []string) (p *ptytest.Terminal, pid func() int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "bolt")); err != nil {
		t.Fatal(err)
	}
	p = ptytest.New(t)
	file := filepath.Join(bin, "pid")
	cmd := exec.Command("sh", "-c", `sh -c 'echo $$ >"$0"; exec "$@"' "$@"; echo "status $?"; read end`, "sh", file, filepath.Join(bin, "bolt"), "rollout", "watch")
	cmd.Dir, cmd.Env = dir, append(append([]string{}, env...), "TERM=xterm")
	p.Start(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p, func() int {
		t.Helper()
		n, err := strconv.Atoi(strings.TrimSpace(readFile(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}
