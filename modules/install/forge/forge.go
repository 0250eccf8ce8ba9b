// Package forge is a client of the Puppet Forge and of servers with the same API
// (version 3, https://forgeapi.puppet.com). It lists the releases of a module and
// downloads them.
//
//	client, err := forge.New(forge.Options{})
//	releases, err := client.Releases(ctx, "puppetlabs/stdlib")
//	digest, err := client.Fetch(ctx, releases[0], dir)
//
// Responses are limited in size and time. An archive is verified before it is
// unpacked. If a server is busy or fails, the client retries after the time in
// its Retry-After header. A Client is safe for concurrent use.
package forge

import (
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
	"bolt/modules/install/untar"
	"bolt/transport"
)

// baseURL is the public Forge.
const baseURL = "https://forgeapi.puppet.com"

// ErrNotFound is the error of a module or a release that the server does not
// have.
var ErrNotFound = errors.New("the Forge does not have it")

// Limits of responses.
const (
	maxDocument = 32 << 20 // a page of releases
	maxArchive  = 256 << 20
	maxPages    = 100
)

// Options configure a Client.
type Options struct {
	BaseURL string           // "" for the public Forge
	Token   transport.Secret // the value of the header Authorization, which is sent to BaseURL only
	Proxy   string           // the URL of the proxy; "" to use ProxyFor
	Agent   string           // the value of the header User-Agent: the program's name and version
	// ProxyFor returns the proxy for a request, as in http.Transport. nil means
	// no proxy.
	ProxyFor func(*http.Request) (*url.URL, error)

	// Backoff is the time before the first retry. It doubles for each further
	// retry. 0 means half a second.
	Backoff time.Duration
	// Jitter returns a number from 0 to 1 that randomizes the times. nil means no
	// randomization.
	Jitter func() float64
}

// A Client queries one server.
type Client struct {
	o    Options
	base *url.URL
	http *http.Client
}

// New returns a client.
func New(o Options) (*Client, error) {
	if o.BaseURL == "" {
		o.BaseURL = baseURL
	}
	if o.Backoff == 0 {
		o.Backoff = 500 * time.Millisecond
	}
	base, err := parseURL(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the Forge: %w", err)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawQuery, base.Fragment = "", ""
	t := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		ForceAttemptHTTP2:     true,
		Proxy:                 o.ProxyFor,
	}
	if o.Proxy != "" {
		proxy, err := parseURL(o.Proxy)
		if err != nil {
			return nil, fmt.Errorf("the address of the proxy: %w", err)
		}
		t.Proxy = http.ProxyURL(proxy)
	}
	c := &Client{o: o, base: base}
	c.http = &http.Client{Transport: t, CheckRedirect: c.redirect}
	return c, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL") // the text may have a password
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URL that begins with https:// or http://", u.Redacted())
	}
	return u, nil
}

// Host returns the address of the server for messages.
func (c *Client) Host() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// A Release is one version of a module.
type Release struct {
	Module       string // owner/name
	Version      string
	Dependencies []Dependency

	file        string // address of the archive, as the server gave it
	sha256, md5 string
}

// A Dependency is a module that a release needs, and the range of its versions.
type Dependency struct{ Module, Range string }

// release is a release in the JSON of the API.
type release struct {
	Version string `json:"version"`
	Module  struct {
		Name  string `json:"name"`
		Owner struct {
			Username string `json:"username"`
			Slug     string `json:"slug"`
		} `json:"owner"`
	} `json:"module"`
	Metadata struct {
		Name         string `json:"name"`
		Dependencies []struct {
			Name  string `json:"name"`
			Range string `json:"version_requirement"`
		} `json:"dependencies"`
	} `json:"metadata"`
	File    string  `json:"file_uri"`
	MD5     string  `json:"file_md5"`
	SHA256  string  `json:"file_sha256"`
	Deleted *string `json:"deleted_at"`
}

var modulePattern = lazyregexp.New(`^[A-Za-z0-9_]+[-/][a-z][a-z0-9_]*$`)

// validModule reports whether a name is a valid name of a module on a Forge:
// owner/name or owner-name.
func validModule(name string) bool { return modulePattern().MatchString(name) }

// slug returns a module's name in the form of URLs.
func slug(module string) string { return strings.Replace(module, "/", "-", 1) }

func (r *release) public(module string) (Release, bool) {
	owner := r.Module.Owner.Slug
	if owner == "" {
		owner = r.Module.Owner.Username
	}
	pub := Release{Module: owner + "/" + r.Module.Name, Version: r.Version, file: r.File, sha256: r.SHA256, md5: r.MD5}
	for _, d := range r.Metadata.Dependencies {
		pub.Dependencies = append(pub.Dependencies, Dependency{strings.Replace(d.Name, "-", "/", 1), d.Range})
	}
	return pub, r.Deleted == nil && validModule(pub.Module) && strings.EqualFold(pub.Module, module)
}

// large lists large fields of a release that the client does not use.
const large = "readme changelog license reference tasks"

