package transport

import (
	"errors"
	"fmt"
)

// Class is the kind of a failure. Callers decide by it how to react. Each
// failure has exactly one class.
type Class string

// The classes. Callers may retry only ClassConnect, ClassThrottled and, if the
// command is idempotent, ClassLost.
const (
	ClassResolve        Class = "resolve"          // no address for the name
	ClassConnect        Class = "connect"          // refused, no route, closed before the version exchange ended
	ClassThrottled      Class = "throttled"        // the server refuses new sessions or connections (MaxStartups, MaxSessions)
	ClassHostKeyUnknown Class = "host-key-unknown" // known_hosts has no key for the host
	ClassHostKeyChanged Class = "host-key-changed" // known_hosts has another key for the host, or the key is revoked
	ClassAuth           Class = "auth"             // no authentication method succeeded
	ClassBootstrap      Class = "bootstrap"        // the private directory, its files or the interpreter failed
	ClassFile           Class = "file"             // a copy to or from the machine failed
	ClassRunAs          Class = "run-as"           // sudo, su or doas refused
	ClassProtocol       Class = "protocol"         // the peer violated the protocol
	ClassTimeout        Class = "timeout"          // the connect timeout or the command's own timeout expired
	ClassLost           Class = "lost"             // the connection ended while a command ran: its result is unknown
	ClassCancelled      Class = "cancelled"        // the caller cancelled
	ClassUnsupported    Class = "unsupported"      // the transport does not support the request or option
)

// Error is the type of every failure of a Dialer or Conn. Its text is Msg and
// Hint, or else the class and the cause.
type Error struct {
	Class Class
	// Code is the error code that Puppet Bolt uses for this failure
	// (CONNECT_ERROR, AUTH_ERROR, HOST_KEY_ERROR, NO_PASSWORD, BAD_PASSWORD,
	// SUDO_DENIED, MV_ERROR, WRITE_ERROR, TMPDIR_ERROR …); "" if Puppet Bolt
	// has none.
	Code string
	// Msg is the complete message for people: the failure and its place.
	Msg string
	// Hint is an instruction for the user; "" if there is none.
	Hint string
	// Ask is the path of the key file whose passphrase is missing, if the dial
	// failed because no user could be asked for it; "" otherwise.
	Ask string
	Err error // the cause, or nil
}

// ErrSessionsTaken is the cause of a ClassThrottled error if a request did not
// begin because the server allows no further session on this connection. Only a
// connection whose NoQueue method was called returns it.
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
