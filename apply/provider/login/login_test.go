package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"bolt/apply/resource"
)

func TestFind(t *testing.T) {
	h := resource.NewHost()
	h.Root = t.TempDir()
	h.Run = func(context.Context, *resource.Command) (*resource.Output, error) {
		return nil, errors.New("no programs")
	}
	if err := os.Mkdir(h.Path("/etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(h.Path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("/etc/passwd", "root:x:0:0::/root:/bin/sh\n7:x:8:9::/h:/bin/sh\nfoo:x:7:1::/foo:\nbad\nwrong:x:-1:0::/:/bin/sh\n")
	write("/etc/group", "root:x:0:\nfoo:x:1:\nbar:x:2:root,foo\nbaz:x:3:foo")
	ctx := t.Context()
	for _, c := range []struct{ name, want string }{
		{"root", "&{root 0 0 /root} <nil>"},
		{"foo", "&{foo 7 1 /foo} <nil>"},
		{"7", "&{7 8 9 /h} <nil>"}, // a name is preferred
		{"0", "&{root 0 0 /root} <nil>"},
		{"none", `<nil> user "none" does not exist`},
		{"wrong", `<nil> user "wrong" has a wrong number: strconv.ParseUint: parsing "-1": invalid syntax`},
	} {
		u, err := FindUser(ctx, h, c.name)
		if got := fmt.Sprint(u, " ", err); got != c.want {
			t.Errorf("FindUser(%s) = %s, want %s", c.name, got, c.want)
		}
	}
	foo, _ := FindUser(ctx, h, "foo")
	if groups, err := Groups(ctx, h, foo); err != nil || fmt.Sprint(groups) != "[1 2 3]" {
		t.Errorf("Groups = %v, %v", groups, err)
	}
	if gid, err := FindGroup(ctx, h, "bar"); gid != 2 || err != nil {
		t.Errorf("FindGroup(bar) = %d, %v", gid, err)
	}
	if gid, err := FindGroup(ctx, h, "77"); gid != 77 || err != nil {
		t.Errorf("FindGroup(77) = %d, %v", gid, err)
	}
	if _, err := FindGroup(ctx, h, "none"); !errors.Is(err, ErrUnknown) {
		t.Errorf("FindGroup(none): %v", err)
	}
}
