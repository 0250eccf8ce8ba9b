package yumrepo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
	"bolt/catalog/types"
)

var all = map[string]resource.Type{"Yumrepo": Type()}

// tree makes the files of a host; a directory has the text "/".
func tree(t *testing.T, h *resource.Host, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := h.Path(name)
		dir := filepath.Dir(path)
		if text == "/" {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "/" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const base = "# first\n[base]\nname = Base\nbaseurl=http://a/\n  http://b/\nenabled=1\n; last\n\n[updates]\nenabled=0\n"

// Each case applies a resource with noop, then twice. The second time nothing changes. want are the files that differ
// afterwards; a removed one has the text "-".
func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, params, out string
		files, want       map[string]string
	}{
		{"new", `"ensure":"present","descr":"New","baseurl":"http://x/$basearch","enabled":true,"gpgcheck":0,"gpgkey":"absent"`, "Yumrepo[new] changed yumrepo_created", nil,
			map[string]string{"/etc/yum.repos.d/new.repo": "[new]\nname=New\nbaseurl=http://x/$basearch\nenabled=True\ngpgcheck=0\n"}},
		{"unchanged", `"name":"base","descr":"Base","baseurl":"http://a/\n  http://b/","enabled":1,"cost":"absent"`, "", nil, nil},
		{"changed", `"name":"base","descr":"B","baseurl":"http://c/","enabled":false,"cost":10`, "Yumrepo[new] changed descr(Base -> B) baseurl(http://a/\n  http://b/ -> http://c/) enabled(1 -> False) cost(absent -> 10)", nil,
			map[string]string{"/etc/yum.repos.d/base.repo": "# first\n[base]\nname=B\nbaseurl=http://c/\nenabled=False\n; last\n\ncost=10\n[updates]\nenabled=0\n"}},
		{"removed properties", `"name":"base","baseurl":"absent"`, "Yumrepo[new] changed baseurl(http://a/\n  http://b/ -> absent)", nil,
			map[string]string{"/etc/yum.repos.d/base.repo": "# first\n[base]\nname = Base\nenabled=1\n; last\n\n[updates]\nenabled=0\n"}},
		{"absent", `"name":"base","ensure":"absent"`, "Yumrepo[new] changed yumrepo_removed", nil, map[string]string{"/etc/yum.repos.d/base.repo": "# first\n[updates]\nenabled=0\n"}},
		{"the last one", `"ensure":"absent"`, "Yumrepo[new] changed yumrepo_removed", map[string]string{"/etc/yum.repos.d/x.repo": "# c\n[new]\n"}, map[string]string{"/etc/yum.repos.d/x.repo": "-"}},
		{"several", `"ensure":"absent"`, "Yumrepo[new] changed yumrepo_removed", map[string]string{"/etc/yum.repos.d/x.repo": "[new]\n", "/etc/yum.repos.d/y.repo": "[new]\n[y]\n"},
			map[string]string{"/etc/yum.repos.d/x.repo": "-", "/etc/yum.repos.d/y.repo": "[y]\n"}},
		{"moved", `"name":"base","target":"extra","enabled":0`, "Yumrepo[new] changed yumrepo_created", map[string]string{"/etc/yum.repos.d/extra.repo": "[e]\nname=E"},
			map[string]string{"/etc/yum.repos.d/base.repo": "# first\n[updates]\nenabled=0\n", "/etc/yum.repos.d/extra.repo": "[e]\nname=E\n[base]\nname = Base\nbaseurl=http://a/\n  http://b/\nenabled=0\n; last\n\n"}},
		{"a target", `"target":"/etc/yum.repos.d/t.repo","priority":-1`, "Yumrepo[new] changed yumrepo_created", nil, map[string]string{"/etc/yum.repos.d/t.repo": "[new]\npriority=-1\n"}},
		{"another directory", `"target":"/srv/t.repo","timeout":5`, "Yumrepo[new] changed yumrepo_created", nil, map[string]string{"/etc/yum.repos.d/t.repo": "[new]\ntimeout=5\n"}},
		{"reposdir", `"timeout":5`, "Yumrepo[new] changed yumrepo_created", map[string]string{"/etc/yum.conf": "[main]\nreposdir=/etc/none, /etc/a\n /etc/b\n", "/etc/a": "/", "/etc/b": "/"}, map[string]string{"/etc/b/new.repo": "[new]\ntimeout=5\n"}},
		{"in the configuration", `"timeout":5`, "Yumrepo[new] changed timeout(1 -> 5)", map[string]string{"/etc/yum.conf": "[main]\nx=1\n[new]\ntimeout = 1\n"}, map[string]string{"/etc/yum.conf": "[main]\nx=1\n[new]\ntimeout=5\n"}},
		{"a password", `"password":"s3cret"`, "Yumrepo[new] changed password([redacted] -> [redacted])", map[string]string{"/etc/yum.repos.d/x.repo": "[new]\npassword=old\n"}, map[string]string{"/etc/yum.repos.d/x.repo": "[new]\npassword=s3cret\n"}},
		{"a broken file elsewhere", `"timeout":5`, "Yumrepo[new] changed yumrepo_created", map[string]string{"/etc/yum.repos.d/x.repo": "\x00\xff\nwrong\n"}, map[string]string{"/etc/yum.repos.d/new.repo": "[new]\ntimeout=5\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			tree(t, h, map[string]string{"/etc/yum.repos.d/base.repo": base})
			tree(t, h, c.files)
			r := "Yumrepo[new] {" + c.params + "}"
			if c.out != "" {
				c.out += "\n"
			}
			noop := strings.Replace(c.out, "] changed", "] noop", 1)
			for i, want := range []string{noop, c.out, ""} {
				if out := hosttest.Apply(t, h, all, i == 0, r); out != want {
					t.Errorf("run %d: %swant %s", i, out, want)
				}
			}
			want := map[string]string{"/etc/yum.repos.d/base.repo": base}
			for _, files := range []map[string]string{c.files, c.want} {
				for name, text := range files {
					want[name] = text
				}
			}
			for name, text := range want {
				got, err := os.ReadFile(h.Path(name))
				info, _ := os.Stat(h.Path(name))
				switch {
				case text == "/":
				case text == "-":
					if !os.IsNotExist(err) {
						t.Errorf("%s is there: %v", name, err)
					}
				case err != nil || string(got) != text:
					t.Errorf("%s is %q, %v, want %q", name, got, err, text)
				case c.want[name] != "" && info.Mode() != 0o644:
					t.Errorf("%s has the mode %v", name, info.Mode())
				}
			}
		})
	}
}

