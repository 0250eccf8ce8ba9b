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
	LoginTimeout = time.Minute // of getting credentials, with all that is asked for them
	MaxPages     = 1000        // of one list
	MaxPage      = 64 << 20    // bytes of one

	attempts     = 6
	firstPause   = time.Second
	maxPause     = 30 * time.Second
	connectTime  = 10 * time.Second
	nearTime     = time.Second // for services of the machine itself, which most machines do not have
	maxConnected = 4 << 20     // bytes of what a server that gives credentials says on one connection
)

// Options are the environment of a plugin for a cloud.
type Options struct {
	Project string // that relative paths start from
	Home    string // the user's home directory, "" for none
	Env     func(name string) (string, bool)
	Warn    func(id, text string)
	Agent   string
	Proxy   func(*http.Request) (*url.URL, error)
	// Timeout is of one request; 0 is a minute.
	Timeout time.Duration
	// Pause is how long a server is left alone that was busy once; 0 is a second.
	Pause time.Duration
	// Roots are the authorities that vouch for servers, nil for the system's.
	Roots *x509.CertPool
}

// Path is where a file is that a reference names: from the project, or from the
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

// A Client asks an API for one list. It is not for several goroutines.
type Client struct {
	o    Options
	http *fetch.Client
	left int64
}

// Client is one for lists that have no more than some bytes in all. roots takes
// the place of the options' if it is not nil.
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
	t.DisableCompression = true // what is counted is what is read
	t.DisableKeepAlives = true
}

// dial connects. An address that is of the link alone is of the machine's own
// metadata service: it answers at once, or is not there.
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

// counted is a connection that ends after some bytes.
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

// Ask makes a request, again and again for a while if the server is busy: it
// says so by a status (429, 5xx), or in its answer, if busy finds it there.
// next makes the request anew each time. The last answer is returned, whatever
// its status is; one that redirects is an error.
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
			return nil, fmt.Errorf("%s: the list has too many bytes", fetch.Place(r.URL))
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

// Quiet reports no answer as busy, which has no status that says so.
func Quiet(*fetch.Answer) bool { return false }

// Targets collects the targets that a mapping makes of machines.
type Targets struct {
	To       *mapping.Mapping
	List     []any
	nameless []string
}

// Add makes a target of a machine, which errors call by id. Machines with
// nothing that is to be a name or a uri are left out.
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
		warn(plugin+"_nameless", fmt.Sprintf("Of the machines that the plugin %s found, %d have nothing that is to be their name or uri, and are left out: %s", plugin, n, fetch.Shown(text)))
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
			return errors.New("the list does not go on after a page")
		}
		token = next
	}
	return fmt.Errorf("the list has more than %d pages", MaxPages)
}
