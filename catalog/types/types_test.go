package types_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/catalog/types"
)

func parse(t *testing.T, resources ...string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(`{"resources":[` + strings.Join(resources, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resource(ref, params string) string {
	r, _ := catalog.ParseRef(ref)
	return fmt.Sprintf(`{"type":%q,"title":%q,"parameters":{%s}}`, r.Type, r.Title, params)
}

func TestFind(t *testing.T) {
	f := types.Find("file")
	if f == nil || f.Key != "path" || !f.Unique || !f.Has("content") || !f.Has("path") || !f.Has("require") || f.Has("contents") || !slices.Contains(f.Properties, "mode") {
		t.Errorf("file is %+v", f)
	}
	if types.Find("concat") != nil || types.Find("File") != nil {
		t.Error("a type is known that is not Puppet's")
	}
	for name, key := range map[string]string{
		"anchor": "name", "archive": "path", "concat_file": "path", "concat_fragment": "name", "file_line": "name", "ini_setting": "name",
		"ini_subsetting": "name", "sysctl": "name", "vcsrepo": "path",
	} {
		if f := types.Find(name); f == nil || f.Key != key || !f.Unique || f.Has("contents") {
			t.Errorf("%s is %+v", name, f)
		}
	}
	for _, name := range []string{"exec", "package", "sshkey", "tidy"} {
		if types.Find(name).Unique {
			t.Errorf("the key alone must not be unique in %s", name)
		}
	}
}

// Each resource that is declared first waits for the ones on which its type depends.
func TestAuto(t *testing.T) {
	for name, k := range map[string]struct {
		list []string
		want string
	}{
		"directories":                {[]string{resource("File[/a/b/c]", ""), resource("File[/a/b/c/d/e]", ""), resource("File[/a]", ""), resource("File[/]", "")}, "/ /a /a/b/c /a/b/c/d/e"},
		"another title":              {[]string{resource("File[x]", `"path":"/a/b/"`), resource("File[y]", `"path":"/a/"`)}, "y x"},
		"a link":                     {[]string{resource("File[/l]", `"ensure":"link","target":"/t"`), resource("File[/t]", "")}, "/t /l"},
		"an owner":                   {[]string{resource("File[/x]", `"owner":"u","group":"g"`), resource("User[u]", ""), resource("Group[g]", "")}, "u g /x"},
		"a number as owner":          {[]string{resource("File[/x]", `"owner":"10","group":10`), resource("User[10]", ""), resource("Group[10]", "")}, "/x 10 10"},
		"a user under another title": {[]string{resource("File[/x]", `"owner":"u"`), resource("User[the user]", `"name":"u"`)}, "the user /x"},
		"a command": {[]string{resource("Exec[/bin/x -a]", `"cwd":"/c","user":"u","unless":["/bin/y","test -e /z"]`), resource("File[/c]", ""), resource("File[/bin/x]", ""), resource("File[/bin/y]", ""), resource("User[u]", ""), resource("File[/z]", "")},
			"/c /bin/x /bin/y u /bin/x -a /z"},
		"a command as a list": {[]string{resource("Exec[e]", `"command":["/bin/x","/bin/y"],"onlyif":[["/bin/z","a"]]`), resource("File[/bin/x]", ""), resource("File[/bin/z]", ""), resource("File[/bin/y]", "")}, "/bin/x /bin/z e /bin/y"},
		"a quoted command":    {[]string{resource("Exec[e]", `"command":"\"/o p/x\" a"`), resource("File[/o p/x]", "")}, "/o p/x e"},
		"a package":           {[]string{resource("Package[p]", `"source":"/p.deb"`), resource("File[/p.deb]", "")}, "/p.deb p"},
		"groups":              {[]string{resource("User[u]", `"gid":"100","groups":["a","b"]`), resource("Group[a]", ""), resource("Group[c]", `"gid":100`), resource("Group[d]", `"gid":"101"`)}, "a c u d"},
		"mounts":              {[]string{resource("Mount[/a/b]", ""), resource("Mount[/a]", "")}, "/a /a/b"},
		"a line":              {[]string{resource("File_line[l]", `"path":"/f","line":"x"`), resource("File[/f]", "")}, "/f l"},
		"a setting":           {[]string{resource("Ini_setting[s]", `"path":"/d/f"`), resource("File[/d/f]", ""), resource("File[/d]", "")}, "/d s /d/f"},
		"a kernel parameter":  {[]string{resource("Sysctl[k]", `"target":"/f"`), resource("File[/f]", "")}, "/f k"},
		"a made file":         {[]string{resource("Concat_file[c]", `"path":"/d/e/f","owner":"u"`), resource("File[/d]", ""), resource("User[u]", "")}, "/d u c"},
		"an archive":          {[]string{resource("Archive[/d/a.tgz]", `"extract_path":"/e"`), resource("File[/d]", ""), resource("File[/e]", ""), resource("Exec[install_gsutil]", "")}, "/d /e install_gsutil /d/a.tgz"},
		"a repository":        {[]string{resource("Vcsrepo[/r]", ""), resource("Package[git]", ""), resource("Package[x]", "")}, "git /r x"},
		"a cron job":          {[]string{resource("Cron[c]", `"user":"u"`), resource("User[u]", "")}, "u c"},
	} {
		c := parse(t, k.list...)
		list, err := order.Of(c, order.Options{Auto: types.Auto(c)})
		var got []string
		for _, r := range list {
			got = append(got, r.Title)
		}
		if err != nil || strings.Join(got, " ") != k.want {
			t.Errorf("%s: %q, %v, want %q", name, strings.Join(got, " "), err, k.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		resource("File[/x]", `"ensure":"/target","recurse":true,"links":"follow"`): "",
		resource("File[x]", ""): `The parameter path of File[x] must be an absolute path, and is "x"`,
		resource("File[/x]", `"links":"no","recurse":"yes"`): "The parameter links of File[/x] cannot be \"no\": it can be follow or manage\n" +
			`The parameter recurse of File[/x] cannot be "yes": it can be true, false or remote`,
		resource("Service[x]", `"ensure":{"__ptype":"Deferred","name":"f"}`):                                "",
		`{"type":"Service","title":"x","parameters":{"ensure":"secret"},"sensitive_parameters":["ensure"]}`: "The parameter ensure of Service[x] has a secret value that it cannot have: it can be stopped, running, true or false",
		resource("Concat_file[x]", `"order":"any","format":"json-array"`): "The parameter path of Concat_file[x] must be an absolute path, and is \"x\"\n" +
			`The parameter order of Concat_file[x] cannot be "any": it can be alpha or numeric`,
		resource("File_line[x]", `"path":"f","multiple":"yes"`): "The parameter path of File_line[x] must be an absolute path, and is \"f\"\n" +
			`The parameter multiple of File_line[x] cannot be "yes": it can be true or false`,
		resource("Vcsrepo[/r]", `"ensure":"newest"`): `The parameter ensure of Vcsrepo[/r] cannot be "newest": it can be present, bare, mirror, absent or latest`,
		resource("Exec[x]", `"path":"bin"`):          "",
		resource("File[/x]", `"loglevel":"loud"`):    `The parameter loglevel of File[/x] cannot be "loud": it can be debug, info, notice, warning, err, alert, emerg, crit or verbose`,
		resource("File[/x]", `"audit":["mode","a"]`): `The parameter audit of File[/x] names "a", which is not a parameter of the type file`,
		resource("File[/x]", `"audit":"all"`):        "",
		resource("Other[x]", `"audit":"x"`):          "",
		resource("Other[x]", `"ensure":"whatever"`):  "",
	} {
		var got []string
		for _, err := range types.Check(parse(t, text).Resources()[0]) {
			got = append(got, err.Error())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "\n"), want)
		}
	}
}
