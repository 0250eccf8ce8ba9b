package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestVault runs the scripts of testdata/vault beside a server that answers
// like Vault ($VAULT). It gives the user bob a token once.
func TestVault(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "vault"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			var logins atomic.Int64
			vault := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.Method + r.URL.Path {
				case "POST/v1/auth/userpass/login/bob":
					if logins.Add(1) == 1 {
						io.WriteString(w, `{"auth":{"client_token":"t0ken"}}`)
						return
					}
				case "GET/v1/secret/data/web":
					if r.Header.Get("X-Vault-Token") == "t0ken" {
						io.WriteString(w, `{"data":{"data":{"user":"root","password":"s3cret"},"metadata":{"version":1}}}`)
						return
					}
				}
				w.WriteHeader(http.StatusForbidden)
				io.WriteString(w, `{"errors":["permission denied"]}`)
			}))
			e.Defer(vault.Close)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("BOLT_POOL", "off")
			e.Setenv("VAULT", vault.URL)
			e.Setenv("VAULT_PASSWORD", "pa55w0rd")
			e.Setenv(raceVariable, raceOptions)
			return nil
		},
	})
}
