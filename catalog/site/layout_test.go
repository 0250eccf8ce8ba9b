package site_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/catalog/site"
	"bolt/puppet/value"
)

// TestLayout checks that the directory of an environment can have any name, such as that of a checkout.
func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control-repo")
	write(t, dir, map[string]string{
		"environment.conf":         "modulepath = site:modules\n",
		"manifests/b.pp":           "include a",
		"manifests/a/c.pp":         "",
		"site/a/manifests/init.pp": "class a { notify { 'a': message => $environment } }",
	})
	l, err := site.LayoutIn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := l.Manifests(t.Context())
	if want := []string{filepath.Join(dir, "manifests/a/c.pp"), filepath.Join(dir, "manifests/b.pp")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("manifests are %v, %v", files, err)
	}
	if want := []string{filepath.Join(dir, "site"), filepath.Join(dir, "modules")}; !slices.Equal(l.Modules, want) {
		t.Errorf("modules are %v", l.Modules)
	}
	s, err := l.Open(t.Context(), "production", l.Options(options, nil))
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
	if err != nil {
		t.Fatal(err)
	}
	if got := message(t, made.Catalog, "a"); got != "production" {
		t.Errorf("the environment is %v", got)
	}
	if _, err := site.LayoutOf(t.Context(), filepath.Dir(dir), "control-repo"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("error is %v", err)
	}
}