// TestNoDirectory checks that a host without directories gets the repository in the main configuration.
func TestNoDirectory(t *testing.T) {
	h := hosttest.Host(t)
	tree(t, h, map[string]string{"/etc/yum.conf": "[main]\nx=1"})
	hosttest.Apply(t, h, all, false, `Yumrepo[new] {"timeout":5,"target":"x"}`)
	if got, err := os.ReadFile(h.Path("/etc/yum.conf")); err != nil || string(got) != "[main]\nx=1\n[new]\ntimeout=5\n" {
		t.Errorf("%q, %v", got, err)
	}
	if out := hosttest.Apply(t, h, all, false, `Yumrepo[new] {"ensure":"absent"}`) + hosttest.Apply(t, h, all, false, `Yumrepo[new] {"ensure":"absent"}`); out != "Yumrepo[new] changed yumrepo_removed\n" {
		t.Error(out)
	}
}

// TestSlash checks that a name with a slash does not lead to a file in another directory.
func TestSlash(t *testing.T) {
	h := hosttest.Host(t)
	tree(t, h, map[string]string{"/etc/yum.repos.d/a.repo": "[x/y]\ntimeout=1\n"})
	if out := hosttest.Apply(t, h, all, false, `Yumrepo[../../new] {"timeout":5}`); !strings.Contains(out, "the name has a slash, so it cannot be the name of a new file. Set target") {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, all, false, `Yumrepo[x/y] {"timeout":1}`, `Yumrepo[a/b] {"timeout":5,"target":"c"}`, `Yumrepo[no/no] {"ensure":"absent"}`); out != "Yumrepo[a/b] changed yumrepo_created\n" {
		t.Error(out)
	}
	if got, err := os.ReadFile(h.Path("/etc/yum.repos.d/c.repo")); err != nil || string(got) != "[a/b]\ntimeout=5\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestMalformed checks that a file with lines that are not understood is not changed.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"[new]\ntimeout=1\nwrong\n":          "line 3 of /etc/yum.repos.d/new.repo is neither a section nor a setting",
		"timeout=1\n[new]\n":                 "line 1 of /etc/yum.repos.d/new.repo is neither",
		"[new]\ntimeout=1\n[new]\n":          "the repository is defined twice",
		"[new]\ntimeout=1\n\x00\xff\x00[x\n": "line 3 of /etc/yum.repos.d/new.repo is neither",
	} {
		h := hosttest.Host(t)
		tree(t, h, map[string]string{"/etc/yum.repos.d/new.repo": text})
		if out := hosttest.Apply(t, h, all, false, `Yumrepo[new] {"timeout":5}`); !strings.Contains(out, want) {
			t.Error(out)
		}
		if got, _ := os.ReadFile(h.Path("/etc/yum.repos.d/new.repo")); string(got) != text {
			t.Errorf("the file is %q", got)
		}
	}
}

// TestProperties checks that the list has all properties of the type.
func TestProperties(t *testing.T) {
	want := slices.Sorted(slices.Values(append(properties, "ensure")))
	if got := slices.Sorted(slices.Values(types.Find("yumrepo").Properties)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRefused(t *testing.T) {
	for params, want := range map[string]string{
		`"enabled":"maybe"`:     "The parameter enabled must be 1, 0, true",
		`"baseurl":"x"`:         "The parameter baseurl must be URLs",
		`"descr":"a\nb"`:        "The parameter descr must be one line",
		`"name":"main"`:         "The parameter name must be one line without ], and not main",
		`"target":"a\nb"`:       "The parameter target must be one line",
		`"priority":"high"`:     "The parameter priority must be a number",
		`"exclude":["a","b"]`:   "The parameter exclude must be a string",
		`"ensure":"installed"`:  "The parameter ensure cannot be",
		`"metadata_expire":"x"`: "The parameter metadata_expire must be a time",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), all, false, `Yumrepo[new] {`+params+`}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// A file is its text until it is changed. A value that was set is found.
func FuzzFile(f *testing.F) {
	f.Add(base, "base", "baseurl", "x")
	f.Add("[a]\n b=1\n  c=2\n#x\n  d=3", "a", "c", "1")
	f.Fuzz(func(t *testing.T, text, name, key, value string) {
		file := &file{text: text}
		file.parse()
		if file.String() != text {
			t.Fatalf("%q became %q", text, file)
		}
		plain := func(s string) bool {
			return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" && !strings.HasPrefix(s, "rem")
		}
		if !plain(name) || !plain(key) || !plain(value) || value == absent {
			return
		}
		s := file.find(name)
		if s == nil {
			s = file.add(name)
		}
		s.set(key, value)
		if got := s.value(key); got != value {
			t.Errorf("%q has %q, want %q", s.lines, got, value)
		}
	})
}
