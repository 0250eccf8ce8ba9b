package puppetdb

import (
	"bytes"
	"context"
	"crypto/tls"
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
	// pace is how much of an answer must come within the read timeout.
	pace = 16 << 10
	// maxSaid is how much of what a server says about an error is read, and
	// maxShown how much of it is shown.
	maxSaid  = 64 << 10
	maxShown = 2000
)

// Causes of the end of a request that took too long.
var (
	errUnconnected = errors.New("the connection took too long")
	errSlow        = errors.New("the answer took too long")
)

// A request is one to any of the servers.
type request struct {
	path   string
	params url.Values
	body   []byte // JSON; nil makes the method GET
	// safe is set for what may be sent again on another connection.
	safe bool
	wait time.Duration // that the server was asked to take
	// answer is called with a body that was answered with 200, or with any
	// status for which also is true.
	answer func(body io.Reader) error
	also   func(status int) bool
}

// A failure is why a server gave no answer.
type failure struct {
	err  error
	hint string
	next bool // another server may do better
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failed is a failure that another server would have, too.
func failed(format string, args ...any) *failure { return &failure{err: fmt.Errorf(format, args...)} }

// A sinkError is one of who takes rows: it is no matter of the server.
type sinkError struct{ error }

// ask calls attempt with one server after the other until one has answered.
func (c *Client) ask(ctx context.Context, attempt func(server *url.URL) error) error {
	first := int(c.good.Load())
	var said []string
	var last *failure
	for i := range c.servers {
		at := (first + i) % len(c.servers)
		err := attempt(c.servers[at])
		if err == nil {
			c.good.Store(int64(at))
			return nil
		}
		if s, ok := errors.AsType[sinkError](err); ok {
			return s.error
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, ok := errors.AsType[*failure](err)
		if !ok {
			f = &failure{err: err}
		}
		text := c.clean(fmt.Sprintf("%s: %v", c.servers[at], f.err))
		if !f.next {
			return c.fault(text, f)
		}
		said, last = append(said, text), f
		if i < len(c.servers)-1 {
			c.o.Log.Warn(c.said(text) + "; the next server is asked")
		}
	}
	if len(said) == 1 {
		return c.fault(said[0], last)
	}
	return c.fault("none of its servers answered: "+strings.Join(said, "; "), last)
}

// fault is the error of the instance.
func (c *Client) fault(text string, f *failure) *fault.Error {
	cause := f.err
	if cause != nil && c.hide(cause.Error()) != cause.Error() {
		cause = nil // people can ask for causes
	}
	return &fault.Error{Kind: kind, Msg: c.said(text), Hint: f.hint, Err: cause}
}

// said is what is said of the instance; text begins with the server's URL.
func (c *Client) said(text string) string {
	return fmt.Sprintf("PuppetDB (%s), %s", c.instance(), text)
}

// hide returns a text without secrets of ours.
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

// clean makes a text of a server's fit to be shown: without secrets, which a
// server might send back, and without control characters.
func (c *Client) clean(text string) string {
	// What is left out must neither hide a secret nor make one.
	text = strings.TrimSpace(c.hide(safetext.TerminalString(c.hide(text))))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + " …"
	}
	return text
}

// send makes one request to one server.
func (c *Client) send(ctx context.Context, server *url.URL, r *request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, server, r)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(c.o.ConnectTimeout, func() { cancel(errUnconnected) })
	patience := c.o.ReadTimeout + r.wait
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
	if res.StatusCode != http.StatusOK && (r.also == nil || !r.also(res.StatusCode)) {
		return c.refused(res, body)
	}
	err = r.answer(body)
	if errors.Is(context.Cause(ctx), errSlow) {
		return &failure{err: fmt.Errorf("the answer came too slowly: less than %d KiB within %v", pace>>10, c.o.ReadTimeout), hint: hintSlow, next: true}
	}
	if f, ok := errors.AsType[*failure](err); ok && res.StatusCode != http.StatusOK {
		f.err, f.next = fmt.Errorf("%s: %w", res.Status, f.err), res.StatusCode >= 500
	}
	return err
}

