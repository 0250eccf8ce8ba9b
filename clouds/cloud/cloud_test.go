package cloud

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/inventory/plugin/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPath(t *testing.T) {
	o := Options{Project: "/p", Home: "/h"}
	for name, want := range map[string]string{"a/b": "/p/a/b", "/a": "/a", "~/a": "/h/a", "~a": "/p/~a"} {
		if got := o.Path(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTransport checks that a server for credentials can only send a limited
// number of bytes, however small its pieces are.
func TestTransport(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 10 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	transport := &http.Transport{}
	Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("asked for a proxy") }}.Transport(transport)
	res, err := (&http.Client{Transport: transport}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if n > maxConnected || err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestAsk checks that all answers are added up for the limit of a list, and
// that a server controls the pause.
func TestAsk(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked%2 == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, "0123456789")
	}))
	defer s.Close()
	u, err := fetch.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Options{Pause: time.Hour}.Client(nil, 50)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (*fetch.Answer, error) {
		return c.Ask(t.Context(), Quiet, func() (fetch.Request, error) { return fetch.Request{Method: http.MethodGet, URL: u}, nil })
	}
	for range 2 {
		if a, err := ask(); err != nil || a.Code != 200 {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
	if _, err := ask(); err == nil || !strings.Contains(err.Error(), "the list is too large") || asked != 6 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestPages(t *testing.T) {
	var got []string
	next := map[string]string{"": "a", "a": "b", "b": ""}
	err := Pages(func(token string) (string, error) { got = append(got, token); return next[token], nil })
	if err != nil || strings.Join(got, ",") != ",a,b" {
		t.Errorf("got %q, %v", got, err)
	}
	n := 0
	if err := Pages(func(string) (string, error) { n++; return fmt.Sprint(n), nil }); err == nil || n != MaxPages {
		t.Errorf("%d pages, %v", n, err)
	}
}
