package archive

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// If a path is not a regular file, the resource fails at once. A FIFO would otherwise stop the run.
func TestNoRegularFile(t *testing.T) {
	const params = `"source":"URL/a","checksum":"7d793037a0760186574b0282f2f435e7","checksum_type":"md5"`
	s := newSite(t)
	if err := unix.Mkfifo(s.dir+"/f", 0o666); err != nil {
		t.Fatal(err)
	}
	if out := s.apply(host(), false, s.archive(params)); !strings.Contains(out, "it is not a regular file") {
		t.Error(out)
	}
	s.clean("f")
}

// A redirect to another host gets no password and no secret cookie. As in Puppet, it gets other cookies.
func TestRedirectToOtherHost(t *testing.T) {
	for cookie, want := range map[string]string{`{"sensitive":"a=b"}`: "", `"a=b"`: "a=b"} {
		s := newSite(t)
		first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Cookie") != "a=b" || r.Header.Get("Authorization") == "" {
				t.Error("the first host got", r.Header)
			}
			http.Redirect(w, r, strings.Replace(s.url, "127.0.0.1", "localhost", 1)+"/a", http.StatusFound)
		}))
		defer first.Close()
		if out := s.apply(host(), false, s.archive(`"source":"`+first.URL+`/a","username":"me","password":"p","cookie":`+cookie)); out != created {
			t.Error(out)
		}
		if got := s.seen.Get("Cookie"); got != want || s.seen.Get("Authorization") != "" {
			t.Errorf("the other host got %v, want the cookie %q", s.seen, want)
		}
	}
}

// A link of a user does not make root remove files of root.
func TestRemovalBehindLinkOfUser(t *testing.T) {
	s := newSite(t)
	s.write(s.dir+"/root/g", "kept\n")
	s.write(s.dir+"/home/other", "")
	if err := os.Symlink("../root", s.dir+"/home/x"); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := errors.Join(os.Lchown(s.dir+"/home", nobody, nobody), os.Lchown(s.dir+"/home/x", nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if out := s.apply(host(), false, s.archive(`"ensure":"absent","path":"DIR/home/x/g"`)); !strings.Contains(out, "symbolic link of the user") {
		t.Error(out)
	}
	s.has("root/g", "kept\n")

	// Nor does it make root make directories there.
	if out := s.apply(host(), false, s.archive(`"source":"URL/a","path":"DIR/home/x/new/f"`)); !strings.Contains(out, "symbolic link of the user") {
		t.Error(out)
	}
	if _, err := os.Stat(s.dir + "/root/new"); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a new directory behind the link")
	}
}
