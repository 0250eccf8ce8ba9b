package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/freeport"
)

// TestWebhook runs the scripts of testdata/webhook beside a server ($RECEIVER) that writes each event to the
// file "received", unless the file "closed" disables it. The file "receiver.py" is the receiver of
// docs/rollouts.md, for the address $DOCUMENTED.
func TestWebhook(t *testing.T) {
	python := documentedReceiver(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "webhook"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := os.Stat(filepath.Join(e.WorkDir, "closed")); err == nil {
					w.WriteHeader(http.StatusGone)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err == nil {
					err = appendTo(filepath.Join(e.WorkDir, "received"), string(body)+"\n")
				}
				if err == nil {
					err = appendTo(filepath.Join(e.WorkDir, "headers"), r.Header.Get("authorization")+" "+r.Header.Get("user-agent")+"\n")
				}
				if err != nil {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			e.Defer(server.Close)
			ports, err := freeport.Find(1)
			if err != nil {
				return err
			}
			port := ports[0]
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("BOLT_POOL", "off")
			e.Setenv("RECEIVER", server.URL)
			e.Setenv("DOCUMENTED", "http://127.0.0.1:"+port)
			e.Setenv("WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
			e.Setenv("AUTHORIZATION", "Bearer b34rer")
			e.Setenv(raceVariable, raceOptions)
			return os.WriteFile(filepath.Join(e.WorkDir, "receiver.py"), []byte(strings.Replace(python, "8000", port, 1)), 0o600)
		},
	})
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// documentedReceiver returns the program in docs/rollouts.md.
func documentedReceiver(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rollouts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(text), "```python\n")
	program, _, closed := strings.Cut(program, "```\n")
	if !found || !closed || strings.Count(program, "8000") != 1 {
		t.Fatal("docs/rollouts.md has no receiver")
	}
	return program
}
