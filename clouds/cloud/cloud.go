// Package cloud is the common code of the plugins for clouds: requests to their
// APIs, with retries if a server is busy, and the connections by which the SDKs
// get credentials.
//
// SDKs read responses of any size and repeat requests by their own rules. Their
// requests go through a Transport, which limits both. Ask requests the list of
// machines.
package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
)

// Limits.
const (
	LoginTimeout = time.Minute // for getting credentials, with all requests for them
	MaxPages     = 1000        // of one list
	MaxPage      = 64 << 20    // bytes of one page

	attempts     = 6
	firstPause   = time.Second
	maxPause     = 30 * time.Second
	connectTime  = 10 * time.Second
	nearTime     = time.Second // for services of the machine itself, which most machines do not have
	maxConnected = 4 << 20     // bytes that a server for credentials may send on one connection
)

// Options are the environment of a plugin for a cloud.
type Options struct {
	Project string // the base of relative paths
	Home    string // the user's home directory, "" for none
	Env     func(name string) (string, bool)
	Warn    func(id, text string)
	Agent   string
	Proxy   func(*http.Request) (*url.URL, error)
	// Timeout is the time limit of one request; 0 is a minute.
	Timeout time.Duration
	// Pause is the first pause before a request to a busy server is repeated; 0 is a
	// second.
	Pause time.Duration
	// Roots are the CA certificates for servers, nil for the system's.
	Roots *x509.CertPool
}

// Path returns the path of a file in a reference: relative to the project, or to the
// user's home directory if it begins with "~/".
func (o Options) Path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && o.Home != "" {
		return filepath.Join(o.Home, rest)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.Project, name)
}

// A Client requests one list from an API. It is not safe for concurrent use.
type Client struct {
	o    Options
	http *fetch.Client
	left int64
}

// Client returns a Client for lists of at most most bytes in all. If roots is not nil,
// it replaces the options' roots.
func (o Options) Client(roots *x509.CertPool, most int64) (*Client, error) {
	if roots == nil {
		roots = o.Roots
	}
	c, err := fetch.New(fetch.Options{Roots: roots, Limit: MaxPage, Agent: o.Agent, Proxy: o.Proxy, Timeout: o.Timeout})
	return &Client{o: o, http: c, left: most}, err
}

// Transport configures t for requests for credentials: it verifies servers and
// limits the time and the size of responses.
func (o Options) Transport(t *http.Transport) {
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if o.Proxy == nil || r.URL.Scheme != "https" {
			return nil, nil
		}
		return o.Proxy(r)
	}
	t.DialContext = dial
	t.DialTLSContext = nil
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots}
	t.TLSHandshakeTimeout = connectTime
	t.ResponseHeaderTimeout = connectTime * 2
	t.MaxResponseHeaderBytes = 64 << 10
	t.DisableCompression = true // so that the counted bytes are the read bytes
	t.DisableKeepAlives = true
}

// dial connects. A link-local address is the machine's own metadata service: it answers
// immediately, or does not exist.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime}
	host, _, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); ip != nil && (ip.IsLinkLocalUnicast() || ip.IsPrivate() && ip.To4() == nil) {
		d.Timeout = nearTime
	}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, left: maxConnected}, nil
}

// counted is a connection that ends after a number of bytes.
type counted struct {
	net.Conn
	left int
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB", maxConnected>>20)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// Ask makes a request. If the server is busy, Ask repeats the request for a while. A
// server is busy if its status is 429 or 5xx, or if busy returns true for its answer.
// next makes the request anew each time. Ask returns the last answer, whatever its
// status is; a redirection is an error.
func (c *Client) Ask(ctx context.Context, busy func(*fetch.Answer) bool, next func() (fetch.Request, error)) (*fetch.Answer, error) {
	pause := c.o.Pause
	if pause == 0 {
		pause = firstPause
	}
	for n := 1; ; n++ {
		r, err := next()
		if err != nil {
			return nil, err
		}
		a, err := c.http.Do(ctx, r)
		if err != nil {
			return nil, err
		}
		if c.left -= int64(len(a.Body)); c.left < 0 {
			return nil, fmt.Errorf("%s: the list is too large", fetch.Place(r.URL))
		}
		if a.Code/100 == 3 {
			return nil, fmt.Errorf("%s: %s: it redirects, which is not followed", fetch.Place(r.URL), a.Status)
		}
		again := a.Code == http.StatusTooManyRequests || a.Code/100 == 5 && a.Code != http.StatusNotImplemented || busy(a)
		if !again || n == attempts {
			return a, nil
		}
		// Half of a pause is random, so that clients that started together do not retry
		// together.
		wait := pause/2 + rand.N(pause/2+1)
		if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s >= 0 {
			wait = time.Duration(min(s, int(maxPause/time.Second))) * time.Second
		}
		t := time.NewTimer(min(wait, maxPause))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		}
		pause *= 2
	}
}

// Quiet is a busy function for servers that only report by their status that they are
// busy.
func Quiet(*fetch.Answer) bool { return false }

// Targets collects the targets that a mapping makes from machines.
type Targets struct {
	To       *mapping.Mapping
	List     []any
	nameless []string
}

// Add makes a target from a machine. Errors name the machine by its id. If a machine
// has no value for its name or uri, it is left out.
func (t *Targets) Add(id string, machine *ordered.Map) {
	target := t.To.Target(func(path string) (any, bool) {
		v, ok := mapping.Find(machine, path)
		return v, ok && v != ""
	})
	if target.Value("name") == nil && target.Value("uri") == nil {
		t.nameless = append(t.nameless, id)
		return
	}
	t.List = append(t.List, target)
}

// Done returns the targets, and warns about machines that were left out.
func (t *Targets) Done(plugin string, warn func(id, text string)) []any {
	if n := len(t.nameless); n > 0 {
		const shown = 3
		text := strings.Join(t.nameless[:min(n, shown)], ", ")
		if n > shown {
			text += fmt.Sprintf(" and %d more", n-shown)
		}
		warn(plugin+"_nameless", fmt.Sprintf("The plugin %s left out machines without a value for their name or uri (%d): %s", plugin, n, fetch.Shown(text)))
	}
	if t.List == nil {
		return []any{}
	}
	return t.List
}

// Pages requests the pages of a list until a page has no successor. page
// returns the token of the next page; "" stands for the first page, and ends
// the list.
func Pages(page func(token string) (next string, err error)) error {
	token := ""
	for range MaxPages {
		next, err := page(token)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case next == token:
			return errors.New("a page of the list is its own successor")
		}
		token = next
	}
	return fmt.Errorf("the list has more than %d pages", MaxPages)
}
