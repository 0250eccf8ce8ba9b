package winrm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"bolt/transport"
)

// A peer is the address of a server and the credentials for it.
type peer struct {
	host     string // for messages
	url      string
	user     string
	password transport.Secret
	tls      *tls.Config // nil: HTTP
	basic    bool        // use only Basic
	slack    time.Duration

	mu   sync.Mutex
	free []*lane
	over bool
}

// slackTime is added to the time for which the server was asked to wait.
const slackTime = 30 * time.Second

// post sends a message and returns the answer. If the server refuses the
// message, the error is a *fault. After other errors, it is unknown whether the
// server has processed the message.
func (p *peer) post(ctx context.Context, m message) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.wait+p.slack, errSilent)
	defer cancel()
	l, err := p.take()
	if err != nil {
		return nil, err
	}
	body, err := l.post(ctx, m.envelope(p.url))
	if err != nil {
		l.close()
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		return nil, err
	}
	p.give(l)
	return parse(body)
}

var (
	errSilent = errors.New("it no longer answers")
	errClosed = errors.New("the connection is closed")
)

func (p *peer) take() (*lane, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, errClosed
	}
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		p.free = p.free[:n-1]
		return l, nil
	}
	return newLane(p), nil
}

func (p *peer) give(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		l.close()
		return
	}
	p.free = append(p.free, l)
}

// close closes all free lanes. Lanes in use end with their requests.
func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, l := range p.free {
		l.close()
	}
	p.free = nil
}

// A lane is one TCP connection, because NTLM authenticates connections. It
// handles one request at a time. So a request that waits for output has one
// lane, and a request that sends input meanwhile has another.
type lane struct {
	p     *peer
	t     *http.Transport
	basic bool
	ntlm  *ntlm // nil before the handshake, and with basic
}

func newLane(p *peer) *lane {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &lane{p: p, basic: p.basic, t: &http.Transport{
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        p.tls,
		Protocols:              &protocols,
		MaxConnsPerHost:        1,
		DisableCompression:     true, // a small answer could expand to a large one
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

func (l *lane) close() { l.t.CloseIdleConnections() }

// post sends a message and returns the decrypted body of the answer.
func (l *lane) post(ctx context.Context, message []byte) ([]byte, error) {
	fresh := false
	for {
		if !l.basic && l.ntlm == nil {
			if err := l.handshake(ctx); err != nil {
				return nil, err
			}
			fresh = true
		}
		r, err := l.send(ctx, message)
		if err != nil {
			return nil, err
		}
		switch {
		case r.status == http.StatusUnauthorized && !l.basic && !fresh:
			l.ntlm = nil // the server has dropped the connection's state, or closed the connection
			continue
		case r.status == http.StatusUnauthorized:
			return nil, errRefused
		}
		return r.message(l)
	}
}

// errRefused is the error if the server does not accept the user and password.
var errRefused = errors.New("the user or the password is not accepted")

// errOnlyBasic is the error if a server that may not be the right one asks for
// the password itself.
var errOnlyBasic = errors.New("it offers only Basic authentication, which would send the password to a server whose certificate is not verified")

// handshake authenticates the connection. If a server offers only Basic, Basic
// is used only over TLS with a verified certificate. Otherwise, an attacker on
// the network could get the password by asking for it.
func (l *lane) handshake(ctx context.Context) error {
	n, err := newNTLM(l.p.user, l.p.password)
	if err != nil {
		return err
	}
	token, err := n.token(nil, nil)
	if err != nil {
		return err
	}
	r, err := l.do(ctx, soapType, "Negotiate "+base64.StdEncoding.EncodeToString(token), nil)
	if err != nil {
		return err
	}
	challenge, negotiate, basic := challengeOf(r.header.Values("WWW-Authenticate"))
	switch {
	case r.status != http.StatusUnauthorized:
		_, err := r.message(l)
		if err == nil {
			err = errors.New("it does not ask for authentication, as WinRM does")
		}
		return err
	case challenge == nil && !negotiate && basic && l.p.tls != nil && !l.p.tls.InsecureSkipVerify:
		l.basic = true
		return nil
	case challenge == nil && basic && !negotiate && l.p.tls != nil:
		return errOnlyBasic
	case challenge == nil && basic && !negotiate:
		return errors.New("it offers only Basic authentication, which would reveal the password on the network")
	case challenge == nil && !negotiate:
		return errors.New("it does not offer NTLM authentication")
	case challenge == nil:
		return errRefused
	}
	if token, err = n.token(challenge, r.cert); err != nil {
		return err
	}
	r, err = l.do(ctx, soapType, "Negotiate "+base64.StdEncoding.EncodeToString(token), nil)
	switch {
	case err != nil:
		return err
	case r.status == http.StatusUnauthorized:
		return errRefused
	case 300 <= r.status && r.status < 400:
		_, err := r.message(l)
		return err
	}
	l.ntlm = n
	return nil
}

// send sends a message with the negotiated authentication.
func (l *lane) send(ctx context.Context, message []byte) (*response, error) {
	switch {
	case l.basic:
		basic := base64.StdEncoding.EncodeToString([]byte(l.p.user + ":" + l.p.password.Reveal()))
		return l.do(ctx, soapType, "Basic "+basic, message)
	case l.p.tls != nil:
		return l.do(ctx, soapType, "", message)
	}
	sealed, err := l.ntlm.seal(message)
	if err != nil {
		return nil, err
	}
	return l.do(ctx, sealedType, "", sealed)
}

// A response is a response whose body was read.
type response struct {
	status      int
	header      http.Header
	contentType string
	body        []byte
	cert        *x509.Certificate // certificate of the server; nil without TLS
}

// do makes one request. It does not follow redirects; neither does
// http.Transport itself.
func (l *lane) do(ctx context.Context, contentType, authorization string, body []byte) (*response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "bolt")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := l.t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := &response{status: resp.StatusCode, header: resp.Header, contentType: resp.Header.Get("Content-Type")}
	if r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err != nil {
		return nil, err
	}
	if len(r.body) > maxAnswer {
		return nil, fmt.Errorf("its answer has more than %d MiB", maxAnswer>>20)
	}
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		r.cert = resp.TLS.PeerCertificates[0]
	}
	return r, nil
}

// message returns the body of a response, if it is a WinRM response. Over HTTP,
// only encrypted responses are accepted.
func (r *response) message(l *lane) ([]byte, error) {
	switch {
	case 300 <= r.status && r.status < 400:
		return nil, fmt.Errorf("it answers with status %d; bolt does not follow redirects", r.status)
	case r.status != http.StatusOK && r.status != http.StatusInternalServerError && r.status != http.StatusBadRequest:
		return nil, fmt.Errorf("it answers with status %d", r.status)
	case isSealed(r.contentType) && l.ntlm != nil:
		return l.ntlm.unseal(r.body)
	case l.p.tls == nil:
		return nil, fmt.Errorf("it answers with status %d without encryption", r.status)
	}
	return r.body, nil
}
