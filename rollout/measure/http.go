package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"bolt/format/ordered"
	"bolt/rollout/gate"
)

// maxBody bounds the body of a response. The rest is not read.
const maxBody = 1 << 20

// request makes the request of a gate. Its client has no state of its own: connections are those of the default transport.
func request(ctx context.Context, h *gate.HTTP, c conditions, w words) Value {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	address, err := w.replace(h.URL, inURL)
	if err != nil {
		return failure(err)
	}
	body, err := w.replace(h.Body, inBody(h))
	if err != nil {
		return failure(err)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(h.Method, http.MethodGet), address, strings.NewReader(body))
	if err != nil {
		return failure(withoutAddress(err))
	}
	for name, v := range h.Headers {
		value, err := w.replace(v, plain) // net/http refuses values with line breaks
		if err != nil {
			return failure(err)
		}
		req.Header.Set(name, value)
		if strings.EqualFold(name, "host") {
			req.Host = value
		}
	}
	resp, err := client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		// The machine has answered: no service listens there.
		return Value{Outcome: gate.Failed, Reason: "the connection was refused"}
	}
	if err != nil {
		return failure(withoutAddress(err))
	}
	defer resp.Body.Close()
	if want := cmp.Or(h.Status, http.StatusOK); resp.StatusCode != want {
		return Value{Outcome: gate.Failed, Value: resp.StatusCode, Reason: fmt.Sprintf("the status is %d, not %d", resp.StatusCode, want)}
	}
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return failure(fmt.Errorf("read the body: %w", err))
	}
	if h.Match != "" {
		re, err := regexp.Compile(h.Match)
		if err != nil {
			return failure(err)
		}
		if !re.Match(got) {
			return Value{Outcome: gate.Failed, Value: short(string(got)), Reason: fmt.Sprintf("the body does not match %s", h.Match)}
		}
	}
	if c.none() {
		return Value{Outcome: gate.Successful, Value: resp.StatusCode}
	}
	return c.judge(ctx, data(resp, got))
}

// withoutAddress removes the address of a request from an error, because it can have secrets.
func withoutAddress(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		return e.Err
	}
	return err
}

// data returns the body of a response: as data if it is JSON.
func data(resp *http.Response, body []byte) any {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if isJSON(kind) {
		m := &ordered.Map{}
		if m.UnmarshalJSON(append(append([]byte(`{"v":`), body...), '}')) == nil {
			return m.Value("v")
		}
	}
	return strings.TrimSpace(string(body))
}
