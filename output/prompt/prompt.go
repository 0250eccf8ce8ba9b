// Package prompt asks questions on the terminal.
package prompt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/term"

	"bolt/internal/readfile"
	"bolt/transport"
)

// A Prompter asks one question at a time. Secrets are read without echo from In if it is a
// terminal, otherwise from the controlling terminal. Its methods can be called
// concurrently, but its fields must not be changed meanwhile.
type Prompter struct {
	In    *os.File // standard input
	Out   io.Writer
	Pause func() (resume func()) // removes other output from the terminal for the time of a question; it can be nil
	mu    sync.Mutex             // one question at a time
}

var errNoTerminal = errors.New("cannot prompt without a terminal")

// Passphrase returns a function that asks for the passphrase of a key file. Below home,
// it shows the path of the file with ~.
func (p *Prompter) Passphrase(home string) func(ctx context.Context, path string) (transport.Secret, error) {
	return func(ctx context.Context, path string) (transport.Secret, error) {
		if rel, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = filepath.Join("~", rel)
		}
		return p.Secret(ctx, fmt.Sprintf("Passphrase for the key %s: ", path))
	}
}

// Secret asks a question and returns the typed line.
func (p *Prompter) Secret(ctx context.Context, question string) (transport.Secret, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return transport.Secret{}, err
	}
	in := p.In
	if !term.IsTerminal(int(in.Fd())) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return transport.Secret{}, errNoTerminal
		}
		in = tty
	}
	done := func() {
		if in != p.In {
			in.Close()
		}
	}
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		done()
		return transport.Secret{}, fmt.Errorf("read the terminal's state: %w", err)
	}
	if p.Pause != nil {
		defer p.Pause()()
	}
	fmt.Fprint(p.Out, question)
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	// Reading a terminal cannot be interrupted. The goroutine, and with it the file, ends
	// with the line, or with the process when the interrupt ends it.
	go func() {
		text, err := term.ReadPassword(int(in.Fd()))
		got <- answer{text, err}
		done()
	}()
	select {
	case <-ctx.Done():
		// The program is about to end while echo is off: restore it first.
		_ = term.Restore(int(in.Fd()), state)
		fmt.Fprintln(p.Out)
		return transport.Secret{}, context.Cause(ctx)
	case a := <-got:
		fmt.Fprintln(p.Out)
		if a.err != nil {
			return transport.Secret{}, fmt.Errorf("read the answer: %w", a.err)
		}
		return transport.NewSecret(strings.TrimRight(string(a.text), "\r\n")), nil
	}
}

// Text asks a question on standard input, which is a terminal, and returns the typed line.
// The line is visible.
func (p *Prompter) Text(ctx context.Context, question string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r, stop, err := readfile.Wakeable(ctx, p.In)
	if err != nil {
		return "", err
	}
	defer stop()
	if p.Pause != nil {
		defer p.Pause()()
	}
	fmt.Fprint(p.Out, question)
	line, err := bufio.NewReader(r).ReadString('\n') // a terminal returns one line at a time
	if err == nil || errors.Is(err, io.EOF) && line != "" {
		return strings.TrimRight(line, "\r\n"), nil
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(p.Out)
		return "", errors.New("a question of the plan got no answer: standard input has ended")
	}
	return "", err
}
