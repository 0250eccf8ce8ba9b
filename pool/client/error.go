package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"bolt/pool/wire"
	"bolt/transport"
)

const logsHint = "\"bolt pool logs\" may show the reason."

// stopped returns the error of work that ctx ended. fate states what became of
// the work.
func stopped(ctx context.Context, what, host, fate string) *transport.Error {
	e := &transport.Error{Class: transport.ClassCancelled, Err: context.Cause(ctx)}
	verb := "was cancelled"
	if isTimeout(ctx) {
		e.Class, verb = transport.ClassTimeout, "ran out of time"
	}
	e.Msg = fmt.Sprintf("%s on %s %s%s", strings.ToUpper(what[:1])+what[1:], host, verb, fate)
	return e
}

// isTimeout reports whether ctx has ended because its deadline passed.
func isTimeout(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// notDialed returns the error of a Dial that ctx ended.
func notDialed(ctx context.Context, host string) *transport.Error {
	e := &transport.Error{Class: transport.ClassCancelled, Code: "CONNECT_ERROR", Err: context.Cause(ctx)}
	verb := "cancelled"
	if isTimeout(ctx) {
		e.Class, verb = transport.ClassTimeout, "out of time"
	}
	e.Msg = fmt.Sprintf("Failed to connect to %s: %s while the pool daemon was connecting", host, verb)
	return e
}

// unreached returns the error of work that has not begun because the daemon
// cannot be used.
func unreached(ctx context.Context, host string, err error) *transport.Error {
	if ctx.Err() != nil {
		return notDialed(ctx, host)
	}
	e := &transport.Error{Class: transport.ClassConnect, Code: "CONNECT_ERROR", Err: err}
	if u, ok := errors.AsType[*Unavailable](err); ok {
		e.Msg, e.Hint = fmt.Sprintf("Failed to connect to %s: %v", host, u), u.Hint
		return e
	}
	e.Msg = fmt.Sprintf("Failed to connect to %s: pool daemon: %s", host, printable(err.Error()))
	e.Hint = logsHint
	return e
}

// lost returns the error of work that was running when the session ended.
func lost(what, host string, cause error) *transport.Error {
	if errors.Is(cause, errClosed) {
		return &transport.Error{Class: transport.ClassLost, Err: cause,
			Msg: fmt.Sprintf("The connection to the pool daemon was closed during a %s on %s: the outcome is unknown", what, host)}
	}
	return &transport.Error{Class: transport.ClassLost, Err: cause,
		Msg:  fmt.Sprintf("The pool daemon was lost during a %s on %s: %s: the outcome is unknown", what, host, printable(cause.Error())),
		Hint: "Check the machine before you repeat the action. " + logsHint}
}

// unreadable returns the error of a request whose answer cannot be decoded. The
// frames of other requests are not affected, so the session continues.
func unreadable(t wire.Type, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassLost, Err: err, Hint: logsHint,
		Msg: fmt.Sprintf("The answer of the pool daemon (frame type %d) cannot be decoded: %v: the outcome is unknown", t, err)}
}

// failed returns the error of a Failed frame, with its cause, which only this
// side knows.
func failed(ctx context.Context, e *transport.Error) *transport.Error {
	if e.Class == "" {
		e.Class = cmp.Or(e.Class, transport.ClassProtocol)
	}
	if ctx.Err() != nil && (e.Class == transport.ClassCancelled || e.Class == transport.ClassTimeout) {
		e.Err = context.Cause(ctx)
	}
	return e
}

// maxReason bounds how much text of the daemon a message contains.
const maxReason = 1 << 10

// printable makes a foreign string fit for a message.
func printable(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
