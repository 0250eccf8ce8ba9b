// Package server sends requests to a service of Puppet (PuppetDB, Puppet Server) that may
// have several servers: if a server cannot be reached, or reports that it is broken (5xx),
// the next one is asked. The server that answered is asked first the next time.
//
// Answers are bounded in time; the functions that read them bound their size. The token,
// headers and certificate go to the servers alone: redirects are not followed, and no
// message has their text.
//
// Errors are *fault.Error of the kind of the service; the errors of a context that is done
// are its own. All types are safe for concurrent use.
package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/transport"
)

// A Service describes the service, for messages and defaults.
type Service struct {
	Name    string // "PuppetDB"
	Label   string // begins messages about it: "PuppetDB (default instance)"
	Section string // of the settings: "puppetdb"
	Kind    string // of errors
	Example string // a URL
	Port    string // of URLs without one
	Slow    string // hint for a response that takes too long
	Refused string // hint for status 403
	Page    string // of the documentation, about the settings
	// ReadTimeout is the default of Options.ReadTimeout.
	ReadTimeout time.Duration
}

const (
	connectTimeout = 60 * time.Second
	// idle is how long an unused connection is kept open. PuppetDB closes connections
	// after 30 s, and a request must not be sent at that moment.
	idle = 10 * time.Second
)

// Options describe the servers of a service.
type Options struct {
	// Name is the name of the instance, if the service has several; "" is the default
	// instance.
	Name string
	// ServerURLs are tried in this order. The default port is that of the service.
	ServerURLs []string
	// CACert is the file with the CA certificates that signed the servers' certificates;
	// https requires it. Cert and Key are files with the client certificate, "" for none.
	// All are PEM.
	CACert, Cert, Key string
	// Token is sent as X-Authentication if there is no client certificate.
	Token transport.Secret
	// Headers are sent with each request.
	Headers map[string]transport.Secret
	// ConnectTimeout is the time limit of connecting; 0 is a minute. ReadTimeout is the
	// time limit for the start of a response and for each 16 KiB of it; 0 is the default
	// of the service.
	ConnectTimeout, ReadTimeout time.Duration

	// Agent is the program's name and version.
	Agent string
	// Proxy returns the proxy of a request, as in http.Transport; nil for none. It is
	// called only for https, because a proxy can read plain HTTP requests with their
	// secrets.
	Proxy func(*http.Request) (*url.URL, error)
	Log   *slog.Logger // nil discards
}

// A Client sends requests to the servers of one service.
type Client struct {
	service Service
	o       Options
	servers []*url.URL
	http    *http.Client
	good    atomic.Int64 // index of the server that answered last
}

// New checks the options, reads the files that they name, and returns a client. It does
// not connect yet.
func New(ctx context.Context, service Service, o Options) (*Client, error) {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = connectTimeout
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = service.ReadTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{service: service, o: o}
	encrypted := false
	for i, text := range o.ServerURLs {
		u, err := parseServer(text, service.Port)
		if err != nil {
			return nil, service.Wrong("entry %d of server_urls: %v", i+1, err)
		}
		encrypted = encrypted || u.Scheme == "https"
		c.servers = append(c.servers, u)
	}
	if len(c.servers) == 0 {
		return nil, &fault.Error{Kind: service.Kind, Msg: "server_urls must be specified", Hint: fmt.Sprintf(
			"%s is not configured. Set server_urls under %s in bolt-project.yaml, for example server_urls: [%s]. The page %s describes the settings.", service.Name, service.Section, service.Example, service.Page)}
	}
	for name := range o.Headers {
		if !validHeader(name) {
			return nil, service.Wrong("headers: %q is not a valid header name", name)
		}
	}
	var trust *tls.Config
	if encrypted {
		var err error
		if trust, err = c.trust(ctx); err != nil {
			return nil, err
		}
	}
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: o.ConnectTimeout}).DialContext,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: 64 << 10,
		Proxy: func(r *http.Request) (*url.URL, error) {
			if o.Proxy == nil || r.URL.Scheme != "https" {
				return nil, nil
			}
			return o.Proxy(r)
		},
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Wrong returns an error of the configuration.
func (s Service) Wrong(format string, args ...any) *fault.Error {
	return fault.New(s.Kind, "The setting %s is not right: %s", s.Section, fmt.Sprintf(format, args...))
}

// parseServer parses an entry of server_urls. Errors do not quote it, because it may
// contain a password.
func parseServer(text, port string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, errors.New("it does not begin with https:// or http://")
	case u.User != nil:
		return nil, errors.New("it contains a user; use a token or a certificate instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it has more than a scheme, a host, a port and a path")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// validHeader reports whether a name is one of a header that a user may set:
// a token of RFC 9110 that does not affect the framing of the message.
func validHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// trust returns the TLS configuration: the CA certificates and the client certificate.
func (c *Client) trust(ctx context.Context) (*tls.Config, error) {
	if c.o.CACert == "" {
		return nil, c.service.Wrong("cacert must be specified: the file with the CA certificate that signed %s's certificate", c.service.Name)
	}
	pem, err := c.file(ctx, "cacert", c.o.CACert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, c.service.Wrong("cacert: %s does not hold a certificate", c.o.CACert)
	}
	t := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if (c.o.Cert == "") != (c.o.Key == "") {
		return nil, c.service.Wrong("cert and key must be specified together")
	}
	if c.o.Cert == "" {
		return t, nil
	}
	cert, err := c.file(ctx, "cert", c.o.Cert)
	if err != nil {
		return nil, err
	}
	key, err := c.file(ctx, "key", c.o.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, c.service.Wrong("cert %s and key %s: %v", c.o.Cert, c.o.Key, err)
	}
	t.Certificates = []tls.Certificate{pair}
	return t, nil
}

// file reads the file of a setting.
func (c *Client) file(ctx context.Context, setting, path string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	switch {
	case missing(err):
		return nil, c.service.Wrong("%s file %s does not exist", setting, path)
	case err != nil:
		return nil, c.service.Wrong("%s: %v", setting, err)
	}
	return data, nil
}

// missing reports whether the error of reading a file means that the file does not exist.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
