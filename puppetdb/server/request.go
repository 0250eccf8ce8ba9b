package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/internal/safetext"
)

const (
	// pace is the number of bytes that must arrive within the read timeout.
	pace = 16 << 10
	// maxSaid is the maximum number of bytes of a server's error message that are read, and
	// maxShown the maximum that is printed.
	maxSaid  = 64 << 10
	maxShown = 2000
)

// Causes of requests that timed out.
var (
	errUnconnected = errors.New("the connection took too long")
	errSlow        = errors.New("the response took too long")
)

// A Request is a request to any of the servers.
type Request struct {
	Path   string
	Params url.Values
	Body   []byte // JSON; nil makes the method GET
	// Safe is set for a request that may be sent again on another connection.
	Safe bool
	Wait time.Duration // time that the server was asked to wait before it answers
	// Answer is called with the body of an answer with status 200, or with any
	// status for which Also is true.
	Answer func(body io.Reader) error
	Also   func(status int) bool
	// Refused returns the error of another status, with the message of the server. If it
	// returns nil, or is nil, the error has the status and the message.
	Refused func(status int, said string) error
}

// A Failure is the reason why a server gave no usable answer.
type Failure struct {
	Err  error
	Hint string
	Next bool // another server may succeed
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Failed returns a failure that would also occur with any other server.
func Failed(format string, args ...any) *Failure { return &Failure{Err: fmt.Errorf(format, args...)} }

// An ownError is an error that is not about the server.
type ownError struct{ error }

// Own marks an error that is not about the server: Ask returns err unchanged.
func Own(err error) error { return ownError{err} }

// Do sends a request to one server after the other until one has answered.
func (c *Client) Do(ctx context.Context, r *Request) error {
	return c.Ask(ctx, func(server *url.URL) error { return c.Send(ctx, server, r) })
}

// Ask calls attempt with one server after the other until one has answered.
func (c *Client) Ask(ctx context.Context, attempt func(server *url.URL) error) error {
	first := int(c.good.Load())
	var said []string
	var last *Failure
	for i := range c.servers {
		at := (first + i) % len(c.servers)
		err := attempt(c.servers[at])
		if err == nil {
			c.good.Store(int64(at))
			return nil
		}
		if s, ok := errors.AsType[ownError](err); ok {
			return s.error
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, ok := errors.AsType[*Failure](err)
		if !ok {
			f = &Failure{Err: err}
		}
		text := c.Clean(fmt.Sprintf("%s: %v", c.servers[at], f.Err))
		if !f.Next {
			return c.Fault(text, f)
		}
		said, last = append(said, text), f
		if i < len(c.servers)-1 {
			c.o.Log.Warn(c.said(text) + "; the next server is asked")
		}
	}
	if len(said) == 1 {
		return c.Fault(said[0], last)
	}
	return c.Fault("none of its servers answered: "+strings.Join(said, "; "), last)
}

// Fault returns the error of the instance.
func (c *Client) Fault(text string, f *Failure) *fault.Error {
	cause := f.Err
	if cause != nil && c.hide(cause.Error()) != cause.Error() {
		cause = nil // so that callers cannot print the causes
	}
	return &fault.Error{Kind: c.service.Kind, Msg: c.said(text), Hint: f.Hint, Err: cause}
}

// said returns a message about the service; text begins with the server's URL.
func (c *Client) said(text string) string { return c.service.Label + ", " + text }

// hide returns a string without the client's secrets.
func (c *Client) hide(text string) string {
	secrets := []string{c.o.Token.Reveal()}
	for _, h := range c.o.Headers {
		secrets = append(secrets, h.Reveal())
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}

// Clean makes a string from a server safe to print: without secrets, which a server might send
// back, and without control characters.
func (c *Client) Clean(text string) string {
	// Removing characters must neither hide a secret from the search nor create one.
	text = strings.TrimSpace(c.hide(safetext.TerminalString(c.hide(text))))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + " …"
	}
	return text
}

// Send sends one request to one server.
func (c *Client) Send(ctx context.Context, server *url.URL, r *Request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, server, r)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(c.o.ConnectTimeout, func() { cancel(errUnconnected) })
	patience := c.o.ReadTimeout + r.Wait
	res, err := c.http.Do(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		timer.Stop()
		timer = time.AfterFunc(patience, func() { cancel(errSlow) })
	}})))
	timer.Stop()
	if err != nil {
		return c.unanswered(ctx, err, patience)
	}
	defer res.Body.Close()
	body := &paced{from: res.Body, limit: c.o.ReadTimeout, cancel: cancel}
	if res.StatusCode != http.StatusOK && (r.Also == nil || !r.Also(res.StatusCode)) {
		return c.refused(res, body, r)
	}
	err = r.Answer(body)
	if errors.Is(context.Cause(ctx), errSlow) {
		return &Failure{Err: fmt.Errorf("the response was too slow: less than %d KiB within %v", pace>>10, c.o.ReadTimeout), Hint: c.service.Slow, Next: true}
	}
	if f, ok := errors.AsType[*Failure](err); ok && res.StatusCode != http.StatusOK {
		f.Err, f.Next = fmt.Errorf("%s: %w", res.Status, f.Err), res.StatusCode >= 500
	}
	return err
}

