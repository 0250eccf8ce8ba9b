package main

import (
	"fmt"
	"io"
	"sync"

	"golang.org/x/term"

	"bolt/output"
	"bolt/output/listing"
	"bolt/project"
)

// plainTerminal reports whether the terminal does not support control sequences,
// according to the environment.
func (s system) plainTerminal() bool { return s.env("NO_COLOR") != "" || s.env("TERM") == "dumb" }

// screen is where an invocation prints, as its configuration wants it.
type screen struct {
	sys     system
	config  *project.Config
	console *console
}

// color says whether standard output may be coloured.
func (s *screen) color() bool { return s.config.Color && !s.sys.plainTerminal() && s.terminal() }

// errColor is color for standard error.
func (s *screen) errColor() bool { return s.config.Color && !s.sys.plainTerminal() && s.errTerminal() }

func (s *screen) errTerminal() bool { return term.IsTerminal(int(s.sys.err.Fd())) }

// progress reports whether standard error can show a progress line, which bolt
// overwrites again and again.
func (s *screen) progress() bool {
	return s.config.Spinner && s.errTerminal() && s.sys.env("TERM") != "dumb"
}

// errWidth is the number of columns of standard error, 0 if unknown.
func (s *screen) errWidth() int {
	width, _, _ := term.GetSize(int(s.sys.err.Fd()))
	return width
}

func (s *screen) terminal() bool { return term.IsTerminal(int(s.sys.out.Fd())) }

func (s *screen) format() output.Format { return output.Format(s.config.Format) }

func (s *screen) listOptions() listing.Options {
	return listing.Options{Format: s.format(), Color: s.color()}
}

// tell prints a sentence about a completed action: on standard output or, with
// JSON, on standard error.
func (s *screen) tell(text string) error {
	out := s.sys.out
	if s.format().IsJSON() {
		out = s.sys.err
	}
	_, err := fmt.Fprintln(out, text)
	return written(err)
}

// say prints a line on standard output.
func (s *screen) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s.sys.out, format+"\n", args...)
	return written(err)
}

// console is standard error for the log and for questions. While a line of
// progress is shown there, writing goes around it.
type console struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *console) set(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(p)
}
