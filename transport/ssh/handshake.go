package ssh

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/readfile"
	"bolt/transport"
	"bolt/transport/ssh/knownhosts"
)

// stream is the connection under a handshake: a TCP connection, a channel of a
// jump host, or a proxy command.
type stream = net.Conn

// straight returns the function that dials an endpoint by TCP or by its
// ProxyCommand.
func (v *View) straight(e *endpoint) dialFunc {
	if e.command != "" {
		return func(ctx context.Context) (stream, error) {
			return startCommand(ctx, e.command, v.caller.Dir, v.caller.Environ, e.disconnect)
		}
	}
	return func(ctx context.Context) (stream, error) {
		// net.Dialer tries addresses of both families (RFC 8305). The keepalive
		// of TCP is off: bolt's own keepalive also detects a server that hangs.
		nd := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: false}, KeepAlive: -1}
		c, err := dialFrom(ctx, nd, e)
		if err != nil {
			return nil, err
		}
		ackNow(c)
		return c, nil
	}
}

// dialFrom dials an address of the AddressFamily in ssh_config. If ssh_config
// has a BindAddress, it tries each source address of that name until one works.
func dialFrom(ctx context.Context, nd net.Dialer, e *endpoint) (c net.Conn, err error) {
	family := ""
	switch e.conf.AddressFamily {
	case "inet":
		family = "4"
	case "inet6":
		family = "6"
	}
	if e.conf.BindAddress == "" {
		return nd.DialContext(ctx, "tcp"+family, e.address())
	}
	from, err := net.DefaultResolver.LookupNetIP(ctx, "ip"+family, e.conf.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("BindAddress in ssh_config: no address for the name %s", e.conf.BindAddress)
	}
	for _, a := range from {
		nd.LocalAddr = &net.TCPAddr{IP: a.Unmap().AsSlice(), Zone: a.Zone()}
		if c, err = nd.DialContext(ctx, "tcp"+family, e.address()); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("from BindAddress %s in ssh_config: %w", e.conf.BindAddress, err)
}

// attempt is one attempt to connect: dial, key exchange and authentication, all
// within the endpoint's timeout. The wire is nil if the dial failed.
func (v *View) attempt(ctx context.Context, e *endpoint, dial dialFunc, auth *authRecord) (*Conn, *wire, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := newTimeLimit(e.timeout, func() { cancel(errConnectTimeout) })
	defer limit.stop()

	s, err := dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, e.endedError(ctx, "dialling "+e.address())
		}
		return nil, nil, e.reachError(err)
	}
	w := newWire(s)
	stop := context.AfterFunc(ctx, func() { w.Close() })
	type result struct {
		conn *Conn
		err  error
	}
	results := make(chan result)
	if !v.d.work.start(func() {
		c, err := v.shakeHandsSafely(ctx, e, w, limit, auth)
		select {
		case results <- result{c, err}:
		case <-ctx.Done(): // attempt no longer waits
			if c != nil {
				c.Close()
			}
		}
	}) {
		stop()
		w.Close()
		return nil, w, connectError(transport.ClassCancelled, e.to.Host, errDialerClosed, "")
	}
	var r result
	select {
	case r = <-results:
	case <-ctx.Done():
		// Closing the stream ends the handshake. Behind a jump host, it ends
		// only when that host confirms.
		return nil, w, e.endedError(ctx, "waiting for the SSH server at "+e.address())
	}
	if !stop() {
		if r.conn != nil {
			r.conn.Close()
		}
		return nil, w, e.endedError(ctx, "waiting for the SSH server at "+e.address())
	}
	if r.err != nil {
		w.Close()
		if c, ok := s.(*commandConn); ok {
			r.err = c.explain(e, r.err, w)
		}
		return nil, w, r.err
	}
	return r.conn, w, nil
}

// shakeHandsSafely calls shakeHands and returns a panic as an error.
func (v *View) shakeHandsSafely(ctx context.Context, e *endpoint, w *wire, limit *timeLimit, auth *authRecord) (c *Conn, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, connectError(transport.ClassProtocol, e.to.Host, panicError(v.d.log, e.to.Host, p), "")
		}
	}()
	return v.shakeHands(ctx, e, w, limit, auth)
}

