// Package screen manages standard output and standard error of one invocation, and the terminal if
// they are one.
//
// A Screen decides on colours and on the line of progress. ForAction and ForPlan return the sinks
// that show an action or a plan. While a question is open on the terminal, no other output is
// written there: a plan goes on, and its output is held.
//
// The package owns no files except the file of the held output, which has no name.
package screen

import (
	"context"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"bolt/internal/safetext"
	"bolt/output/fullscreen"
	"bolt/output/prompt"
)

// A Screen is the input and output of an invocation.
type Screen struct {
	Console *Console
	Ask     *prompt.Prompter // its fields belong to the Screen

	in, out, err   *os.File
	plain, dumb    bool // the terminal does not support control sequences; it cannot overwrite a line
	color, spinner bool // are configured
}

// New returns a Screen without colours and progress. getenv returns the value of an
// environment variable.
func New(in, out, err *os.File, getenv func(name string) string) *Screen {
	dumb := getenv("TERM") == "dumb"
	s := &Screen{Console: &Console{w: err}, in: in, out: out, err: err, dumb: dumb, plain: dumb || getenv("NO_COLOR") != ""}
	s.Ask = &prompt.Prompter{In: in, Out: s.Console}
	return s
}

// Configure enables colours and a line of progress.
func (s *Screen) Configure(color, progress bool) { s.color, s.spinner = color, progress }

// Color reports whether standard output may be coloured.
func (s *Screen) Color() bool { return s.color && !s.plain && s.Terminal() }

// ErrColor is Color for standard error.
func (s *Screen) ErrColor() bool { return s.color && s.ErrControl() }

// ErrControl reports whether standard error is a terminal that supports control sequences.
func (s *Screen) ErrControl() bool { return !s.plain && s.ErrTerminal() }

// Terminal reports whether standard output is a terminal.
func (s *Screen) Terminal() bool { return term.IsTerminal(int(s.out.Fd())) }

// ErrTerminal is Terminal for standard error.
func (s *Screen) ErrTerminal() bool { return term.IsTerminal(int(s.err.Fd())) }

// progress reports whether standard error can show a line of progress, which is
// overwritten again and again.
func (s *Screen) progress() bool { return s.spinner && !s.dumb && s.ErrTerminal() }

func (s *Screen) errWidth() int { return Width(s.err) }

// Width returns the number of columns of a file that is a terminal, 0 if unknown.
func Width(f *os.File) int {
	width, _, _ := term.GetSize(int(f.Fd()))
	return width
}

// Apart reports whether hints go to standard error, and not below their errors: if a program reads both
// files, each through a pipe of its own. Such a program finds exactly Puppet Bolt's lines in standard
// output. If out goes to a terminal or a file, or both go to the same pipe, people read it.
func Apart(out, err *os.File) bool {
	o, oerr := out.Stat()
	e, eerr := err.Stat()
	return oerr == nil && eerr == nil && isPipe(o) && isPipe(e) && !os.SameFile(o, e)
}

func isPipe(f os.FileInfo) bool { return f.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 }

// Fullscreen returns a function that opens the whole terminal; nil if standard output is not a terminal, or if the terminal
// supports no control sequences.
func (s *Screen) Fullscreen() func(context.Context) (*fullscreen.Screen, error) {
	if s.dumb || !s.Terminal() {
		return nil
	}
	return func(ctx context.Context) (*fullscreen.Screen, error) {
		return fullscreen.Open(ctx, s.in, s.out, s.Color())
	}
}

// Asker returns the function that asks the questions of plans; nil if standard input is
// not a terminal. redact returns a question without its secrets.
func (s *Screen) Asker(redact func(string) string) func(ctx context.Context, question string, sensitive bool) (string, error) {
	if !term.IsTerminal(int(s.in.Fd())) {
		return nil
	}
	return func(ctx context.Context, question string, sensitive bool) (string, error) {
		question = safetext.TerminalString(redact(question))
		if sensitive {
			secret, err := s.Ask.Secret(ctx, question)
			return secret.Reveal(), err
		}
		return s.Ask.Text(ctx, question)
	}
}

// A Console is standard error for the log and for questions. If a line of progress is shown there,
// it is erased before other output. A Console is safe for concurrent use.
type Console struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *Console) set(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}

// Write writes to standard error.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(p)
}
