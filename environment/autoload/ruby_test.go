package autoload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/puppet/eval"
)

func TestReadType(t *testing.T) {
	for name, c := range map[string]struct {
		text, key string
		unique    bool
		params    string
	}{
		"an option":       {"newparam(:path, namevar: true) do\nend\nnewproperty(:mode)", "path", true, "path mode"},
		"an old option":   {"  newparam(:path, :namevar => true)\n  newparam :owner do", "path", true, "path owner"},
		"a call":          {"newparam :id do\n  isnamevar\nend\nnewparam :x do\n  desc 'the isnamevar of'\nend\nensurable do", "id", true, "id x ensure"},
		"the name":        {"newparam(:name)", "name", true, "name"},
		"two":             {"newparam(:name)\nnewparam(:type, namevar: true)", "name", false, "name type"},
		"none":            {"newproperty(:x)", "name", false, "x"},
		"not a namevar":   {"newparam(:path, boolean: true)\nnewparam(:name, namevar: true)", "name", true, "path name"},
		"titles":          {"newparam(:name)\ndef self.title_patterns", "name", false, "name"},
		"equal resources": {"@isomorphic = false\nnewparam(:command) do\n  isnamevar", "command", false, "command"},
		"a comment":       {"# newparam(:x, namevar: true)\nnewparam(:name)", "name", true, "name"},
		"Resource API":    {"attributes: {\n  id: {\n    type: 'String',\n    behaviour: :namevar,\n  },\n  x: {\n    behavior: :read_only,", "id", true, ""},
		"nothing":         {"", "name", false, ""},
	} {
		got := readType(c.text)
		if got.Key != c.key || got.Unique != c.unique || strings.Join(got.Params, " ") != c.params {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A Loader notices types that come later, without being out of date before.
func TestTypesCurrent(t *testing.T) {
	dir := tree(t, map[string]string{"a/lib/puppet/type/one.rb": "newparam(:path, namevar: true)", "b/manifests/init.pp": "class b { }", "c/lib/puppet/type/one.rb": ""})
	long := time.Now().Add(-time.Hour)
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { return os.Chtimes(path, long, long) })
	l := newLoader(dir)
	d, err := l.Load(t.Context(), eval.KindResourceType, "one")
	if err != nil || d == nil || d.Module != "a" || d.Data.(*ResourceType).Key != "path" {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err := l.Load(t.Context(), eval.KindResourceType, "two"); d != nil || err != nil || !l.Current() {
		t.Fatalf("%+v, %v, current %v", d, err, l.Current())
	}
	path := filepath.Join(dir, "b", "lib", "puppet", "type")
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "two.rb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if l.Current() {
		t.Error("a new type is not noticed")
	}
	if d, err := l.Renewed().Load(t.Context(), eval.KindResourceType, "two"); d == nil || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}
