package release

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/release/signature"
	"bolt/store"
)

// key makes an SSH key and the allowed signers file with it.
func key(t testing.TB) (file string, signers *signature.Signers) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	public, err := os.ReadFile(file + ".pub")
	must(t, err, os.WriteFile(file+".allowed", append([]byte("ada@example.com "), public...), 0o600))
	signers, err = signature.ReadSigners(t.Context(), file+".allowed")
	must(t, err)
	return file, signers
}

func signRelease(t testing.TB, a *Archive, r *Release, file string) string {
	t.Helper()
	text, err := (&signature.Key{File: file}).Sign(t.Context(), r.Text, Namespace)
	must(t, err)
	_, err = a.Sign(t.Context(), r, text)
	must(t, err)
	return text
}

func find(t testing.TB, a *Archive, name string) Entry {
	t.Helper()
	e, err := a.Find(t.Context(), name)
	must(t, err)
	return e
}

// TestSigned checks that only a release with a signature of an allowed signer is admitted.
func TestSigned(t *testing.T) {
	a := archive(t)
	file, signers := key(t)
	other, _ := key(t)
	r := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1")})
	admit := func(s *signature.Signers) (string, error) {
		_, who, err := a.Admit(t.Context(), find(t, a, Last), s, time.Now())
		return strings.Join(who, ","), err
	}
	if _, err := admit(nil); err != nil {
		t.Errorf("without allowed signers: %v", err)
	}
	if _, err := admit(signers); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("not signed: %v", err)
	}
	signRelease(t, a, r, other)
	if _, err := admit(signers); err == nil || !strings.Contains(err.Error(), "no signature of an allowed signer") {
		t.Errorf("signed by another key: %v", err)
	}
	signRelease(t, a, r, file)
	signRelease(t, a, r, file) // ed25519 gives the same signature, which is recorded once
	if who, err := admit(signers); err != nil || who != "ada@example.com" {
		t.Errorf("%q, %v", who, err)
	}
	if e := find(t, a, Last); len(e.Signatures) != 2 {
		t.Errorf("%d signatures", len(e.Signatures))
	}
	second := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "2")})
	if _, err := a.Sign(t.Context(), second, find(t, a, "1").Signatures[1]); err == nil {
		t.Error("the signature of another release was added")
	}
}

func exported(t testing.TB, a *Archive, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, a.Export(t.Context(), find(t, a, name), &b))
	return b.Bytes()
}

// full is a release with a catalog, a content and a signature.
func full(t testing.TB) (*Archive, *Release, *signature.Signers) {
	t.Helper()
	a := archive(t)
	source := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(source, []byte("one"), 0o600))
	r := create(t, a, map[string]*catalog.Catalog{"a": withFile(t, source, "one"), "b": motd(t, "1")})
	file, signers := key(t)
	signRelease(t, a, r, file)
	return a, r, signers
}

func TestTransfer(t *testing.T) {
	a, r, signers := full(t)
	data := exported(t, a, Last)
	if !bytes.Equal(data, exported(t, a, Last)) {
		t.Error("two exports differ")
	}
	b := archive(t)
	create(t, b, map[string]*catalog.Catalog{"z": motd(t, "z")})
	for range 2 { // the second time, nothing is new
		back, err := b.Import(t.Context(), bytes.NewReader(data), "ben", nil)
		must(t, err)
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%+v", back)
		}
	}
	e := find(t, b, string(r.ID))
	if !e.Imported || len(e.Signatures) != 1 {
		t.Errorf("%+v", e)
	}
	got, _, err := b.Admit(t.Context(), e, signers, time.Now())
	must(t, err)
	must(t, b.Whole(t.Context(), got))
	if text, err := b.Content(t.Context(), got.Contents[0]); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
	next := create(t, b, map[string]*catalog.Catalog{"b": motd(t, "1"), "z": motd(t, "z")})
	if next.Sequence != 2 || next.Nodes["b"].Changed || next.Nodes["z"].Changed || next.Earlier["a"] != r.ID {
		t.Errorf("%+v", next.Document)
	}
}

// TestExportedSignature verifies the signature of an exported release with ssh-keygen and tar.
func TestExportedSignature(t *testing.T) {
	a := archive(t)
	r := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1")})
	file, _ := key(t)
	signRelease(t, a, r, file)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "release.tar"), exported(t, a, Last), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `tar xf release.tar; ssh-keygen -Y verify -f "$1" -I ada@example.com -n bolt-release -s signatures/1.sig <release.json`, "sh", file+".allowed")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Good") {
		t.Errorf("%v: %s", err, out)
	}
}

