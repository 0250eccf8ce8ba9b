package htpasswd

import (
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func types() map[string]resource.Type {
	return map[string]resource.Type{"Htpasswd": Type(), "Htgroup": Group()}
}

func named(user, name string) *resource.Resource {
	return &resource.Resource{Ref: catalog.Ref{Type: "Htpasswd", Title: name}, Params: ordered.Of("username", user)}
}

func TestApply(t *testing.T) {
	const start = "# top\n# Puppet Name: ann\nann:h1\n\nbob:h2\r\n # Puppet Name: no\neve:h3:Eve\nbob:h9\n# Puppet Name: of none\n# Puppet Name: gone\ngone:h4"
	for _, c := range []struct {
		name      string
		resources []string
		out, want string // want "" for start
	}{
		{"in the desired state", []string{`Htpasswd[ann] {"cryptpasswd":"h1"}`, `Htpasswd[x] {"username":"bob","cryptpasswd":"h2"}`, `Htpasswd[eve] {"cryptpasswd":"h3:Eve"}`, `Htpasswd[gone] {}`, `Htpasswd[none] {"ensure":"absent"}`}, "", ""},
		{"create", []string{`Htpasswd[new] {"cryptpasswd":"$apr1$x$y"}`, `Htpasswd[other] {"username":"u v","cryptpasswd":"h"}`}, "Htpasswd[new] changed htpasswd_created\nHtpasswd[other] changed htpasswd_created\n",
			start + "\n# Puppet Name: new\nnew:$apr1$x$y\n# Puppet Name: other\nu v:h\n"},
		{"change a line of a resource", []string{`Htpasswd[ann] {"cryptpasswd":"new"}`}, "Htpasswd[ann] changed cryptpasswd([old hash redacted] -> [new hash redacted])\n", strings.Replace(start, "ann:h1", "ann:new", 1) + "\n"},
		{"change a line of no resource, and remove a second line", []string{`Htpasswd[bob] {"cryptpasswd":"new"}`}, "Htpasswd[bob] changed cryptpasswd([old hash redacted] -> [new hash redacted])\n",
			strings.Replace(strings.Replace(start, "bob:h2\r\n", "# Puppet Name: bob\nbob:new\n", 1), "bob:h9\n", "", 1) + "\n"},
		{"another user", []string{`Htpasswd[ann] {"username":"anna"}`}, "Htpasswd[ann] changed username(ann -> anna)\n", strings.Replace(start, "ann:h1", "anna:h1", 1) + "\n"},
		{"another user who has a line", []string{`Htpasswd[ann] {"username":"eve","cryptpasswd":"h1"}`}, "Htpasswd[ann] changed username(ann -> eve) cryptpasswd([old hash redacted] -> [new hash redacted])\n",
			strings.Replace(strings.Replace(start, "# Puppet Name: ann\nann:h1\n", "", 1), "eve:h3:Eve", "# Puppet Name: ann\neve:h1", 1) + "\n"},
		{"users change their names", []string{`Htpasswd[ann] {"username":"gone","cryptpasswd":"a"}`, `Htpasswd[gone] {"username":"ann","cryptpasswd":"b"}`}, "Htpasswd[ann] changed username(ann -> gone) cryptpasswd([old hash redacted] -> [new hash redacted])\nHtpasswd[gone] changed username(gone -> ann) cryptpasswd([old hash redacted] -> [new hash redacted])\n",
			strings.Replace(strings.Replace(start, "# Puppet Name: ann\nann:h1\n", "", 1), "# Puppet Name: gone\ngone:h4", "# Puppet Name: ann\ngone:a\n# Puppet Name: gone\nann:b\n", 1)},
		{"remove", []string{`Htpasswd[ann] {"ensure":"absent"}`, `Htpasswd[b] {"ensure":"absent","username":"bob"}`}, "Htpasswd[ann] changed htpasswd_removed\nHtpasswd[b] changed htpasswd_removed\n",
			"# top\n\n # Puppet Name: no\neve:h3:Eve\n# Puppet Name: of none\n# Puppet Name: gone\ngone:h4\n"},
		{"a hash is missing", []string{`Htpasswd[new] {}`}, "Htpasswd[new] failed FAILED change of ensure from absent to present failed: a new user needs the parameter cryptpasswd\n", ""},
		{"one failure", []string{`Htpasswd[new] {}`, `Htpasswd[other] {"cryptpasswd":"h"}`}, "Htpasswd[new] failed FAILED change of ensure from absent to present failed: a new user needs the parameter cryptpasswd\nHtpasswd[other] changed htpasswd_created\n", start + "\n# Puppet Name: other\nother:h\n"},
		{"two resources about one user", []string{`Htpasswd[ann] {"cryptpasswd":"h5"}`, `Htpasswd[x] {"username":"ann","cryptpasswd":"h6"}`}, "Htpasswd[ann] failed FAILED Htpasswd[x] is about the same user of the file PATH\nHtpasswd[x] failed FAILED Htpasswd[ann] is about the same user of the file PATH\n", ""},
		{"secret", []string{`Htpasswd[ann] {"cryptpasswd":{"sensitive":"s3cret"}}`}, "Htpasswd[ann] changed cryptpasswd([redacted] -> [redacted])\n", strings.Replace(start, "ann:h1", "ann:s3cret", 1) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			path := h.Path(defaultTarget)
			hosttest.Write(t, path, start, 0o640)
			apply := func(noop bool) string {
				return strings.ReplaceAll(hosttest.Apply(t, h, types(), noop, c.resources...), path, "PATH")
			}
			noop := apply(true)
			if want := strings.ReplaceAll(c.out, " changed ", " noop "); !strings.Contains(c.out, "needs") && noop != want {
				t.Errorf("noop:\n%s, want\n%s", noop, want)
			}
			if got := hosttest.Read(t, path); got != start {
				t.Errorf("noop has written %q", got)
			}
			if out := apply(false); out != c.out {
				t.Errorf("got\n%s, want\n%s", out, c.out)
			}
			want := c.want
			if want == "" {
				want = start
			}
			if got := hosttest.Read(t, path); got != want {
				t.Errorf("file is\n%q, want\n%q", got, want)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
				t.Errorf("mode is %o", info.Mode())
			}
			if again := apply(false); strings.Contains(again, "changed") {
				t.Errorf("the second time: %s", again)
			}
		})
	}
}

