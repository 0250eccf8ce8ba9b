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
	"sync"
	"syscall"

	"bolt/format/ordered"
	"bolt/rollout/gate"
)

// maxBody bounds the body of a response. The rest is not read.
const maxBody = 1 << 20

// maxRequests is the number of requests of a gate at the same time. A node that does not answer must not keep the others
// from being measured.
const maxRequests = 50

// requests makes the request of a gate: one for each node if it names {{node}} or {{host}}.
func (m *Means) requests(ctx context.Context, h *gate.HTTP, c conditions, w words, s *Subject) Value {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	text := h.URL + h.Body
	if w.node != "" || !strings.Contains(text, "{{node}}") && !strings.Contains(text, "{{host}}") {
		return request(ctx, client, h, c, w)
	}
	if len(s.Nodes) == 0 {
		return Value{Outcome: gate.Successful, Reason: "no node to measure yet"}
	}
	// After a failure, the other results do not matter.
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	all := make([]Value, len(s.Nodes))
	slots := make(chan struct{}, maxRequests)
	var wg sync.WaitGroup
	for i, node := range s.Nodes {
		slots <- struct{}{}
		own := w
		own.node = node
		wg.Go(func() {
			defer func() { <-slots }()
			if all[i] = request(ctx, client, h, c, own).of(node); all[i].Outcome == gate.Failed {
				enough()
			}
		})
	}
	wg.Wait()
	return worst(all)
}

func request(ctx context.Context, client *http.Client, h *gate.HTTP, c conditions, w words) Value {
	req, err := http.NewRequestWithContext(ctx, cmp.Or(h.Method, http.MethodGet), w.replace(h.URL, inURL), strings.NewReader(w.replace(h.Body, plain)))
	if err != nil {
		return failure(withoutAddress(err))
	}
	for name, v := range h.Headers {
		req.Header.Set(name, w.replace(v, plain))
		if strings.EqualFold(name, "host") {
			req.Host = w.replace(v, plain)
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return failure(fmt.Errorf("read the body: %w", err))
	}
	if h.Match != "" {
		re, err := regexp.Compile(h.Match)
		if err != nil {
			return failure(err)
		}
		if !re.Match(body) {
			return Value{Outcome: gate.Failed, Value: short(string(body)), Reason: fmt.Sprintf("the body does not match %s", h.Match)}
		}
	}
	if c.none() {
		return Value{Outcome: gate.Successful, Value: resp.StatusCode}
	}
	return c.judge(ctx, data(resp, body))
}

// withoutAddress removes the address of a request from an error, because it can have secrets.
func withoutAddress(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		return e.Err
	}
	return err
}

// inURL makes a name safe in an address. An IPv6 address stays as it is.
func inURL(text string) string {
	return strings.NewReplacer("%5B", "[", "%5D", "]", "%3A", ":").Replace(url.PathEscape(text))
}

// data returns the body of a response: as data if it is JSON.
func data(resp *http.Response, body []byte) any {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		m := &ordered.Map{}
		if m.UnmarshalJSON(append(append([]byte(`{"v":`), body...), '}')) == nil {
			return m.Value("v")
		}
	}
	return strings.TrimSpace(string(body))
}
