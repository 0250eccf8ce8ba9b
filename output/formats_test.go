package output

import (
	"io"
	"slices"
	"testing"
)

// TestFormats checks that each format has a sink, and a format for the commands that do not have it.
func TestFormats(t *testing.T) {
	for _, name := range Names(Events) {
		if _, err := New(Options{Out: io.Discard, Format: Find(name)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, u := range []Use{Events, Lists, Own} {
		names := Names(u)
		if names[0] != Human.Name {
			t.Errorf("the default of %d is %s", u, names[0])
		}
		for _, k := range kinds() {
			if near := Nearest(names, k.Name); !slices.Contains(names, near) || Find(near).Data != k.Data {
				t.Errorf("%s stands for %s in %v", near, k.Name, names)
			}
		}
	}
	if got := Nearest(Names(Own), "none"); got != Human.Name {
		t.Error(got)
	}
	if bolts, ours := Split(append(Names(Events), "dot")); !slices.Equal(bolts, []string{"human", "json", "rainbow", "dot"}) || !slices.Equal(ours, []string{"ndjson"}) {
		t.Error(bolts, ours)
	}
}
