// Package winrm reaches machines with Windows over WinRM: WS-Management messages
// (soap.go) in HTTP requests (lane.go), by which a remote shell runs a program
// (exec.go). What the program is, is package powershell's part.
//
// A connection is one remote shell, made as it is dialed, and one more for each
// command that runs beside another. Standard input, output and the end of a
// command are requests of their own; the server answers one for output when
// there is some, or after a while with a fault, and is then asked again. A
// connection has no goroutines but those of requests under way.
//
// Over HTTP every message is encrypted with NTLM's keys, and nothing else is
// sent or believed. Over HTTPS NTLM is tied to the server's certificate, and the
// password itself is sent only if nothing else is offered or it is asked for.
// Redirects are not followed, answers are bounded.
package winrm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"bolt/internal/readfile"
	"bolt/transport"
)

const (
	portHTTP  = 5985
	portHTTPS = 5986

	// pollTime is how long a server waits for output before it says that there
	// is none. Its default limit for any operation is a minute.
	pollTime = 20 * time.Second
	// endTime bounds the end of a command that is not waited for any more, and
	// that of a connection.
	endTime = 10 * time.Second
)

// Dialer reaches machines over WinRM. Its zero value is ready to use.
type Dialer struct {
	poll, end time.Duration // 0: pollTime, endTime
}

var _ transport.Dialer = (*Dialer)(nil)

// NewDialer returns a Dialer.
func NewDialer() *Dialer { return &Dialer{} }

// Dial opens a remote shell, by which all is known that has to be: the machine
// answers, its certificate is good, and it takes the user.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if to.Protocol != Protocol {
		return nil, &transport.Error{Class: transport.ClassUnsupported, Code: "CONNECT_ERROR",
			Msg: fmt.Sprintf("Cannot reach %s by the transport %s over WinRM", to.Host, to.Protocol)}
	}
	dial := ctx
	if to.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		dial, cancel = context.WithTimeoutCause(ctx, to.ConnectTimeout, errConnectTimeout)
		defer cancel()
	}
	p, err := newPeer(dial, to)
	if err != nil {
		return nil, err
	}
	c := &Conn{p: p, life: context.WithoutCancel(ctx), poll: pollTime, end: endTime, busy: make(map[string]bool)}
	if d.poll != 0 {
		c.poll, c.end = d.poll, d.end
	}
	id, _, err := c.shell(dial)
	if err != nil {
		p.close()
		return nil, dialError(dial, to, err)
	}
	c.done(id, true)
	return c, nil
}

var errConnectTimeout = errors.New("connect timeout")

// newPeer decides what can be decided without reaching the machine.
func newPeer(ctx context.Context, to transport.Dest) (*peer, error) {
	w, _ := to.Options.(Access)
	refused := func(class transport.Class, code, msg, hint string) (*peer, error) {
		return nil, &transport.Error{Class: class, Code: code, Msg: msg, Hint: hint}
	}
	switch {
	case to.Host == "":
		return refused(transport.ClassResolve, "CONNECT_ERROR", "There is no host to connect to", "")
	case w.Realm != "":
		return refused(transport.ClassUnsupported, "AUTH_ERROR", fmt.Sprintf("Cannot log in to %s with Kerberos (realm %s): WinRM is spoken with NTLM or Basic here", to.Host, printable(w.Realm)),
			"Leave realm out, and set user and password; a user of a domain is DOMAIN\\user or user@domain.")
	case to.User == "" || !to.Password.IsSet():
		return refused(transport.ClassAuth, "AUTH_ERROR", fmt.Sprintf("WinRM needs a user and a password for %s", to.Host),
			"Set user and password under winrm, or give --user and --password-prompt.")
	case w.BasicOnly && !w.SSL:
		return refused(transport.ClassUnsupported, "AUTH_ERROR", fmt.Sprintf("Basic authentication to %s would show the password to everybody on the way", to.Host), "Set ssl, or leave basic-auth-only out.")
	}
	p := &peer{host: to.Host, user: to.User, password: to.Password, basic: w.BasicOnly, slack: slackTime}
	scheme, port := "http", portHTTP
	if w.SSL {
		scheme, port = "https", portHTTPS
		p.tls = &tls.Config{ServerName: to.Host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: !w.SSLVerify}
		if w.CACert != "" && w.SSLVerify {
			pem, err := readfile.Read(ctx, w.CACert, readfile.Key)
			if ctx.Err() != nil {
				return nil, dialError(ctx, to, err)
			}
			if err != nil {
				return refused(transport.ClassUnsupported, "CONNECT_ERROR", fmt.Sprintf("The certificates to judge %s by cannot be read: %v", to.Host, err), "Set cacert under winrm to a file that is there.")
			}
			p.tls.RootCAs = x509.NewCertPool()
			if !p.tls.RootCAs.AppendCertsFromPEM(pem) {
				return refused(transport.ClassUnsupported, "CONNECT_ERROR", fmt.Sprintf("The file %s has no certificates", w.CACert), "cacert under winrm is a file of certificates in PEM.")
			}
		}
	}
	if to.Port != 0 {
		port = to.Port
	}
	p.url = scheme + "://" + net.JoinHostPort(to.Host, strconv.Itoa(port)) + "/wsman"
	return p, nil
}

