package fetch_test

import (
	"context"
	"encoding/pem"
	"errors"
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

func TestParseChecksURL(t *testing.T) {
	for address, says := range map[string]string{
		"https://a.example.com/x?y=1": "", "http://[::1]:80": "", "": "not a URL", "a.example.com": "not a URL", "ftp://a/": "not a URL", "https://": "not a URL",
		"https://u:s3cret@h/": "contains a user", "http://s3cret:x y/": "not a URL", "http://h/#s3cret": "has a fragment",
	} {
		_, err := fetch.Parse(address)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestDoSendsRequest(t *testing.T) {
	held := make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/hold":
			<-held // an answer, even an empty one, could be quicker than the end of the context
		case "/moved":
			http.Redirect(w, r, "../there?x=1", http.StatusFound)
		default:
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-A")+" "+r.UserAgent()+" "+string(body))
		}
	}))
	defer s.Close()
	defer close(held)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	client, err := fetch.New(fetch.Options{Authorities: ca, Limit: 100, Agent: "bolt/1", Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) *url.URL {
		u, err := fetch.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	a, err := client.Do(t.Context(), fetch.Request{Method: "POST", URL: at("/x?y=1"), Header: http.Header{"X-A": {"a"}}, Body: []byte("b")})
	if err != nil || a.Code != 418 || a.Status != "418 I'm a teapot" || string(a.Body) != "POST /x?y=1 a bolt/1 b" || a.Elsewhere(at("/x")) != nil {
		t.Errorf("got %+v, %v", a, err)
	}
	a, err = client.Do(t.Context(), fetch.Request{Method: "GET", URL: at("/moved")})
	if err != nil || a.Elsewhere(at("/moved")).String() != s.URL+"/there?x=1" {
		t.Errorf("got %+v, %v", a, err)
	}
	_, err = client.Do(t.Context(), fetch.Request{Method: "POST", URL: at("/x?s3cret"), Body: make([]byte, 200)})
	if err == nil || !strings.Contains(err.Error(), s.URL+"/x: the response is larger than") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
	if _, err = client.Do(ctx, fetch.Request{Method: "GET", URL: at("/hold")}); err != enough {
		t.Errorf("got %v", err)
	}
	for _, o := range []fetch.Options{{Authorities: []byte("x")}, {Certificate: []byte("x")}} {
		if _, err := fetch.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func FuzzShown(f *testing.F) {
	f.Add("Error: \x1b[31mhunter\x0022\xff")
	f.Add("hunthunter22er22" + strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, text string) {
		if got := fetch.Shown(text, "hunter22", ""); strings.Contains(got, "hunter22") || strings.ContainsAny(got, "\x00\x1b\x7f") || len(got) > 600 {
			t.Errorf("%q", got)
		}
	})
}
