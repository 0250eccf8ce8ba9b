package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// forgeServer is a Forge with a few modules. Clients need its token.
func forgeServer(t *testing.T, token string, download http.HandlerFunc) *httptest.Server {
	t.Helper()
	archives := map[string][]byte{}
	results := map[string][]any{}
	publish := func(owner, name, version, needs string) {
		metadata := fmt.Sprintf(`{"name":"%s-%s","version":%q,"summary":"Module %s","dependencies":[%s]}`, owner, name, version, name, needs)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		slug := owner + "-" + name + "-" + version
		header := &tar.Header{Name: slug + "/metadata.json", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(metadata))}
		if err := errors.Join(w.WriteHeader(header), func() error { _, err := w.Write([]byte(metadata)); return err }(), w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b.Bytes())
		archives[slug] = b.Bytes()
		results[owner+"-"+name] = append(results[owner+"-"+name], map[string]any{
			"version": version, "file_uri": "/v3/files/" + slug, "file_sha256": hex.EncodeToString(sum[:]), "metadata": json.RawMessage(metadata),
			"module": map[string]any{"name": name, "owner": map[string]any{"slug": owner}}})
	}
	publish("me", "stdlib", "8.0.0", "")
	publish("me", "stdlib", "9.0.0", "")
	publish("me", "apache", "1.0.0", `{"name":"me/stdlib","version_requirement":"< 9.0.0"}`)
	publish("me", "clash", "1.0.0", `{"name":"me/stdlib","version_requirement":">= 9.0.0"}`)
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/releases", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results[r.FormValue("module")]})
	})
	if download == nil {
		download = func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(archives[r.PathValue("slug")]) }
	}
	mux.HandleFunc("/v3/files/{slug}", download)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != token {
			http.Error(w, `{"message":"403 Forbidden"}`, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// moduleProject makes a project whose Forge is a server.
func moduleProject(t *testing.T, server *httptest.Server, settings string) (dir string, bolt func(args ...string) *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	text := "# mine\nname: site\n" + settings + "module-install:\n  forge:\n    baseurl: " + server.URL + "\n    authorization_token: {_plugin: env_var, var: FORGE_TOKEN, optional: true}\n"
	if err := os.WriteFile(filepath.Join(dir, "bolt-project.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return dir, func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		cmd.Args[0] = "bolt"
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "BOLT_POOL=off", raceVariable + "=" + raceOptions, "FORGE_TOKEN=Bearer hunter2"}
		return cmd
	}
}

func TestModuleAdd(t *testing.T) {
	server := forgeServer(t, "Bearer hunter2", nil)
	dir, bolt := moduleProject(t, server, "modules:\n  - me/apache # web\n")
	out, err := bolt("module", "add", "me-stdlib").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"Adding module me-stdlib to project\n\n", "  me/apache   1.0.0 (new)\n  me/stdlib   8.0.0 (new)\n", "Successfully synced modules from "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	file, err := os.ReadFile(filepath.Join(dir, "bolt-project.yaml"))
	if err != nil || !strings.HasPrefix(string(file), "# mine\nname: site\nmodules:\n  - me/apache # web\n  - me/stdlib\nmodule-install:") {
		t.Errorf("%v\n%s", err, file)
	}
	out, err = bolt("module", "add", "me/clash", "--format", "json").Output()
	var e struct{ Kind, Msg string }
	if err == nil || json.Unmarshal(out, &e) != nil || e.Kind != "bolt/module-resolver-error" || !strings.Contains(e.Msg, "me/apache 1.0.0 needs me/stdlib < 9.0.0") {
		t.Errorf("%v\n%s", err, out)
	}
	again, err := os.ReadFile(filepath.Join(dir, "bolt-project.yaml"))
	if err != nil || !bytes.Equal(again, file) {
		t.Errorf("%v\n%s", err, again)
	}
	for _, cmd := range []*exec.Cmd{bolt("module", "install", "--force"), bolt("module", "install", "--force", "--log-level", "trace", "--trace")} {
		cmd.Env = append(cmd.Env, "FORGE_TOKEN=Bearer other")
		out, err = cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "403 Forbidden") || strings.Contains(string(out), "Bearer other") {
			t.Errorf("with another token: %v\n%s", err, out)
		}
	}
	logged, _ := os.ReadFile(filepath.Join(dir, "bolt-debug.log"))
	if len(logged) == 0 || strings.Contains(string(logged), "hunter2") || strings.Contains(string(logged), "other") {
		t.Errorf("log:\n%s", logged)
	}
}

// TestModuleInterrupted checks that ^C in the middle of a download leaves
// no files behind.
func TestModuleInterrupted(t *testing.T) {
	var begun atomic.Bool
	server := forgeServer(t, "", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		begun.Store(true)
		<-r.Context().Done()
	})
	dir, bolt := moduleProject(t, server, "modules: [me/apache]\n")
	cmd := bolt("module", "install")
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the download", begun.Load)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitFailed || !strings.Contains(out.String(), "The installation was stopped. Nothing was changed.") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "Puppetfile")); err == nil {
		t.Error("a Puppetfile was written")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, ".modules")); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}

	// The same, without a chance to clean up.
	begun.Store(false)
	cmd = bolt("module", "install")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the download", begun.Load)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	good := forgeServer(t, "", nil)
	project := filepath.Join(dir, "bolt-project.yaml")
	text, err := os.ReadFile(project)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(project, bytes.ReplaceAll(text, []byte(server.URL), []byte(good.URL)), 0o644); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if out, err := bolt("module", "install").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".modules", ".bolt-stage-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
