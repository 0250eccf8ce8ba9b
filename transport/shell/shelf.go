package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"bolt/transport"
)

// A Shelf is a private directory on a machine with files named by the SHA-256
// of what is in them. It is there as long as one session, however that ends. Its
// methods may be called from several goroutines.
//
// The session's shell reads from its standard input what it shall put there or
// throw away, and removes the directory at the end of it. Who copies a file from
// there looks whether it is the right one.
type Shelf struct {
	dir        string
	token      string
	as         transport.RunAs // as and escalation belong to Run
	escalation *escalation
	asks       chan shelfAsk
	ready      chan struct{} // closed when the shell waits
	over       chan struct{} // closed when the session has ended

	mu     sync.Mutex
	said   []byte                   // of a line that has not come whole
	waits  map[string]chan struct{} // by key: closed when the file is there
	opened bool
}

type shelfAsk struct {
	text string
	data []byte
}

// NewShelf returns a shelf below tmpDir ("" for /tmp) that belongs to the user
// whom as asks for.
func NewShelf(tmpDir string, as transport.RunAs) *Shelf {
	return &Shelf{dir: transport.PrivateDir(tmpDir, ""), token: newToken(), as: as, asks: make(chan shelfAsk),
		ready: make(chan struct{}), over: make(chan struct{}), waits: make(map[string]chan struct{})}
}

// Done is closed when Run has returned, and the directory is gone if the
// machine could be reached.
func (h *Shelf) Done() <-chan struct{} { return h.over }

// Path is where a file is, or would be.
func (h *Shelf) Path(name string) string { return h.dir + "/" + name }

// errShelfOver says that the session has ended.
var errShelfOver = errors.New("the session that keeps files has ended")

// Run makes the directory and keeps it until ctx ends or the session does. It
// is called once.
func (h *Shelf) Run(ctx context.Context, s Starter, o Options) error {
	defer close(h.over)
	shell, err := dialectOf(o.LoginShell)
	if err != nil {
		return err
	}
	if err := validate(&transport.Cmd{Line: ":", RunAs: h.as, Dir: h.dir}); err != nil {
		return err
	}
	ended := make(chan struct{})
	h.escalation = escalate(h.as, h.token, &o)
	x := &exchange{
		what: "keeping files", host: o.Host, token: h.token, proof: true, twice: true,
		escalation: h.escalation, afterBegan: true, grace: transport.DefaultGrace, proven: o.Proof, log: logger(&o),
		stdout: h.hear, stderr: func([]byte) error { return nil },
		send: func(w io.Writer) error { return h.serve(w, ended) },
	}
	x.line = h.script(x.escalation, &o)
	if x.escalation != nil {
		x.line = x.escalation.line(x.line)
		if shell != posix {
			x.line = shell.underSh(x.line)
		}
	} else {
		x.line = shell.underSh(x.line)
	}
	_, err = x.run(ctx, &endTold{s, ended, sync.Once{}})
	if err == nil && x.failed != nil {
		err = stagingError(x.failed, transport.ClassBootstrap, h.dir, o.Host)
	}
	return err
}

// script makes the directory and serves what is asked for.
func (h *Shelf) script(as *escalation, o *Options) string {
	var steps []string
	steps = append(steps, as.restoreLocale()...)
	steps = append(steps, beganTwice(h.token))
	if as != nil && !o.Local {
		steps = append(steps, `cd`)
	}
	stage := &staging{token: h.token, dir: h.dir}
	return strings.Join(append(steps, stage.open(),
		`command -v sha256sum >/dev/null 2>&1 || f `+stepStale,
		makeDir,
		`trap 'rm -rf -- "$d"; exit 1' HUP INT TERM`,
		`TMOUT=; printf '\n%s=\n' "$z"`,
		`while read -r s k n; do rm -f -- "$d/$s.new"; [ -n "$n" ] || { rm -f -- "$d/$s"; continue; }; `+
			`[ "$k" -eq 0 ] || t `+fmt.Sprint(maxBlock)+` "$k" "$d/$s.new"; [ "$n" -eq 0 ] || t "$n" 1 "$d/$s.new"; `+
			`mv -f -- "$d/$s.new" "$d/$s" && printf '%s+%s\n' "$z" "$s"; done`,
		`rm -rf -- "$d"`), "; ")
}

// hear reads what the shell says.
func (h *Shelf) hear(text []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text...)
	for {
		line, rest, ok := bytes.Cut(h.said, []byte("\n"))
		if !ok {
			break
		}
		what, ours := strings.CutPrefix(string(line), h.token)
		h.said = rest
		switch {
		case !ours || what == "":
		case what == "=" && !h.opened:
			h.opened = true
			h.forget()
			close(h.ready)
		case what[0] == '+':
			if w := h.waits[what[1:]]; w != nil {
				close(w)
				delete(h.waits, what[1:])
			}
		}
	}
	if len(h.said) > maxNoise {
		return errNoise
	}
	return nil
}

// forget forgets the password, which is not asked for any more.
func (h *Shelf) forget() {
	h.as.Password = transport.Secret{}
	if h.escalation != nil {
		h.escalation.as.Password = transport.Secret{}
	}
}

// serve hands on what is asked for until the session has ended.
func (h *Shelf) serve(w io.Writer, ended <-chan struct{}) error {
	for {
		select {
		case a := <-h.asks:
			if err := writeAll(w, [][]byte{[]byte(a.text), a.data}); err != nil {
				return err
			}
		case <-ended:
			return nil
		}
	}
}

// ask hands a request over.
func (h *Shelf) ask(ctx context.Context, a shelfAsk) error {
	select {
	case h.asks <- a:
		return nil
	case <-h.over:
		return errShelfOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Put puts a file on the shelf and returns when it is there. No two calls at a
// time are for the same one.
func (h *Shelf) Put(ctx context.Context, sum string, data []byte) error {
	there := make(chan struct{})
	h.mu.Lock()
	h.waits[sum] = there
	h.mu.Unlock()
	for _, step := range []func() error{
		func() error { return h.await(ctx, h.ready) },
		func() error {
			return h.ask(ctx, shelfAsk{fmt.Sprintf("%s %d %d\n", sum, len(data)/maxBlock, len(data)%maxBlock), data})
		},
		func() error { return h.await(ctx, there) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (h *Shelf) await(ctx context.Context, what <-chan struct{}) error {
	select {
	case <-what:
		return nil
	case <-h.over:
		return errShelfOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Drop throws a file away.
func (h *Shelf) Drop(ctx context.Context, sum string) error {
	return h.ask(ctx, shelfAsk{text: sum + "\n"})
}

// An endTold starts a session that tells of its end.
type endTold struct {
	Starter
	ended chan struct{}
	once  sync.Once
}

func (e *endTold) Start(ctx context.Context, line string, tty bool) (Session, error) {
	s, err := e.Starter.Start(ctx, line, tty)
	if err != nil {
		return nil, err
	}
	return &toldSession{s, e}, nil
}

type toldSession struct {
	Session
	e *endTold
}

func (s *toldSession) Wait() (transport.Status, error) {
	defer s.end()
	return s.Session.Wait()
}

func (s *toldSession) Close() error {
	defer s.end()
	return s.Session.Close()
}

func (s *toldSession) end() { s.e.once.Do(func() { close(s.e.ended) }) }