// Releases returns all releases of a module (owner/name or owner-name) that are
// not deleted, in the server's order. If the server does not have the module, the
// error is ErrNotFound.
func (c *Client) Releases(ctx context.Context, module string) ([]Release, error) {
	if !validModule(module) {
		return nil, fmt.Errorf("%q is not a module name: write owner/name", module)
	}
	module = strings.Replace(module, "-", "/", 1)
	query := url.Values{"module": {slug(module)}, "limit": {"50"}, "exclude_fields": {large}}
	next := "/v3/releases?" + query.Encode()
	var list []Release
	seen := map[string]bool{}
	for range maxPages {
		var page struct {
			Pagination struct {
				Next *string `json:"next"`
			} `json:"pagination"`
			Results []release `json:"results"`
		}
		seen[next] = true
		if err := c.document(ctx, next, &page); err != nil {
			return nil, fmt.Errorf("releases of %s: %w", module, err)
		}
		for i := range page.Results {
			if r, ok := page.Results[i].public(module); ok {
				list = append(list, r)
			}
		}
		if page.Pagination.Next == nil || *page.Pagination.Next == "" || seen[*page.Pagination.Next] {
			if len(list) == 0 {
				return nil, fmt.Errorf("module %s: %w (%s)", module, ErrNotFound, c.Host())
			}
			return list, nil
		}
		next = *page.Pagination.Next
	}
	return nil, fmt.Errorf("releases of %s: %s has more than %d pages of them", module, c.Host(), maxPages)
}

// Release returns one release of a module.
func (c *Client) Release(ctx context.Context, module, version string) (Release, error) {
	if !validModule(module) {
		return Release{}, fmt.Errorf("%q is not a module name: write owner/name", module)
	}
	module = strings.Replace(module, "-", "/", 1)
	var r release
	path := "/v3/releases/" + url.PathEscape(slug(module)+"-"+version) + "?" + url.Values{"exclude_fields": {large}}.Encode()
	err := c.document(ctx, path, &r)
	if pub, ok := r.public(module); err == nil && ok && pub.Version == version {
		return pub, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Release{}, fmt.Errorf("%s %s: %w", module, version, err)
	}
	// Some servers do not have the endpoint for one release.
	list, err := c.Releases(ctx, module)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Release{}, err
	}
	for _, r := range list {
		if r.Version == version {
			return r, nil
		}
	}
	return Release{}, fmt.Errorf("%s %s: %w (%s)", module, version, ErrNotFound, c.Host())
}

// document reads a JSON document.
func (c *Client) document(ctx context.Context, ref string, into any) error {
	var text []byte
	err := c.get(ctx, ref, false, func(body io.Reader) (err error) {
		if text, err = io.ReadAll(io.LimitReader(body, maxDocument+1)); err == nil && len(text) > maxDocument {
			err = &permanent{fmt.Errorf("the response of %s has more than %d MiB", c.Host(), maxDocument>>20)}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the response of %s is not a response of the Forge's API: %w", c.Host(), err)
	}
	return nil
}

// Fetch downloads a release, verifies the digest from the server's list of
// releases, and unpacks the archive into dir. dir must exist and be empty. It
// returns the SHA-256 of the archive.
func (c *Client) Fetch(ctx context.Context, r Release, dir string) (digest string, err error) {
	what := r.Module + " " + r.Version
	want, sum := strings.ToLower(r.sha256), sha256.New()
	check := hash.Hash(sum)
	kind := "SHA-256"
	if want == "" {
		// Older servers have MD5 only, which detects damaged archives.
		want, check, kind = strings.ToLower(r.md5), md5.New(), "MD5"
	}
	if len(want) != hex.EncodedLen(check.Size()) {
		return "", fmt.Errorf("%s: %s does not list a digest, so bolt cannot verify the archive", what, c.Host())
	}
	archive, err := os.CreateTemp(dir, ".archive")
	if err != nil {
		return "", err
	}
	defer archive.Close()
	if err := os.Remove(archive.Name()); err != nil { // the open file stays usable
		return "", err
	}
	disk := writerFunc(func(p []byte) (int, error) {
		n, err := archive.Write(p)
		if err != nil {
			err = &permanent{err} // a full disk, say
		}
		return n, err
	})
	writers := io.MultiWriter(disk, sum, check)
	if kind == "SHA-256" {
		writers = io.MultiWriter(disk, sum)
	}
	err = c.get(ctx, r.file, true, func(body io.Reader) error {
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return &permanent{err}
		}
		if err := archive.Truncate(0); err != nil {
			return &permanent{err}
		}
		sum.Reset()
		check.Reset()
		n, err := io.Copy(writers, io.LimitReader(body, maxArchive+1))
		if err == nil && n > maxArchive {
			err = &permanent{fmt.Errorf("its archive has more than %d MiB", maxArchive>>20)}
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if got := hex.EncodeToString(check.Sum(nil)); got != want {
		return "", fmt.Errorf("%s: the archive from %s does not have the %s of the Forge (got %s, want %s): it was damaged or replaced",
			what, c.Host(), kind, got, want)
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	z, err := gzip.NewReader(archive)
	if err != nil {
		return "", fmt.Errorf("%s: its archive is not compressed with gzip: %w", what, err)
	}
	if err := untar.Extract(ctx, z, dir, untar.Options{Strip: true}); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
