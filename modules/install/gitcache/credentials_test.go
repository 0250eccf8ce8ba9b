package gitcache

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A gitServer serves repositories over HTTP by git's own program, to one user.
type gitServer struct {
	*httptest.Server
	name, password string

	mu     sync.Mutex
	served int             // requests with the credentials
	seen   map[string]bool // command lines of this machine with the password, while requests ran
}

func newGitServer(t *testing.T, root, name, password string) *gitServer {
	t.Helper()
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &gitServer{name: name, password: password, seen: map[string]bool{}}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Stderr: t.Output(),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.look()
		if name, password, ok := r.BasicAuth(); !ok || name != s.name || password != s.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		s.served++
		s.mu.Unlock()
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// look reads the arguments of all processes. While a request runs, git and its
// children are among them.
func (s *gitServer) look() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && (bytes.Contains(line, []byte(secretWord)) || bytes.Contains(line, []byte(secretName))) {
			s.mu.Lock()
			s.seen[string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))] = true
			s.mu.Unlock()
		}
	}
}

// The user and the password have characters that URLs, shells and the protocol of
// helpers treat in a special way.
const (
	secretName = `t0ken7142`
	secretWord = `s3cret7142`
	loginName  = secretName + ` "'$x`
	password   = secretWord + `/@:?#%'"$(id)\n = é`
	escaped    = secretName + `%20%22%27$x:` + secretWord + `%2F%40%3A%3F%23%25%27%22$(id)%5Cn%20=%20%C3%A9@`
)

// recorded puts a git first on PATH that notes its arguments in a file.
func recorded(t *testing.T, env []string) (with []string, file string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file = filepath.Join(dir, "arguments")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+file+"\nexec "+real+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			e = "PATH=" + dir + ":" + path
		}
		with = append(with, e)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return with, file
}

// TestCredentials fetches from a server with a password: no process shows it in its
// command line, and no file of the cache has it.
func TestCredentials(t *testing.T) {
	dir := repository(t)
	commit := put(t, dir, "metadata.json", "{}")
	server := newGitServer(t, filepath.Dir(dir), loginName, password)
	address := strings.Replace(server.URL, "http://", "http://"+escaped, 1) + "/" + filepath.Base(dir) + "/.git"

	env, arguments := recorded(t, environ(t))
	home := t.TempDir()
	// A helper of the user must not be told to store the password.
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[credential]\n\thelper = store\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	c := New(Options{Dir: cache, Env: append(env, "HOME="+home)})
	got, err := c.Commit(t.Context(), address, "main")
	if err != nil || got != commit {
		t.Fatalf("Commit = %s, %v; want %s", got, err, commit)
	}
	if data, err := c.File(t.Context(), address, commit, "metadata.json"); err != nil || string(data) != "{}" {
		t.Errorf("File = %q, %v", data, err)
	}
	if server.served == 0 {
		t.Error("the server was not asked, so looking at processes shows nothing")
	}
	for line := range server.seen {
		t.Errorf("a process shows the credentials: %s", line)
	}
	said, err := os.ReadFile(arguments)
	if err != nil || !bytes.Contains(said, []byte("fetch")) || !bytes.Contains(said, []byte(server.URL+"/")) {
		t.Errorf("git was called with %q, %v", said, err)
	}
	holds(t, filepath.Dir(arguments), cache, home)

	_, err = New(Options{Dir: cache, Env: env}).Commit(t.Context(), strings.Replace(address, "%5Cn", "", 1), "HEAD")
	if err == nil || strings.Contains(err.Error(), secretWord) || strings.Contains(err.Error(), secretName) || !strings.Contains(err.Error(), "Authentication failed") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// holds reports the files below directories that have a secret in them.
func holds(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(secretWord)) || bytes.Contains(data, []byte(secretName)) {
				t.Errorf("%s has the credentials", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestCredentialsOfUser has a user name in the address. The user's own helper has the
// password.
func TestCredentialsOfUser(t *testing.T) {
	dir := repository(t)
	commit := put(t, dir, "f", "x")
	server := newGitServer(t, filepath.Dir(dir), secretName, secretWord)
	home := t.TempDir()
	helper := filepath.Join(home, "helper")
	script := "#!/bin/sh\n[ \"$1\" = get ] && grep -q '^username=" + secretName + "$' && echo password=" + secretWord + "\n"
	if err := os.WriteFile(helper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[credential]\n\thelper = "+helper+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Dir: filepath.Join(t.TempDir(), "cache"), Env: append(environ(t), "HOME="+home)})
	address := strings.Replace(server.URL, "http://", "http://"+secretName+"@", 1) + "/" + filepath.Base(dir) + "/.git"
	if got, err := c.Commit(t.Context(), address, "main"); err != nil || got != commit {
		t.Errorf("Commit = %s, %v; want %s", got, err, commit)
	}
	for line := range server.seen {
		t.Errorf("a process shows the credentials: %s", line)
	}
}

// TestCredentialsStay checks that a server to which another one redirects gets no
// credentials.
func TestCredentialsStay(t *testing.T) {
	var mu sync.Mutex
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", `Basic realm="other"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusFound)
	}))
	defer first.Close()
	_, err := newCache(t).Commit(t.Context(), strings.Replace(first.URL, "http://", "http://"+escaped, 1)+"/x", "main")
	if err == nil || strings.Contains(err.Error(), secretWord) {
		t.Errorf("Commit: %v", err)
	}
	if len(got) == 0 {
		t.Error("git did not follow the redirect")
	}
	for _, a := range got {
		if a != "" {
			t.Errorf("the other server got %q", a)
		}
	}
}

func TestCheckUser(t *testing.T) {
	for _, bad := range []string{"ssh://git:s3cret@h/x", "git://u:s3cret@h/x", "https://u:s3cret%0Ahost=evil@h/x", "https://u%00s3cret@h/x"} {
		if err := CheckURL(bad); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("CheckURL(%q) = %v", bad, err)
		}
	}
	for _, good := range []string{"https://u:p@h/x", "HTTPS://u:p@h/x", "https://u:@h/x", "ssh://git@h/x"} {
		if err := CheckURL(good); err != nil {
			t.Error(err)
		}
	}
}