// cause is what an error says without the request that it came of, which holds
// nothing new.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	return err.Error()
}

// dialError tells what kept us from a machine.
func dialError(ctx context.Context, to transport.Dest, err error) *transport.Error {
	e := &transport.Error{Class: transport.ClassProtocol, Code: "CONNECT_ERROR", Err: err}
	at := to.Host
	say := func(class transport.Class, hint string) *transport.Error {
		e.Class, e.Hint = class, hint
		e.Msg = fmt.Sprintf("Could not connect to %s over WinRM: %s", at, printable(cause(err)))
		return e
	}
	if why := context.Cause(ctx); why != nil {
		switch {
		case errors.Is(why, errConnectTimeout):
			e.Class = transport.ClassTimeout
			e.Msg = fmt.Sprintf("Could not connect to %s over WinRM within %v", at, to.ConnectTimeout)
			e.Hint = "A firewall may drop what is sent there, or the machine is slow: connect-timeout may be longer."
		case errors.Is(why, context.DeadlineExceeded):
			e.Class, e.Msg = transport.ClassTimeout, fmt.Sprintf("Connecting to %s ran out of time", at)
		default:
			e.Class, e.Msg = transport.ClassCancelled, fmt.Sprintf("Connecting to %s was cancelled", at)
		}
		e.Err = why
		return e
	}
	if f, ok := errors.AsType[*fault](err); ok {
		e.Msg = fmt.Sprintf("WinRM on %s refuses to open a shell: %v", at, f)
		return e
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return say(transport.ClassResolve, "")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return say(transport.ClassProtocol, "Set cacert under winrm to the certificate of the authority that has signed it, and use the name for which it is; ssl-verify: false accepts any.")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return say(transport.ClassProtocol, "There may be no HTTPS on this port: with ssl: false port 5985 is used.")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return say(transport.ClassConnect, "WinRM may not be enabled there (winrm quickconfig), or be on another port.")
	}
	if errors.Is(err, errOnlyBasic) {
		return say(transport.ClassProtocol, "Give the server's certificate with cacert instead of ssl-verify: false, or set basic-auth-only if it may be any server.")
	}
	if errors.Is(err, errRefused) {
		e.Class, e.Code = transport.ClassAuth, "AUTH_ERROR"
		e.Msg = fmt.Sprintf("Authentication failed for %s@%s: %v", printable(to.User), at, err)
		e.Hint = "A user of a domain is DOMAIN\\user or user@domain; only administrators and members of Remote Management Users may use WinRM."
		return e
	}
	return say(transport.ClassProtocol, "")
}
