// Package httpcheck applies resources of the type http_check, the kind http:check of graphs. A resource is a request to a web
// server, and the answer must have a status and a string. It changes nothing. If the answer is not as expected, the request is
// made again, up to a number of tries. Then the resource fails, and its dependents are skipped.
//
// The request is made by curl(1) on the host, so the helper has no code for HTTP and TLS, and the certificates of the host
// apply. curl reads the URL and the headers from its standard input, because all users of a host can see arguments.
// A redirect is an answer as any other.
//
// mgmt has the kind http:client, which also stores the downloaded content; the type archive does that here.
package httpcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/provider/curl"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type http_check.
func Type() resource.Type { return checkType{} }

type checkType struct{}

// methods are the HTTP methods that change nothing.
var methods = []string{"GET", "HEAD", "OPTIONS"}

type item struct {
	r        *resource.Resource
	secret   bool // the answer must not be shown, because a secret was needed for it
	url      string
	method   string
	headers  []string
	status   []int64 // nil for 200 to 299
	contains string
	timeout  time.Duration // of one request
	tries    int64
	pause    time.Duration
	cacert   string
	insecure bool

	content []byte // of the answer
	code    int64
}

func (checkType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r: r, secret: slices.ContainsFunc([]string{"url", "headers"}, r.Secret),
		url: f.Text("url", f.Text("name", r.Title)), method: f.Text("method", "GET"), headers: f.Texts("headers"), contains: f.Text("contains", ""),
		cacert: f.Text("cacert", ""), insecure: f.Bool("insecure", false),
	}
	number := func(param string, without, least, most int64) int64 {
		n, err := r.Int(param, without)
		switch {
		case err != nil && f.Err == nil:
			f.Err = err
		case n < least || n > most:
			f.Refuse(param, fmt.Sprintf("must be from %d to %d", least, most))
		}
		return n
	}
	x.timeout = time.Duration(number("timeout", 10, 1, 3600)) * time.Second
	x.pause = time.Duration(number("try_sleep", 1, 0, 3600)) * time.Second
	x.tries = number("tries", 1, 1, 100000)
	for _, text := range f.Texts("status") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 100 || n > 599 {
			f.RefuseValue("status", "must be a status from 100 to 599, or a list of them", text)
		}
		x.status = append(x.status, n)
	}
	u, err := url.Parse(x.url)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		f.RefuseValue("url", "must be a URL with http or https", x.url)
	case !slices.Contains(methods, x.method):
		f.RefuseValue("method", "must be "+strings.Join(methods[:2], ", ")+" or "+methods[2], x.method)
	case x.method == "HEAD" && x.contains != "":
		f.Refuse("contains", "cannot be used with the method HEAD, because the answer is empty")
	case x.cacert != "" && !path.IsAbs(x.cacert):
		f.RefuseValue("cacert", "must be an absolute path", x.cacert)
	}
	for param, text := range map[string]string{"url": x.url, "headers": strings.Join(x.headers, ""), "cacert": x.cacert} {
		if strings.ContainsAny(text, "\r\n") { // curl reads a setting in each line
			f.Refuse(param, "must be one line")
		}
	}
	return x, f.Err
}

// Parallel reports that other items need not wait for the answer.
func (*item) Parallel() {}

// Read makes the request until the answer is as expected.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	for try := int64(1); ; try++ {
		err := x.ask(ctx, h)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if try == x.tries {
			return fmt.Errorf("%s: %w", x.shown(), err)
		}
		h.Logf(x.r.Ref, report.Debug, "try %d of %d: %v", try, x.tries, err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(x.pause):
		}
	}
}

// ask sends one request and checks the answer.
func (x *item) ask(ctx context.Context, h *resource.Host) error {
	out, err := x.request().Run(ctx, h, nil, x.timeout+5*time.Second)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(out.Stdout, '\n')
	code, err := strconv.ParseInt(string(out.Stdout[end+1:]), 10, 64)
	if end < 0 || err != nil {
		return errors.New("curl printed no status")
	}
	x.content, x.code = out.Stdout[:end], code
	switch {
	case x.status == nil && (code < 200 || code > 299):
		return fmt.Errorf("the status is %d, not from 200 to 299", code)
	case x.status != nil && !slices.Contains(x.status, code):
		return fmt.Errorf("the status is %d, not %s", code, strings.ReplaceAll(strings.Trim(fmt.Sprint(x.status), "[]"), " ", " or "))
	case !bytes.Contains(x.content, []byte(x.contains)):
		return fmt.Errorf("the answer with the status %d does not contain the expected text%s", code, x.expected())
	}
	return nil
}

// request is the configuration of curl. After the answer, curl prints the status on a line.
func (x *item) request() *curl.Config {
	c := curl.New(x.url)
	c.Flag("no-location")
	c.Number("max-time", int64(x.timeout.Seconds()))
	c.Number("max-filesize", resource.OutputLimit-1024)
	switch x.method {
	case "HEAD": // curl prints the header of the answer
		c.Flag("head")
		c.Set("output", os.DevNull)
	case "GET":
	default:
		c.Set("request", x.method)
	}
	for _, header := range x.headers {
		c.Set("header", header)
	}
	c.Set("cacert", x.cacert)
	if x.insecure {
		c.Flag("insecure")
	}
	c.Set("write-out", "\n%{http_code}")
	return c
}

// shown names the request, without the user and password of the URL.
func (x *item) shown() string {
	if x.r.Secret("url") {
		return x.method
	}
	u, err := url.Parse(x.url)
	if err != nil {
		return x.method
	}
	u.User = nil
	return x.method + " " + u.String()
}

func (x *item) expected() string {
	if x.r.Secret("contains") {
		return ""
	}
	return fmt.Sprintf(" %q", x.contains)
}

// Plan returns no changes.
func (*item) Plan() ([]resource.Change, error) { return nil, nil }

// Do is not called.
func (*item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// Sent returns the answer: content, and status as a number.
func (x *item) Sent() (values map[string]any, secret bool) {
	return map[string]any{"content": string(x.content), "status": x.code}, x.secret
}
