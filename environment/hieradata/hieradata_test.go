package hieradata

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bolt/puppet/hiera"
	"bolt/puppet/value"
)

func TestStampChangesWithFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, ok := (Files{}).Stat(path); ok {
		t.Error("a file that is not there has a stamp")
	}
	if err := os.WriteFile(path, []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	a, ok := Files{}.Stat(path)
	if !ok || a.Size != 1 || a.Inode == 0 {
		t.Errorf("stamp %+v, %v", a, ok)
	}
	if err := os.WriteFile(path, []byte("ab"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, _ := (Files{}).Stat(path); a == b {
		t.Error("another content has the same stamp")
	}
}

// TestErrorsHavePositions checks that an error of a decoder has the file and
// the position.
func TestErrorsHavePositions(t *testing.T) {
	o := Options(Source{})
	for _, c := range []struct {
		decode hiera.Decoder
		text   string
		line   int
		column int
	}{
		{o.YAML, "a: 1\nb: 2026-01-02\n", 2, 4},
		{o.YAML, "a: 1\nb: [\n", 2, 4},
		{o.JSON, "{\"a\": // comments\n /* are */ 1e400}", 2, 12},
		{o.JSON, "{\"a\": 1,\n", 2, 1},
		{o.HOCON, "a: 1\nb: ]\n", 2, 0},
	} {
		v, err := c.decode([]byte(c.text), "f")
		e, ok := errors.AsType[*hiera.Error](err)
		if !ok || e.Kind != "data" || e.File != "f" || e.Line != c.line || e.Column != c.column {
			t.Errorf("%q is %v, %#v, want an error at %d:%d", c.text, v, err, c.line, c.column)
		}
	}
	v, err := o.JSON([]byte("{/* x */\"a//b\": \"/* \\\" */\", // y\n\"c\": 1} // z\n"), "f")
	if want := `{'a//b' => '/* " */', 'c' => 1}`; err != nil || value.Inspect(v) != want {
		t.Errorf("with comments: %v, %v, want %s", v, err, want)
	}
}
