package hiera_test

import (
	"fmt"
	"testing"
)

func TestBackends(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{
		env + "hiera.yaml": "version: 5\ndefaults:\n  data_hash: m::data\nhierarchy:\n  - name: a\n    path: a.yaml\n  - name: b\n    path: b.yaml\n  - name: c\n    lookup_key: eyaml_lookup_key\n    path: c\nplan_hierarchy:\n  - name: d\n    data_dig: m::dig\n",
		env + "bad.yaml":   "version: 5\nhierarchy: 1\n",
	}})
	got, err := w.h.Backends(t.Context(), w.dir+"/"+env+"hiera.yaml", false)
	if want := "[{a m::data 5} {c eyaml_lookup_key 9} {d m::dig 13}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("Backends = %v, %v, want %s", got, err, want)
	}
	if got, err := w.h.Backends(t.Context(), w.dir+"/"+env+"none.yaml", true); got != nil || err != nil {
		t.Errorf("Backends of a missing file = %v, %v", got, err)
	}
	if _, err := w.h.Backends(t.Context(), w.dir+"/"+env+"bad.yaml", false); err == nil {
		t.Error("Backends of a wrong file has no error")
	}
}
