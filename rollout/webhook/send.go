package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bolt/internal/safetext"
)

// Limits of a receiver.
const (
	maxHeader = 64 << 10 // bytes of the headers of a response
	maxBody   = 16 << 10 // bytes of a body that are read, so that the connection can be used again
	bodyTime  = time.Second
)

// newTransport returns the sender of all requests. It is used without an http.Client, which would parse redirects and put addresses
// into errors.
func newTransport(o *Options) http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	return &http.Transport{
		Proxy: proxy(o.Proxy), MaxResponseHeaderBytes: maxHeader, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
	}
}

// proxy hides the address of a proxy in errors, because it can have a password.
func proxy(of func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if of == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := of(r)
		if err != nil {
			return nil, errors.New("the environment has a proxy whose address is wrong")
		}
		return u, nil
	}
}

// A failure is an attempt that did not succeed.
type failure struct {
	reason string
	status int // 0 without a response
	// final is set if another attempt cannot help. gone is set if the receiver wants no events at all.
	final, gone bool
	after       time.Duration // the shortest time before the next attempt
}

// messageID returns the header webhook-id of an event. It is the same in each attempt, and has no full stop.
func messageID(line []byte) string {
	const bytes = 16
	sum := sha256.Sum256(line)
	return "msg_" + hex.EncodeToString(sum[:bytes])
}

// send sends a message once. It returns the status, and nil if the receiver has taken the message.
func send(ctx context.Context, via http.RoundTripper, agent string, h *Hook, line []byte) (int, *failure) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	req := (&http.Request{
		Method: http.MethodPost, URL: h.url, Host: h.url.Host, Header: make(http.Header), ContentLength: int64(len(line)),
		Body:    io.NopCloser(bytes.NewReader(line)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(line)), nil },
	}).WithContext(ctx)
	if user := h.url.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	for name, v := range h.headers {
		req.Header.Set(name, v)
	}
	id, now := messageID(line), time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("Webhook-Signature", h.secret.sign(id, now, line))
	resp, err := via.RoundTrip(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return 0, &failure{reason: "the connection was refused"}
	case errors.Is(err, context.DeadlineExceeded):
		return 0, &failure{reason: fmt.Sprintf("it did not answer within %s", h.timeout)}
	case err != nil:
		return 0, &failure{reason: short(err.Error())}
	}
	slow := time.AfterFunc(bodyTime, cancel)
	_, _ = io.CopyN(io.Discard, resp.Body, maxBody)
	slow.Stop()
	resp.Body.Close()
	return resp.StatusCode, judge(resp)
}

// judge returns nil if a status is that of success (Standard Webhooks, "Delivery success and failure").
func judge(resp *http.Response) *failure {
	code := resp.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	f := &failure{status: code, reason: fmt.Sprintf("its status is %d %s", code, http.StatusText(code))}
	switch {
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32); err == nil {
			f.after = min(time.Duration(seconds)*time.Second, maxDelay)
		}
	case code >= 300 && code < 400:
		f.final = true
		f.reason += ", and redirects are not followed"
	default:
		f.final, f.gone = true, code == http.StatusGone
	}
	return f
}

// short bounds the text of an error, which can have a part of the response.
func short(text string) string {
	const most = 200
	text = safetext.TerminalString(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// A Probe is the result of a test event.
type Probe struct {
	Webhook string        `json:"webhook"`
	OK      bool          `json:"ok"`
	Status  int           `json:"status"` // of the response; 0 without one
	Reason  string        `json:"reason"` // of a failure
	Took    time.Duration `json:"-"`
}

// testEvent is an event that no rollout has.
const testEvent = `{"type":"webhook_test","reason":"bolt rollout webhook test"}`