// shakeHands runs the version and key exchange and authenticates.
func (v *View) shakeHands(ctx context.Context, e *endpoint, w *wire, limit *timeLimit, auth *authRecord) (*Conn, error) {
	config := &ssh.ClientConfig{
		Config:        ssh.Config{KeyExchanges: e.algorithms.kex, Ciphers: e.algorithms.ciphers, MACs: e.algorithms.macs},
		User:          e.user,
		ClientVersion: clientVersion,
	}
	var refused error // x/crypto does not promise to wrap it
	kept, log := e.kept(), v.d.log
	trust := v.d.newTrust(kept)
	algorithms, err := trust.algorithms(e)
	if readfile.OutOfFiles(err) {
		return nil, limitError(e.to.Host, err)
	}
	if err != nil {
		return nil, connectError(transport.ClassConnect, e.to.Host, err, "")
	}
	config.HostKeyAlgorithms = algorithms
	config.HostKeyCallback = func(_ string, remote net.Addr, key ssh.PublicKey) (err error) {
		// x/crypto calls it on a goroutine that does not recover. After a panic
		// the key is refused.
		defer func() {
			if p := recover(); p != nil {
				err = panicError(log, kept.to.Host, p) // not e, which has a password
			}
			refused = err
		}()
		return trust.check(remote, key)
	}
	attempt := v.authenticate(ctx, e, limit, auth)
	// x/crypto keeps its configuration as long as the connection. So it must
	// not hold credentials or their sources.
	config.AuthCallback = func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) { return attempt.next(c) }
	defer func() { attempt = nil }()
	mux, channels, requests, err := ssh.NewClientConn(w, e.address(), config)
	switch {
	case err == nil:
		attempt.succeeded()
		return newConn(v.d, kept, secured{mux, channels, requests, w, trust}), nil
	case refused != nil:
		return nil, hostKeyError(e, refused)
	case attempt.started:
		return nil, attempt.failed(e, err, w)
	}
	return nil, e.handshakeError(err, w)
}

// clientVersion is the version string that bolt sends (RFC 4253 4.2).
const clientVersion = "SSH-2.0-bolt"

// longEnough returns an error if an RSA host key is shorter than
// RequiredRSASize in ssh_config.
func (e *endpoint) longEnough(key ssh.PublicKey) error {
	bits := rsaBits(key)
	if bits == 0 || bits >= e.conf.RequiredRSASize {
		return nil
	}
	return &transport.Error{Class: transport.ClassHostKeyUnknown, Code: codeHostKey,
		Msg:  fmt.Sprintf("Host key verification failed for %s: its RSA key has %d bits, fewer than the %d of RequiredRSASize in ssh_config", e.to.Host, bits, e.conf.RequiredRSASize),
		Hint: "Give the machine a longer RSA key, or one of another type (ssh-keygen -A)."}
}

// rsaBits returns the length of an RSA key or of the RSA key in a certificate,
// and 0 for keys of other types.
func rsaBits(key ssh.PublicKey) int {
	if k, ok := knownhosts.Plain(key).(ssh.CryptoPublicKey); ok {
		if k, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok {
			return k.N.BitLen()
		}
	}
	return 0
}

// hostKeyError returns err as a *transport.Error with the code HOST_KEY_ERROR,
// unless it is a *transport.Error already.
func hostKeyError(e *endpoint, err error) error {
	if readfile.OutOfFiles(err) {
		return limitError(e.to.Host, err)
	}
	if t, ok := errors.AsType[*transport.Error](err); ok {
		return t
	}
	return &transport.Error{Class: transport.ClassHostKeyUnknown, Code: codeHostKey, Err: err,
		Msg: "Host key verification failed for " + e.to.Host + ": " + err.Error()}
}

// A timeLimit calls expire after a time. The time can be stopped while the user
// is asked for input.
type timeLimit struct {
	mu     sync.Mutex
	timer  *time.Timer // nil: no limit
	left   time.Duration
	since  time.Time
	paused int
	ended  bool
}

// newTimeLimit starts the time; 0 means no limit.
func newTimeLimit(d time.Duration, expire func()) *timeLimit {
	l := &timeLimit{left: d, since: time.Now()}
	if d > 0 {
		l.timer = time.AfterFunc(d, expire)
	}
	return l
}

// pause stops the time until the function that it returns is called.
func (l *timeLimit) pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil || l.ended {
		return func() {}
	}
	if l.paused++; l.paused == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.paused--; l.paused == 0 && !l.ended {
			l.since = time.Now()
			l.timer.Reset(max(l.left, 0))
		}
	})
}

func (l *timeLimit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.timer != nil {
		l.timer.Stop()
	}
}