// An entry is one of a tar file.
type entry struct {
	tar.Header
	data []byte
}

func split(t testing.TB, data []byte) (list []entry) {
	t.Helper()
	in := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := in.Next()
		if err == io.EOF {
			return list
		}
		must(t, err)
		content, err := io.ReadAll(in)
		must(t, err)
		list = append(list, entry{*h, content})
	}
}

func join(t testing.TB, list []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range list {
		if e.Size != 0 || e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.data))
		}
		must(t, out.WriteHeader(&e.Header))
		_, err := out.Write(e.data)
		must(t, err)
	}
	must(t, out.Close())
	return b.Bytes()
}

// TestHostile changes an exported release. None of the files is imported.
func TestHostile(t *testing.T) {
	a, r, _ := full(t)
	good := exported(t, a, Last)
	blob := func(list []entry) int {
		for i, e := range list {
			if strings.HasPrefix(e.Name, blobFolder) {
				return i
			}
		}
		panic("no blob")
	}
	for name, change := range map[string]func(list []entry) []entry{
		"empty":              func([]entry) []entry { return nil },
		"no document":        func(l []entry) []entry { return l[1:] },
		"document not first": func(l []entry) []entry { return append(l[1:], l[0]) },
		"document twice":     func(l []entry) []entry { return append(l, l[0]) },
		"edited document": func(l []entry) []entry {
			l[0].data = bytes.Replace(l[0].data, []byte("ada"), []byte("eve"), 1)
			return l
		},
		"large sequence": func(l []entry) []entry {
			l[0].data = bytes.Replace(l[0].data, []byte(`"sequence":1`), []byte(`"sequence":4503599627370496`), 1)
			return append(l[:1], l[2:]...) // without the signature
		},
		"no JSON":         func(l []entry) []entry { l[0].data = []byte("x"); return l },
		"missing content": func(l []entry) []entry { return append(l[:blob(l)], l[blob(l)+1:]...) },
		"damaged content": func(l []entry) []entry { l[blob(l)].data = []byte("x"); return l },
		"content twice":   func(l []entry) []entry { return append(l, l[blob(l)]) },
		"other content": func(l []entry) []entry {
			e := l[blob(l)]
			e.data = []byte("other")
			e.Name = blobFolder + string(store.DigestOf(e.data))
			return append(l, e)
		},
		"path":      func(l []entry) []entry { l[blob(l)].Name = "../../etc/passwd"; return l },
		"absolute":  func(l []entry) []entry { l[blob(l)].Name = "/etc/passwd"; return l },
		"blob path": func(l []entry) []entry { l[blob(l)].Name = blobFolder + "../" + string(r.Nodes["a"].Blob); return l },
		"link": func(l []entry) []entry {
			e := l[blob(l)]
			e.Typeflag, e.Linkname, e.data, e.Size = tar.TypeSymlink, "/etc/passwd", nil, 0
			l[blob(l)] = e
			return l
		},
		"directory": func(l []entry) []entry {
			return append(l, entry{Header: tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeDir, Name: "blobs/", Mode: 0o700}})
		},
		"extension": func(l []entry) []entry {
			l[blob(l)].Format = tar.FormatPAX
			l[blob(l)].PAXRecords = map[string]string{"BOLT.x": "y"}
			return l
		},
		"bad signature":   func(l []entry) []entry { l[1].data = []byte("x"); return l },
		"signature name":  func(l []entry) []entry { l[1].Name = signatureFolder + "2.sig"; return l },
		"large signature": func(l []entry) []entry { l[1].data = append(l[1].data, make([]byte, maxSignature)...); return l },
	} {
		t.Run(name, func(t *testing.T) {
			b := archive(t)
			if _, err := b.Import(t.Context(), bytes.NewReader(join(t, change(split(t, good)))), "ben", nil); err == nil {
				t.Error("it was imported")
			}
			if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
	for _, size := range []int{0, 100, 600, len(good) / 2} {
		if _, err := archive(t).Import(t.Context(), bytes.NewReader(good[:size]), "ben", nil); err == nil {
			t.Errorf("%d bytes were imported", size)
		}
	}
	t.Run("no catalog", func(t *testing.T) { // whose digests are right
		list := split(t, good)
		i := blob(list)
		bad := []byte(`{"x":1}`)
		old, sum := strings.TrimPrefix(list[i].Name, blobFolder), string(store.DigestOf(bad))
		for _, n := range r.Nodes {
			old = string(n.Blob)
		}
		for k := range list {
			if list[k].Name == blobFolder+old {
				list[k].data, list[k].Name = bad, blobFolder+sum
			}
		}
		list[0].data = bytes.ReplaceAll(list[0].data, []byte(old), []byte(sum))
		list = append(list[:1], list[2:]...) // the signature does not fit any more
		if _, err := archive(t).Import(t.Context(), bytes.NewReader(join(t, list)), "ben", nil); err == nil || !strings.Contains(err.Error(), "the catalog") {
			t.Errorf("%v", err)
		}
	})
}

// FuzzUnpack reads any bytes as an exported release. Accepted contents are contents that the document names.
func FuzzUnpack(f *testing.F) {
	a := archive(f)
	create(f, a, map[string]*catalog.Catalog{"a": motd(f, "1")})
	good := exported(f, a, Last)
	f.Add(good)
	f.Add(good[:1024])
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := make(map[store.Digest]bool)
		r, _, err := unpack(t.Context(), bytes.NewReader(data), func(_ context.Context, content []byte, _ bool) error {
			got[store.DigestOf(content)] = true
			return nil
		})
		if err != nil {
			return
		}
		for d := range got {
			known := false
			for _, n := range r.needs() {
				known = known || n == d
			}
			if !known {
				t.Errorf("the content %s is not one of the release", d)
			}
		}
	})
}

