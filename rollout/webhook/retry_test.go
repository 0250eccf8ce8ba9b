package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
	"bolt/store/files"
)

// A fake answers requests without a network, so that tests have their own clock.
type fake struct {
	mu     sync.Mutex
	start  time.Time
	tries  []time.Duration // times of the requests
	taken  []string        // bodies
	answer func(n int, req *http.Request) (*http.Response, error)
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.tries = append(f.tries, time.Since(f.start))
	n := len(f.tries)
	f.mu.Unlock()
	resp, err := f.answer(n, req)
	if err == nil && resp.StatusCode < 300 {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.taken = append(f.taken, string(body))
	}
	return resp, err
}

func status(code int, headers ...string) *http.Response {
	r := &http.Response{StatusCode: code, Header: make(http.Header), Body: http.NoBody}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// events appends n results of nodes to the log of the rollout.
func events(t *testing.T, s *files.Store, after uint64, n int) uint64 {
	t.Helper()
	list := make([]rollout.Event, n)
	for i := range list {
		list[i] = &rollout.NodeFinished{Node: fmt.Sprintf("n%05d", i), Run: "0123456789abcdef", Outcome: rollout.OutcomeDone, Catalog: strings.Repeat("c", 64)}
	}
	rev, err := ledger.In(s).Append(t.Context(), id, after, 0, list...)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func deliverer(t *testing.T, s *files.Store, f *fake, w *warnings) *Deliverer {
	f.start = time.Now()
	return New(t.Context(), Options{Logs: s, Holder: "ann", Transport: f, Warn: w.warn, Hooks: []*Hook{hook(t, "https://hooks.example/T0KEN", all)}})
}

// TestRetry lets a receiver fail for a time while the rollout is driven. The attempts become rarer, and no event is lost.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		events(t, s, 0, 3)
		var w warnings
		f := &fake{answer: func(n int, _ *http.Request) (*http.Response, error) {
			switch {
			case n <= 3:
				return nil, syscall.ECONNREFUSED
			case n <= 12:
				return status(http.StatusServiceUnavailable), nil
			case n == 13:
				return status(http.StatusTooManyRequests, "Retry-After", "240"), nil
			}
			return status(http.StatusNoContent), nil
		}}
		d := deliverer(t, s, f, &w)
		d.Follow(id)
		time.Sleep(2 * time.Hour)
		d.Finish(id)
		d.Close()
		if !slices.Equal(f.taken, lines(t, s, id)) {
			t.Errorf("taken: %s", f.taken)
		}
		for i, at := range f.tries[:12] {
			gap := f.tries[i+1] - at
			if longest := min(time.Second<<i, maxDelay); gap < longest/2 || gap > longest {
				t.Errorf("attempt %d follows after %v", i+2, gap)
			}
		}
		if gap := f.tries[13] - f.tries[12]; gap < 240*time.Second || gap > maxDelay {
			t.Errorf("the receiver wanted 240 s, but the next attempt is after %v", gap)
		}
		want := "Webhook 1 (https://hooks.example) has not taken event 1 of rollout " + id + ": its status is 503 Service Unavailable. bolt repeats it, and then sends the later events"
		if !strings.HasPrefix(w.String(), want) || strings.Count(w.String(), "\n") > 0 || strings.Contains(w.String(), "T0KEN") {
			t.Errorf("%s", w.String())
		}
	})
}

