package bundle_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"bolt/apply/bundle"
	"bolt/catalog"
)

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func parse(t *testing.T, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContents(t *testing.T) {
	a, b := sum("a"), sum("b")
	meta := func(path, relative, typ, digest string) string {
		return fmt.Sprintf(`{"path":%q,"relative_path":%q,"type":%q,"checksum":{"type":"sha256","value":%q}}`, path, relative, typ, digest)
	}
	c := parse(t, `{"resources":[
{"type":"File","title":"x","parameters":{"path":"/x"}}, {"type":"File","title":"/tree"}, {"type":"File","title":"/dir"}, {"type":"File","title":"/old"}, {"type":"Notify","title":"/n"}],
"metadata":{"x":`+meta("/m/x", "", "file", "{sha256}"+a)+`,"/dir":`+meta("/m/d", "", "directory", "{ctime}1")+`,"/old":`+meta("/m/o", "", "file", "{md5}1")+`,"/n":`+meta("/m/n", "", "file", "{sha256}"+a)+`},
"recursive_metadata":{"/tree":{"puppet:///m":[`+meta("/m/t", ".", "directory", "{ctime}1")+`,`+meta("/m/t", "d/f", "file", "{sha256}"+b)+`]}}}`)
	want := []bundle.Content{{a, "/m/x", "/x"}, {b, "/m/t/d/f", "/tree/d/f"}}
	if got := bundle.Contents(c); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestHasSecrets(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"Exec","title":"x","parameters":{"command":"a"}}`:                                               false,
		`{"type":"Exec","title":"x","parameters":{"command":"a"},"sensitive_parameters":["command"]}`:            true,
		`{"type":"Exec","title":"x","parameters":{"command":["a",{"__ptype":"Sensitive","__pvalue":"secret"}]}}`: true,
	} {
		if got := bundle.HasSecrets(parse(t, `{"resources":[`+text+`]}`)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := bundle.NewStore(dir)
	if err := s.Put(sum("a"), []byte("b")); err == nil {
		t.Error("a wrong digest was stored")
	}
	if err := s.Put("../x", []byte("b")); err == nil {
		t.Error("a path was stored")
	}
	if err := s.Put(sum("a"), []byte("a")); err != nil {
		t.Fatal(err)
	}
	// Two contents that came as files, one of them wrong, and a link.
	for name, text := range map[string]string{sum("b"): "b", sum("c"): "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, sum("l"))); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b"} {
		if !s.Has(sum(text)) {
			t.Errorf("%s is not there", text)
		}
		r, err := s.Open(sum(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		r.Close()
	}
	for _, text := range []string{"c", "d", "l"} {
		if s.Has(sum(text)) {
			t.Errorf("%s is there", text)
		}
	}
	r, err := s.Open(sum("c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a wrong content was read")
	}
	r.Close()
	for _, name := range []string{sum("d"), "../x", "", "."} {
		if _, err := s.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	if err := os.WriteFile(f, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(f, filepath.Join(dir, "l")), syscall.Mkfifo(filepath.Join(dir, "p"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{f: true, dir: false, filepath.Join(dir, "l"): false, filepath.Join(dir, "p"): false, filepath.Join(dir, "none"): false, "f": false, f + "\x00": false, "": false} {
		if got := bundle.InPlace(name, sum("a")); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if bundle.InPlace(f, sum("b")) {
		t.Error("another content")
	}
}
