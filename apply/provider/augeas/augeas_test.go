package augeas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply"
	"bolt/apply/provider/hosttest"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

var types = map[string]resource.Type{"Augeas": Type()}

const (
	hosts  = "# hosts\n127.0.0.1 localhost\n10.0.0.1 a b\n"
	sysctl = "a = 1\nb=2 # odd\n"
)

// A site is a root with files.
type site struct {
	*testing.T
	root string
	host *resource.Host
}

func newSite(t *testing.T) *site {
	s := &site{T: t, root: t.TempDir(), host: resource.NewHost()}
	s.put("etc/hosts", hosts)
	s.put("etc/sysctl.conf", sysctl)
	return s
}

func (s *site) put(name, text string) {
	s.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		s.Fatal(err)
	}
}

func (s *site) apply(noop bool, params string) string {
	s.Helper()
	out, err := hosttest.Try(s.T, s.host, types, noop, fmt.Sprintf(`Augeas[x] {"root":"%s",%s}`, s.root, params))
	if err != nil {
		return "refused: " + err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(out, s.root, "ROOT"))
}

func (s *site) has(name, want string) {
	s.Helper()
	if got, err := os.ReadFile(filepath.Join(s.root, name)); string(got) != want {
		s.Errorf("%s is %q, %v, want %q", name, got, err, want)
	}
}

// names fails if the directory etc has other files.
func (s *site) names(want ...string) {
	s.Helper()
	var got []string
	list, err := os.ReadDir(filepath.Join(s.root, "etc"))
	for _, e := range list {
		got = append(got, e.Name())
	}
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("the files are %q, %v, want %q", got, err, want)
	}
}

const (
	hostsLens  = `"incl":"/etc/hosts","lens":"Hosts.lns",`
	sysctlLens = `"incl":"/etc/sysctl.conf","lens":"Simplevars.lns",`
	changed    = "Augeas[x] changed returns(need_to_run -> 0)"
)

// Each case applies changes with noop, then twice. The second time nothing changes.
func TestChanges(t *testing.T) {
	const lens = `"incl":"/etc/sysctl.conf","lens":"Sysctl.lns",`
	for _, c := range []struct{ name, params, start, want string }{
		{"set", `"changes":"set a 5"`, "a = 1\nb = 2\n", "a = 5\nb = 2\n"},
		{"set, an absolute path", `"context":"/files","changes":["set /files/etc/sysctl.conf/c 'x  y'"]`, "a = 1\n", "a = 1\nc = x  y\n"},
		{"quotes and backslashes", `"changes":["set c \"it's \\\"1\\\" \\\\d [x] ]\""]`, "a = 1\n", "a = 1\nc = it's \"1\" \\\\d [x] ]\n"},
		{"lines", `"changes":"set a 2\n\n  set b 3  \n"`, "a = 1\n", "a = 2\nb = 3\n"},
		{"rm", `"changes":["rm a","remove c"]`, "a = 1\nb = 2\nc = 3\n", "b = 2\n"},
		{"a condition in a path", `"changes":"set *[label() = 'b'] 7"`, "a = 1\nb = 2\n", "a = 1\nb = 7\n"},
		{"a pattern in a path", `"changes":"rm *[label() =~ regexp('net\\.x[0-9]+')]"`, "net.x1 = 1\nnet.x = 2\nneta = 1\n", "net.x = 2\nneta = 1\n"},
		{"setm", `"changes":"setm . \"*[. = '1']\" 9"`, "a = 1\nb = 2\nc = 1\n", "a = 9\nb = 2\nc = 9\n"},
		{"ins", `"changes":["ins b before c","set b 2"],"onlyif":"match b size == 0"`, "a = 1\nc = 3\n", "a = 1\nb = 2\nc = 3\n"},
		{"insert", `"changes":["insert b after a","set b 2"],"onlyif":"match b size == 0"`, "a = 1\nc = 3\n", "a = 1\nb = 2\nc = 3\n"},
		{"mv", `"changes":["set z 1","mv z y"]`, "a = 1\n", "a = 1\ny = 1\n"},
		{"rename", `"changes":["rename a z"],"onlyif":"match a size > 0"`, "a = 1\nb = 2\n", "z = 1\nb = 2\n"},
		{"defvar", `"changes":["defvar v a","set $v 4"]`, "a = 1\n", "a = 4\n"},
		{"defnode", `"changes":["defnode v q 1","set $v 4"]`, "a = 1\n", "a = 1\nq = 4\n"},
		{"touch and clear", `"changes":["touch #comment[1]","set #comment[1] hello"]`, "a = 1\n", "a = 1\n# hello\n"},
		{"unchanged", `"changes":["set a 1","touch a","rm q"]`, "a = 1\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.put("etc/sysctl.conf", c.start)
			out, noop := changed, strings.Replace(changed, "changed", "noop", 1)
			if c.want == "" {
				c.want, out, noop = c.start, "", ""
			}
			if got := s.apply(true, lens+c.params); got != noop {
				t.Errorf("noop: %s", got)
			}
			s.has("etc/sysctl.conf", c.start)
			if got := s.apply(false, lens+c.params); got != out {
				t.Errorf("%s", got)
			}
			s.has("etc/sysctl.conf", c.want)
			if got := s.apply(false, lens+c.params); got != "" {
				t.Errorf("again: %s", got)
			}
			s.names("hosts", "sysctl.conf")
		})
	}
}