func (c *Client) request(ctx context.Context, server *url.URL, r *Request) (*http.Request, error) {
	u := *server
	u.Path += r.Path
	u.RawQuery = r.Params.Encode()
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, Failed("%v", err)
	}
	for name, value := range c.o.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("Accept", "application/json")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.o.Agent != "" {
		req.Header.Set("User-Agent", c.o.Agent)
	}
	if c.o.Token.IsSet() && c.o.Cert == "" {
		req.Header.Set("X-Authentication", c.o.Token.Reveal())
	}
	if r.Safe {
		req.Header["Idempotency-Key"] = nil // net/http omits the header if the value is nil
	}
	return req, nil
}

// Advice, which names the service and its settings.

func (s *Service) hintAuthority() string {
	return fmt.Sprintf("the setting cacert must name the CA that signed %s's certificate", s.Name)
}

func (s *Service) hintName() string {
	return fmt.Sprintf("server_urls must have a host name that is in %s's certificate", s.Name)
}

func (s *Service) hintExpired() string {
	return fmt.Sprintf("renew %s's certificate, or set the clock of this machine", s.Name)
}

// hintCertificate returns the hint for a certificate that could not be verified.
func (s *Service) hintCertificate(err error) string {
	if _, is := errors.AsType[x509.HostnameError](err); is {
		return s.hintName()
	}
	if e, is := errors.AsType[x509.CertificateInvalidError](err); is && e.Reason == x509.Expired {
		return s.hintExpired()
	}
	return s.hintAuthority()
}

func (s *Service) hintWho() string {
	return s.Name + " wants a certificate of its own authority: the settings cert and key"
}

func (s *Service) hintAddress() string { return fmt.Sprintf("server_urls must name %s itself", s.Name) }

func (s *Service) hintDown() string {
	return fmt.Sprintf("see that %s runs there, and that server_urls has its host and port", s.Name)
}

const hintToken = "the token may have run out: puppet-access login fetches another"

// unanswered returns the failure of a request without a response.
func (c *Client) unanswered(ctx context.Context, err error, patience time.Duration) error {
	switch context.Cause(ctx) {
	case errSlow:
		return &Failure{Err: fmt.Errorf("no answer within %v", patience), Hint: c.service.Slow, Next: true}
	case errUnconnected:
		return &Failure{Err: fmt.Errorf("no connection within %v", c.o.ConnectTimeout), Hint: c.service.hintDown(), Next: true}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the message contains the address anyway
	}
	f := &Failure{Err: err, Next: true}
	timeout, isNet := errors.AsType[net.Error](err)
	op, _ := errors.AsType[*net.OpError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	if e, distrusted := errors.AsType[*tls.CertificateVerificationError](err); distrusted {
		f.Hint = c.service.hintCertificate(e)
	} else if alert || op != nil && op.Op == "remote error" {
		f.Hint = c.service.hintWho()
	} else if isNet && timeout.Timeout() {
		f.Err, f.Hint = fmt.Errorf("no connection within %v", c.o.ConnectTimeout), c.service.hintDown()
	} else if op != nil && op.Op == "dial" {
		f.Hint = c.service.hintDown()
	}
	return f
}

// refused returns the failure of a response with an unexpected status.
func (c *Client) refused(res *http.Response, body io.Reader, r *Request) error {
	text, err := io.ReadAll(io.LimitReader(body, maxSaid))
	if err != nil {
		text = nil // the body is damaged; the status is enough
	}
	said := message(res, text)
	if r.Refused != nil {
		if err := r.Refused(res.StatusCode, c.Clean(said)); err != nil {
			return err
		}
	}
	f := Failed("%s", res.Status)
	if said != "" {
		f = Failed("%s: %s", res.Status, said)
	}
	f.Next = res.StatusCode >= 500
	switch res.StatusCode {
	case http.StatusUnauthorized:
		f.Hint = hintToken
	case http.StatusForbidden:
		f.Hint = c.service.Refused
	case http.StatusNotFound:
		f.Hint = c.service.hintAddress()
	}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		return &Failure{Err: fmt.Errorf("%s: it redirects to %s, which is not followed", res.Status, to), Hint: c.service.hintAddress()}
	}
	return f
}

// message returns the text of an error: the body, the value of "error" (PuppetDB), or the value
// of "message" (Puppet Server). A page for browsers has no text.
func message(res *http.Response, body []byte) string {
	var said struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case json.Unmarshal(body, &said) == nil && cmp.Or(said.Error, said.Message) != "":
		return cmp.Or(said.Error, said.Message)
	case kind == "text/html":
		return ""
	}
	return strings.TrimSpace(string(body))
}

// paced reads a response and ends the request if it arrives too slowly. Time that the reader
// spends between reads does not count.
type paced struct {
	from   io.Reader
	limit  time.Duration
	cancel context.CancelCauseFunc

	used time.Duration // time since the last pace was reached
	came int
}

func (p *paced) Read(b []byte) (int, error) {
	began := time.Now()
	timer := time.AfterFunc(p.limit-p.used, func() { p.cancel(errSlow) })
	n, err := p.from.Read(b)
	timer.Stop()
	p.used += time.Since(began)
	if p.came += n; p.came >= pace {
		p.came, p.used = 0, 0
	}
	return n, err
}
