package powershell

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"bolt/transport"
)

// An exchange is one run of the program on the machine.
type exchange struct {
	what, host string
	mark       string
	asks       bytes.Buffer // frames, up to "go"
	send       io.Reader    // frames, including the final "go"
	told       string       // the text of the program after "ok"
}

func newExchange(what string, o *Options) *exchange {
	return &exchange{what: what, host: o.Host, mark: transport.NewPrivateName()}
}

// asked ends the frames of the request.
func (x *exchange) asked() {
	f := &framer{w: &x.asks}
	f.text("mark", x.mark)
	f.text("go", "")
}

// run starts the program, sends its input, and passes on its output after its
// first line. stdout and stderr may be nil. The error is a *transport.Error.
func (x *exchange) run(ctx context.Context, s Starter, stdout, stderr io.Writer) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, Stopped(ctx, x.what, x.host, "")
	}
	var head bytes.Buffer
	(&framer{w: &head}).text("program", program)
	readers := []io.Reader{&head, &x.asks}
	if x.send != nil {
		readers = append(readers, x.send)
	}
	out := &answer{x: x, w: orDiscard(stdout)}
	said := &tail{}
	errs := &plainErrors{w: &bothWriter{sink: orDiscard(stderr), said: said, out: out}}
	code, err := s.Exec(ctx, CommandLine(), io.MultiReader(readers...), out, errs)
	if err == nil {
		err = errs.end()
	}
	switch {
	case out.err != nil:
		return 0, out.err
	case err != nil:
		if _, ok := errors.AsType[*transport.Error](err); ok {
			return 0, err
		}
		return 0, sinkFailed(x.what, x.host, err)
	case !out.begun:
		return 0, x.notStarted(code, out, said)
	}
	return code, nil
}

// notStarted returns the error if the program did not report that it has begun.
func (x *exchange) notStarted(code int, out *answer, said *tail) error {
	reason := firstLines(string(said.text))
	if reason == "" {
		reason = firstLines(string(out.head))
	}
	if reason == "" {
		reason = fmt.Sprintf("it ended with exit code %d and printed nothing", code)
	}
	return &transport.Error{Class: transport.ClassBootstrap, Code: "EXEC_ERROR",
		Msg:  fmt.Sprintf("PowerShell could not start on %s: %s", x.host, reason),
		Hint: "The machine must have powershell.exe, version 3 or later, without Constrained Language Mode."}
}

// maxHead limits the program's first line.
const maxHead = 64 << 10

// An answer removes the program's first line from its output.
type answer struct {
	x     *exchange
	w     io.Writer
	head  []byte
	begun bool
	err   error // the error of the program, or the error for an invalid first line
}

func (a *answer) Write(p []byte) (int, error) {
	if a.begun {
		return a.w.Write(p)
	}
	a.head = append(a.head, p...)
	line, rest, ok := bytes.Cut(a.head, []byte("\n"))
	if !ok {
		if len(a.head) > maxHead {
			a.err = a.x.noise(a.head)
			return 0, a.err
		}
		return len(p), nil
	}
	if a.err = a.x.begin(string(line)); a.err != nil {
		return 0, a.err
	}
	a.begun, a.head = true, nil
	if len(rest) > 0 {
		if _, err := a.w.Write(rest); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// begin parses the program's first line.
func (x *exchange) begin(line string) error {
	line = strings.TrimPrefix(line, "\ufeff")
	rest, ok := strings.CutPrefix(line, x.mark+" ")
	code, text, ok2 := strings.Cut(strings.TrimSuffix(rest, "\r"), " ")
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || !ok2 || err != nil {
		return x.noise([]byte(line))
	}
	if code == "ok" {
		x.told = string(b)
		return nil
	}
	return x.failed(code, firstLines(string(b)))
}

func (x *exchange) noise(head []byte) error {
	return &transport.Error{Class: transport.ClassProtocol, Code: "EXEC_ERROR",
		Msg: fmt.Sprintf("PowerShell on %s sent an unexpected answer: %s", x.host, firstLines(string(head)))}
}

// failed returns the error that the program reported.
func (x *exchange) failed(code, reason string) error {
	e := &transport.Error{Class: transport.ClassBootstrap, Code: code}
	if x.what != "command" {
		e.Class = transport.ClassFile
	}
	switch code {
	case "TMPDIR_ERROR":
		e.Msg = fmt.Sprintf("Could not make the temporary directory on %s: %s", x.host, reason)
		e.Hint = "Set tmpdir to a directory that exists on the machine and is writable."
	case "CHDIR_ERROR":
		e.Msg = fmt.Sprintf("Could not change the working directory on %s: %s", x.host, reason)
	case "MV_ERROR":
		e.Msg = fmt.Sprintf("Could not move the uploaded file to its destination on %s: %s", x.host, reason)
	case "WRITE_ERROR":
		if x.what == "command" {
			e.Msg = fmt.Sprintf("Could not write to the temporary directory on %s: %s", x.host, reason)
		} else {
			e.Msg = fmt.Sprintf("The %s failed on %s: %s", x.what, x.host, reason)
		}
	default:
		e.Code = "EXEC_ERROR"
		e.Msg = fmt.Sprintf("Could not start the command on %s: %s", x.host, reason)
	}
	return e
}

// Stopped returns the error of an operation that ctx has ended. fate describes
// the state of its process.
func Stopped(ctx context.Context, what, host, fate string) *transport.Error {
	e := &transport.Error{Class: transport.ClassCancelled, Err: context.Cause(ctx)}
	verb := "was cancelled"
	if errors.Is(e.Err, context.DeadlineExceeded) {
		e.Class, verb = transport.ClassTimeout, "ran out of time"
	}
	e.Msg = fmt.Sprintf("%s on %s %s%s", strings.ToUpper(what[:1])+what[1:], host, verb, fate)
	return e
}

// sinkFailed returns the error for output that could not be written.
func sinkFailed(what, host string, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("The %s on %s was ended because its output could not be stored: %v", what, host, err)}
}

// bothWriter writes standard error. Until the program has begun, it stores the
// beginning instead.
type bothWriter struct {
	sink io.Writer
	said *tail
	out  *answer
}

func (b *bothWriter) Write(p []byte) (int, error) {
	if !b.out.begun {
		return b.said.Write(p)
	}
	return b.sink.Write(p)
}

// A tail stores the beginning of the written data.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), 4*maxReason-len(t.text))]...)
	return len(p), nil
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