// TestDead never answers, in several ways. A drive with 10,000 events ends within the time Wait, and the next process sends
// all of them.
func TestDead(t *testing.T) {
	for name, c := range map[string]struct {
		nodes  int
		answer func(int, *http.Request) (*http.Response, error)
	}{
		"refused": {2_500, func(int, *http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }},
		"silent": {100, func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}},
		"later": {100, func(int, *http.Request) (*http.Response, error) { return status(503, "Retry-After", "3600"), nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, t.TempDir())
				var w warnings
				f := &fake{answer: c.answer}
				d := deliverer(t, s, f, &w)
				d.Follow(id)
				rev := uint64(0)
				for range 4 {
					rev = events(t, s, rev, c.nodes)
				}
				time.Sleep(time.Minute)
				d.Finish(id)
				start := time.Now()
				d.Close()
				if took := time.Since(start); took > Wait+time.Millisecond {
					t.Errorf("Close has waited for %v", took)
				}
				if n := len(f.tries); n > 20 {
					t.Errorf("%d attempts", n)
				}
				if !strings.HasSuffix(w.String(), "'bolt rollout advance' sends those after number 0") {
					t.Errorf("%s", w.String())
				}
				f = &fake{answer: func(int, *http.Request) (*http.Response, error) { return status(200), nil }}
				d = deliverer(t, s, f, new(warnings))
				d.Rest(t.Context(), id, time.Now())
				d.Close()
				if !slices.Equal(f.taken, lines(t, s, id)) {
					t.Errorf("%d of %d events", len(f.taken), rev)
				}
			})
		})
	}
}

// TestRefused refuses single events, all events, and all further events.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int) int
		tries  int
		text   string // of the last warning
		next   uint64 // the first event of the next process
	}{
		"one":      {func(n int) int { return map[bool]int{true: 413, false: 200}[n == 3] }, 10, "has refused event 3 of rollout " + id + ": its status is 413 Request Entity Too Large. bolt goes on", 11},
		"all":      {func(n int) int { return map[bool]int{true: 200, false: 401}[n < 3] }, 5, "events after number 2", 3},
		"gone":     {func(n int) int { return map[bool]int{true: 200, false: 410}[n < 3] }, 3, "events after number 2", 3},
		"redirect": {func(n int) int { return map[bool]int{true: 302, false: 200}[n == 3] }, 10, "its status is 302 Found, and redirects are not followed", 11},
		"last":     {func(n int) int { return map[bool]int{true: 400, false: 200}[n == 10] }, 10, "has refused event 10", 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, t.TempDir())
				events(t, s, 0, 10)
				var w warnings
				f := &fake{answer: func(n int, _ *http.Request) (*http.Response, error) {
					return status(c.answer(n), "Location", "https://other.example/"), nil
				}}
				d := deliverer(t, s, f, &w)
				d.Follow(id)
				d.Finish(id)
				d.Close()
				if len(f.tries) != c.tries || !strings.Contains(w.String(), c.text) {
					t.Errorf("%d attempts. %s", len(f.tries), w.String())
				}
				events(t, s, 10, 1)
				f = &fake{answer: func(int, *http.Request) (*http.Response, error) { return status(200), nil }}
				d = deliverer(t, s, f, &w)
				d.Rest(t.Context(), id, time.Now())
				d.Close()
				if want := lines(t, s, id)[c.next-1:]; !slices.Equal(f.taken, want) {
					t.Errorf("the next process sends %d events, want %d", len(f.taken), len(want))
				}
			})
		})
	}
}

// TestRest sends nothing of rollouts that a webhook was never to receive, or that ended long ago.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		events(t, s, 0, 3)
		f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }}
		d := deliverer(t, s, f, new(warnings))
		d.Rest(t.Context(), id, time.Now())
		d.Close()
		if f.tries != nil {
			t.Error("a new webhook gets events of an old rollout")
		}
		d = deliverer(t, s, f, new(warnings))
		d.Follow(id)
		d.Close()
		f.tries = nil
		d = deliverer(t, s, f, new(warnings))
		d.Rest(t.Context(), id, time.Now().Add(-keep-time.Second))
		d.Close()
		if f.tries != nil {
			t.Error("a webhook gets events of a rollout that ended long ago")
		}
		// While the old webhook gets the rest, a new one gets nothing of the old rollout.
		f.answer = func(int, *http.Request) (*http.Response, error) { return status(200), nil }
		d = deliverer(t, s, f, new(warnings))
		d.o.Hooks = append(d.o.Hooks, hook(t, "https://new.example/", all))
		d.Rest(t.Context(), id, time.Now())
		d.Close()
		if len(f.taken) != 3 {
			t.Errorf("%d events were sent", len(f.taken))
		}
		var none *Deliverer
		none.Follow(id)
		none.Rest(t.Context(), id, time.Now())
		none.Finish(id)
		none.Close()
	})
}

