package pool

import (
	"context"
	"errors"
	"fmt"

	"bolt/transport"
)

// codeConnect is the issue code of Puppet Bolt for a failed connection.
const codeConnect = "CONNECT_ERROR"

var (
	// errClosed is the cause if something ends because the Pool is closed.
	errClosed = errors.New("the connection pool is closed")
	// errGivenBack is the cause if a request ends because its lease is closed.
	errGivenBack = errors.New("the connection was given back")
)

func closedError(host string) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Code: codeConnect, Err: errClosed,
		Msg: fmt.Sprintf("No connection to %s: %v", host, errClosed)}
}

// ended returns the class of an error for a ctx that has ended, and the reason
// as text.
func ended(ctx context.Context) (transport.Class, string) {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return transport.ClassTimeout, "out of time"
	}
	return transport.ClassCancelled, "cancelled"
}

// dialEnded returns the error of a Dial whose ctx has ended.
func dialEnded(ctx context.Context, host, doing string) *transport.Error {
	class, word := ended(ctx)
	return &transport.Error{Class: class, Code: codeConnect, Err: context.Cause(ctx),
		Msg: fmt.Sprintf("Failed to connect to %s: %s while %s", host, word, doing)}
}

// notBegun returns the error of a request whose ctx has ended before its turn.
func notBegun(ctx context.Context, host string) *transport.Error {
	class, word := ended(ctx)
	return &transport.Error{Class: class, Err: context.Cause(ctx),
		Msg: fmt.Sprintf("Did not begin on %s: %s while waiting for a free session", host, word)}
}
