package main

import (
	"io"
	"sync"

	"golang.org/x/term"

	"bolt/output"
	"bolt/output/listing"
)

// plainTerminal reports whether the terminal does not support control sequences,
// according to the environment.
func (s system) plainTerminal() bool { return s.env("NO_COLOR") != "" || s.env("TERM") == "dumb" }

// color says whether standard output may be coloured.
func (a *app) color() bool { return a.config.Color && !a.sys.plainTerminal() && a.terminal() }

// errColor is color for standard error.
func (a *app) errColor() bool { return a.config.Color && !a.sys.plainTerminal() && a.errTerminal() }

func (a *app) errTerminal() bool { return term.IsTerminal(int(a.sys.err.Fd())) }

// progress reports whether standard error can show a progress line, which bolt
// overwrites again and again.
func (a *app) progress() bool {
	return a.config.Spinner && a.errTerminal() && a.sys.env("TERM") != "dumb"
}

// errWidth is the number of columns of standard error, 0 if unknown.
func (a *app) errWidth() int {
	width, _, _ := term.GetSize(int(a.sys.err.Fd()))
	return width
}

func (a *app) terminal() bool { return term.IsTerminal(int(a.sys.out.Fd())) }

func (a *app) format() output.Format { return output.Format(a.config.Format) }

func (a *app) listOptions() listing.Options {
	return listing.Options{Format: a.format(), Color: a.color()}
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