func (c *Client) request(ctx context.Context, server *url.URL, r *request) (*http.Request, error) {
	u := *server
	u.Path += r.path
	u.RawQuery = r.params.Encode()
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, failed("%v", err)
	}
	for name, value := range c.o.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.o.Agent != "" {
		req.Header.Set("User-Agent", c.o.Agent)
	}
	if c.o.Token.IsSet() && c.o.Cert == "" {
		req.Header.Set("X-Authentication", c.o.Token.Reveal())
	}
	if r.safe {
		req.Header["Idempotency-Key"] = nil // net/http's word for it, which is not sent
	}
	return req, nil
}

// Advice.
const (
	hintSlow      = "the setting read_timeout says how long PuppetDB may take; a query for fewer columns or rows is quicker"
	hintAuthority = "the setting cacert must name the authority that PuppetDB's certificate is from"
	hintWho       = "PuppetDB wants a certificate of its own authority: the settings cert and key"
	hintRefused   = "PuppetDB's setting certificate-allowlist must have the name in the certificate that cert names"
	hintToken     = "the token may have run out: puppet-access login fetches another"
	hintAddress   = "server_urls must name PuppetDB itself"
	hintDown      = "see that PuppetDB runs there, and that server_urls has its host and port"
)

// unanswered is the failure of a request that got no answer.
func (c *Client) unanswered(ctx context.Context, err error, patience time.Duration) error {
	switch context.Cause(ctx) {
	case errSlow:
		return &failure{err: fmt.Errorf("no answer within %v", patience), hint: hintSlow, next: true}
	case errUnconnected:
		return &failure{err: fmt.Errorf("no connection within %v", c.o.ConnectTimeout), hint: hintDown, next: true}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the address is told anyway
	}
	f := &failure{err: err, next: true}
	timeout, isNet := errors.AsType[net.Error](err)
	op, _ := errors.AsType[*net.OpError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	if _, distrusted := errors.AsType[*tls.CertificateVerificationError](err); distrusted {
		f.hint = hintAuthority
	} else if alert || op != nil && op.Op == "remote error" {
		f.hint = hintWho
	} else if isNet && timeout.Timeout() {
		f.err, f.hint = fmt.Errorf("no connection within %v", c.o.ConnectTimeout), hintDown
	} else if op != nil && op.Op == "dial" {
		f.hint = hintDown
	}
	return f
}

// refused is the failure of an answer with a status that is not right.
func (c *Client) refused(res *http.Response, body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, maxSaid))
	if err != nil {
		text = nil // what came is damaged, and its status says enough
	}
	f := failed("%s", res.Status)
	if said := message(res, text); said != "" {
		f = failed("%s: %s", res.Status, said)
	}
	f.next = res.StatusCode >= 500
	switch res.StatusCode {
	case http.StatusUnauthorized:
		f.hint = hintToken
	case http.StatusForbidden:
		f.hint = hintRefused
	case http.StatusNotFound:
		f.hint = hintAddress
	}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		return &failure{err: fmt.Errorf("%s: it redirects to %s, which is not followed", res.Status, to), hint: hintAddress}
	}
	return f
}

// message is what a server says of an error: text, or {"error": text}. Pages for
// browsers say nothing.
func message(res *http.Response, body []byte) string {
	var said struct {
		Error string `json:"error"`
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case json.Unmarshal(body, &said) == nil && said.Error != "":
		return said.Error
	case kind == "text/html":
		return ""
	}
	return strings.TrimSpace(string(body))
}

// paced reads an answer and ends the request if that comes too slowly. What who
// reads does in between takes no time of it.
type paced struct {
	from   io.Reader
	limit  time.Duration
	cancel context.CancelCauseFunc

	used time.Duration // for what came since the last pace
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
