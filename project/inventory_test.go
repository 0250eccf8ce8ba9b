package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInventory reads the inventory from a variable, a named file and the file of the
// project, and warns of an inventory that is not used.
func TestInventory(t *testing.T) {
	here, dir := t.TempDir(), t.TempDir()
	t.Chdir(here)
	named := filepath.Join(here, "inventory.yaml")
	if err := os.WriteFile(named, []byte("groups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Project{Dir: dir}
	refused := errors.New("refused")
	for _, c := range []struct {
		text, named, name string
		keys              int
		warning           string
		err               error
	}{
		{"config: {}\ngroups: []", named, "V", 2, "", nil},
		{"", named, named, 1, "", nil},
		{"", named + "x", named + "x", 0, "", refused},
		{"", "", p.InventoryFile(), 0, "unused_inventory", nil},
	} {
		var warnings []string
		warn := func(id, _ string) { warnings = append(warnings, id) }
		s := p.Inventory("V", c.text, c.named)
		for range 2 {
			data, err := s.Read(t.Context(), warn, func(error) error { return refused })
			if s.Name != c.name || data.Len() != c.keys || !errors.Is(err, c.err) {
				t.Errorf("%q %q: %s, %v, %v", c.text, c.named, s.Name, data, err)
			}
		}
		if got := strings.Join(warnings, " "); got != c.warning {
			t.Errorf("%q %q: warnings %q", c.text, c.named, got)
		}
	}
}
