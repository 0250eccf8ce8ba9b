// Package puppetdb is a client of PuppetDB: of its queries (API version 4), its
// commands (version 1) and its status.
//
//	client, err := puppetdb.New(ctx, puppetdb.Options{ServerURLs: []string{"https://puppetdb:8081"}, CACert: "ca.pem", Cert: "me.pem", Key: "me.key"})
//	err = client.Query(ctx, puppetdb.Query{Text: "nodes[certname] {}"}, func(row any) error { … })
//
// A [Client] speaks to one PuppetDB, which may have several servers: if one
// cannot be reached, or says that it is broken (5xx), the next is asked, and the
// one that answered is asked first the next time. [Instances] are the PuppetDBs
// of a project, by their names.
//
// Answers are bounded in time and memory. Rows of a query are handed on as they
// come. The token, headers and certificate of an instance go to its servers
// alone: redirects are not followed, and no message has their text.
//
// Errors are *fault.Error of kind bolt/puppetdb-error, or bolt/pdb-command for a
// command that is not sent; those of a context that is done are its own. All
// types are safe for concurrent use.
//
// Source: https://www.puppet.com/docs/puppetdb (API), and Puppet Bolt
// (lib/bolt/puppetdb) for settings and kinds of errors.
package puppetdb

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

// Kinds of errors.
const (
	kind        = "bolt/puppetdb-error"
	kindCommand = "bolt/pdb-command"
)

const (
	defaultPort    = "8081"
	defaultTimeout = 60 * time.Second
	// idle is how long a connection without use is kept. The server's limit is
	// 30 s, and a request must not meet it.
	idle = 10 * time.Second
)

// Options describe one PuppetDB.
type Options struct {
	// Name is that of the instance, for messages; "" is the default one.
	Name string
	// ServerURLs are asked in this order. Without a port it is 8081.
	ServerURLs []string
	// CACert is the file with the certificates of the authorities that vouch for
	// the servers; https needs it. Cert and Key are files with the client's own
	// certificate, "" for none. All are PEM.
	CACert, Cert, Key string
	// Token is sent as X-Authentication unless there is a certificate.
	Token transport.Secret
	// Headers are sent with each request.
	Headers map[string]transport.Secret
	// ConnectTimeout is for a connection, ReadTimeout for the beginning of an
	// answer and for each 16 KiB of it. 0 is a minute.
	ConnectTimeout, ReadTimeout time.Duration

	// Agent is the program's name and version.
	Agent string
	// Proxy tells the proxy of a request, as http.Transport has it; nil for none.
	// It is asked for https alone: nothing else keeps secrets from a proxy.
	Proxy func(*http.Request) (*url.URL, error)
	Log   *slog.Logger // nil discards
}

// A Client asks one PuppetDB.
type Client struct {
	o       Options
	servers []*url.URL
	http    *http.Client
	good    atomic.Int64 // index of the server that answered last

	maxRow, maxRows, maxKept int64 // bytes; the constants
}

// New checks the options, reads the files that they name, and returns a client.
// Nothing is connected to yet.
func New(ctx context.Context, o Options) (*Client, error) {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultTimeout
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{o: o, maxRow: maxRow, maxRows: maxRows, maxKept: maxKept}
	encrypted := false
	for i, text := range o.ServerURLs {
		u, err := parseServer(text)
		if err != nil {
			return nil, c.wrong("entry %d of server_urls: %v", i+1, err)
		}
		encrypted = encrypted || u.Scheme == "https"
		c.servers = append(c.servers, u)
	}
	if len(c.servers) == 0 {
		return nil, &fault.Error{Kind: kind, Msg: "server_urls must be specified", Hint: fmt.Sprintf(
			"say under %s in bolt-project.yaml how PuppetDB is reached, for example server_urls: [https://puppetdb.example.com:8081]", c.section())}
	}
	for name := range o.Headers {
		if !validHeader(name) {
			return nil, c.wrong("headers: %q is no name of a header", name)
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

// Close ends the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// instance is the client's name in messages.
func (c *Client) instance() string {
	if c.o.Name == "" {
		return "default instance"
	}
	return fmt.Sprintf("instance '%s'", c.o.Name)
}

// section is where the client is configured.
func (c *Client) section() string {
	if c.o.Name == "" {
		return "puppetdb"
	}
	return "puppetdb-instances." + c.o.Name
}

// wrong is an error of the configuration.
func (c *Client) wrong(format string, args ...any) *fault.Error {
	return wrong(c.section(), format, args...)
}

func wrong(section, format string, args ...any) *fault.Error {
	return fault.New(kind, "The setting %s is not right: %s", section, fmt.Sprintf(format, args...))
}

// parseServer reads an entry of server_urls. Errors do not have its text, which
// may hold a password.
func parseServer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, errors.New("it is no URL that begins with https:// or http://")
	case u.User != nil:
		return nil, errors.New("it has a user in it; a token or a certificate says who asks")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it has more than a scheme, a host, a port and a path")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// validHeader reports whether a name is one of a header that a user may set:
// a token of RFC 9110, and none that tells where a message ends.
func validHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// trust is whom the client trusts, and what it shows of itself.
func (c *Client) trust(ctx context.Context) (*tls.Config, error) {
	if c.o.CACert == "" {
		return nil, c.wrong("cacert must be specified: the file with the certificate of the authority that vouches for PuppetDB")
	}
	pem, err := c.file(ctx, "cacert", c.o.CACert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, c.wrong("cacert: there is no certificate in %s", c.o.CACert)
	}
	t := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if (c.o.Cert == "") != (c.o.Key == "") {
		return nil, c.wrong("cert and key must be specified together")
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
		return nil, c.wrong("cert %s and key %s: %v", c.o.Cert, c.o.Key, err)
	}
	t.Certificates = []tls.Certificate{pair}
	return t, nil
}

// file reads a file that a setting names.
func (c *Client) file(ctx context.Context, setting, path string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	switch {
	case missing(err):
		return nil, c.wrong("%s file %s does not exist", setting, path)
	case err != nil:
		return nil, c.wrong("%s: %v", setting, err)
	}
	return data, nil
}

// missing reports whether the error of reading a file is that there is none.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
