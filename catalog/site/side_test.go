package site_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/seal"
	"bolt/catalog/site"
)

// text returns a catalog with a file of this mode.
func text(node, mode string) string {
	return fmt.Sprintf(`{"name":%q,"resources":[{"type":"File","title":"/a","parameters":{"mode":%q}}]}`, node, mode)
}

func side(t *testing.T, path string) *site.Side {
	t.Helper()
	s, err := site.ReadSide(path, seal.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCompare checks that nodes are compared by name, and that a file is compared
// with any file.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/gone.json": text("gone", "0644"), "a/same.json": text("same", "0644"), "a/changed.json": text("changed", "0644"),
		"b/new.json": text("", "0644"), "b/same.json": text("same", "0644"), "b/changed.json": text("changed", "0600"), "b/README": "x",
		"uri/ssh:%2F%2Fh%2525.json": text("", "0644"), "twice/x.json": text("n", "0644"), "twice/y.json": text("n", "0644"),
	})
	made, err := catalog.Parse([]byte(text("changed", "0600")))
	if err != nil {
		t.Fatal(err)
	}
	compiled := func() *site.Side { return site.CompiledSide(map[string]*catalog.Catalog{"changed": made}) }
	at := func(name string) *site.Side { return side(t, filepath.Join(dir, name)) }
	rest := func() *site.Side {
		s := at("a")
		s.Keep(compiled())
		return s
	}
	for _, k := range []struct {
		before, after *site.Side
		want          string // the changes of nodes
	}{
		{at("a"), at("b"), "changed:changed gone:removed new:added same:"},
		{at("a"), at("a"), "changed: gone: same:"},
		{at("a/same.json"), at("b/changed.json"), "changed:changed"},
		{at("a/same.json"), at("b/new.json"), "new:"},
		{at("a/same.json"), compiled(), "changed:changed"},
		{at("b"), compiled(), "changed: new:removed same:removed"},
		{rest(), compiled(), "changed:changed"},
		{at("uri"), site.CompiledSide(map[string]*catalog.Catalog{"ssh://h%25": made}), "changed:changed"},
		{at("uri"), at("uri"), "ssh://h%25:"},
		{at("a"), at("twice"), "The node n has two catalogs."},
	} {
		found, err := site.Compare(t.Context(), k.before, k.after)
		if err != nil {
			found = &site.Differences{}
		}
		var list []string
		for node, of := range found.Changes {
			kinds := ""
			for _, c := range of {
				kinds += string(c.Kind)
			}
			list = append(list, node+":"+kinds)
		}
		slices.Sort(list)
		got := strings.Join(list, " ")
		if err != nil {
			got = err.Error()
		} else if (found.Count() > 0) != (strings.Contains(got, ":added") || strings.Contains(got, ":changed") || strings.Contains(got, ":removed")) {
			t.Errorf("%d nodes differ for %s", found.Count(), got)
		}
		if got != k.want {
			t.Errorf("got %q, want %q", got, k.want)
		}
	}
}

// TestOneSide checks that a node that only one side has differs, also without
// resources.
func TestOneSide(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/x.json": text("x", "0"), "a/gone.json": text("gone", "0"), "a/bare.json": `{"name":"bare","resources":[]}`,
		"b/x.json": text("x", "0"), "b/new.json": text("new", "0"),
	})
	d, err := site.Compare(t.Context(), side(t, filepath.Join(dir, "a")), side(t, filepath.Join(dir, "b")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d.Before, d.After, d.Count(), d.Single("gone"), d.Single("x")); got != "[bare gone] [new] 3 true false" {
		t.Error(got)
	}
}

// TestUnreadable checks that the error about a file that cannot be read or is not a
// catalog names the file.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"bad/n.json": "{", "empty/x": "", "ok/n.json": text("n", "0")})
	for _, name := range []string{"none", "empty"} {
		if _, err := site.ReadSide(filepath.Join(dir, name), seal.Vault{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, pair := range [][2]string{{"bad", "ok"}, {"ok", "bad"}} {
		if _, err := site.Compare(t.Context(), side(t, filepath.Join(dir, pair[0])), side(t, filepath.Join(dir, pair[1]))); err == nil || !strings.Contains(err.Error(), "n.json' is not a catalog") {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

// TestSearch checks that * in a pattern matches any text.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"n.json": `{"name":"n","resources":[{"type":"File","title":"/etc/a.conf"},{"type":"Web::Vhost","title":"a*[b]"},{"type":"File","title":"/x"}]}`, "m.json": text("m", "0")})
	for pattern, want := range map[string]string{
		"File":                "File[/a] File[/etc/a.conf] File[/x]",
		"file[/etc/*]":        "File[/etc/a.conf]",
		"File[*a*]":           "File[/a] File[/etc/a.conf]",
		"File[/*.conf]":       "File[/etc/a.conf]",
		"File[/etc/a.conf*f]": "",
		"web::vhost[a*[b]]":   "Web::Vhost[a*[b]]",
		"Web::Vhost[*[*]]":    "Web::Vhost[a*[b]]",
		"Class":               "",
		"/a":                  "File[/a]",
		"*.conf":              "File[/etc/a.conf]",
		"File[/a":             `"File[/a" is not a resource.`,
		"File[]":              `"File[]" is not a resource.`,
		"":                    `"" is not a resource.`,
	} {
		found, err := site.Search(t.Context(), []*site.Side{side(t, dir)}, pattern)
		if err != nil {
			found = &site.Found{}
		}
		var list []string
		for _, s := range found.Resources {
			list = append(list, s.Resource.String())
		}
		got := strings.Join(list, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && found.Nodes != 2 {
			t.Errorf("%s: got %q on %d nodes, want %q", pattern, got, found.Nodes, want)
		}
	}
}

// TestSimilar checks that similar resources are suggested for a missing resource.
func TestSimilar(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"n.json": `{"name":"n","resources":[{"type":"File","title":"/etc/nginx/nginx.conf"},{"type":"Package","title":"nginx"},{"type":"Service","title":"nginx"},` +
		`{"type":"Class","title":"Nginx"},{"type":"File","title":"/etc/motd"},{"type":"File","title":"/srv/motd"}]}`})
	for text, want := range map[string]string{
		"File[/etc/mtod]":        "File[/etc/motd]",
		"Fiel[/etc/motd]":        "File[/etc/motd]",
		"File[nginx]":            "Package[nginx] Service[nginx] Class[Nginx]",
		"File[/etc/nginx.conf]":  "File[/etc/nginx/nginx.conf]",
		"File[motd]":             "File[/etc/motd] File[/srv/motd]",
		"Package[apache2]":       "",
		"nignx":                  "Package[nginx] Service[nginx] Class[Nginx]",
		"File[/etc/nginx/*.cnf]": "",
	} {
		found, err := site.Search(t.Context(), []*site.Side{side(t, dir)}, text)
		if err != nil || strings.Join(found.Similar, " ") != want {
			t.Errorf("%s: got %q, want %q (%v)", text, found.Similar, want, err)
		}
	}
	c, err := site.ReadOne(t.Context(), filepath.Join(dir, "n.json"), seal.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Package[ngnx]":    "The catalog of n has no Package[ngnx]. Did you mean Package[nginx]?",
		"Package[apache2]": "The catalog of n has no Package[apache2].",
		"nginx":            `"nginx" is not a resource: write it as Type[title]. Did you mean Package[nginx], Service[nginx] or Class[Nginx]?`,
	} {
		if _, err := site.Find(c, text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
