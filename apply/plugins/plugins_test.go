package plugins_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"bolt/apply/plugins"
)

func TestPack(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	list := []plugins.Module{
		{Name: "a", Lib: fstest.MapFS{"puppet/type/x.rb": file("x"), "facter/f.rb": file("f"), "puppet_x/y.rb": file("y")}},
		{Name: "b", Lib: os.DirFS(filepath.Join(t.TempDir(), "none"))},
	}
	data, err := plugins.Pack(list)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plugins.Pack(list)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("equal code gives other bytes: %v", err)
	}
	if end := make([]byte, 1024); !bytes.HasSuffix(data, end) {
		t.Error("the archive does not end with two blocks of zeros")
	}
	dir := t.TempDir()
	if err := plugins.Unpack(bytes.NewReader(data), dir); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if want := "a/lib/puppet/type/x.rb a/lib/puppet_x/y.rb"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v, %v", got, err)
	}
	if data, err := plugins.Pack(list[1:]); data != nil || err != nil {
		t.Errorf("without code: %d bytes, %v", len(data), err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	for _, h := range []tar.Header{{Name: "../x", Typeflag: tar.TypeReg}, {Name: "/x", Typeflag: tar.TypeReg}, {Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc"}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := plugins.Unpack(&b, t.TempDir()); err == nil {
			t.Errorf("%s: no error", h.Name)
		}
	}
}
