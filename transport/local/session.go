package local

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bolt/transport"
	"bolt/transport/shell"
)

// starter starts sessions as processes.
type starter struct {
	cred  *syscall.Credential // whose; nil for ours
	shell []string            // instead of sh
}

// heedSignals has what we start obey the end of its terminal, whatever we do
// ourselves: nohup(1), and shells for jobs in the background, have us ignore
// signals, which a child would inherit and no shell can undo. In a child Go
// resets what is caught here; nobody reads what comes.
var heedSignals = sync.OnceFunc(func() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

// Start implements shell.Starter: "sh -c line", the leader of a session and
// process group of its own, as sshd would start it.
func (s starter) Start(_ context.Context, line string, tty bool) (shell.Session, error) {
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", line}}
	if s.shell != nil {
		cmd.Path, cmd.Args = s.shell[0], append(s.shell[:len(s.shell):len(s.shell)], "-c", line)
	}
	heedSignals()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.cred}
	sess := &session{cmd: cmd, reaped: make(chan struct{})}
	theirs, err := sess.connect(tty)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		sess.closeStreams()
		return nil, &transport.Error{Class: transport.ClassBootstrap, Err: err, Msg: "Could not start a shell on this machine: " + err.Error()}
	}
	go sess.reap()
	return sess, nil
}

// session is a started process. Its owner is whoever called Start: after Close
// and Wait nothing of it is left.
type session struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	files          []*os.File // our ends

	reaped chan struct{} // closed when the process has ended
	status transport.Status
	err    error

	mu   sync.Mutex
	over bool // Wait has returned, or Close was called: nothing is to be killed
}

// connect makes the streams and returns the ends that are the process's.
func (s *session) connect(tty bool) ([]*os.File, error) {
	if tty {
		return s.connectTerminal()
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs := []*os.File{inR}
	s.files = append(s.files, inW)
	outR, outW, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	theirs, s.files = append(theirs, outW), append(s.files, outR)
	errR, errW, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	theirs, s.files = append(theirs, errW), append(s.files, errR)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inR, outW, errW
	s.stdin, s.stdout, s.stderr = inW, outR, errR
	return theirs, nil
}

func (s *session) connectTerminal() ([]*os.File, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr.Setctty = true // of descriptor 0
	s.files = append(s.files, master)
	s.stdin, s.stdout, s.stderr = nopCloser{master}, master, strings.NewReader("")
	return []*os.File{slave}, nil
}

// nopCloser is a terminal's input: it has no end of its own.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// reap waits for the process and then ends its stdin, as sshd does: a process
// that it left behind sees by that that the leader is gone.
func (s *session) reap() {
	defer close(s.reaped)
	s.status, s.err = statusOf(s.cmd.Wait())
	s.stdin.Close()
}

func statusOf(err error) (transport.Status, error) {
	if err == nil {
		return transport.Status{}, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return transport.Status{}, &transport.Error{Class: transport.ClassLost, Err: err, Msg: "Could not learn how the command ended: " + err.Error()}
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return transport.Status{Code: -1, Signal: strings.TrimPrefix(unix.SignalName(ws.Signal()), "SIG")}, nil
	}
	return transport.Status{Code: exit.ExitCode()}, nil
}

func (s *session) Stdin() io.WriteCloser { return s.stdin }
func (s *session) Stdout() io.Reader     { return s.stdout }
func (s *session) Stderr() io.Reader     { return s.stderr }

// Wait implements shell.Session.
func (s *session) Wait() (transport.Status, error) {
	<-s.reaped
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	return s.status, s.err
}

// Close implements shell.Session: what runs of the process group is killed,
// with a terminal only if its hangup does not end the leader.
func (s *session) Close() error {
	s.mu.Lock()
	kill := !s.over
	s.over = true
	s.mu.Unlock()
	if kill && s.cmd.SysProcAttr.Setctty {
		s.closeStreams()
		select {
		case <-s.reaped:
			kill = false
		case <-time.After(transport.DefaultGrace):
		}
	}
	if kill {
		// The group's number is not given to anybody else as long as one of
		// it lives; if none does, there is most likely nobody by that number.
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	}
	s.closeStreams()
	<-s.reaped
	return nil
}

func (s *session) closeStreams() {
	for _, f := range s.files {
		f.Close()
	}
}
