package container

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// starter starts sessions in one container.
type starter struct {
	tool  *tool
	path  string   // path of the program
	env   []string // environment of the program; nil for this process's
	to    transport.Dest
	given Tool
	box   box
	log   *slog.Logger
}

// The first process in the container is a shell. It prints a mark and its
// process ID, waits for permission to continue, runs the requested shell, and
// prints how that shell ended. This has three purposes. A failure of the
// program differs from a failure of the command, before and after the start.
// Nothing runs if the start was cancelled. The requested shell gets its line as
// an argument, without additions.
//
// When the first process prints the end, the program's stdin is closed. The
// watcher in the container (package shell) detects that: docker does not end a
// process's stdin together with the process. The first process ignores the TERM
// that its whole group gets, so that it can report the result. It also prevents
// a shell from printing a message about a signal.
//
// With a terminal, the first process replaces itself by the other shell and
// reports nothing more. There is no watcher, and the terminal would echo its
// input.
const (
	first = `printf '%s %s\n' "$0" $$ >&2; read -r _bolt_go || exit; trap : TERM; ` +
		`exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); printf '%s=%s\n' "$0" $? >&3`
	firstOnTerminal = `printf '%s %s\n' "$0" $$ >&2; exec "$@"`
)

// Start implements shell.Starter.
func (s *starter) Start(ctx context.Context, line string, tty bool) (shell.Session, error) {
	script := first
	if tty {
		script = firstOnTerminal
	}
	token := newToken()
	words := s.given.Shell.List()
	if words == nil {
		words = []string{"sh", "-c"}
	}
	args := append([]string{s.tool.program}, s.tool.exec(&s.box, tty)...)
	args = append(append(append(args, "sh", "-c", script, token), words...), line)
	p, err := process.Start(process.Options{Path: s.path, Args: args, Env: s.env, TTY: tty})
	if err != nil {
		return nil, connectError(transport.ClassConnect, s.to.Host, err, fmt.Sprintf("%s could not be started: %v", s.tool.program, err), "")
	}
	sess := &session{Session: p, starter: s, base: context.WithoutCancel(ctx), tty: tty, stdout: p.Stdout(), stderr: p.Stderr()}
	if err := sess.begin(ctx, token); err != nil {
		return nil, err
	}
	return sess, nil
}

func newToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return "bolt-" + hex.EncodeToString(b)
}

// session is a program that runs a command in a container.
type session struct {
	*process.Session
	*starter
	base           context.Context // never ends
	tty            bool
	hung           sync.Once
	end            *endReader // reader of stderr; nil with a terminal
	pid            string     // process ID in the container
	stdout, stderr io.Reader
}

// Stdout implements shell.Session.
func (s *session) Stdout() io.Reader { return s.stdout }

// Stderr implements shell.Session.
func (s *session) Stderr() io.Reader { return s.stderr }

// begin waits for the mark of the first process, and lets it continue.
func (s *session) begin(ctx context.Context, token string) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	unhook := context.AfterFunc(ctx, func() { s.Session.Close() })
	from := &s.stderr
	if s.tty {
		from = &s.stdout
	}
	noise, pid, rest, err := readSign(*from, token)
	if err != nil && !s.tty && !errors.Is(err, errNoise) { // docker prints errors on stdout
		more, _ := io.ReadAll(io.LimitReader(s.stdout, maxNoise)) // the data that has arrived is enough
		noise = append(noise, more...)
	}
	inTime := unhook()
	switch {
	case !inTime:
		<-s.Done()
		e := s.gaveUp(ctx)
		if s.tty {
			e.Err = errors.Join(shell.ErrMayRun, e.Err)
		}
		return e
	case errors.Is(err, errNoise):
		s.Session.Close()
		return connectError(transport.ClassProtocol, s.to.Host, err, fmt.Sprintf("%s printed too much before the command began: %s", s.tool.program, quoted(string(noise))), "")
	case err != nil:
		return s.notBegun(noise)
	}
	if text := shell.FirstLines(string(noise)); text != "" {
		s.log.Debug("output before the command began", "target", s.to.Host, "program", s.tool.program, "text", text)
	}
	s.pid = pid
	*from = io.MultiReader(bytes.NewReader(rest), *from)
	if !s.tty {
		s.end = &endReader{from: *from, mark: []byte(token + "="), told: func() { s.Session.Stdin().Close() }}
		s.stderr = s.end
		_, _ = io.WriteString(s.Session.Stdin(), "\n") // the end of the session explains an error
	}
	return nil
}

// notBegun returns the error for a program that ended before its process had
// begun.
func (s *session) notBegun(said []byte) error {
	st, err := s.Session.Wait()
	s.Session.Close()
	switch {
	case err != nil:
	case st.Signal != "":
		err = fmt.Errorf("signal %s", st.Signal)
	default:
		err = fmt.Errorf("exit status %d", st.Code)
	}
	return s.refused(err, string(said))
}

