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
	path  string   // of the program
	env   []string // of the program, nil for ours
	to    transport.Dest
	given Tool
	box   box
	log   *slog.Logger
}

// The first process in the container is a shell that says that it is there,
// with its number, waits until it is told to go on, runs the shell that was
// asked for, and says how that has ended. So a program that fails by itself is
// known from a command that does, before and afterwards; nothing runs of what has
// been given up before; and a shell is told its line as its argument, with
// nothing of ours in it.
//
// When the end is told, the program's stdin is closed, by which the watcher there
// (package shell) sees it: docker does not end a process's stdin with it. The
// first process survives the TERM that goes to all of its group, so as to tell
// of what comes of it, and lets no shell report a death by a signal.
//
// With a terminal it becomes the other shell and tells no more: there is no
// watcher, and what it reads would be echoed.
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

// session is a program that runs something in a container.
type session struct {
	*process.Session
	*starter
	base           context.Context // never ends
	tty            bool
	hung           sync.Once
	end            *endReader // of stderr, nil with a terminal
	pid            string     // in the container
	stdout, stderr io.Reader
}

// Stdout implements shell.Session.
func (s *session) Stdout() io.Reader { return s.stdout }

// Stderr implements shell.Session.
func (s *session) Stderr() io.Reader { return s.stderr }

// begin waits for the sign of the first process, and lets it go on.
func (s *session) begin(ctx context.Context, token string) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	unhook := context.AfterFunc(ctx, func() { s.Session.Close() })
	from := &s.stderr
	if s.tty {
		from = &s.stdout
	}
	noise, pid, rest, err := readSign(*from, token)
	if err != nil && !s.tty && !errors.Is(err, errNoise) { // docker complains on stdout
		more, _ := io.ReadAll(io.LimitReader(s.stdout, maxNoise)) // what has come will do
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
		return connectError(transport.ClassProtocol, s.to.Host, err, fmt.Sprintf("%s prints too much before it begins: %s", s.tool.program, quoted(string(noise))), "")
	case err != nil:
		return s.notBegun(noise)
	}
	if text := shell.FirstLines(string(noise)); text != "" {
		s.log.Debug("said before it began", "target", s.to.Host, "program", s.tool.program, "text", text)
	}
	s.pid = pid
	*from = io.MultiReader(bytes.NewReader(rest), *from)
	if !s.tty {
		s.end = &endReader{from: *from, mark: []byte(token + "="), told: func() { s.Session.Stdin().Close() }}
		s.stderr = s.end
		_, _ = io.WriteString(s.Session.Stdin(), "\n") // if nobody reads it, the session's end says why
	}
	return nil
}

// notBegun is the error for a program that ended before its process had begun.
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

// maxNoise is how much a program may say before the first process is there.
const maxNoise = 64 << 10

var errNoise = errors.New("too much noise")

// readSign reads to the end of the line that says that the first process is
// there, and returns what was in front of it, the process's number, and what
// was read behind it.
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
// tells; the program's own is asked only if it does not, which is so when
// everything there was killed.
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
	looks  = 10 * time.Second // how long a container is looked for when its program has ended oddly
)

func (s *session) lost(cause error, why string) *transport.Error {
	return &transport.Error{Class: transport.ClassLost, Err: cause,
		Msg: fmt.Sprintf("Lost the connection to %s while a command ran there, which was told to end: %s", s.to.Host, why)}
}

// Close implements shell.Session. What a program ran with a terminal does not
// notice its end, and is hung up by another one first.
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

// hangUp does what the end of a terminal does (SIGHUP in signal(7)), and waits a
// moment for the program to notice.
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

// endReader reads a stderr and takes the mark of the end out of it.
type endReader struct {
	from   io.Reader
	mark   []byte // what it begins with
	told   func() // is called when it has come
	held   []byte // what may be the beginning of it, or has not been read
	err    error
	seen   bool
	status int
}

// Read makes it an io.Reader.
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

// ready is how much of what is held may be handed on.
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
		return 0 // it is not all there
	}
	status, err := strconv.ParseUint(string(number), 10, 8)
	if !ok || err != nil {
		return len(r.mark) // somebody else's
	}
	r.held = append(r.held[:0], rest...)
	r.seen, r.status = true, int(status)
	r.told()
	return len(r.held)
}

// prefixAtEnd is the length of the longest beginning of mark, but for all of it,
// that text ends with.
func prefixAtEnd(text, mark []byte) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}
