package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPlace(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, socket, runtime, want string }{
		{"the variable", "/srv/pool/s", dir, "/srv/pool/s"},
		{"the runtime directory", "", dir, filepath.Join(dir, "bolt", "pool.sock")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := FindPlace(c.socket, c.runtime)
			if err != nil || p.Socket != c.want || p.Log != filepath.Join(filepath.Dir(c.want), "pool.log") {
				t.Errorf("the place is %+v, %v; want the socket %s", p, err, c.want)
			}
		})
	}
	if _, err := FindPlace("relative", dir); err == nil {
		t.Error("a relative path of the socket is accepted")
	}
}

func TestLogBeginsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool.log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, text := range []string{strings.Repeat("a", maxLog), "b"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, size := range map[string]int64{path: 1, path + ".1": maxLog} {
		if info, err := os.Stat(name); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v; want %d bytes", name, info, err, size)
		}
	}
}

func TestInherited(t *testing.T) {
	if l, err := Inherited("", ""); l != nil || err != nil {
		t.Errorf("without variables: %v, %v", l, err)
	}
}
