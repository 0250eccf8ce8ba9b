package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/resource"
)

func TestAccounts(t *testing.T) {
	h := resource.NewHost()
	h.Root = t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(h.Path("/etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.Path("/etc/passwd"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var a accounts
	id := func(name string, want int) {
		t.Helper()
		got, found := a.id(t.Context(), h, users, name)
		if !found {
			got = -1
		}
		if got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	write("root:x:0:0:::\nbad line\n\nx:y:z\ntwo:x:0:0\nme:x:1000:1000:Me:/home/me:/bin/sh\nme:x:7:7\n")
	id("root", 0)
	id("me", 1000)
	id("1234", 1234)
	id("you", -1)
	if got := a.name(t.Context(), h, users, 0); got != "root" {
		t.Errorf("0 is %s", got)
	}
	if got := a.name(t.Context(), h, users, 5); got != "5" {
		t.Errorf("5 is %s", got)
	}
	// A user that the same run adds is found.
	write("root:x:0:0:::\nyou:x:1001:1001:::\n")
	id("you", 1001)
	id("me", -1)
}

func TestGetent(t *testing.T) {
	h := resource.NewHost()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "getent"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	h.Env = []string{"PATH=" + bin}
	var asked []string
	h.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		asked = append(asked, strings.Join(c.Argv[1:], " "))
		switch c.Argv[2] {
		case "remote", "5000":
			return &resource.Output{Stdout: []byte("remote:*:5000:5000::/:\n")}, nil
		}
		return &resource.Output{Code: 2}, nil
	}
	// Tests of other packages add users to this machine at the same time, so its own files are not read.
	a := accounts{etc: t.TempDir()}
	for range 2 {
		if id, found := a.id(t.Context(), h, groups, "remote"); id != 5000 || !found {
			t.Errorf("remote is %d, %v", id, found)
		}
		if id, found := a.id(t.Context(), h, groups, "none"); found {
			t.Errorf("none is %d", id)
		}
		if name := a.name(t.Context(), h, groups, 5000); name != "remote" {
			t.Errorf("5000 is %s", name)
		}
		if name := a.name(t.Context(), h, groups, 6000); name != "6000" {
			t.Errorf("6000 is %s", name)
		}
		if _, found := a.id(t.Context(), h, groups, "--help"); found {
			t.Error("an option was found")
		}
	}
	if got, want := strings.Join(asked, ", "), "group remote, group none, group 6000"; got != want {
		t.Errorf("getent was asked %s, want %s", got, want)
	}
}
