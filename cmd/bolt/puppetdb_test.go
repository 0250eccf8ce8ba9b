package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPuppetDB runs the scripts of testdata/puppetdb beside a server that
// answers like PuppetDB ($PUPPETDB), and a server that is broken ($BROKEN). The
// server only accepts clients with the header X-Key.
func TestPuppetDB(t *testing.T) {
	db := httptest.NewServer(http.HandlerFunc(answerAsPuppetDB))
	t.Cleanup(db.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(broken.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "puppetdb"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("BOLT_POOL", "off")
			e.Setenv("PUPPETDB", db.URL)
			e.Setenv("BROKEN", broken.URL)
			e.Setenv(raceVariable, raceOptions)
			return nil
		},
	})
}

// answerAsPuppetDB answers the queries of the scripts in the form of PuppetDB
// 7.12.
func answerAsPuppetDB(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var asked struct{ Query any }
	_ = json.Unmarshal(body, &asked) // errors are answered below
	text, _ := asked.Query.(string)
	answer := func(status int, kind, text string) {
		w.Header().Set("Content-Type", kind+";charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
	const data = "application/json"
	switch {
	case r.Header.Get("X-Key") != "k3y":
		answer(http.StatusForbidden, "text/plain", "Permission denied: the key "+r.Header.Get("X-Key")+" is wrong")
	case r.URL.Path == "/pdb/cmd/v1":
		answer(http.StatusOK, data, `{"uuid" : "68136305-9d68-48b7-a59b-44a378a2243c"}`)
	case r.URL.Path == "/pdb/query/v4/inventory" && strings.Contains(string(body), `"local1"`):
		answer(http.StatusOK, data, `[{"certname":"local1","facts":{"os": {"name": "Debian"}}}]`)
	case r.URL.Path == "/pdb/query/v4/inventory":
		answer(http.StatusOK, data, `[]`)
	case strings.Contains(string(body), `["from","resources",`):
		answer(http.StatusOK, data, `[{"certname":"web9","title":"there","tags":["notify"],"file":"/code/x.pp","line":3,"parameters":{"message":"hello"}},`+
			`{"certname":"local1","title":"mine","tags":["notify"],"file":null,"line":null,"parameters":{}}]`)
	case asked.Query != nil && text == "":
		answer(http.StatusOK, data, `[{"certname":"tree"}]`)
	case text == "nodes[certname] {}":
		answer(http.StatusOK, data, `[{"certname":"local1"},{"certname":"local2"},{"certname":"local1"}]`)
	case text == "nodes[report_timestamp] {}":
		answer(http.StatusOK, data, `[{"report_timestamp":null}]`)
	case text == "nodes[certname] { groups }":
		answer(http.StatusOK, data, `[{"certname":"all,web*"}]`)
	case text == "none[] {}":
		answer(http.StatusOK, data, `[]`)
	default:
		answer(http.StatusBadRequest, "text/plain", "PQL parse error at line 1, column 24:\n\n"+text)
	}
}
