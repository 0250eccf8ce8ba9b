package release

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/seal"
	"bolt/store"
	"bolt/store/files"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func archive(t testing.TB) *Archive {
	t.Helper()
	s, err := files.Open(t.Context(), filepath.Join(t.TempDir(), "state"))
	must(t, err)
	return In(s)
}

func parse(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(text))
	must(t, err)
	return c
}

// motd is a catalog with the content of /etc/motd.
func motd(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	return parse(t, fmt.Sprintf(`{"name":"x","environment":"production","resources":[{"type":"File","title":"/etc/motd","parameters":{"content":%q}}]}`, text))
}

// vault encrypts differently each time, as a real one does.
func vault() seal.Vault {
	var mu sync.Mutex
	n := 0
	return seal.Vault{
		Encrypt: func(_ context.Context, text string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("ENC[TEST,%d,%s]", n, base64.StdEncoding.EncodeToString([]byte(text))), nil
		},
		Decrypt: func(_ context.Context, value string) (string, error) {
			parts := strings.Split(strings.TrimSuffix(value, "]"), ",")
			text, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
			return string(text), err
		},
	}
}

func create(t testing.TB, a *Archive, nodes map[string]*catalog.Catalog) *Release {
	t.Helper()
	r, err := a.Create(t.Context(), Options{Author: "ada", Vault: vault()}, func(ctx context.Context, d *Draft) error {
		var all sync.WaitGroup
		errs := make(chan error, len(nodes))
		for name, c := range nodes {
			all.Go(func() { errs <- d.Add(ctx, name, c, Making{}) })
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	return r
}

func TestCreate(t *testing.T) {
	a := archive(t)
	first := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1"), "b": motd(t, "1"), "c": motd(t, "1")})
	if first.Sequence != 1 || first.Parent != "" || first.Author != "ada" || first.Environment != "production" || first.Changed() != 3 || len(first.Changes) != 0 {
		t.Errorf("%+v", first.Document)
	}
	if first.Nodes["a"] != first.Nodes["b"] {
		t.Error("equal catalogs are stored twice")
	}
	second := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "2"), "b": motd(t, "3")})
	if second.Sequence != 2 || second.Parent != first.ID || second.Changed() != 2 {
		t.Errorf("%+v", second.Document)
	}
	want := []Group{{[]string{"a", "b"}, []Change{{"changed", "File[/etc/motd]", []string{"content"}}}}}
	if !reflect.DeepEqual(second.Changes, want) {
		t.Errorf("changes %+v", second.Changes)
	}
	if !reflect.DeepEqual(second.Earlier, map[string]store.Digest{"c": first.ID}) {
		t.Errorf("earlier %v", second.Earlier)
	}
	third := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "2"), "c": motd(t, "1"), "d": motd(t, "1")})
	if third.Nodes["a"].Changed || third.Nodes["c"].Changed || !third.Nodes["d"].Changed {
		t.Errorf("%+v", third.Nodes)
	}
	if !reflect.DeepEqual(third.Earlier, map[string]store.Digest{"b": second.ID}) {
		t.Errorf("earlier %v", third.Earlier)
	}
	back, err := a.Get(t.Context(), third.ID)
	must(t, err)
	if !reflect.DeepEqual(back, third) || store.DigestOf(back.Text) != third.ID {
		t.Errorf("%+v, want %+v", back, third)
	}
	must(t, a.Whole(t.Context(), third))
	list, err := a.List(t.Context())
	must(t, err)
	if len(list) != 3 || list[2].ID != third.ID || list[2].Sequence != 3 {
		t.Errorf("%+v", list)
	}
}

