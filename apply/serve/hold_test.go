package serve

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"bolt/apply/resource"
)

func TestHeldArgs(t *testing.T) {
	for _, h := range []*Held{
		{Argv: []string{"--as", "x y"}},
		{Argv: []string{"a"}, Combined: true, As: &resource.Identity{UID: 1, GID: 2}},
		{Argv: []string{"a"}, As: &resource.Identity{UID: 1, GID: 2, Groups: []uint32{}}},
		{Argv: []string{"a"}, As: &resource.Identity{UID: 1, GID: 2, Groups: []uint32{3, 4}}},
	} {
		if got, err := ParseHeld(h.args()); err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("ParseHeld(%q) = %+v, %v", h.args(), got, err)
		}
	}
	for _, args := range [][]string{nil, {"--"}, {"--as", "1:2", "a"}, {"--as", "1:x:-", "a"}, {"--as", "1:2:3,", "a"}, {"--none", "a"}} {
		if _, err := ParseHeld(args); err == nil {
			t.Errorf("ParseHeld(%q) has no error", args)
		}
	}
}

// The order of what a program prints stays, and a script needs no interpreter line.
func TestHeldRun(t *testing.T) {
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("echo a; echo b >&2; echo c; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	keep, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code, err := (&Held{Argv: []string{script}, Combined: true}).Run(t.Context(), keep, null, &out, &errs)
	if code != 3 || err != nil || out.String() != "a\nb\nc\n" || errs.Len() > 0 {
		t.Errorf("Run = %d, %v, printed %q and %q", code, err, out.String(), errs.String())
	}
	if err := keep.Close(); err == nil {
		t.Error("keep is still open")
	}
}
