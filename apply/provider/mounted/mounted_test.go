package mounted

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAt(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/": "proc", "/proc": ".", link + "/proc": "."} {
		if list := At(dir); !slices.Contains(list, want) || !slices.IsSorted(list) {
			t.Errorf("%s has %q", dir, list)
		}
	}
	for _, dir := range []string{link, "/proc/self", "/proc/none/x"} { // a link itself is not the directory that it leads to
		if list := At(dir); list != nil {
			t.Errorf("%s has %q", dir, list)
		}
	}
}
