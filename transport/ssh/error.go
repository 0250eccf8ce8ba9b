package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/transport"
)

// The error codes that Puppet Bolt uses.
const (
	codeConnect = "CONNECT_ERROR"
	codeAuth    = "AUTH_ERROR"
	codeHostKey = "HOST_KEY_ERROR"
)

// errConnectTimeout is the cause of the context of an attempt whose time is
// over.
var errConnectTimeout = errors.New("connect timeout")

// caused is an error with its own text and an underlying error.
type caused struct {
	text string
	err  error
}

func (c caused) Error() string { return c.text }
func (c caused) Unwrap() error { return c.err }

// connectError returns the error for a failure before the connection is
// authenticated.
func connectError(class transport.Class, host string, err error, hint string) *transport.Error {
	return &transport.Error{Class: class, Code: codeConnect, Err: err, Hint: hint,
		Msg: fmt.Sprintf("Failed to connect to %s: %v", host, err)}
}

// asError returns err if it is a *transport.Error, and else an error of
// ClassConnect.
func asError(err error, host string) *transport.Error {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		return e
	}
	return connectError(transport.ClassConnect, host, err, "")
}

// endedError returns the error for a context that has ended: by the connect
// timeout, a deadline or the caller.
func (e *endpoint) endedError(ctx context.Context, doing string) *transport.Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errConnectTimeout):
		return &transport.Error{Class: transport.ClassTimeout, Code: codeConnect, Err: cause,
			Msg:  fmt.Sprintf("Timeout after %g seconds connecting to %s", e.timeout.Seconds(), e.to.Host),
			Hint: fmt.Sprintf("It ended while %s. If the machine is only slow, raise connect-timeout.", doing)}
	case errors.Is(cause, context.DeadlineExceeded):
		return connectError(transport.ClassTimeout, e.to.Host, fmt.Errorf("out of time while %s", doing), "")
	default:
		return connectError(transport.ClassCancelled, e.to.Host, fmt.Errorf("cancelled while %s", doing), "")
	}
}

// reachError classifies the error of a TCP dial.
func (e *endpoint) reachError(err error) *transport.Error {
	if t, ok := errors.AsType[*transport.Error](err); ok {
		return t
	}
	if readfile.OutOfFiles(err) {
		return limitError(e.to.Host, err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		cause := fmt.Errorf("no address for the name %s: %s", dns.Name, dns.Err)
		hint := "Check the spelling, or set the host option (HostName in ssh_config) to an address."
		if dns.IsTemporary || dns.IsTimeout {
			hint = "The name server did not answer; try again later."
		}
		return connectError(transport.ClassResolve, e.to.Host, cause, hint)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		at := e.address()
		if op.Addr != nil {
			at = op.Addr.String()
		}
		err = fmt.Errorf("dial %s: %w", at, rootCause(op.Err))
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = fmt.Sprintf("Nothing listens on port %d of the machine; check the port and that the SSH server runs.", e.port)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		hint = "No route to the machine exists; check the network, or use a jump host (proxyjump)."
	}
	return connectError(transport.ClassConnect, e.to.Host, err, hint)
}

// limitError returns the error if this process cannot open a further file or
// socket.
func limitError(host string, err error) *transport.Error {
	errno := syscall.EMFILE
	if errors.Is(err, syscall.ENFILE) {
		errno = syscall.ENFILE
	}
	return connectError(transport.ClassConnect, host, errno,
		"This process has reached its limit of open files and connections: raise the limit (ulimit -n), or lower max-connections or the concurrency.")
}

// rootCause removes the name of the system call from an error.
func rootCause(err error) error {
	if s, ok := errors.AsType[*os.SyscallError](err); ok {
		return s.Err
	}
	return err
}

// hungUp reports whether err means that the peer closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// disconnected returns the text of the peer's SSH_MSG_DISCONNECT in err, or "".
// x/crypto does not export a type for it.
func disconnected(err error) string {
	if err == nil {
		return ""
	}
	_, text, ok := strings.Cut(err.Error(), "ssh: disconnect, reason ")
	if !ok {
		return ""
	}
	return safetext.Message(text)
}

// handshakeError classifies the error of a handshake on an open connection.
func (e *endpoint) handshakeError(err error, w *wire) *transport.Error {
	if t, ok := errors.AsType[*transport.Error](err); ok {
		return t
	}
	text := strings.TrimPrefix(safetext.Message(strings.TrimPrefix(err.Error(), "ssh: handshake failed: ")), "ssh: ")
	said := w.preamble()
	switch differ, noCommon := errors.AsType[*ssh.AlgorithmNegotiationError](err); {
	case noCommon:
		return connectError(transport.ClassProtocol, e.to.Host,
			caused{fmt.Sprintf("no common algorithm for %s; the server offers: %s", differ.What, safetext.Messages(differ.RequestedAlgorithms)), err},
			"To connect to an old server, add one of the algorithms that it offers to encryption-algorithms, kex-algorithms, mac-algorithms or host-key-algorithms.")
	case !w.greeted() && said != "":
		return connectError(transport.ClassProtocol, e.to.Host, caused{fmt.Sprintf("no SSH server at %s; it sent: %q", e.address(), said), err},
			"Check the port: the server on it does not use the SSH protocol.")
	case !w.greeted() && hungUp(err):
		return connectError(transport.ClassConnect, e.to.Host, caused{e.address() + " closed the connection before it sent anything", err},
			"Check that it is an SSH server, that it accepts this address (MaxStartups, firewall, hosts.deny), and that a load balancer in between has a backend.")
	case hungUp(err):
		return connectError(transport.ClassConnect, e.to.Host, caused{e.address() + " closed the connection during the handshake", err},
			"The reason is in the server's log.")
	case disconnected(err) != "":
		return connectError(transport.ClassConnect, e.to.Host, caused{e.address() + " ended the connection: " + disconnected(err), err}, "")
	}
	return connectError(transport.ClassProtocol, e.to.Host, caused{text, err}, "")
}

// shedError returns the error if a busy server has refused connections for too
// long.
func (e *endpoint) shedError(cause *transport.Error, tries int, after time.Duration, penalised bool) *transport.Error {
	hint := "The server has too many logins at once; raise MaxStartups in its sshd_config or lower the concurrency."
	if penalised {
		hint = "The server refuses this address for some time after failed logins (PerSourcePenalties in its sshd_config); wait, and correct the login."
	}
	err := fmt.Errorf("%s shed the connection %d times in %s", e.address(), tries, after.Round(time.Second))
	out := connectError(transport.ClassThrottled, e.to.Host, err, hint)
	out.Err = cause
	return out
}
