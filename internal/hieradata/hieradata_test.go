package hieradata

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStat(t *testing.T) {
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

func TestJSONComments(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`,
		"{/* x */\"a//b\": \"/* \\\" */\", // y\n\"c\": 1}": "{       \"a//b\": \"/* \\\" */\",     \n\"c\": 1}",
		"{} //":      "{}   ",
		"{} /* open": "{} /* open",
	} {
		if got := string(blankComments([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
