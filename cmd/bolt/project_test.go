package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// forgeOf serves one release of the module me-extra, as the Puppet Forge does.
func forgeOf(t *testing.T) string {
	t.Helper()
	const metadata = `{"name":"me-extra","version":"1.0.0","author":"me","dependencies":[]}`
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "me-extra-1.0.0/metadata.json", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(metadata))})
	_, werr := w.Write([]byte(metadata))
	if err := errors.Join(err, werr, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	const file = "/v3/files/me-extra-1.0.0.tar.gz"
	release := map[string]any{
		"version":  "1.0.0",
		"module":   map[string]any{"name": "extra", "owner": map[string]any{"username": "me", "slug": "me"}},
		"metadata": json.RawMessage(metadata),
		"file_uri": file, "file_sha256": fmt.Sprintf("%x", sha256.Sum256(archive.Bytes())),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/releases", func(w http.ResponseWriter, r *http.Request) {
		list := []any{}
		if r.FormValue("module") == "me-extra" {
			list = append(list, release)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"pagination": map[string]any{"next": nil}, "results": list})
	})
	mux.HandleFunc(file, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestProjectInitModules checks that a new project has its modules, and that a
// project whose modules are not available leaves no files behind.
func TestProjectInitModules(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	defaults := filepath.Join(home, ".puppetlabs", "etc", "bolt", "bolt-defaults.yaml")
	if err := os.MkdirAll(filepath.Dir(defaults), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(defaults, []byte("module-install: {forge: {baseurl: \""+forgeOf(t)+"\"}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	initProject := func(dir string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(self, append([]string{"project", "init"}, args...)...)
		cmd.Args[0], cmd.Dir = "bolt", dir
		cmd.Env = []string{"HOME=" + home, "BOLT_POOL=off", "BOLT_PROJECT=" + elsewhere, "PATH=" + os.Getenv("PATH"), raceVariable + "=" + raceOptions}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}

	dir := t.TempDir()
	out, errs, err := initProject(dir, "depot", "--modules", "me-extra")
	if err != nil || !strings.HasSuffix(out, "Successfully created Bolt project at "+dir+"\n") || errs != "" {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	for name, want := range map[string]string{
		"bolt-project.yaml":            "---\nname: depot\nmodules:\n- me-extra\n",
		".modules/extra/metadata.json": `"me-extra"`,
		"Puppetfile":                   "1.0.0",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}

	for _, args := range [][]string{{"--format", "json"}, nil} {
		dir := t.TempDir()
		out, _, err := initProject(dir, append(args, "depot", "--modules", "me-extra,me-missing")...)
		if err == nil || !strings.Contains(out, "missing") {
			t.Errorf("%v %s", err, out)
		}
		if args != nil && !json.Valid([]byte(out)) {
			t.Errorf("no JSON: %s", out)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 {
		t.Errorf("left in the project of the environment: %v, %v", left, err)
	}
}
