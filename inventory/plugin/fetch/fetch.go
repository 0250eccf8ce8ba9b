// Package fetch asks HTTP servers for answers that are kept whole, in bounded
// time and memory. It is what plugins that speak to a server share.
//
// Redirects are not followed: what is sent along may be a secret. A server is
// verified, by the system's authorities unless others are named. Errors have
// nothing of what was sent.
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
	maxShown       = 500              // bytes of what a server says about an error
)

// Options describe a client.
type Options struct {
	// Authorities are PEM certificates of those that vouch for servers, nil for
	// the system's. Certificate and Key are PEM, too, and say who asks.
	Authorities, Certificate, Key []byte
	// Roots are authorities in the place of Authorities.
	Roots *x509.CertPool
	// Unverified believes every server.
	Unverified bool
	Limit      int64 // bytes that an answer may have
	Agent      string
	// Proxy tells the proxy of a request, as http.Transport has it; nil for none.
	// It is asked for https alone: nothing else keeps secrets from a proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout is of a request with all of its answer; 0 is a minute.
	Timeout time.Duration
}

// A Client asks servers. It is safe for concurrent use.
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
			return nil, errors.New("there is no certificate of an authority in what is given as one")
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
			DisableKeepAlives:      true, // a server is asked once or twice
			Proxy: func(r *http.Request) (*url.URL, error) {
				if o.Proxy == nil || r.URL.Scheme != "https" {
					return nil, nil
				}
				return o.Proxy(r)
			},
		},
	}}, nil
}

// Parse reads the address of a server. Errors do not have its text, which may
// hold a password.
func Parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, errors.New("it is no URL that begins with https:// or http://")
	case u.User != nil:
		return nil, errors.New("it has a user in it; there are options for who asks")
	case u.Fragment != "":
		return nil, errors.New("it has a fragment")
	}
	return u, nil
}

// A Request is what a server is asked. Its header and body may be secret, and so
// may be the query of its URL.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// An Answer is a server's.
type Answer struct {
	Code   int
	Status string // "404 Not Found"
	Header http.Header
	Body   []byte
}

// Do makes a request. An answer with any status is no error. Errors begin with
// the server's address; that of a context that is done is its own.
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
		err = fmt.Errorf("no whole answer within %v", c.o.Timeout)
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
		return nil, fmt.Errorf("the answer is larger than %d MiB", c.o.Limit>>20)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the connection ended before all of the answer had come")
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Code: res.StatusCode, Status: safetext.TerminalString(res.Status), Header: res.Header, Body: body}, nil
}

// reason is why there was no answer, without the URL.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Errorf("no connection within %v", connectTimeout)
	}
	return err
}

// Place is a URL without what may be secret of it.
func Place(u *url.URL) string {
	p := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return p.String()
}

// Elsewhere is where an answer redirects to, nil if it does not.
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

// Shown makes a text of a server's fit to be shown: short, without control
// characters, and without secrets, which a server might send back.
func Shown(text string, secrets ...string) string {
	hide := func(text string) string {
		for _, s := range secrets {
			if s != "" {
				text = strings.ReplaceAll(text, s, "[redacted]")
			}
		}
		return text
	}
	// What is left out must neither hide a secret nor make one.
	text = strings.TrimSpace(hide(safetext.TerminalString(hide(text))))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + " …"
	}
	return text
}
