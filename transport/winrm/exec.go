package winrm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bolt/transport"
	"bolt/transport/powershell"
)

// A sinkError is an error of a writer of the output.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// Exec implements powershell.Starter.
func (c *Conn) Exec(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	shell, command, err := c.start(ctx, line)
	if err != nil {
		return 0, c.failed(ctx, err, "")
	}
	work, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	var refused atomic.Pointer[fault]
	wg.Go(func() {
		err := c.send(work, shell, command, stdin)
		if f, ok := errors.AsType[*fault](err); ok {
			// Usually, the command has ended or has closed its input.
			refused.Store(f)
		} else if err != nil {
			cancel(err)
		}
	})
	code, err := c.receive(work, shell, command, &refused, stdout, stderr)
	if cause := context.Cause(work); err != nil && cause != nil && ctx.Err() == nil {
		err = cause // the error of sending
	}
	cancel(nil)
	wg.Wait()
	if err == nil {
		c.done(shell, true)
		return code, nil
	}
	fate := c.stop(shell, command)
	c.done(shell, false)
	if s, ok := errors.AsType[sinkError](err); ok && ctx.Err() == nil {
		return 0, s.error
	}
	return 0, c.failed(ctx, err, fate)
}

// start starts a line in a shell without a running command.
func (c *Conn) start(ctx context.Context, line string) (shell, command string, err error) {
	for {
		shell, isNew, err := c.shell(ctx)
		if err != nil {
			return "", "", err
		}
		a, err := c.p.post(ctx, runLine(shell, line, c.poll))
		if err == nil {
			if command := strings.TrimSpace(a.Command); command != "" {
				return shell, command, nil
			}
			err = errors.New("its answer does not name a command")
		}
		c.done(shell, false)
		if f, ok := errors.AsType[*fault](err); ok && !isNew && f.noShell() {
			continue // it was unused for too long
		}
		_ = c.remove(shell) // the line may run
		return "", "", err
	}
}

// send sends standard input and its end. If the server does not accept more,
// the error is a *fault.
func (c *Conn) send(ctx context.Context, shell, command string, stdin io.Reader) error {
	buf := make([]byte, sendPiece)
	for {
		n, err := io.ReadFull(stdin, buf)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		a, err := c.p.post(ctx, sendInput(shell, command, buf[:n], last, c.poll))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case a.Sent == nil:
			return errors.New("its answer does not confirm the sent data")
		case last:
			return nil
		}
	}
}

// receive passes on output until the command has ended. If the server has
// refused input for no good reason, receive returns an error, because the
// command may wait for its input forever.
func (c *Conn) receive(ctx context.Context, shell, command string, refused *atomic.Pointer[fault], stdout, stderr io.Writer) (int, error) {
	for {
		why := refused.Load()
		a, err := c.p.post(ctx, receiveOutput(shell, command, c.poll))
		if f, ok := errors.AsType[*fault](err); ok && f.timedOut() {
			if why != nil && !why.pipeClosed() {
				return 0, why
			}
			continue // the command has printed nothing for that time
		}
		if err != nil {
			return 0, err
		}
		if a.Receive == nil {
			return 0, errors.New("its answer has neither output nor a state")
		}
		if len(a.Receive.Streams) == 0 && a.Receive.State.State != stateDone {
			pause(ctx) // the server should have waited itself
		}
		for _, s := range a.Receive.Streams {
			data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s.Data))
			if err != nil {
				return 0, fmt.Errorf("its output is not in base64: %w", err)
			}
			to := stdout
			if s.Name == "stderr" {
				to = stderr
			}
			if len(data) == 0 {
				continue
			}
			if _, err := to.Write(data); err != nil {
				return 0, sinkError{err}
			}
		}
		if a.Receive.State.State == stateDone {
			return exitCode(a.Receive.State.Code)
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
}

// pause limits the rate of requests.
func pause(ctx context.Context) {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// exitCode parses an exit code: a signed number of 32 bits, which some servers
// write as unsigned. Other numbers stay unchanged.
func exitCode(text string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an exit code", printable(text))
	}
	if n > math.MaxInt32 && n <= math.MaxUint32 {
		n = int64(int32(n))
	}
	return int(n), nil
}

// stop ends a command and removes its shell. If that fails, it returns a text
// for a message.
func (c *Conn) stop(shell, command string) string {
	ctx, cancel := context.WithTimeout(c.life, c.end)
	defer cancel()
	_, err := c.p.post(ctx, terminate(shell, command, c.end))
	if err == nil {
		_, err = c.p.post(ctx, deleteShell(shell, c.end))
	} else if ctx.Err() == nil {
		_, err = c.p.post(ctx, deleteShell(shell, c.end)) // this also ends the command
	}
	if err != nil {
		return fmt.Sprintf(", and may continue to run on the machine for up to %v, because it could not be ended: %s", idle, printable(err.Error()))
	}
	return ""
}

// failed returns the error of a command.
func (c *Conn) failed(ctx context.Context, err error, fate string) error {
	if ctx.Err() != nil {
		return powershell.Stopped(ctx, "command", c.p.host, fate)
	}
	e := &transport.Error{Class: transport.ClassLost, Code: "CONNECT_ERROR", Err: err}
	if f, ok := errors.AsType[*fault](err); ok {
		e.Class = transport.ClassProtocol
		e.Msg = fmt.Sprintf("WinRM on %s refuses to run the command: %v%s", c.p.host, f, fate)
		return e
	}
	if t, ok := errors.AsType[*transport.Error](err); ok {
		return t // from the reader of standard input
	}
	e.Msg = fmt.Sprintf("The connection to %s was lost: %s%s", c.p.host, printable(cause(err)), fate)
	return e
}
