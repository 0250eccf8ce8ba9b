package forge

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bolt/internal/safetext"
)

// Times of a request.
const (
	connectTimeout = 15 * time.Second
	answerTimeout  = 60 * time.Second // from the request to the header of the response
	silence        = 60 * time.Second // between two reads of the body
	maxWait        = 60 * time.Second // the longest accepted Retry-After
	tries          = 4
)

// address resolves a server's reference, which is a path below its API or a URL.
func (c *Client) address(ref string) (*url.URL, error) {
	u, err := url.Parse(ref)
	if err != nil || ref == "" {
		return nil, fmt.Errorf("%s refers to %.200q, which is not an address", c.Host(), ref)
	}
	if u.Host != "" || u.Scheme != "" {
		return parseURL(c.base.ResolveReference(u).String())
	}
	full := *c.base
	path := "/" + strings.TrimLeft(u.Path, "/")
	// If the API has a path prefix, some servers include it in references and others do not.
	if c.base.Path == "" || !strings.HasPrefix(path, c.base.Path+"/") {
		path = c.base.Path + path
	}
	full.Path, full.RawPath, full.RawQuery = path, "", u.RawQuery
	return &full, nil
}

// home reports whether an address is on the server itself, which receives the token.
func (c *Client) home(u *url.URL) bool {
	return u.Scheme == c.base.Scheme && strings.EqualFold(u.Host, c.base.Host)
}

// redirect checks a redirect. Without it, Go would also send the token to all
// hosts below the server's domain.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return &permanent{errors.New("it redirects too often")}
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return &permanent{fmt.Errorf("it redirects to %s, which is not encrypted", req.URL.Redacted())}
	}
	if !c.home(req.URL) {
		req.Header.Del("Authorization")
	}
	return nil
}

// A permanent error is not retried.
type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// get requests ref, and retries. It calls read with the body of each response, so
// read can be called several times. If raw is true, the server must not compress
// the body.
func (c *Client) get(ctx context.Context, ref string, raw bool, read func(io.Reader) error) error {
	u, err := c.address(ref)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		wait, err := c.try(ctx, u, raw, read)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p, ok := errors.AsType[*permanent](err); ok {
			return p.error
		}
		if wait > maxWait {
			return fmt.Errorf("%w; its Retry-After is %v", err, wait)
		}
		if try == tries {
			return fmt.Errorf("%w (tried %d times)", err, tries)
		}
		if wait == 0 {
			wait = c.o.Backoff << (try - 1)
			if c.o.Jitter != nil {
				wait = time.Duration(float64(wait) * (0.5 + c.o.Jitter()))
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// try makes one request. wait is the server's Retry-After, or 0.
func (c *Client) try(ctx context.Context, u *url.URL, raw bool, read func(io.Reader) error) (wait time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, &permanent{err}
	}
	req.Header.Set("User-Agent", c.o.Agent)
	if raw {
		// Some servers send an archive with Content-Encoding: gzip. Go would
		// decompress it, and its digest would be wrong.
		req.Header.Set("Accept-Encoding", "identity")
	}
	if c.o.Token.IsSet() && c.home(u) {
		req.Header.Set("Authorization", c.o.Token.Reveal())
	}
	res, err := c.http.Do(req)
	if err != nil {
		if p, ok := errors.AsType[*permanent](err); ok {
			return 0, &permanent{fmt.Errorf("%s: %w", u.Redacted(), p.error)}
		}
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the text of e has the whole URL, with a password
		}
		_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
		dns, _ := errors.AsType[*net.DNSError](err)
		err = fmt.Errorf("%s://%s: %w", u.Scheme, u.Host, err)
		if distrusted || dns != nil && dns.IsNotFound {
			err = &permanent{err}
		}
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return c.refused(res, u)
	}
	// Without this timeout, a server that stops sending would block the client forever.
	stalled := fmt.Errorf("%s: no data was received for %v", u.Host, silence)
	timer := time.AfterFunc(silence, func() { cancel(stalled) })
	defer timer.Stop()
	err = read(readerFunc(func(p []byte) (int, error) {
		n, err := res.Body.Read(p)
		timer.Reset(silence)
		return n, err
	}))
	if err != nil && errors.Is(context.Cause(ctx), stalled) {
		return 0, stalled
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%s: the connection ended before the end of the response", u.Host)
	}
	return 0, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// refused returns the error for a response whose status is not 200.
func (c *Client) refused(res *http.Response, u *url.URL) (wait time.Duration, err error) {
	var said struct {
		Message string   `json:"message"`
		Errors  []string `json:"errors"`
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // the details are optional
	if json.Unmarshal(bytes.TrimSpace(text), &said) != nil || said.Message == "" {
		said.Message = res.Status
	}
	message := strings.Join(append([]string{said.Message}, said.Errors...), "; ")
	if len(message) > 500 {
		message = strings.ToValidUTF8(message[:500], "") + " …"
	}
	err = fmt.Errorf("%s answered: %s", u.Host, safetext.TerminalString(message))
	switch {
	case res.StatusCode == http.StatusNotFound:
		return 0, &permanent{fmt.Errorf("%w (%s)", ErrNotFound, c.Host())}
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		if !c.o.Token.IsSet() {
			err = fmt.Errorf("%w (a token can be set: module-install, forge, authorization_token)", err)
		}
		return 0, &permanent{err}
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500:
		return retryAfter(res.Header), err
	}
	return 0, &permanent{err}
}

// retryAfter returns the wait of the header Retry-After, which has seconds or a
// date (RFC 9110, section 10.2.3).
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(min(n, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		sent, err := http.ParseTime(h.Get("Date")) // the server's clock can differ from ours
		if err == nil && at.After(sent) {
			return at.Sub(sent)
		}
	}
	return 0
}
