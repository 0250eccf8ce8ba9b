package transport

import (
	"errors"
	"fmt"
)

// Class is what went wrong, for whoever has to decide what to do about it.
// Each failure has exactly one.
type Class string

// The classes. Only ClassConnect, ClassThrottled and idempotent ClassLost may
// be retried.
const (
	ClassResolve        Class = "resolve"          // no address for the name
	ClassConnect        Class = "connect"          // refused, no route, closed before the version exchange ended
	ClassThrottled      Class = "throttled"        // the server sheds load (MaxStartups, MaxSessions)
	ClassHostKeyUnknown Class = "host-key-unknown" // no key on record
	ClassHostKeyChanged Class = "host-key-changed" // another key on record, or a revoked one
	ClassAuth           Class = "auth"             // no method left
	ClassBootstrap      Class = "bootstrap"        // the private directory, its files, an interpreter
	ClassFile           Class = "file"             // a copy to or from the machine
	ClassRunAs          Class = "run-as"           // sudo and its kind said no
	ClassProtocol       Class = "protocol"         // the peer does not speak as it should
	ClassTimeout        Class = "timeout"          // connect, or the command's own limit
	ClassLost           Class = "lost"             // the connection ended under a running command: outcome unknown
	ClassCancelled      Class = "cancelled"        // the caller gave up
	ClassUnsupported    Class = "unsupported"      // this transport or option cannot do it
)

// Error is every failure of a Dialer or Conn. Its text is
// "operation object: cause".
type Error struct {
	Class Class
	// Code is the issue code that Puppet Bolt prints for it (CONNECT_ERROR,
	// AUTH_ERROR, HOST_KEY_ERROR, NO_PASSWORD, BAD_PASSWORD, SUDO_DENIED,
	// MV_ERROR, WRITE_ERROR, TMPDIR_ERROR …); "" if it has none.
	Code string
	// Msg is the sentence for people, whole: what happened and where.
	Msg string
	// Hint says what to do, "" if there is nothing to say.
	Hint string
	// Ask is the path of a key file whose passphrase is wanted, if the dial
	// failed because nobody was there to ask; "" otherwise.
	Ask string
	Err error // the cause, or nil
}

// ErrSessionsTaken is the cause of a ClassThrottled error of a request that did
// not begin because the server allows no further session on this connection.
// Only a connection whose NoQueue method was called returns it.
var ErrSessionsTaken = errors.New("all sessions that the server allows are in use")

func (e *Error) Error() string {
	switch {
	case e.Msg != "" && e.Hint != "":
		return e.Msg + "\n" + e.Hint
	case e.Msg != "":
		return e.Msg
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Class, e.Err)
	}
	return string(e.Class)
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of the *Error in err's chain, or "".
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}