// TestConditions checks onlyif.
func TestConditions(t *testing.T) {
	for condition, holds := range map[string]bool{
		"get 2/ipaddr == 10.0.0.1":                              true,
		"get 2/ipaddr != 10.0.0.1":                              false,
		"get 2/none == ''":                                      true,
		"get 2/none != x":                                       true,
		"get 2/ipaddr =~ ^10\\\\..*1$":                          true,
		"get 2/alias < c":                                       true,
		"get count > 9":                                         false,
		"match * size == 3":                                     true,
		"match * size != 3":                                     false,
		"match none size > 0":                                   false,
		"match */alias size >= 1":                               true,
		"match */alias include /files/etc/hosts/2/alias":        true,
		"match */alias not_include /files/etc/hosts/2/alias":    false,
		"match */alias == ['/files/etc/hosts/2/alias']":         true,
		"match */alias != ['/files/etc/hosts/2/alias']":         false,
		"values */canonical include localhost":                  true,
		"values */canonical not_include localhost":              false,
		"values */canonical == ['localhost', \\\"a\\\"]":        true,
		"values */canonical != ['localhost','a']":               false,
		"values none == []":                                     true,
		"match *[ipaddr = '127.0.0.1' and canonical] size == 1": true,
	} {
		t.Run(condition, func(t *testing.T) {
			s := newSite(t)
			want := ""
			if holds {
				want = strings.Replace(changed, "changed", "noop", 1)
			}
			if got := s.apply(true, hostsLens+`"changes":"set 2/canonical z","onlyif":"`+condition+`"`); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestContexts checks that a context finds its lens, and that relative and absolute paths work.
func TestContexts(t *testing.T) {
	s := newSite(t)
	params := `"context":"/files/etc/hosts","changes":["set 3/ipaddr 10.0.0.3","set 3/canonical c"]`
	if got := s.apply(false, params) + s.apply(false, params); got != changed {
		t.Error(got)
	}
	s.has("etc/hosts", hosts+"10.0.0.3\tc\n")
	params = `"context":"/files/etc","changes":["set hosts/3/canonical d"]`
	if got := s.apply(false, params) + s.apply(false, params); got != changed {
		t.Error(got)
	}
	params = `"changes":["set /files/etc/hosts/3/canonical e"]`
	if got := s.apply(false, params) + s.apply(false, params); got != changed {
		t.Error(got)
	}
	s.has("etc/hosts", hosts+"10.0.0.3\te\n")
	// All of the tree: the file is removed. Its removal is a change once.
	params = `"changes":"rm /files/etc/hosts"`
	if got := s.apply(true, params); got != strings.Replace(changed, "changed", "noop", 1) {
		t.Error(got)
	}
	s.names("hosts", "sysctl.conf")
	if got := s.apply(false, params) + s.apply(false, params); got != changed {
		t.Error(got)
	}
	s.names("sysctl.conf")
}

// TestForce checks that force executes changes that change nothing.
func TestForce(t *testing.T) {
	s := newSite(t)
	params := hostsLens + `"force":true,"changes":"set 2/canonical a"`
	if got := s.apply(false, params); got != changed {
		t.Error(got)
	}
	if got := s.apply(false, params+`,"onlyif":"match none size > 0"`); got != "" {
		t.Error(got)
	}
	s.has("etc/hosts", hosts)
}

// TestLoadPath checks lenses in other directories.
func TestLoadPath(t *testing.T) {
	s := newSite(t)
	s.put("lenses/boltx.aug", "module Boltx =\n  let lns = [ key /[a-z]+/ . del /:/ \":\" . store /[0-9]+/ . del /\\n/ \"\\n\" ]*\n")
	s.put("etc/x", "a:1\n")
	params := fmt.Sprintf(`"incl":"/etc/x","lens":"Boltx.lns","load_path":["/none:%s/lenses"],"type_check":true,"changes":"set b 2"`, s.root)
	if got := s.apply(false, params) + s.apply(false, params); got != changed {
		t.Error(got)
	}
	s.has("etc/x", "a:1\nb:2\n")
}

// TestDiff checks that a difference is shown, except of secrets.
func TestDiff(t *testing.T) {
	for params, want := range map[string]string{
		`"changes":"set 2/canonical z"`:                                 "-10.0.0.1 a b\n+10.0.0.1 z b\n",
		`"changes":"set 2/canonical z","show_diff":false`:               "",
		`"changes":{"sensitive":"set 2/canonical z"}`:                   "",
		`"changes":["rm 2","set 4/ipaddr 1.1.1.1","set 4/canonical q"]`: "-10.0.0.1 a b\n+1.1.1.1\tq\n",
	} {
		s := newSite(t)
		s.host.Diffs = true
		var backups []string
		s.host.Backup = func(path string) error { backups = append(backups, path); return nil }
		v, err := ordered.ParseJSON([]byte(`{"root":"` + s.root + `",` + hostsLens + params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r := &catalog.Resource{Kind: catalog.KindType, Ref: catalog.Ref{Type: "Augeas", Title: "x"}, Params: v.(*ordered.Map)}
		if m, is := r.Params.Value("changes").(*ordered.Map); is {
			r.Params.Set("changes", m.Value("sensitive"))
			r.Sensitive = []string{"changes"}
		}
		c := &catalog.Catalog{}
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
		run, err := apply.Prepare(c, s.host, apply.Options{Types: types})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := run.Apply(t.Context(), func(r *report.Result) {
			for _, e := range r.Events {
				got += e.Diff
			}
		}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", params, got)
		}
		if !slices.Equal(backups, []string{s.root + "/etc/hosts"}) {
			t.Errorf("backups are %q", backups)
		}
		s.names("hosts", "sysctl.conf")
	}
}

// TestFailures checks that no file is changed after a failure, and that a malformed file is not overwritten.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		params, want string
		prepare      func(s *site)
	}{
		"a bad path":      {params: `"changes":["set 2/canonical z","set ^ x"]`, want: "augtool: "},
		"a bad value":     {params: `"changes":["set 2/canonical 'x y'"]`, want: "put_failed"},
		"secret":          {params: `"changes":{"sensitive":["set 2/canonical 'x hidden'"]}`, want: "the changes are secret"},
		"several matches": {params: `"changes":["set * x"]`, want: "augtool: "},
		"no lens":         {params: `"incl":"/etc/hosts","lens":"Nolens.lns","changes":["set 9/ipaddr 1.1.1.1"]`, want: "augtool: "},
		"a malformed file": {params: `"changes":["set 1/ipaddr 1.1.1.1","set 1/canonical x"]`, want: "error in /etc/hosts:3.0 (parse_skel_failed)", prepare: func(s *site) {
			s.put("etc/hosts", "127.0.0.1\n\x01 !! \xff\n")
		}},
		"no augtool": {params: `"changes":"set 2/canonical z"`, want: "the program augtool is missing. Install the package augeas-tools", prepare: func(s *site) {
			s.host.Env = []string{"PATH=/none"}
		}},
		"noise": {params: `"changes":"set 2/canonical z"`, want: "augtool printed an unexpected output", prepare: func(s *site) {
			s.host.Run = func(context.Context, *resource.Command) (*resource.Output, error) {
				return &resource.Output{Stdout: []byte("\x00\xff\x1b/bolt = \n")}, nil
			}
		}},
		"hanging": {params: `"changes":"set 2/canonical z"`, want: "augtool: timed out", prepare: func(s *site) {
			s.host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
				c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
				return resource.Exec(ctx, c)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if c.prepare != nil {
				c.prepare(s)
			}
			before, err := os.ReadFile(s.root + "/etc/hosts")
			if err != nil {
				t.Fatal(err)
			}
			params := c.params
			if !strings.Contains(params, "incl") {
				params = hostsLens + params
			}
			if out := s.apply(false, params); !strings.Contains(out, c.want) || strings.Contains(out, "hidden") || strings.ContainsAny(out, "\x00\x1b") {
				t.Error(out)
			}
			s.has("etc/hosts", string(before))
			s.names("hosts", "sysctl.conf")
		})
	}
}

func TestRefused(t *testing.T) {
	for params, want := range map[string]string{
		`"changes":"frobnicate x"`:           `has the unknown command "frobnicate"`,
		`"changes":"get x == y"`:             "has the command get, which it cannot have",
		`"changes":"set a[b 1"`:              "a bracket or quote is not closed",
		`"changes":"set a] 1"`:               "a bracket ] has no [",
		`"changes":"set a 'x"`:               "a quote is not closed",
		`"changes":"set a"`:                  "an argument is missing",
		`"changes":"rm"`:                     "has the command rm, which needs 1 arguments",
		`"changes":"ins a beside b"`:         "needs before or after",
		`"changes":{"sensitive":"secret x"}`: "has a command that is not understood; its value is secret",
		`"onlyif":"set a 1"`:                 "has the command set, which it cannot have",
		`"onlyif":"match a size = 1"`:        "a comparator must be",
		`"onlyif":"match a size =~ 1"`:       "which cannot be compared with =~",
		`"onlyif":"values a size > 1"`:       "has a condition that is not understood after values",
		`"onlyif":"match a == [x]"`:          "is not a list of strings",
		`"onlyif":"get a =~ ("`:              "has a pattern that is not a regular expression",
		`"onlyif":"size > 1"`:                "must begin with get, match or values",
		`"lens":"X.lns"`:                     "The parameter lens must be used together with incl",
		`"root":"x"`:                         "The parameter root must be an absolute path",
	} {
		if _, err := hosttest.Try(t, resource.NewHost(), types, false, `Augeas[x] {`+params+`}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestArray reads lists as Ruby does.
func TestArray(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`: nil, ` [ 'a' , "b" ] `: {"a", "b"}, `['it\'s',"a\n\"b\"\\", 'c\n']`: {"it's", "a\n\"b\"\\", `c\n`}, `['a',]`: {"a"},
	} {
		if got, err := array(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `[`, `['a' 'b']`, `['a]`, `[a]`, `{}`} {
		if got, err := array(text); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// FuzzParse checks that no line makes the parser fail in another way than with an error.
func FuzzParse(f *testing.F) {
	f.Add(`set a[b = "c d"]/e 'f \' g'`, "/files/")
	f.Add(`defnode x y\ z`, "")
	f.Fuzz(func(t *testing.T, line, context string) {
		c, err := parse(line, context)
		if err == nil && len(c.args) != len(commands[c.name]) {
			t.Errorf("%q has %q", line, c.args)
		}
		_, _ = array(line)
	})
}
