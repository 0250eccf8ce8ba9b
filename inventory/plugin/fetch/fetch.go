// Package fetch sends requests to HTTP servers and returns whole responses, in
// bounded time and memory. The plugins that use a server share it.
//
// Redirects are not followed, because the request may contain a secret. Server
// certificates are verified against the system's CA certificates unless others
// are set. Errors contain no part of the request.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bolt/internal/readfile"
	"bolt/internal/safetext"
)

// Limits.
const (
	connectTimeout = 10 * time.Second
	timeout        = 60 * time.Second // of a request with all of its answer
	maxShown       = 500              // bytes of a server's error message
)

// Options describe a client.
type Options struct {
	// Authorities are PEM certificates of the CAs that sign server certificates, nil
	// for the system's. Certificate and Key are the client certificate, in PEM, too.
	Authorities, Certificate, Key []byte
	// Roots are CA certificates that replace Authorities.
	Roots *x509.CertPool
	// Unverified accepts every server certificate.
	Unverified bool
	Limit      int64 // maximum bytes of a response
	Agent      string
	// Proxy returns the proxy of a request, as in http.Transport; nil for none.
	// It is called only for https, because a proxy can read plain HTTP requests
	// with their secrets.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout is the time limit of a request including its response; 0 is a
	// minute.
	Timeout time.Duration
}

// A Client sends requests to servers. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

// New returns a client.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Unverified, RootCAs: o.Roots}
	if o.Authorities != nil {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(o.Authorities) {
			return nil, errors.New("it contains no CA certificate")
		}
	}
	if o.Certificate != nil || o.Key != nil {
		pair, err := tls.X509KeyPair(o.Certificate, o.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate and key: %w", err)
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	return &Client{o: o, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSClientConfig:        trust,
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // a server gets one or two requests
			Proxy: func(r *http.Request) (*url.URL, error) {
				if o.Proxy == nil || r.URL.Scheme != "https" {
					return nil, nil
				}
				return o.Proxy(r)
			},
		},
	}}, nil
}

// Parse parses the address of a server. Errors do not quote it, because it may
// contain a password.
func Parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, errors.New("it is not a URL that begins with https:// or http://")
	case u.User != nil:
		return nil, errors.New("it contains a user; use the options for the login instead")
	case u.Fragment != "":
		return nil, errors.New("it has a fragment")
	}
	return u, nil
}

// A Request is a request to a server. Its header, its body and the query of its
// URL may be secret.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// An Answer is a server's response.
type Answer struct {
	Code   int
	Status string // "404 Not Found"
	Header http.Header
	Body   []byte
}

// Do sends a request. A response with any status is not an error. Errors begin
// with the server's address, but if ctx is done, the error is ctx's.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	within, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	a, err := c.do(within, r)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case within.Err() != nil:
		err = fmt.Errorf("no complete response within %v", c.o.Timeout)
	}
	return nil, fmt.Errorf("%s: %w", Place(r.URL), err)
}

func (c *Client) do(ctx context.Context, r Request) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("the request cannot be written")
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if c.o.Agent != "" {
		req.Header.Set("User-Agent", c.o.Agent)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, reason(err)
	}
	defer res.Body.Close()
	body, err := readfile.Whole(ctx, res.Body, c.o.Limit)
	if _, large := errors.AsType[*readfile.LargeError](err); large {
		return nil, fmt.Errorf("the response is larger than %d MiB", c.o.Limit>>20)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the connection closed before the whole response arrived")
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Code: res.StatusCode, Status: safetext.TerminalString(res.Status), Header: res.Header, Body: body}, nil
}

// reason returns the cause of an error without the URL.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Errorf("no connection within %v", connectTimeout)
	}
	return err
}

// Place returns a URL without the parts that may be secret.
func Place(u *url.URL) string {
	p := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return p.String()
}

// Elsewhere returns the URL that a response redirects to, nil if it does not
// redirect.
func (a *Answer) Elsewhere(from *url.URL) *url.URL {
	if a.Code/100 != 3 {
		return nil
	}
	to, err := from.Parse(a.Header.Get("Location"))
	if err != nil || a.Header.Get("Location") == "" {
		return nil
	}
	return to
}

// Shown makes a string from a server safe to print: short, without control
// characters, and without the secrets, which a server might send back.
func Shown(text string, secrets ...string) string {
	hide := func(text string) string {
		for _, s := range secrets {
			if s != "" {
				text = strings.ReplaceAll(text, s, "[redacted]")
			}
		}
		return text
	}
	// Removing characters must neither hide a secret from the search nor create
	// one.
	text = strings.TrimSpace(hide(safetext.TerminalString(hide(text))))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + " …"
	}
	return text
}
