// Package httprequest implements the task http_request, which sends one HTTP request
// from the controller and returns the response.
//
//	result, err := httprequest.Run(ctx, ordered.Of("base_url", "https://forge.example/", "json_endpoint", true))
//
// Parameters, results and the kinds of errors are those of Puppet Bolt's task. The
// package uses the proxies of the environment, like net/http. A call closes its
// connections before it returns.
package httprequest

import (
	"bytes"
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
	"net/url"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
)

const (
	// maxBody limits the body of a response after decompression, because the result is
	// held in memory and printed.
	maxBody = 64 << 20
	// patience is the time limit for a connection, and for the begin of a response. It
	// is also the default of Net::HTTP.
	patience = 60 * time.Second
	// defaultRedirects is the default of max_redirects.
	defaultRedirects = 20
)

// Run sends a request. Its parameters are method, base_url, path, headers, body,
// cacert, cert, key, follow_redirects, max_redirects and json_endpoint. The result has
// body and status_code. If the request cannot be sent or the server does not respond,
// the result has only _error. A status such as 404 is not an error. Run returns an
// error only if ctx ends.
func Run(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
	result, err := run(ctx, params)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok {
			f = fault.New("http_request/connect-error", "%v", err)
		}
		return ordered.Of("_error", f.Map()), nil
	}
	return result, nil
}

// A request holds the checked parameters.
type request struct {
	method    string
	url       *url.URL
	header    http.Header
	body      []byte
	redirects int // the number of redirects to follow
	follow    bool
	json      bool
	tls       *tls.Config // for the origin of the request
	others    *tls.Config // for other origins after redirects, without the client certificate
}

func run(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
	r, err := parse(ctx, params)
	if err != nil {
		return nil, err
	}
	// This function follows redirects itself, because the headers and the client
	// certificate depend on the origin.
	at, method, body, header, config := r.url, r.method, r.body, r.header, r.tls
	for n := 0; ; n++ {
		res, err := send(ctx, method, at, header, body, config)
		if err != nil {
			return nil, err
		}
		if !r.follow || res.next == "" {
			return r.result(res)
		}
		if n >= r.redirects {
			return nil, fault.New("http_request/too-many-redirects-error", "Too many redirects (max: %d)", r.redirects)
		}
		next, err := at.Parse(res.next)
		if err != nil || !web(next) {
			return nil, fault.New("http_request/connect-error", "%s redirects to an address that is not an http or https URL", shown(at))
		}
		if !sameOrigin(r.url, next) {
			header, config = public(r.header), r.others
		} else {
			header, config = r.header, r.tls
		}
		if res.status == http.StatusSeeOther {
			method, body = http.MethodGet, nil
		}
		at = next
	}
}

// parse checks the parameters. bolt has checked their types by the task's metadata
// already.
func parse(ctx context.Context, params *ordered.Map) (*request, error) {
	r := &request{method: "get", redirects: defaultRedirects, follow: true, header: http.Header{}}
	var base, path, cacert, cert, key string
	for name, p := range map[string]*string{
		"base_url": &base, "path": &path, "cacert": &cacert, "cert": &cert, "key": &key, "method": &r.method,
	} {
		if v := params.Value(name); v != nil {
			s, ok := v.(string)
			if !ok {
				return nil, wrong("%s must be a string", name)
			}
			*p = s
		}
	}
	for name, p := range map[string]*bool{"follow_redirects": &r.follow, "json_endpoint": &r.json} {
		if v := params.Value(name); v != nil {
			b, ok := v.(bool)
			if !ok {
				return nil, wrong("%s must be true or false", name)
			}
			*p = b
		}
	}
	if v := params.Value("max_redirects"); v != nil {
		n, ok := v.(int64)
		if !ok || n < 0 || n > 1<<30 {
			return nil, wrong("max_redirects must be a whole number that is not negative")
		}
		r.redirects = int(n)
	}
	r.method = strings.ToUpper(r.method)
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.method) {
		return nil, wrong("unknown method %q; known are get, post, put, patch and delete", r.method)
	}

	u, err := url.Parse(base)
	if err == nil && path != "" {
		u, err = u.Parse(path)
	}
	if err != nil || !web(u) {
		// The parser's error contains the URL, which can contain a password.
		return nil, wrong("base_url and path do not make an http or https URL")
	}
	r.url = u

	if err := r.setHeader(params.Value("headers")); err != nil {
		return nil, err
	}
	if err := r.setBody(params.Value("body")); err != nil {
		return nil, err
	}
	return r, r.setTLS(ctx, cacert, cert, key)
}

func wrong(format string, args ...any) error {
	return fault.New("http_request/parameter-error", format, args...)
}