// TestLines: resources do not lose the lines of each other.
func TestLines(t *testing.T) {
	h := hosttest.Host(t)
	file, link := h.Path("/f"), h.Path("/link")
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, start string
		resources   []string
		out, want   string
	}{
		{"a file and a link to it", "", []string{`Htpasswd[a] {"cryptpasswd":"1","target":"FILE"}`, `Htpasswd[b] {"cryptpasswd":"2","target":"LINK"}`},
			"Htpasswd[a] changed htpasswd_created\nHtpasswd[b] changed htpasswd_created\n", "# Puppet Name: a\na:1\n# Puppet Name: b\nb:2\n"},
		{"a name that has the mark", "", []string{`Htpasswd[x Puppet Name: b] {"username":"u1","cryptpasswd":"1","target":"FILE"}`, `Htpasswd[b] {"cryptpasswd":"2","target":"FILE"}`},
			"Htpasswd[x Puppet Name: b] changed htpasswd_created\nHtpasswd[b] changed htpasswd_created\n", "# Puppet Name: x Puppet Name: b\nu1:1\n# Puppet Name: b\nb:2\n"},
		{"users change their names without hashes", "# Puppet Name: a\na:1\n# Puppet Name: b\nb:2\n", []string{`Htpasswd[a] {"username":"b","target":"FILE"}`, `Htpasswd[b] {"username":"a","target":"FILE"}`},
			"Htpasswd[a] changed username(a -> b)\nHtpasswd[b] changed username(b -> a)\n", "# Puppet Name: a\nb:2\n# Puppet Name: b\na:1\n"},
		{"a blank that is not ASCII", "", []string{`Htgroup[g] {"users":["a\u00a0b"],"target":"FILE"}`}, "Htgroup[g] changed htgroup_created\n", "g:a\u00a0b\n"},
	} {
		hosttest.Write(t, file, c.start, 0o600)
		for i, r := range c.resources {
			c.resources[i] = strings.NewReplacer("FILE", file, "LINK", link).Replace(r)
		}
		if out := hosttest.Apply(t, h, types(), false, c.resources...); out != c.out {
			t.Errorf("%s: got\n%s, want\n%s", c.name, out, c.out)
		}
		if got := hosttest.Read(t, file); got != c.want {
			t.Errorf("%s: the file is\n%q, want\n%q", c.name, got, c.want)
		}
		if again := hosttest.Apply(t, h, types(), false, c.resources...); again != "" {
			t.Errorf("%s, again: %s", c.name, again)
		}
	}
}