// maxNoise limits the output of a program before the first process has begun.
const maxNoise = 64 << 10

var errNoise = errors.New("too much noise")

// readSign reads up to the end of the line with the mark of the first process.
// It returns the output before the mark, the process ID, and the data after the
// line.
func readSign(from io.Reader, token string) (noise []byte, pid string, rest []byte, err error) {
	var text []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		text = append(text, buf[:n]...)
		if before, after, ok := bytes.Cut(text, []byte(token+" ")); ok {
			if number, rest, ok := bytes.Cut(after, []byte("\n")); ok {
				return before, strings.TrimSpace(string(number)), rest, nil
			}
		}
		switch {
		case err != nil:
			return text, "", nil, err
		case len(text) > maxNoise:
			return text, "", nil, errNoise
		}
	}
}

// Wait implements shell.Session. The status is the one that the first process
// prints. Only if there is none, the program's own status is used; that happens
// if all processes in the container were killed.
func (s *session) Wait() (transport.Status, error) {
	st, err := s.Session.Wait()
	switch {
	case err != nil:
		return st, err
	case st.Signal != "":
		return transport.Status{}, s.lost(nil, fmt.Sprintf("%s was ended by signal %s", s.tool.program, st.Signal))
	case s.tty:
		return st, nil
	case s.end.seen:
		return transport.Status{Code: s.end.status}, nil
	}
	ctx, cancel := context.WithTimeout(s.base, looks)
	defer cancel()
	if _, err := s.find(ctx); err != nil {
		return transport.Status{}, s.lost(err, err.Error())
	}
	if st.Code != killed {
		return transport.Status{}, s.lost(nil, fmt.Sprintf("%s ended with status %d", s.tool.program, st.Code))
	}
	return st, nil
}

const (
	killed = 137              // 128 and the number of KILL
	looks  = 10 * time.Second // time to look for the container after its program ended unexpectedly
)

func (s *session) lost(cause error, why string) *transport.Error {
	return &transport.Error{Class: transport.ClassLost, Err: cause,
		Msg: fmt.Sprintf("Lost the connection to %s while a command ran; the command was stopped: %s", s.to.Host, why)}
}

// Close implements shell.Session. A command with a terminal does not notice the
// end of its program, so another program hangs it up first.
func (s *session) Close() error {
	select {
	case <-s.Done():
	default:
		if s.tty {
			s.hangUp()
		}
	}
	return s.Session.Close()
}

// hangUp does the same as the end of a terminal (SIGHUP in signal(7)), and
// waits a moment for the program to end.
func (s *session) hangUp() {
	s.hung.Do(func() {
		ctx, cancel := context.WithTimeout(s.base, transport.DefaultGrace)
		defer cancel()
		args := append(s.tool.exec(&s.box, false), "sh", "-c", `kill -HUP "-$0" || kill -s HUP -- "-$0"`, s.pid)
		if _, err := s.ask(ctx, args...); err != nil {
			s.log.Debug("terminal not hung up", "target", s.to.Host, "err", err)
			return
		}
		select {
		case <-s.Done():
		case <-ctx.Done():
		}
	})
}

// endReader reads stderr and removes the mark of the end.
type endReader struct {
	from   io.Reader
	mark   []byte // the beginning of the mark
	told   func() // called when the mark has arrived
	held   []byte // a possible beginning of the mark, or data that was not read yet
	err    error
	seen   bool
	status int
}

// Read implements io.Reader.
func (r *endReader) Read(p []byte) (int, error) {
	for {
		if n := r.ready(); n > 0 {
			n = copy(p, r.held[:n])
			r.held = append(r.held[:0], r.held[n:]...)
			return n, nil
		}
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.from.Read(p)
		r.held, r.err = append(r.held, p[:n]...), err
	}
}

// ready returns the number of held bytes that can be returned.
func (r *endReader) ready() int {
	i := bytes.Index(r.held, r.mark)
	switch {
	case r.seen || i < 0 && r.err != nil:
		return len(r.held)
	case i < 0:
		return len(r.held) - prefixAtEnd(r.held, r.mark)
	case i > 0:
		return i
	}
	number, rest, ok := bytes.Cut(r.held[len(r.mark):], []byte("\n"))
	if !ok && len(number) <= len("255") && r.err == nil {
		return 0 // the mark is not complete
	}
	status, err := strconv.ParseUint(string(number), 10, 8)
	if !ok || err != nil {
		return len(r.mark) // not our mark
	}
	r.held = append(r.held[:0], rest...)
	r.seen, r.status = true, int(status)
	r.told()
	return len(r.held)
}

// prefixAtEnd returns the length of the longest proper prefix of mark that is a
// suffix of text.
func prefixAtEnd(text, mark []byte) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}