// web reports whether a URL is an HTTP or HTTPS URL.
func web(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// shown returns a URL for a message, without the parts that can be secret.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (r *request) setHeader(v any) error {
	r.header.Set("User-Agent", "bolt")
	r.header.Set("Accept", "*/*")
	if r.json {
		r.header.Set("Content-Type", "application/json")
	}
	if v == nil {
		return nil
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return wrong("headers must be a hash")
	}
	for name, v := range m.All() {
		s, ok := v.(string)
		if !ok {
			return wrong("the header %s must be a string", name)
		}
		r.header.Set(name, s)
	}
	return nil
}

func (r *request) setBody(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		r.body = []byte(v)
		return nil
	}
	if !r.json {
		return fault.New("http_request/body-type-error", "body must be a String when json_endpoint is false")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fault.New("http_request/body-type-error", "body cannot be written as JSON: %v", err)
	}
	r.body = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return nil
}

func (r *request) setTLS(ctx context.Context, cacert, cert, key string) error {
	r.tls = &tls.Config{}
	if cacert != "" {
		pem, err := readfile.Read(ctx, cacert, readfile.Key)
		if err != nil {
			return wrong("the file %s of cacert is unreadable: %v", cacert, fault.WithoutPath(err))
		}
		r.tls.RootCAs = x509.NewCertPool()
		if !r.tls.RootCAs.AppendCertsFromPEM(pem) {
			return wrong("the file %s of cacert holds no certificate", cacert)
		}
	}
	r.others = r.tls.Clone()
	if cert == "" && key == "" {
		return nil
	}
	if cert == "" || key == "" {
		return wrong("cert and key go together, and only one of them is given")
	}
	certPEM, err := readfile.Read(ctx, cert, readfile.Key)
	if err != nil {
		return wrong("the file %s of cert is unreadable: %v", cert, fault.WithoutPath(err))
	}
	keyPEM, err := readfile.Read(ctx, key, readfile.Key)
	if err != nil {
		return wrong("the file %s of key is unreadable: %v", key, fault.WithoutPath(err))
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return wrong("the certificate in %s and the key in %s: %v", cert, key, err)
	}
	r.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// public returns the headers that are sent to other origins after a redirect. Other headers
// can be secrets, because services choose the names of their tokens freely.
func public(h http.Header) http.Header {
	p := http.Header{}
	for _, name := range []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"} {
		if v, ok := h[name]; ok {
			p[name] = v
		}
	}
	return p
}

// sameOrigin reports whether b has the origin of a, or is its HTTPS server.
func sameOrigin(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return port(a) == port(b)
	}
	return a.Scheme == "http" && port(a) == "80" && port(b) == "443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// An answer is a response.
type answer struct {
	status int
	next   string // the target of a redirect, or ""
	body   []byte
	kind   string // Content-Type
}

// send sends one request and reads the response.
func send(ctx context.Context, method string, at *url.URL, header http.Header, body []byte, config *tls.Config) (*answer, error) {
	failed := func(err error) error {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return &fault.Error{Kind: "http_request/connect-error", Msg: fmt.Sprintf("Failed to connect to %s: %v", shown(at), err), Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, failed(err)
	}
	if body == nil {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header = header.Clone()
	req.Host = req.Header.Get("Host")
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		TLSClientConfig:       config.Clone(),
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: patience,
		DisableKeepAlives:     true,
		ForceAttemptHTTP2:     true,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, failed(err)
	}
	defer res.Body.Close()
	a := &answer{status: res.StatusCode, kind: res.Header.Get("Content-Type")}
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		a.next = res.Header.Get("Location")
	}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, failed(err)
	}
	if len(a.body) > maxBody {
		return nil, fault.New("http_request/body-size-error", "The answer of %s has more than %d MiB", shown(at), maxBody>>20)
	}
	return a, nil
}

// result returns the task's result for a response.
func (r *request) result(a *answer) (*ordered.Map, error) {
	var body any
	switch {
	case r.json && len(bytes.TrimSpace(a.body)) > 0:
		v, err := ordered.ParseJSON([]byte(text(a.body, a.kind)))
		if err != nil {
			return nil, fault.New("http_request/json-parse-error", "Unable to parse response body as JSON: %v", err)
		}
		body = v
	case !r.json && a.status != http.StatusNoContent && a.status != http.StatusNotModified:
		body = text(a.body, a.kind)
	}
	return ordered.Of("body", body, "status_code", int64(a.status)), nil
}

// text returns a body in UTF-8. If the Content-Type says Latin-1, text converts the
// body. Otherwise it replaces invalid UTF-8 with U+FFFD.
func text(body []byte, contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err == nil {
		switch strings.ToLower(params["charset"]) {
		case "iso-8859-1", "latin1":
			runes := make([]rune, len(body))
			for i, b := range body {
				runes[i] = rune(b)
			}
			return string(runes)
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}