// TestTargets: users of one name are in several files, and a new file is private.
func TestTargets(t *testing.T) {
	h := hosttest.Host(t)
	one, two := h.Path("/one"), h.Path("/two")
	r := []string{`Htpasswd[a] {"username":"u","cryptpasswd":"1","target":"` + one + `"}`, `Htpasswd[b] {"username":"u","cryptpasswd":"2","target":"` + two + `"}`}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "Htpasswd[a] changed htpasswd_created\nHtpasswd[b] changed htpasswd_created\n" {
		t.Error(out)
	}
	if hosttest.Read(t, one) != "# Puppet Name: a\nu:1\n" || hosttest.Read(t, two) != "# Puppet Name: b\nu:2\n" {
		t.Errorf("%q %q", hosttest.Read(t, one), hosttest.Read(t, two))
	}
	if info, _ := os.Stat(one); info.Mode().Perm() != newMode {
		t.Errorf("mode is %o", info.Mode())
	}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "" {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types(), false, `Htpasswd[u] {"cryptpasswd":"1","target":"`+h.Path("/no/dir")+`"}`); !strings.Contains(out, "no such file or directory") {
		t.Error(out)
	}
}

func TestGroups(t *testing.T) {
	const start = "# c\nops: bob ann\r\n# Puppet Name: dev\ndev:eve\nempty:\ndev: ann\n"
	for _, c := range []struct {
		name      string
		resources []string
		out, want string // want "" for start
	}{
		{"in the desired state", []string{`Htgroup[ops] {"users":["ann","bob","ann"]}`, `Htgroup[dev] {"users":["eve","ann"]}`, `Htgroup[empty] {"users":[]}`, `Htgroup[none] {"ensure":"absent"}`}, "", ""},
		{"create", []string{`Htgroup[new] {"users":["z","a"]}`}, "Htgroup[new] changed htgroup_created\n", start + "new:a z\n"},
		{"change", []string{`Htgroup[ops] {"users":"eve"}`, `Htgroup[dev] {"users":["x"]}`}, "Htgroup[ops] changed users(ann bob -> eve)\nHtgroup[dev] changed users(ann eve -> x)\n", "# c\nops:eve\n# Puppet Name: dev\ndev:x\nempty:\n"},
		{"remove", []string{`Htgroup[dev] {"ensure":"absent"}`}, "Htgroup[dev] changed htgroup_removed\n", "# c\nops: bob ann\r\nempty:\n"},
		{"users are missing", []string{`Htgroup[new] {}`}, "Htgroup[new] failed FAILED change of ensure from absent to present failed: a new group needs the parameter users\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			path := h.Path(groupTarget)
			hosttest.Write(t, path, start, 0o640)
			if noop, want := hosttest.Apply(t, h, types(), true, c.resources...), strings.ReplaceAll(c.out, " changed ", " noop "); !strings.Contains(c.out, "needs") && noop != want || hosttest.Read(t, path) != start {
				t.Errorf("noop:\n%s, want\n%s", noop, want)
			}
			if out := hosttest.Apply(t, h, types(), false, c.resources...); out != c.out {
				t.Errorf("got\n%s, want\n%s", out, c.out)
			}
			want := c.want
			if want == "" {
				want = start
			}
			if got := hosttest.Read(t, path); got != want {
				t.Errorf("file is\n%q, want\n%q", got, want)
			}
			if again := hosttest.Apply(t, h, types(), false, c.resources...); strings.Contains(again, "changed") {
				t.Errorf("the second time: %s", again)
			}
		})
	}
	h := hosttest.Host(t)
	hosttest.Write(t, h.Path(groupTarget), "s3cret\n", 0o600)
	if out := hosttest.Apply(t, h, types(), false, `Htgroup[a] {"users":"u"}`); !strings.Contains(out, "is malformed") || strings.Contains(out, "s3cret") {
		t.Error(out)
	}
}

