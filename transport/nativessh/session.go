package nativessh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// starter starts a program for each session.
type starter struct {
	to      transport.Dest
	program Program
	words   []string // the program and its own options
	path    string
	log     *slog.Logger
}

// Start implements shell.Starter. What ssh has to say goes to a file of its own
// (-E in ssh(1)), so that stderr is the command's; and it is told to say how far
// it has come (-v), whatever its options and ssh_config say of its log.
func (s *starter) Start(ctx context.Context, line string, tty bool) (shell.Session, error) {
	log, err := os.CreateTemp("", "bolt-ssh-")
	if err != nil {
		return nil, connectError(transport.ClassBootstrap, s.to.Host, err, err.Error(), "")
	}
	args := append(slices.Clone(s.words), s.options()...)
	args = append(args, "-v", "-E", log.Name())
	if tty {
		args = append(args, "-tt", "-e", "none")
	} else {
		args = append(args, "-T")
	}
	p, err := process.Start(process.Options{Path: s.path, Args: append(args, s.to.Host, "--", line)})
	if err != nil {
		log.Close()
		os.Remove(log.Name())
		return nil, s.noProgram(s.words[0], err)
	}
	sess := &session{Session: p, starter: s, base: context.WithoutCancel(ctx), log: log, stderr: &tail{from: p.Stderr()}}
	if tty {
		sess.stderr.from = strings.NewReader("") // what ssh says at the end
	}
	sess.watch = time.AfterFunc(s.to.ConnectTimeout+watchSlack, sess.endIfStuck)
	return sess, nil
}

// session is one ssh.
type session struct {
	*process.Session
	*starter
	base   context.Context // never ends
	log    *os.File
	stderr *tail
	watch  *time.Timer
	stuck  atomic.Bool // it was ended for that
}

// watchSlack is what ssh has to notice for itself that nobody answers.
const watchSlack = time.Second

// endIfStuck ends an ssh that has had no answer to its offer of a key exchange,
// for which it would wait for ever. It may wait for a person after that, who
// is to touch a security key.
func (s *session) endIfStuck() {
	if said := s.said(); strings.Contains(said, "Local version string") && !strings.Contains(said, "SSH2_MSG_NEWKEYS received") {
		s.stuck.Store(true)
		s.Kill()
	}
}

// said is the beginning of what ssh has said.
func (s *session) said() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, maxLog))
	if err != nil {
		s.starter.log.Debug("what ssh said cannot be read", "target", s.to.Host, "err", err)
	}
	return string(text)
}

// Stderr implements shell.Session.
func (s *session) Stderr() io.Reader { return s.stderr }

// Close implements shell.Session.
func (s *session) Close() error {
	s.watch.Stop()
	err := s.Session.Close()
	if s.log.Close() == nil { // the first time
		os.Remove(s.log.Name())
	}
	return err
}

// ownStatus is ssh's, for whatever keeps it from telling the command's.
const ownStatus = 255

// maxLog is more than ssh says without being asked for more.
const maxLog = 64 << 10

// Wait implements shell.Session.
func (s *session) Wait() (transport.Status, error) {
	st, err := s.Session.Wait()
	switch {
	case err != nil:
		return st, err
	case s.stuck.Load():
		return transport.Status{}, connectError(transport.ClassTimeout, s.to.Host, nil,
			fmt.Sprintf("it was connected to and did not go on within %v", s.to.ConnectTimeout), "")
	case st.Signal != "":
		return transport.Status{}, s.lost(fmt.Sprintf("%s was ended by signal %s", s.words[0], st.Signal))
	case st.Code != ownStatus:
		return st, nil
	}
	if err := s.judge(s.said()); err != nil {
		return transport.Status{}, err
	}
	return st, nil
}

// masterIsGone reports whether a master connection that a command went through
// has ended: ssh says nothing of that.
func (s *session) masterIsGone() bool {
	ctx, cancel := context.WithTimeout(s.base, asks)
	defer cancel()
	args := append(append(slices.Clone(s.words), s.options()...), "-v", "-O", "check", s.to.Host)
	_, said, err := process.Output(ctx, process.Options{Path: s.path, Args: args})
	return err != nil && strings.Contains(said, "Control socket connect")
}

// judge tells from what ssh said whether its status is its own: nil if it is the
// command's.
func (s *session) judge(said string) error {
	text, loggedIn := digest(said)
	switch gone := s.stderr.lastWords(); {
	case loggedIn && gone != "":
		return s.lost(gone)
	case text == "" && !loggedIn && s.stderr.isUsage():
		return s.refused(shell.FirstLines(string(s.stderr.end)))
	case text == "" && !loggedIn && s.masterIsGone():
		return s.lost("the master connection has ended")
	case text == "":
		return nil
	case loggedIn || strings.Contains(text, "Control master terminated"):
		return s.lost(text)
	}
	return s.refused(text)
}

// digest is what ssh said that matters, and whether it has logged in: then it is
// what it said afterwards.
func digest(said string) (text string, loggedIn bool) {
	var words []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Authenticated to "):
			loggedIn, words = true, nil
		case !isChatter(line):
			words = append(words, line)
		}
	}
	return shell.FirstLines(strings.Join(words, "\n")), loggedIn
}

// isChatter reports whether a line of ssh's is about nothing that went wrong.
func isChatter(line string) bool {
	for _, p := range []string{"Transferred: ", "Bytes per second: ", "Warning: Permanently added", "OpenSSH_", "debug1: ", "debug2: ", "debug3: ",
		"Server accepts key: ", "Authenticating to ", "No Kerberos credentials available"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return line == "" || strings.HasPrefix(line, "Connection to ") && strings.HasSuffix(line, " closed.")
}

func (s *session) lost(why string) *transport.Error {
	return &transport.Error{Class: transport.ClassLost, Msg: fmt.Sprintf("Lost the connection to %s while a command ran there: %s", s.to.Host, why)}
}

// tail is a stderr of which the end is kept.
type tail struct {
	from io.Reader
	end  []byte
}

// maxTail is more than a line of ssh's.
const maxTail = 512

// Read makes it an io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.end = append(t.end, p[:n]...)
	if cut := len(t.end) - maxTail; cut > 0 {
		t.end = append(t.end[:0], t.end[cut:]...)
	}
	return n, err
}

// lastWords are what ssh prints on stderr, whatever its log, when its connection
// has ended: a line of its own with a carriage return. "" if it has not.
func (t *tail) lastWords() string {
	text, ok := bytes.CutSuffix(t.end, []byte("\r\n"))
	if !ok {
		return ""
	}
	line := string(text[bytes.LastIndexByte(text, '\n')+1:])
	for _, p := range []string{"Connection to ", "Read from remote host ", "Timeout, server ", "client_loop: ", "Write failed"} {
		if strings.HasPrefix(line, p) {
			return shell.FirstLines(line)
		}
	}
	return ""
}

// isUsage reports whether ssh complains of its command line, which it does before
// it opens its log.
func (t *tail) isUsage() bool {
	return bytes.HasPrefix(t.end, []byte("command-line")) || bytes.Contains(t.end, []byte("usage: ssh"))
}
