// Package process runs a program of this machine as a shell.Session: its three
// streams, its process group, how it ends.
//
// Transports that reach a machine through a program (the local machine through
// its shell, a container through docker) share it.
package process

import (
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

	"bolt/internal/pty"
	"bolt/transport"
)

// Options say what to run.
type Options struct {
	Path string   // of the program
	Args []string // with its name as the first
	Env  []string // as os.Environ has it; nil: ours
	TTY  bool     // a terminal on its three streams

	Credential *syscall.Credential // whose process; nil for ours
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

// Start starts a program as the leader of a session and process group of its
// own, as sshd would start it. Errors are those of package os/exec.
func Start(o Options) (*Session, error) {
	cmd := &exec.Cmd{Path: o.Path, Args: o.Args, Env: o.Env}
	heedSignals()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: o.Credential}
	sess := &Session{cmd: cmd, reaped: make(chan struct{})}
	theirs, err := sess.connect(o.TTY)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		sess.closeStreams()
		return nil, err
	}
	go sess.reap()
	return sess, nil
}

// A Session is a started process; it is a shell.Session. Its owner is whoever called Start: after Close
// and Wait nothing of it is left.
type Session struct {
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
func (s *Session) connect(tty bool) ([]*os.File, error) {
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

func (s *Session) connectTerminal() ([]*os.File, error) {
	master, slave, err := pty.Open()
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
func (s *Session) reap() {
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

// Stdin implements shell.Session.
func (s *Session) Stdin() io.WriteCloser { return s.stdin }

// Stdout implements shell.Session.
func (s *Session) Stdout() io.Reader { return s.stdout }

// Stderr implements shell.Session.
func (s *Session) Stderr() io.Reader { return s.stderr }

// Done is closed when the process has ended.
func (s *Session) Done() <-chan struct{} { return s.reaped }

// Wait implements shell.Session.
func (s *Session) Wait() (transport.Status, error) {
	<-s.reaped
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	return s.status, s.err
}

// Close implements shell.Session: what runs of the process group is killed,
// with a terminal only if its hangup does not end the leader.
func (s *Session) Close() error {
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
		s.killGroup()
	}
	s.closeStreams()
	<-s.reaped
	return nil
}

// Kill kills what runs of the process group, whose streams end with it.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.killGroup()
	}
}

func (s *Session) killGroup() {
	// The group's number is not given to anybody else as long as one of it
	// lives; if none does, there is most likely nobody by that number.
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

func (s *Session) closeStreams() {
	for _, f := range s.files {
		f.Close()
	}
}
