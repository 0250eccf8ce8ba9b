package archive

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

var types = map[string]resource.Type{"Archive": Type()}

// host is this machine: the programs are real, and all paths are in temporary directories.
func host() *resource.Host { return resource.NewHost() }

// A site is a server with a directory of files, and a directory for the archives.
type site struct {
	*testing.T
	url, files, dir string
	seen            http.Header // of the last request
}

func newSite(t *testing.T) *site {
	s := &site{T: t, files: t.TempDir(), dir: t.TempDir()}
	files := http.FileServer(http.Dir(s.files))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen = r.Header
		user, password, _ := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/private/") && (user != "me" || password != `a "b\c`):
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/moved"), http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/cut/"):
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("a part"))
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.write(filepath.Join(s.files, "a"), "first\n")
	s.write(filepath.Join(s.files, "private/a"), "private\n")
	return s
}

func (s *site) write(path, text string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// archive is a resource; URL and DIR stand for those of the site.
func (s *site) archive(params string) string {
	params = strings.NewReplacer("URL", s.url, "DIR", s.dir, "FILES", s.files).Replace(params)
	return fmt.Sprintf(`Archive[%s/f] {%s}`, s.dir, params)
}

func (s *site) apply(h *resource.Host, noop bool, list ...string) string {
	s.Helper()
	out, err := hosttest.Try(s.T, h, types, noop, list...)
	if err != nil {
		return "refused: " + err.Error()
	}
	return strings.NewReplacer(s.url, "URL", s.dir, "DIR", s.files, "FILES").Replace(out)
}

func (s *site) has(name, want string) {
	s.Helper()
	got, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil || string(got) != want {
		s.Errorf("%s is %q, %v, want %q", name, got, err, want)
	}
}

// clean fails if there are other files than these.
func (s *site) clean(want ...string) {
	s.Helper()
	var got []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, s.dir+"/"))
		}
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("the files are %q, %v, want %q", got, err, want)
	}
}

const created = "Archive[DIR/f] changed archive_created\n"

// TestSources checks that files are downloaded from servers and paths, and that a second run changes nothing.
func TestSources(t *testing.T) {
	for params, text := range map[string]string{
		`"source":"URL/a"`:                    "first\n",
		`"url":"URL/a"`:                       "first\n",
		`"source":"URL/moved/a"`:              "first\n",
		`"source":"file://FILES/a"`:           "first\n",
		`"source":"FILES/a"`:                  "first\n",
		`"source":"URL/a","temp_dir":"FILES"`: "first\n",
		`"source":"URL/private/a","username":"me","password":{"sensitive":"a \"b\\c"}`: "private\n",
	} {
		t.Run(params, func(t *testing.T) {
			s := newSite(t)
			r := s.archive(params)
			if out := s.apply(host(), true, r); out != "Archive[DIR/f] noop archive_created\n" {
				t.Error("noop:", out)
			}
			s.clean()
			if out := s.apply(host(), false, r); out != created {
				t.Error(out)
			}
			s.has("f", text)
			s.clean("f")
			if info, err := os.Stat(s.dir + "/f"); err != nil || info.Mode() != 0o644 {
				t.Error(info.Mode(), err)
			}
			if out := s.apply(host(), false, r); out != "" {
				t.Error("again:", out)
			}
			absent := s.archive(`"ensure":"absent"`)
			if out := s.apply(host(), false, absent) + s.apply(host(), false, absent); out != "Archive[DIR/f] changed archive_removed\n" {
				t.Error("absent:", out)
			}
			s.clean()
		})
	}
}

// TestHeaders checks that headers and cookies are sent, and that no argument of curl has them.
func TestHeaders(t *testing.T) {
	s, h := newSite(t), host()
	var argv []string
	h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		argv = append(argv, c.Argv...)
		return resource.Exec(ctx, c)
	}
	r := s.archive(`"source":"URL/a","headers":["X-A: \"1\"","X-B: 2"],"cookie":"c=secret","username":"me","password":"hidden","allow_insecure":true,"download_options":["--no-progress-meter"]`)
	if out := s.apply(h, false, r); out != created {
		t.Error(out)
	}
	if s.seen.Get("X-A") != `"1"` || s.seen.Get("X-B") != "2" || s.seen.Get("Cookie") != "c=secret" || s.seen.Get("Authorization") == "" {
		t.Error(s.seen)
	}
	if line := strings.Join(argv, " "); strings.Contains(line, "secret") || strings.Contains(line, "hidden") || !strings.HasSuffix(line, "--no-progress-meter") {
		t.Error(line)
	}
}

// TestProxy checks that a proxy is used.
func TestProxy(t *testing.T) {
	s := newSite(t)
	proxy := strings.TrimPrefix(s.url, "http://")
	r := s.archive(`"source":"http://elsewhere.example/a","proxy_type":"http","proxy_server":"` + proxy + `"`)
	if out := s.apply(host(), false, r); out != created {
		t.Error(out)
	}
	s.has("f", "first\n")
}

// TestChecksums checks that a file is replaced if its checksum differs, and that a wrong download leaves the old file.
func TestChecksums(t *testing.T) {
	for digest, program := range map[string]string{"md5": "md5sum", "sha1": "sha1sum", "sha2": "sha256sum", "sha256": "sha256sum", "sha384": "sha384sum", "sha512": "sha512sum"} {
		t.Run(digest, func(t *testing.T) {
			s := newSite(t)
			out, err := exec.CommandContext(t.Context(), program, s.files+"/a").Output()
			if err != nil {
				t.Fatal(err)
			}
			sum, _, _ := strings.Cut(string(out), " ")
			s.write(s.files+"/a.sum", strings.ToUpper(sum)+"  a\n")
			for _, params := range []string{`"checksum":"` + sum + `"`, `"digest_string":"` + sum + `"`, `"checksum_url":"URL/a.sum"`, `"digest_url":"FILES/a.sum"`} {
				s.write(s.dir+"/f", "old\n")
				r := s.archive(`"source":"URL/a","checksum_type":"` + digest + `",` + params)
				if out := s.apply(host(), false, r); out != created {
					t.Error(params, out)
				}
				s.has("f", "first\n")
				if out := s.apply(host(), false, r); out != "" {
					t.Error(params, "again:", out)
				}
			}
			s.write(s.dir+"/f", "old\n")
			wrong := strings.Repeat("0", len(sum))
			r := s.archive(`"source":"URL/a","checksum_type":"` + digest + `","checksum":"` + wrong + `"`)
			want := fmt.Sprintf("the file from URL/a has the %s checksum %s, and must have %s\n", digest, sum, wrong)
			if out := s.apply(host(), false, r); !strings.HasPrefix(out, "Archive[DIR/f] failed FAILED ") || !strings.HasSuffix(out, want) {
				t.Error(out)
			}
			s.has("f", "old\n")
			s.clean("f")
		})
	}
}

// TestExtract checks each file type.
func TestExtract(t *testing.T) {
	for name, c := range map[string]struct{ pack, params, creates string }{
		"x.tar":     {"tar cf x.tar top", "", "top/in"},
		"x.tar.gz":  {"tar czf x.tar.gz top", "", "top/in"},
		"x.tgz":     {"tar czf x.tgz top", `,"extract_flags":"-xzf"`, "top/in"},
		"x.tar.bz2": {"tar cjf x.tar.bz2 top", `,"extract_flags":{"tar":"xjf","7z":"x"}`, "top/in"},
		"x.txz":     {"tar cJf x.txz top", "", "top/in"},
		"x.tar.xz":  {"tar cJf x.tar.xz top", `,"extract_flags":"xf"`, "top/in"},
		"in.gz":     {"gzip -c top/in > in.gz", `,"cleanup":false`, "in"},
		"in.bz2":    {"bzip2 -c top/in > in.bz2", `,"cleanup":false`, "in"},
		"x.strip":   {"tar cf x.strip top", `,"extract_command":"tar xf %s --strip-components=1 && echo 100%%"`, "in"},
		"x y.other": {"tar cf 'x y.other' top", `,"extract_command":"tar xf"`, "top/in"},
		"x.zip":     {"python3 -m zipfile -c x.zip top", "", "top/in"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write(s.files+"/top/in", "inside\n")
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", c.pack)
			cmd.Dir = s.files
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := fmt.Sprintf(`Archive[%s/%s] {"source":"%s/%s","extract":true,"extract_path":"%s","creates":"%s/%s"%s}`, s.dir, name, s.files, name, s.dir, s.dir, c.creates, c.params)
			if out := s.apply(host(), false, r); out != "Archive[DIR/"+name+"] changed archive_created\n" {
				t.Error(out)
			}
			s.has(c.creates, "inside\n")
			s.clean(c.creates)
			if out := s.apply(host(), false, r); out != "" {
				t.Error("again:", out)
			}
		})
	}
}

// tarball makes an archive a.tar with a file "in".
func (s *site) tarball() {
	s.Helper()
	s.write(s.files+"/in", "inside\n")
	if out, err := exec.CommandContext(s.Context(), "tar", "-C", s.files, "-cf", s.files+"/a.tar", "in").CombinedOutput(); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
}

// TestExtractionState checks what a run does with an archive that is there, and after failures and kills.
func TestExtractionState(t *testing.T) {
	extract := func(s *site, params string) string {
		return strings.Replace(s.archive(`"source":"FILES/a.tar","extract":true,"extract_path":"DIR/out"`+params), "/f]", "/f.tar]", 1)
	}
	const done = "Archive[DIR/f.tar] changed archive_created\n"
	t.Run("kept", func(t *testing.T) {
		s := newSite(t)
		s.tarball()
		if err := os.Mkdir(s.dir+"/out", 0o755); err != nil {
			t.Fatal(err)
		}
		r := extract(s, `,"cleanup":false,"creates":"DIR/out/in","user":"nobody","group":"nogroup"`)
		if err := os.Chmod(s.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(s.dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if out := s.apply(host(), false, r); !strings.Contains(out, "Permission denied") {
			t.Error(out)
		}
		s.clean(".f.tar.bolt-extract", "f.tar")
		if err := os.Chmod(s.dir+"/out", 0o777); err != nil {
			t.Fatal(err)
		}
		if out := s.apply(host(), false, r); out != done {
			t.Error(out)
		}
		s.clean("f.tar", "out/in")
		var st unix.Stat_t
		if err := unix.Stat(s.dir+"/out/in", &st); err != nil || st.Uid != 65534 || st.Gid != 65534 {
			t.Error(st.Uid, st.Gid, err)
		}
		if err := os.Remove(s.dir + "/out/in"); err != nil {
			t.Fatal(err)
		}
		if out := s.apply(host(), false, r); out != "Archive[DIR/f.tar] changed creates(archive not extracted -> extracting in DIR/out to create DIR/out/in)\n" {
			t.Error(out)
		}
		if out := s.apply(host(), false, r); out != "" {
			t.Error(out)
		}
	})
	t.Run("killed", func(t *testing.T) {
		s := newSite(t)
		s.tarball()
		if err := os.Mkdir(s.dir+"/out", 0o755); err != nil {
			t.Fatal(err)
		}
		s.write(s.dir+"/.f.tar.bolt", "a part") // of a download
		s.write(s.dir+"/.f.tar.bolt-extract", "")
		data, err := os.ReadFile(s.files + "/a.tar")
		if err != nil {
			t.Fatal(err)
		}
		s.write(s.dir+"/f.tar", string(data))
		sum := fmt.Sprintf("%x", md5.Sum(data))
		if out := s.apply(host(), false, extract(s, `,"checksum":"`+sum+`","checksum_type":"md5"`)); out != done {
			t.Error(out)
		}
		s.clean("out/in")
		s.write(s.dir+"/.f.tar.bolt-extract", "") // killed before the marker was removed
		if out := s.apply(host(), false, extract(s, `,"creates":"DIR/out/in"`)) + s.apply(host(), false, extract(s, `,"creates":"DIR/out/in"`)); out != done {
			t.Error(out)
		}
		s.clean("out/in")
	})
	t.Run("a part", func(t *testing.T) {
		for _, cleanup := range []string{"true", "false"} {
			s := newSite(t)
			s.tarball()
			if err := os.Mkdir(s.dir+"/out", 0o755); err != nil {
				t.Fatal(err)
			}
			r := extract(s, `,"cleanup":`+cleanup+`,"creates":"DIR/out/in","extract_command":"echo part >in; test -e DIR/space && tar xf %s"`)
			fails := func(why string) {
				t.Helper()
				if out := s.apply(host(), false, r); !strings.Contains(out, "FAILED") {
					t.Errorf("cleanup %s, %s: %s", cleanup, why, out)
				}
			}
			right := func(why string) {
				t.Helper()
				s.write(s.dir+"/space", "")
				if out := s.apply(host(), false, r) + s.apply(host(), false, r); out != done {
					t.Errorf("cleanup %s, %s: %s", cleanup, why, out)
				}
				if text, err := os.ReadFile(s.dir + "/out/in"); string(text) != "inside\n" {
					t.Errorf("cleanup %s, %s: the file has %q, %v", cleanup, why, text, err)
				}
				if _, err := os.Stat(s.dir + "/.f.tar.bolt-extract"); err == nil {
					t.Errorf("cleanup %s, %s: the marker is left", cleanup, why)
				}
			}
			fails("first")
			fails("second")
			right("after failures")
			for _, f := range []string{"/out/in", "/space"} {
				if err := os.Remove(s.dir + f); err != nil {
					t.Fatal(err)
				}
			}
			fails("creates is gone")
			right("after creates was gone")
		}
	})
	t.Run("no directory", func(t *testing.T) {
		s := newSite(t)
		s.tarball()
		if out := s.apply(host(), false, extract(s, "")); !strings.Contains(out, "the directory DIR/out of the parameter extract_path does not exist") {
			t.Error(out)
		}
		s.clean()
	})
	t.Run("no archive", func(t *testing.T) {
		s := newSite(t)
		s.write(s.files+"/a.tar", "\x00\x01\xff not an archive\x1b[31m")
		if err := os.Mkdir(s.dir+"/out", 0o755); err != nil {
			t.Fatal(err)
		}
		if out := s.apply(host(), false, extract(s, "")); !strings.Contains(out, "tar: exit code 2") || strings.ContainsAny(out, "\x00\x1b") {
			t.Errorf("%q", out)
		}
		s.clean()
	})
	t.Run("missing program", func(t *testing.T) {
		s := newSite(t)
		s.tarball()
		if err := os.Mkdir(s.dir+"/out", 0o755); err != nil {
			t.Fatal(err)
		}
		if out := s.apply(host(), false, extract(s, `,"extract_command":"no-such-program %s"`)); !strings.Contains(out, "no-such-program: exit code 127") {
			t.Error(out)
		}
	})
}

// TestFailures checks that a failed download leaves no file.
func TestFailures(t *testing.T) {
	small := func(t *testing.T) string {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		return dir
	}
	for name, c := range map[string]struct {
		params, want string
		host         func(h *resource.Host)
		dir          func(t *testing.T) string
	}{
		"not found":         {params: `"source":"URL/none"`, want: "curl: exit code 22"},
		"refused":           {params: `"source":"URL/private/a","username":"me","password":"wrong!!"`, want: "curl: exit code 22"},
		"cut":               {params: `"source":"URL/cut/a"`, want: "curl: exit code 18"},
		"no server":         {params: `"source":"http://127.0.0.1:1/a"`, want: "curl: exit code 7"},
		"no file":           {params: `"source":"FILES/none"`, want: "no such file"},
		"a directory":       {params: `"source":"FILES/private"`, want: "it is not a regular file"},
		"no temp_dir":       {params: `"source":"URL/a","temp_dir":"FILES/none"`, want: "the temporary directory cannot be used"},
		"no checksum there": {params: `"source":"URL/a","checksum_type":"md5","checksum_url":"URL/private/none"`, want: "curl: exit code 22"},
		"no checksum in it": {params: `"source":"URL/a","checksum_type":"md5","checksum_url":"URL/a"`, want: "URL/a has no checksum"},
		"large checksum":    {params: `"source":"URL/a","checksum_type":"md5","checksum_url":"URL/huge"`, want: "curl: exit code 63"},
		"no space":          {params: `"source":"URL/large"`, want: "curl: exit code 23", dir: small},
		"no space, local":   {params: `"source":"FILES/large"`, want: "no space left on device", dir: small},
		"no curl":           {params: `"source":"URL/a"`, want: "the program curl is missing. Install it on the target", host: func(h *resource.Host) { h.Env = []string{"PATH=/none"} }},
		"hanging": {params: `"source":"URL/a"`, want: "timed out", host: func(h *resource.Host) {
			h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
				c.Argv, c.Timeout = []string{"sleep", "1000"}, 1
				return resource.Exec(ctx, c)
			}
		}},
		"no aws": {params: `"source":"s3://bucket/a"`, want: "the program aws is missing", host: func(h *resource.Host) { h.Env = []string{"PATH=/none"} }},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := newSite(t), host()
			if c.dir != nil {
				s.dir = c.dir(t)
			}
			if c.host != nil {
				c.host(h)
			}
			s.write(s.files+"/large", strings.Repeat("x", 1<<20))
			s.write(s.files+"/huge", strings.Repeat("x", maxSum+1))
			if out := s.apply(h, false, s.archive(c.params)); !strings.Contains(out, c.want) || strings.Contains(out, "wrong!!") {
				t.Error(out)
			}
			s.clean()
		})
	}
}

// TestContent checks a source of a module, whose content was sent with the catalog.
func TestContent(t *testing.T) {
	s, h := newSite(t), host()
	h.Content = func(sum string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("content of " + sum)), nil
	}
	path := s.dir + "/f"
	r := &resource.Resource{
		Ref: catalog.Ref{Type: "Archive", Title: path}, Params: ordered.Of("source", "puppet:///modules/m/f"), File: &catalog.FileMeta{Sum: "{sha256}abc"},
	}
	x, err := Type().New(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Read(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	changes, err := x.Plan()
	if err != nil || len(changes) != 1 || changes[0].Message != "download archive from puppet:///modules/m/f to "+path+" with cleanup" {
		t.Fatal(changes, err)
	}
	if err := x.Do(t.Context(), h, &changes[0]); err != nil {
		t.Fatal(err)
	}
	s.has("f", "content of abc")
}

// TestLinks checks that no link at a path of the archive is followed.
func TestLinks(t *testing.T) {
	s := newSite(t)
	s.write(s.dir+"/target", "kept\n")
	for _, name := range []string{"f", ".f.bolt"} {
		if err := os.Symlink("target", filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	sum := fmt.Sprintf("%x", md5.Sum([]byte("first\n")))
	if out := s.apply(host(), false, s.archive(`"source":"URL/a","checksum_type":"md5","checksum":"`+sum+`"`)); out != created {
		t.Error(out)
	}
	s.has("target", "kept\n")
	s.has("f", "first\n")
	if err := os.Symlink("target", s.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := publish(s.dir + "/link"); err == nil {
		t.Error("a link was followed")
	}
}

func TestRefused(t *testing.T) {
	for params, want := range map[string]string{
		``:                                    "The parameter source is needed",
		`"source":"x"`:                        "The parameter source must be a URL",
		`"source":"puppet:///modules/m/f"`:    "The parameter source must be a file of the project",
		`"source":"/x","url":"/y"`:            "The parameter url cannot be used together with source",
		`"source":"/x","checksum_type":"md5"`: "The parameter checksum_type cannot be used without checksum",
		`"source":"/x","extract":true,"extract_path":"/x"`:          "The parameter extract_command is needed",
		`"source":"/x","extract":true,"extract_command":"x"`:        "The parameter extract_path is needed",
		`"source":"/x","temp_dir":"x"`:                              "The parameter temp_dir must be an absolute path",
		`"source":"/x","headers":["a\nb"]`:                          "The parameter headers must be one line",
		`"source":"http://x/a\noutput=/tmp/x"`:                      "The parameter source must be one line",
		`"source":"/x","checksum_url":"http://x/\r"`:                "The parameter checksum_url must be one line",
		`"source":"/x","provider":"faraday"`:                        "The parameter provider must be curl",
		`"source":"/x","download_options":{"sensitive":["-u a:b"]}`: "The parameter download_options must not be secret",
	} {
		if _, err := hosttest.Try(t, host(), types, false, `Archive[/f] {`+params+`}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