// stuck is a body that never ends.
type stuck struct{ ctx context.Context }

func (b stuck) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}
func (stuck) Close() error { return nil }

// TestSlowBody lets a receiver send its status at once and its body never.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		events(t, s, 0, 3)
		f := &fake{answer: func(_ int, req *http.Request) (*http.Response, error) {
			r := status(200)
			r.Body = stuck{req.Context()}
			return r, nil
		}}
		d := deliverer(t, s, f, new(warnings))
		d.Follow(id)
		start := time.Now()
		d.Close()
		if took := time.Since(start); took > 4*bodyTime || len(f.taken) != 3 {
			t.Errorf("%d events took %v", len(f.taken), took)
		}
	})
}

// TestHostile asks receivers with endless bodies, long headers, and redirects. Errors have no part of the address.
func TestHostile(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/long":
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
			}
		case "/redirect":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/strange":
			w.Header().Set("Location", "http://[T0KEN")
			w.WriteHeader(http.StatusFound)
		case "/garbage":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "\x1b[31m"+strings.Repeat("x", 10_000)+"\r\n\r\n")
			conn.Close()
		case "/break":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	via := newTransport(&Options{})
	defer via.(*http.Transport).CloseIdleConnections()
	for path, want := range map[string]string{
		"/endless": "", "/long": "exceeded", "/redirect": "307", "/strange": "302", "/garbage": "malformed", "/break": "EOF", ":99999/T0KEN": "invalid port",
	} {
		h := hook(t, "http://127.0.0.1:1/")
		h.url.Host, h.url.Path = strings.TrimPrefix(server.URL, "http://"), path
		if strings.HasPrefix(path, ":") {
			h.url.Host, h.url.Path = "127.0.0.1:99999", "/T0KEN"
		}
		_, failed := send(t.Context(), via, "bolt", h, []byte("{}"))
		switch {
		case want == "" && failed != nil, want != "" && (failed == nil || !strings.Contains(failed.reason, want)):
			t.Errorf("%s: %+v", path, failed)
		case failed != nil && (len(failed.reason) > 210 || strings.ContainsAny(failed.reason, "\x1b") || strings.Contains(failed.reason, "T0KEN")):
			t.Errorf("%s: the reason is %q", path, failed.reason)
		}
	}
}

// TestUnknownCertificate sends nothing to a server whose certificate cannot be verified.
func TestUnknownCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server got a request") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	via := newTransport(&Options{})
	defer via.(*http.Transport).CloseIdleConnections()
	if _, failed := send(t.Context(), via, "bolt", hook(t, server.URL), []byte("{}")); failed == nil || failed.final || !strings.Contains(failed.reason, "certificate") {
		t.Errorf("%+v", failed)
	}
}

// TestFullDisk lets no position be recorded. The events are sent all the same.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		events(t, s, 0, 3)
		f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return status(200), nil }}
		var w warnings
		d := deliverer(t, s, f, &w)
		d.o.Logs = full{s}
		d.Follow(id)
		d.Close()
		if len(f.taken) != 3 || !strings.Contains(w.String(), "no space left") {
			t.Errorf("%d events. %s", len(f.taken), w.String())
		}
	})
}

var errDisk = errors.New("no space left on device")

// full is a store that takes no events.
type full struct{ *files.Store }

func (full) Append(context.Context, string, store.Revision, store.Fence, ...json.RawMessage) (store.Revision, error) {
	return 0, errDisk
}
