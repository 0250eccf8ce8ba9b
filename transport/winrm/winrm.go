// Package winrm connects to Windows machines over WinRM. It sends WS-Management
// messages (soap.go) in HTTP requests (lane.go), and a remote shell runs a
// program (exec.go). Package powershell provides that program.
//
// Dial opens one remote shell. Each command that runs at the same time as
// another one uses a further shell. Standard input, output and the end of a
// command are separate requests. The server answers a request for output when
// there is output, or after a while with a fault, and then the request is
// repeated. A connection has no goroutines except those of running requests.
//
// Over HTTP, every message is encrypted with NTLM's keys; unencrypted messages
// are neither sent nor accepted. Over HTTPS, NTLM is bound to the server's
// certificate. The password itself is sent only if the server offers nothing
// else, or if it is configured. Redirects are not followed, and the size of
// answers is limited.
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

	// pollTime is the time for which a server waits for output before it
	// reports that there is none. A server's default limit for any operation is
	// a minute.
	pollTime = 20 * time.Second
	// endTime limits the end of a command that was stopped, and the end of a
	// connection.
	endTime = 10 * time.Second
)

// Dialer opens connections over WinRM. Its zero value can be used.
type Dialer struct {
	poll, end time.Duration // 0: pollTime, endTime
}

var _ transport.Dialer = (*Dialer)(nil)

// NewDialer returns a Dialer.
func NewDialer() *Dialer { return &Dialer{} }

// Dial opens a remote shell. If that succeeds, the machine answers, its
// certificate is valid, and it accepts the user.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if to.Protocol != Protocol {
		return nil, &transport.Error{Class: transport.ClassUnsupported, Code: "CONNECT_ERROR",
			Msg: fmt.Sprintf("Cannot connect to %s over WinRM: its transport is %s", to.Host, to.Protocol)}
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

// newPeer decides everything that can be decided without a connection.
func newPeer(ctx context.Context, to transport.Dest) (*peer, error) {
	w, _ := to.Options.(Access)
	refused := func(class transport.Class, code, msg, hint string) (*peer, error) {
		return nil, &transport.Error{Class: class, Code: code, Msg: msg, Hint: hint}
	}
	switch {
	case to.Host == "":
		return refused(transport.ClassResolve, "CONNECT_ERROR", "No host is set", "")
	case w.Realm != "":
		return refused(transport.ClassUnsupported, "AUTH_ERROR", fmt.Sprintf("Cannot log in to %s with Kerberos (realm %s): bolt supports only NTLM and Basic for WinRM", to.Host, printable(w.Realm)),
			"Remove realm, and set user and password. Write a domain user as DOMAIN\\user or user@domain.")
	case to.User == "" || !to.Password.IsSet():
		return refused(transport.ClassAuth, "AUTH_ERROR", fmt.Sprintf("WinRM needs a user and a password for %s", to.Host),
			"Set user and password under winrm, or use --user and --password-prompt.")
	case w.BasicOnly && !w.SSL:
		return refused(transport.ClassUnsupported, "AUTH_ERROR", fmt.Sprintf("Basic authentication to %s would reveal the password on the network", to.Host), "Set ssl, or leave basic-auth-only out.")
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
				return refused(transport.ClassUnsupported, "CONNECT_ERROR", fmt.Sprintf("The CA certificates for %s cannot be read: %v", to.Host, err), "Set cacert under winrm to an existing file.")
			}
			p.tls.RootCAs = x509.NewCertPool()
			if !p.tls.RootCAs.AppendCertsFromPEM(pem) {
				return refused(transport.ClassUnsupported, "CONNECT_ERROR", fmt.Sprintf("The file %s has no certificates", w.CACert), "Set cacert under winrm to a file with certificates in PEM format.")
			}
		}
	}
	if to.Port != 0 {
		port = to.Port
	}
	p.url = scheme + "://" + net.JoinHostPort(to.Host, strconv.Itoa(port)) + "/wsman"
	return p, nil
}

// cause returns the text of an error without the HTTP request, which adds no
// information.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	return err.Error()
}

// dialError returns the error of a failed Dial.
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
			e.Hint = "A firewall may drop the packets, or the machine is slow: increase connect-timeout."
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
		return say(transport.ClassProtocol, "Set cacert under winrm to the certificate of the CA that has signed it, and use a host name in the certificate. ssl-verify: false accepts any certificate.")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return say(transport.ClassProtocol, "The port may not use HTTPS: with ssl: false, bolt uses port 5985.")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return say(transport.ClassConnect, "WinRM may not be enabled on the machine (winrm quickconfig), or may use another port.")
	}
	if errors.Is(err, errOnlyBasic) {
		return say(transport.ClassProtocol, "Set cacert to the server's certificate instead of ssl-verify: false, or set basic-auth-only to accept any server.")
	}
	if errors.Is(err, errRefused) {
		e.Class, e.Code = transport.ClassAuth, "AUTH_ERROR"
		e.Msg = fmt.Sprintf("Authentication failed for %s@%s: %v", printable(to.User), at, err)
		e.Hint = "Write a domain user as DOMAIN\\user or user@domain. Only administrators and members of Remote Management Users may use WinRM."
		return e
	}
	return say(transport.ClassProtocol, "")
}
