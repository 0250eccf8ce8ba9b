package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"bolt/internal/readfile"
	"bolt/transport"
)

// A prompter asks people, one question at a time. Questions go to standard error.
// Secrets are read without echo from standard input if it is a terminal, otherwise
// from the controlling terminal.
type prompter struct {
	in    *os.File
	out   io.Writer
	pause func() (resume func()) // takes what is in the question's way off the terminal; may be nil
	mu    sync.Mutex
}

// errNoTerminal says that there is nobody to ask.
var errNoTerminal = errors.New("there is no terminal to ask on")

// secret asks question and returns the line that was typed.
func (p *prompter) secret(ctx context.Context, question string) (transport.Secret, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return transport.Secret{}, err
	}
	in := p.in
	if !term.IsTerminal(int(in.Fd())) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return transport.Secret{}, errNoTerminal
		}
		in = tty
	}
	done := func() {
		if in != p.in {
			in.Close()
		}
	}
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		done()
		return transport.Secret{}, fmt.Errorf("read the terminal's state: %w", err)
	}
	if p.pause != nil {
		defer p.pause()()
	}
	fmt.Fprint(p.out, question)
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	// Reading a terminal cannot be interrupted; the goroutine, and with it the
	// file, ends with the line, or with the process that the interrupt ends.
	go func() {
		text, err := term.ReadPassword(int(in.Fd()))
		got <- answer{text, err}
		done()
	}()
	select {
	case <-ctx.Done():
		// The program is about to end while echo is off: put it back first.
		_ = term.Restore(int(in.Fd()), state)
		fmt.Fprintln(p.out)
		return transport.Secret{}, context.Cause(ctx)
	case a := <-got:
		fmt.Fprintln(p.out)
		if a.err != nil {
			return transport.Secret{}, fmt.Errorf("read the answer: %w", a.err)
		}
		return transport.NewSecret(strings.TrimRight(string(a.text), "\r\n")), nil
	}
}

// text asks question on standard input, which is a terminal, and returns the line
// that was typed, for all to see.
func (p *prompter) text(ctx context.Context, question string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r, stop, err := readfile.Wakeable(ctx, p.in)
	if err != nil {
		return "", err
	}
	defer stop()
	if p.pause != nil {
		defer p.pause()()
	}
	fmt.Fprint(p.out, question)
	line, err := bufio.NewReader(r).ReadString('\n') // a terminal gives one line at a time
	if err == nil || errors.Is(err, io.EOF) && line != "" {
		return strings.TrimRight(line, "\r\n"), nil
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(p.out)
		return "", errors.New("a question of the plan got no answer: standard input has ended")
	}
	return "", err
}
