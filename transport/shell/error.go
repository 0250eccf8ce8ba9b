package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/transport"
)

// stopped returns the error of an operation that ctx has ended. fate describes
// the state of its process.
func stopped(ctx context.Context, what, host, fate string) *transport.Error {
	e := &transport.Error{Class: transport.ClassCancelled, Err: context.Cause(ctx)}
	verb := "was cancelled"
	if errors.Is(e.Err, context.DeadlineExceeded) {
		e.Class, verb = transport.ClassTimeout, "ran out of time"
	}
	e.Msg = fmt.Sprintf("%s on %s %s%s", strings.ToUpper(what[:1])+what[1:], host, verb, fate)
	return e
}

func unsupported(format string, args ...any) *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf(format, args...)}
}

// failed is a failed step of a script, with the error text of the shell.
type failed struct{ step, text string }

func parseFailed(text []byte) *failed {
	step, said, _ := strings.Cut(string(text), " ")
	return &failed{step: step, text: FirstLines(counts().ReplaceAllString(said, ""))}
}

// counts matches the statistics that dd prints in addition to an error.
var counts = lazyregexp.New(`(?m)^\d+(?:\+\d+ records (?:in|out)| bytes.* copied.*)(?:\n|$)`)

// reason returns the error text of the shell, or a default text.
func (f *failed) reason() string {
	switch {
	case f.text != "":
		return f.text
	case f.step == stepShort:
		return "not all data arrived"
	}
	return "the shell printed no reason"
}

// stagingError returns the error for a step that failed before the command
// could start. Copies use their own class.
func stagingError(f *failed, class transport.Class, dir, host string) *transport.Error {
	e := &transport.Error{Class: class}
	switch f.step {
	case stepMkdir:
		e.Code = "TMPDIR_ERROR"
		e.Msg = fmt.Sprintf("Could not make the temporary directory %s on %s: %s", dir, host, f.reason())
		e.Hint = "Set tmpdir to a directory that exists on the machine and is writable."
	case stepChdir:
		e.Code = "CHDIR_ERROR"
		e.Msg = fmt.Sprintf("Could not change the working directory on %s: %s", host, f.reason())
	case stepInput:
		e.Code = "EXEC_ERROR"
		e.Msg = fmt.Sprintf("The environment variables or the data for standard input did not arrive completely on %s, and nothing was run", host)
		e.Hint = "A start-up file of the login shell may read or replace standard input."
	case stepAlive:
		e.Code = "EXEC_ERROR"
		e.Msg = fmt.Sprintf("The command on %s could not watch its connection, and was not run", host)
		e.Hint = "The run-as user must be able to search the directory that tmpdir names. A start-up file of the login shell may also have closed standard input."
	default:
		e.Code = "WRITE_ERROR"
		e.Msg = fmt.Sprintf("Could not write to the temporary directory %s on %s: %s", dir, host, f.reason())
		if f.step == stepShort {
			e.Hint = "The disk may be full, or a start-up file of the login shell may take standard input away."
		}
	}
	return e
}

// maxReason limits the remote error text in a message.
const maxReason = 1 << 10

// FirstLines prepares remote text for a message: it limits and trims the text,
// and removes control characters except line ends and tabs.
func FirstLines(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + " …"
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || 0x7f <= r && r < 0xa0:
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
