package install

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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
)

// A world is a project, a Forge and a directory of repositories.
type world struct {
	t        *testing.T
	dir      string // the project's
	repos    string
	cache    string
	url      string     // of the Forge
	mu       sync.Mutex // a request that was given up may still be answered
	releases map[string][]map[string]any
	archives map[string][]byte
	broken   atomic.Value // path of the Forge that answers 400
	asked    atomic.Int32 // how often the Forge was
	specs    []any
	steps    []string
	hold     atomic.Pointer[chan struct{}] // downloads wait for it
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), repos: t.TempDir(), cache: filepath.Join(t.TempDir(), "git"),
		releases: map[string][]map[string]any{}, archives: map[string][]byte{}}
	w.broken.Store("")
	mux := http.NewServeMux()
	send := func(rw http.ResponseWriter, v any) { _ = json.NewEncoder(rw).Encode(v) }
	mux.HandleFunc("/v3/releases", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		list := w.releases[r.FormValue("module")]
		send(rw, map[string]any{"pagination": map[string]any{"next": nil}, "results": list})
	})
	mux.HandleFunc("/v3/releases/{slug}", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, list := range w.releases {
			for _, e := range list {
				if e["slug"] == r.PathValue("slug") {
					send(rw, e)
					return
				}
			}
		}
		http.NotFound(rw, r)
	})
	mux.HandleFunc("/v3/files/{name}", func(rw http.ResponseWriter, r *http.Request) {
		if hold := w.hold.Load(); hold != nil {
			select {
			case <-*hold:
			case <-r.Context().Done():
			}
		}
		_, _ = rw.Write(w.archive(r.PathValue("name")))
	})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		if broken := w.broken.Load().(string); broken != "" && strings.Contains(r.URL.Path, broken) {
			http.Error(rw, `{"message":"400 Bad Request"}`, http.StatusBadRequest)
			return
		}
		mux.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	w.write("bolt-project.yaml", "modules: []\n")
	return w
}

// release publishes a module; needs are "owner/name range".
func (w *world) release(module, version string, needs ...string) {
	w.t.Helper()
	var deps []any
	for _, n := range needs {
		name, r, _ := strings.Cut(n, " ")
		deps = append(deps, map[string]any{"name": name, "version_requirement": r})
	}
	owner, name, _ := strings.Cut(module, "/")
	slug := owner + "-" + name
	metadata := map[string]any{"name": slug, "version": version, "dependencies": deps}
	text, err := json.Marshal(metadata)
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	tw := tar.NewWriter(z)
	top := slug + "-" + version + "/"
	for file, body := range map[string]string{"metadata.json": string(text), "tasks/init.sh": "#!/bin/sh\necho " + version + "\n", "spec/x_spec.rb": "x"} {
		if err := tw.WriteHeader(&tar.Header{Name: top + file, Mode: 0o755, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := tw.Write([]byte(body)); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), z.Close()); err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	file := slug + "-" + version + ".tar.gz"
	w.mu.Lock()
	defer w.mu.Unlock()
	w.archives[file] = b.Bytes()
	w.releases[slug] = append(w.releases[slug], map[string]any{
		"slug": slug + "-" + version, "version": version, "metadata": metadata, "file_uri": "/v3/files/" + file,
		"file_sha256": hex.EncodeToString(sum[:]), "module": map[string]any{"name": name, "owner": map[string]any{"slug": owner}},
	})
}

// archive is that of a release.
func (w *world) archive(name string) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.archives[name]
}

// swap makes the archive of a release another one.
func (w *world) swap(name string, archive []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.archives[name] = archive
}

func environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repo commits a version of a module to a repository, and tags it.
func (w *world) repo(name, version string, needs ...string) (dir, commit string) {
	w.t.Helper()
	dir = filepath.Join(w.repos, name)
	if !isDir(dir) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			w.t.Fatal(err)
		}
		w.git(dir, "init", "-q", "-b", "main")
	}
	var deps []string
	for _, n := range needs {
		module, r, _ := strings.Cut(n, " ")
		deps = append(deps, fmt.Sprintf(`{"name":%q,"version_requirement":%q}`, module, r))
	}
	writeFile(w.t, filepath.Join(dir, "metadata.json"), fmt.Sprintf(`{"name":"me-%s","version":%q,"dependencies":[%s]}`, name, version, strings.Join(deps, ",")))
	writeFile(w.t, filepath.Join(dir, "tasks", "init.sh"), "#!/bin/sh\necho "+version+"\n")
	w.git(dir, "add", "-A")
	w.git(dir, "commit", "-q", "-m", version)
	w.git(dir, "tag", "v"+version)
	return dir, w.git(dir, "rev-parse", "HEAD")
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	writeFile(w.t, filepath.Join(w.dir, name), text)
}

func (w *world) read(name string) string {
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (w *world) installer() *Installer {
	w.t.Helper()
	client, err := forge.New(forge.Options{BaseURL: w.url, Backoff: time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return New(Options{Project: w.dir, File: filepath.Join(w.dir, "bolt-project.yaml"), Forge: client,
		Git: gitcache.New(gitcache.Options{Dir: w.cache, Env: environ()}), Step: func(s string) { w.steps = append(w.steps, s) }})
}

func (w *world) install(r Request) (*Result, error) {
	w.t.Helper()
	w.steps = nil
	if r.Specs == nil {
		specs, err := ParseSpecs(w.specs)
		if err != nil {
			return nil, err
		}
		r.Specs = specs
	}
	return w.installer().Install(w.t.Context(), r)
}

func (w *world) mustInstall(r Request) *Result {
	w.t.Helper()
	result, err := w.install(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// installed are the modules that are there, with their versions as their own
// files have them.
func (w *world) installed() string {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, ".modules"))
	if err != nil {
		return ""
	}
	var list []string
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		task := strings.TrimPrefix(w.read(filepath.Join(".modules", e.Name(), "tasks", "init.sh")), "#!/bin/sh\necho ")
		list = append(list, e.Name()+" "+strings.TrimSpace(task))
	}
	return strings.Join(list, ", ")
}

func (w *world) expect(want string) {
	w.t.Helper()
	if got := w.installed(); got != want {
		w.t.Errorf("installed: %s, want %s", got, want)
	}
}

// refused checks the kind and the text of an error.
func refused(t *testing.T, err error, kind, text string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != kind || !strings.Contains(f.Msg, text) {
		t.Errorf("error %v, want %s: %s", err, kind, text)
	}
}

func spec(pairs ...any) any { return ordered.Of(pairs...) }

// TestMain fails the package if a goroutine outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