func TestFind(t *testing.T) {
	a := archive(t)
	if _, err := a.Find(t.Context(), Last); err == nil || !strings.Contains(err.Error(), "No release was created") {
		t.Errorf("without a release: %v", err)
	}
	first := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1")})
	second := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "2")})
	for name, want := range map[string]store.Digest{
		"1": first.ID, "2": second.ID, Last: second.ID, string(first.ID): first.ID, string(second.ID[:4]): second.ID, strings.ToUpper(string(first.ID[:20])): first.ID,
	} {
		if e, err := a.Find(t.Context(), name); err != nil || e.ID != want {
			t.Errorf("%s: %s, %v", name, e.ID, err)
		}
	}
	for _, name := range []string{"", "3", "0", string(first.ID[:3]), "none", string(first.ID) + "0"} {
		if e, err := a.Find(t.Context(), name); err == nil {
			t.Errorf("%q is %s", name, e.ID)
		}
	}
}

// TestSecrets checks that no secret is stored in clear text, and that an unchanged secret leaves
// the node unchanged.
func TestSecrets(t *testing.T) {
	a := archive(t)
	c := parse(t, `{"name":"a","resources":[{"type":"User","title":"u","parameters":{"password":"HIDDEN","shell":"/bin/sh"},"sensitive_parameters":["password"]}]}`)
	first := create(t, a, map[string]*catalog.Catalog{"a": c})
	second := create(t, a, map[string]*catalog.Catalog{"a": c})
	if first.Nodes["a"].Blob != second.Nodes["a"].Blob || second.Nodes["a"].Changed {
		t.Errorf("%+v, then %+v", first.Nodes, second.Nodes)
	}
	third := create(t, a, map[string]*catalog.Catalog{"a": parse(t, `{"name":"a","resources":[{"type":"User","title":"u","parameters":{"password":"HIDDEN2","shell":"/bin/sh"},"sensitive_parameters":["password"]}]}`)})
	for d, err := range a.store.List(t.Context()) {
		must(t, err)
		text, err := a.store.Get(t.Context(), d)
		must(t, err)
		if strings.Contains(string(text), "HIDDEN") {
			t.Errorf("a secret is in %s", text)
		}
	}
	found, err := a.Compare(t.Context(), first, third, vault())
	must(t, err)
	if p := found.Changes["a"][0].Params; len(p) != 1 || p[0].Name != "password" || !p[0].Secret || p[0].Old != nil {
		t.Errorf("%+v", found.Changes)
	}
	back, err := a.Catalog(t.Context(), first.Nodes["a"], vault())
	must(t, err)
	if back.Digest() != c.Digest() {
		t.Error("the catalog has another digest when it is read")
	}
	_, err = a.Create(t.Context(), Options{Vault: seal.Vault{Encrypt: func(context.Context, string) (string, error) { return "", errors.New("no keys") }}}, func(ctx context.Context, d *Draft) error {
		return d.Add(ctx, "b", c, Making{})
	})
	if err == nil || !strings.Contains(err.Error(), "no keys") {
		t.Errorf("without keys: %v", err)
	}
	if list, err := a.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("%d releases, %v", len(list), err)
	}
}

// withFile is a catalog whose file has the content of a file here.
func withFile(t testing.TB, path, text string) *catalog.Catalog {
	t.Helper()
	return parse(t, fmt.Sprintf(`{"name":"a","resources":[{"type":"File","title":"/x","parameters":{"source":"puppet:///modules/m/x"}}],
"metadata":{"/x":{"path":%q,"type":"file","mode":420,"checksum":{"type":"sha256","value":"{sha256}%s"}}}}`, path, store.DigestOf([]byte(text))))
}

// TestContents checks that a release does not need the files that it was made from.
func TestContents(t *testing.T) {
	a := archive(t)
	file := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(file, []byte("one"), 0o600))
	one := withFile(t, file, "one")
	r := create(t, a, map[string]*catalog.Catalog{"a": one})
	must(t, os.WriteFile(file, []byte("two"), 0o600))
	if len(r.Contents) != 1 {
		t.Fatalf("contents %v", r.Contents)
	}
	if got, err := a.Content(t.Context(), r.Contents[0]); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	create(t, a, map[string]*catalog.Catalog{"a": one}) // the store has it
	three := withFile(t, file, "three")
	_, err := a.Create(t.Context(), Options{}, func(ctx context.Context, d *Draft) error { return d.Add(ctx, "a", three, Making{}) })
	if err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that has changed: %v", err)
	}
	must(t, os.Remove(file))
	_, err = a.Create(t.Context(), Options{}, func(ctx context.Context, d *Draft) error { return d.Add(ctx, "a", three, Making{}) })
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is missing: %v", err)
	}
}