// TestCollect removes contents that no release needs, and keeps contents that another log names.
func TestCollect(t *testing.T) {
	a := archive(t)
	ctx := t.Context()
	for _, text := range []string{"1", "2", "3", "4"} {
		create(t, a, map[string]*catalog.Catalog{"a": motd(t, text)})
	}
	stray, err := a.store.Put(ctx, []byte("stray"))
	must(t, err)
	named, err := a.store.Put(ctx, []byte("named"))
	must(t, err)
	second := find(t, a, "2")
	text, err := json.Marshal(map[string]any{"release": second.ID, "other": named})
	must(t, err)
	_, err = a.store.Append(ctx, "rollouts/x", 0, 0, text)
	must(t, err)
	for _, noop := range []bool{true, false} {
		c, err := a.Collect(ctx, CollectOptions{Keep: 1, Noop: noop})
		must(t, err)
		if len(c.Releases) != 2 || c.Releases[0].Sequence != 1 || c.Releases[1].Sequence != 3 || len(c.InUse) != 1 || c.Contents != 5 {
			t.Errorf("%+v", c)
		}
	}
	if has, err := a.store.Has(ctx, stray); has || err != nil {
		t.Errorf("a content that nothing names is there: %v", err)
	}
	if has, err := a.store.Has(ctx, named); !has || err != nil {
		t.Errorf("a content that a log names is not there: %v", err)
	}
	list, err := a.List(ctx)
	must(t, err)
	if len(list) != 2 || list[0].Sequence != 2 || list[1].Sequence != 4 {
		t.Errorf("%+v", list)
	}
	for _, e := range list {
		r, err := a.Get(ctx, e.ID)
		must(t, err)
		must(t, a.Whole(ctx, r))
	}
	if next := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "4")}); next.Sequence != 5 || next.Changed() != 0 {
		t.Errorf("%+v", next.Document)
	}
	if c, err := a.Collect(ctx, CollectOptions{}); err != nil || c.Contents != 0 || len(c.Releases) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCollectDamaged checks that nothing is removed if a release cannot be read.
func TestCollectDamaged(t *testing.T) {
	a := archive(t)
	r := create(t, a, map[string]*catalog.Catalog{"a": motd(t, "1")})
	create(t, a, map[string]*catalog.Catalog{"b": motd(t, "2")})
	must(t, a.store.Remove(t.Context(), r.ID))
	_, err := a.Collect(t.Context(), CollectOptions{})
	if _, is := errors.AsType[*store.NotFoundError](err); !is {
		t.Fatal(err)
	}
	if has, err := a.store.Has(t.Context(), r.Nodes["a"].Blob); !has || err != nil {
		t.Errorf("a content was removed: %v", err)
	}
}
