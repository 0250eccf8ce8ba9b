package purge

import (
	"context"
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/anchor"
	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// userType lists users, and removes them.
type userType struct{ resource.Type }

type user struct {
	resource.Item
	gone bool
}

func (u userType) New(r *resource.Resource) (resource.Item, error) {
	i, err := u.Type.New(r)
	return user{i, r.Params.Value("ensure") == "absent"}, err
}

func (u user) Plan() ([]resource.Change, error) {
	if !u.gone {
		return nil, nil
	}
	return []resource.Change{{Property: "ensure", Name: "user_removed"}}, nil
}

func (userType) List(context.Context, *resource.Host) (list []*resource.Resource, err error) {
	for name, uid := range map[string]int64{"root": 0, "nobody": 65534, "sys1": 999, "low": 1000, "kept": 1001, "high": 1002} {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "User", Title: name}, Params: ordered.Of("ensure", "present", "uid", uid)})
	}
	return list, nil
}

func TestUsers(t *testing.T) {
	for _, c := range []struct {
		params string
		want   []string
	}{
		{`"purge":true`, []string{"low", "high"}},
		{`"purge":true,"unless_uid":[1002,"1"]`, []string{"low"}},
		{`"purge":true,"unless_system_user":1000`, []string{"high"}},
		{`"purge":true,"unless_system_user":"true","noop":true`, []string{"low", "high"}},
		{`"purge":true,"unless_system_user":false`, []string{"root", "nobody", "sys1", "low", "high"}},
		{`"purge":false`, nil},
	} {
		h := hosttest.Host(t)
		if err := os.MkdirAll(h.Path("/etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.Path("/etc/login.defs"), []byte("# UID_MIN 5\nUID_MIN\t\t 1000 # x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		types := map[string]resource.Type{"User": userType{anchor.Type()}}
		types["Resources"] = Type(types)
		out := hosttest.Apply(t, h, types, false, `Resources[user] {`+c.params+`}`, `User[k] {"name":"kept"}`)
		got := make(map[string]bool)
		for _, name := range []string{"root", "nobody", "sys1", "low", "kept", "high"} {
			got[name] = strings.Contains(out, "User["+name+"] ")
		}
		want := make(map[string]bool)
		for _, name := range c.want {
			want[name] = true
		}
		for name := range got {
			if got[name] != want[name] {
				t.Errorf("%s: %s", c.params, out)
				break
			}
		}
	}
}
