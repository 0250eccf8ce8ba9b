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
	words   []string // the program and its configured options
	path    string
	log     *slog.Logger
}

// Start implements shell.Starter. The messages of ssh go to a separate file (-E
// in ssh(1)), so that stderr contains only the command's output. With -v, ssh
// reports its progress, whatever log level its options and ssh_config set.
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
		sess.stderr.from = strings.NewReader("") // p.Stderr holds only ssh's final message, which is not output
	}
	sess.watch = time.AfterFunc(s.to.ConnectTimeout+watchSlack, sess.endIfStuck)
	return sess, nil
}

// session is one ssh process.
type session struct {
	*process.Session
	*starter
	base   context.Context // never ends
	log    *os.File
	stderr *tail
	watch  *time.Timer
	stuck  atomic.Bool // endIfStuck has ended it
}

// watchSlack is the time for ssh to detect itself that the server does not
// answer.
const watchSlack = time.Second

// endIfStuck ends an ssh that has received no answer to its key exchange; it
// would wait forever. After the key exchange, ssh may wait for a user who must
// touch a security key.
func (s *session) endIfStuck() {
	if said := s.said(); strings.Contains(said, "Local version string") && !strings.Contains(said, "SSH2_MSG_NEWKEYS received") {
		s.stuck.Store(true)
		s.Kill()
	}
}

// said returns the beginning of ssh's messages.
func (s *session) said() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, maxLog))
	if err != nil {
		s.starter.log.Debug("the messages of ssh cannot be read", "target", s.to.Host, "err", err)
	}
	return string(text)
}

// Stderr implements shell.Session.
func (s *session) Stderr() io.Reader { return s.stderr }

// Close implements shell.Session.
func (s *session) Close() error {
	s.watch.Stop()
	err := s.Session.Close()
	if s.log.Close() == nil { // only the first time
		os.Remove(s.log.Name())
	}
	return err
}

// ownStatus is the status of ssh if an error prevents it from returning the
// command's status.
const ownStatus = 255

// maxLog is more than ssh prints at its default verbosity.
const maxLog = 64 << 10

// Wait implements shell.Session.
func (s *session) Wait() (transport.Status, error) {
	st, err := s.Session.Wait()
	switch {
	case err != nil:
		return st, err
	case s.stuck.Load():
		return transport.Status{}, connectError(transport.ClassTimeout, s.to.Host, nil,
			fmt.Sprintf("it accepted the connection but did not continue within %v", s.to.ConnectTimeout), "")
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

// masterIsGone reports whether the master connection of a command has ended.
// ssh prints no message about that.
func (s *session) masterIsGone() bool {
	ctx, cancel := context.WithTimeout(s.base, asks)
	defer cancel()
	args := append(append(slices.Clone(s.words), s.options()...), "-v", "-O", "check", s.to.Host)
	_, said, err := process.Output(ctx, process.Options{Path: s.path, Args: args})
	return err != nil && strings.Contains(said, "Control socket connect")
}

// judge decides from ssh's messages whether the status is ssh's own. It returns
// nil if the status is the command's.
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

// digest returns the relevant messages of ssh, and whether ssh has logged in.
// If it has, the messages are those after the login.
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

// isChatter reports whether a line of ssh is not about an error.
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

// tail is a stderr whose end is stored.
type tail struct {
	from io.Reader
	end  []byte
}

// maxTail is longer than a line of ssh.
const maxTail = 512

// Read implements io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.end = append(t.end, p[:n]...)
	if cut := len(t.end) - maxTail; cut > 0 {
		t.end = append(t.end[:0], t.end[cut:]...)
	}
	return n, err
}

// lastWords returns the line that ssh prints on stderr when its connection has
// ended, whatever its log level is. The line ends with a carriage return. It
// returns "" if the connection has not ended.
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

// isUsage reports whether ssh reports an error in its command line. ssh does
// that before it opens its log.
func (t *tail) isUsage() bool {
	return bytes.HasPrefix(t.end, []byte("command-line")) || bytes.Contains(t.end, []byte("usage: ssh"))
}