// TestMalformed: a file that is not a password file is not changed, and the error has no part of it.
func TestMalformed(t *testing.T) {
	for _, text := range []string{"s3cret\n", "a:b\ns3cret", ":s3cret\n", "a:b\n<s3cret>\n", "a\x00:s3cret\n"} {
		h := hosttest.Host(t)
		path := h.Path("/f")
		hosttest.Write(t, path, text, 0o600)
		for _, params := range []string{`"cryptpasswd":"h"`, `"ensure":"absent"`} {
			out := hosttest.Apply(t, h, types(), false, `Htpasswd[a] {`+params+`,"target":"`+path+`"}`)
			if !strings.Contains(out, path+": line ") || !strings.Contains(out, "is malformed") || strings.Contains(out, "s3cret") {
				t.Errorf("%q: %s", text, out)
			}
		}
		if got := hosttest.Read(t, path); got != text {
			t.Errorf("%q has become %q", text, got)
		}
	}
	h := hosttest.Host(t)
	if out := hosttest.Apply(t, h, types(), false, `Htpasswd[a] {"cryptpasswd":"h","target":"`+h.Root+`"}`); !strings.Contains(out, "is not a regular file") && !strings.Contains(out, "is a directory") {
		t.Error(out)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Htpasswd[a:b] {}`:                                    `The parameter username must be a user name without colons, and without # and blanks at its ends, and is "a:b"`,
		`Htpasswd[x] {"username":"#a"}`:                       "The parameter username",
		`Htpasswd[x] {"username":" a"}`:                       "The parameter username",
		`Htpasswd[x] {"username":"a\nb"}`:                     "The parameter username",
		`Htpasswd[x] {"username":""}`:                         "The parameter username",
		`Htpasswd[x] {"name":"a\nb"}`:                         "The parameter name must be one line",
		`Htpasswd[x] {"cryptpasswd":"a\nb:s3cret"}`:           "The parameter cryptpasswd must be a hash on one line, without blanks at its ends",
		`Htpasswd[x] {"cryptpasswd":""}`:                      "The parameter cryptpasswd",
		`Htpasswd[x] {"cryptpasswd":{"sensitive":"s3cret "}}`: "The parameter cryptpasswd",
		`Htgroup[a:b] {}`:                                     "The parameter name must be a group without colons",
		`Htgroup[#a] {}`:                                      "The parameter name",
		`Htgroup[a] {"users":["x y"]}`:                        "The parameter users must be names without blanks",
		`Htgroup[a] {"target":"f"}`:                           "The parameter target must be an absolute path",
		`Htpasswd[x] {"target":"f"}`:                          "The parameter target must be an absolute path",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types(), false, text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a:b\n", "# Puppet Name: a\na:b\r\n\n# c\nb:c:d", "# Puppet Name: a\n# Puppet Name: b \n\na:", "a", ":\n", " #\n\t\n# Puppet Name: x"} {
		f.Add(s, "a", "x")
	}
	f.Fuzz(func(t *testing.T, text, user, name string) {
		table, err := parse(text)
		if err != nil {
			return
		}
		if want := strings.TrimSuffix(text, "\n"); strings.TrimSuffix(table.text(), "\n") != want {
			t.Fatalf("%q is written as %q", text, table.text())
		}
		if _, err := (passwords{}).New(named(user, name)); err != nil {
			return
		}
		again, err := parse(table.set(entry{mark: marker + name, name: name, line: user + ":hash", user: user, hash: "hash"}).text())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range again {
			if e.of(user, name) {
				n++
			}
		}
		if at := again.find(user, name); n != 1 || again[at].user != user || again[at].hash != "hash" || again[at].name != strings.TrimRight(name, blanks) {
			t.Errorf("%q with %q of %q is %q", text, user, name, again)
		}
		if at := again.remove(user, name).find(user, name); at >= 0 {
			t.Errorf("%q: the user %q of %q is not removed", text, user, name)
		}
	})
}