func TestNothing(t *testing.T) {
	a := archive(t)
	if _, err := a.Create(t.Context(), Options{}, func(context.Context, *Draft) error { return nil }); err == nil || !strings.Contains(err.Error(), "No nodes were found") {
		t.Errorf("%v", err)
	}
	stop := errors.New("stop")
	if _, err := a.Create(t.Context(), Options{}, func(context.Context, *Draft) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if _, err := a.Create(t.Context(), Options{}, func(ctx context.Context, d *Draft) error {
		return errors.Join(d.Add(ctx, "a", motd(t, "1"), Making{}), d.Add(ctx, "a", motd(t, "2"), Making{}))
	}); err == nil || !strings.Contains(err.Error(), "two catalogs") {
		t.Errorf("%v", err)
	}
}

// TestParallel creates releases at the same time: each has its own sequence number.
func TestParallel(t *testing.T) {
	a := archive(t)
	s, err := files.Open(t.Context(), a.store.(*files.Store).Dir())
	must(t, err)
	var all sync.WaitGroup
	const each = 4
	for _, a := range []*Archive{a, In(s)} {
		all.Go(func() {
			for i := range each {
				create(t, a, map[string]*catalog.Catalog{"a": motd(t, fmt.Sprint(i))})
			}
		})
	}
	all.Wait()
	list, err := a.List(t.Context())
	must(t, err)
	if len(list) != 2*each {
		t.Fatalf("%d releases", len(list))
	}
	for i, e := range list {
		r, err := a.Get(t.Context(), e.ID)
		must(t, err)
		if e.Sequence != uint64(i+1) || r.Sequence != e.Sequence || i > 0 && r.Parent != list[i-1].ID {
			t.Errorf("release %d: %+v, parent %s", i+1, e, r.Parent)
		}
	}
}

func TestCompare(t *testing.T) {
	a := archive(t)
	first := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1"), "b": motd(t, "1"), "gone": motd(t, "1")})
	second := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "2"), "b": motd(t, "1"), "new": motd(t, "1")})
	got, err := a.Compare(t.Context(), first, second, vault())
	must(t, err)
	for node, want := range map[string]diff.Kind{"new": diff.Added, "gone": diff.Removed} {
		if list := got.Changes[node]; len(list) != 1 || list[0].Kind != want {
			t.Errorf("%s: %+v", node, list)
		}
		delete(got.Changes, node)
	}
	want := &Differences{Added: []string{"new"}, Removed: []string{"gone"}, Changes: map[string][]diff.Change{
		"a": {{Kind: diff.Changed, Resource: catalog.Ref{Type: "File", Title: "/etc/motd"}, Params: []diff.Param{{Name: "content", Old: "1", New: "2"}}}}, "b": nil,
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestOtherCatalog reads a catalog that is not the one that the release claims. Compare takes the catalogs of equal digests
// for equal, so such a release could hide a change.
func TestOtherCatalog(t *testing.T) {
	a := archive(t)
	r := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1"), "b": motd(t, "2")})
	n := r.Nodes["a"]
	if c, err := a.Catalog(t.Context(), n, vault()); err != nil || c.Digest() != string(n.Catalog) {
		t.Fatal(err)
	}
	n.Blob = r.Nodes["b"].Blob
	if _, err := a.Catalog(t.Context(), n, vault()); err == nil || !strings.Contains(err.Error(), string(n.Catalog)) {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	good := create(t, archive(t), map[string]*catalog.Catalog{"a": motd(t, "1")})
	for name, text := range map[string]string{
		"no JSON":        "x",
		"other format":   strings.Replace(string(good.Text), `"format":1`, `"format":2`, 1),
		"unknown member": strings.Replace(string(good.Text), `"format":1`, `"format":1,"new":1`, 1),
		"sequence":       strings.Replace(string(good.Text), `"sequence":1`, `"sequence":0`, 1),
		"large sequence": strings.Replace(string(good.Text), `"sequence":1`, `"sequence":18446744073709551615`, 1),
		"digest":         strings.Replace(string(good.Text), `"blob":"`, `"blob":"../`, 1),
		"no nodes":       `{"format":1,"sequence":1}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var data map[string]any
	must(t, json.Unmarshal(good.Text, &data))
}

// TestFenced checks that a process that was stopped for longer than its lease adds no release
// after the next holder.
func TestFenced(t *testing.T) {
	a := archive(t)
	_, err := a.Create(t.Context(), Options{}, func(ctx context.Context, d *Draft) error {
		data, err := json.Marshal(event{Type: signed, Release: "x"})
		must(t, err)
		_, err = a.store.Append(ctx, logName, 0, 1_000_000, data) // the next holder
		must(t, err)
		return d.Add(ctx, "a", motd(t, "1"), Making{})
	})
	if _, is := errors.AsType[*store.FencedError](err); !is {
		t.Errorf("%v", err)
	}
	if list, err := a.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestPrograms creates releases with different engines and Ruby code for the same catalog.
func TestPrograms(t *testing.T) {
	a := archive(t)
	create := func(by Making) *Release {
		t.Helper()
		r, err := a.Create(t.Context(), Options{Author: "ada"}, func(ctx context.Context, d *Draft) error { return d.Add(ctx, "a", motd(t, "1"), by) })
		must(t, err)
		return r
	}
	first := create(Making{Compiler: "bolt"})
	if n := first.Nodes["a"]; n.Applied() != n.Catalog || n.Engine != "" || n.Compiler != "bolt" {
		t.Errorf("%+v", n)
	}
	if r := create(Making{Compiler: "puppet"}); r.Changed() != 0 || r.Nodes["a"].Compiler != "puppet" {
		t.Errorf("another compiler: %+v", r.Nodes)
	}
	puppet := create(Making{Engine: EnginePuppet, Plugins: []byte("code 1")})
	if n := puppet.Nodes["a"]; !n.Changed || n.Catalog != first.Nodes["a"].Catalog || n.Applied() == n.Catalog || len(puppet.Changes) != 1 || puppet.Changes[0].Changes[0].Change != "engine" {
		t.Errorf("another engine: %+v %+v", puppet.Nodes, puppet.Changes)
	}
	again := create(Making{Engine: EnginePuppet, Plugins: []byte("code 1")})
	if again.Changed() != 0 || again.Nodes["a"].Applied() != puppet.Nodes["a"].Applied() {
		t.Errorf("the same engine: %+v", again.Nodes)
	}
	code := create(Making{Engine: EnginePuppet, Plugins: []byte("code 2")})
	if code.Changed() != 1 || code.Nodes["a"].Applied() == puppet.Nodes["a"].Applied() || code.Changes[0].Changes[0].Change != "plugins" {
		t.Errorf("other Ruby code: %+v %+v", code.Nodes, code.Changes)
	}
	got, err := a.Plugins().Of(t.Context(), code.Nodes["a"])
	if string(got) != "code 2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	d, err := a.Compare(t.Context(), first, code, vault())
	must(t, err)
	if list := d.Programs["a"]; len(list) != 3 || !d.Applied() || d.Changes["a"] != nil {
		t.Errorf("%+v", d)
	}
	// The Ruby code travels with an exported release.
	var file bytes.Buffer
	entry, err := a.Find(t.Context(), Last)
	must(t, err)
	must(t, a.Export(t.Context(), entry, &file))
	other := archive(t)
	r, err := other.Import(t.Context(), &file, "ada", nil)
	must(t, err)
	must(t, other.Whole(t.Context(), r))
	got, err = other.Plugins().Of(t.Context(), r.Nodes["a"])
	if string(got) != "code 2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// A document with an unknown engine is not read.
	if _, err := Parse(bytes.Replace(code.Text, []byte(`"engine":"puppet"`), []byte(`"engine":"chef"`), 1)); err == nil || !strings.Contains(err.Error(), "chef") {
		t.Error(err)
	}
}
