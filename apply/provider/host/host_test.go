package host

import (
	"os"
	"strings"
	"testing"

	"bolt/apply/provider/anchor"
	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/purge"
	"bolt/apply/resource"
)

func types() map[string]resource.Type {
	m := map[string]resource.Type{"Host": Type(), "Anchor": anchor.Type()}
	m["Resources"] = purge.Type(m)
	return m
}

func TestHosts(t *testing.T) {
	const start = "# top\n127.0.0.1  localhost\n::1 localhost ip6-localhost\n\n192.0.2.1 old.example.com old\r\n192.0.2.2 gone\n192.0.2.3 kept #note\nodd line\n192.0.2.2 gone # again"
	for _, c := range []struct {
		name      string
		resources []string
		out, want string // want "" for start
	}{
		{"create", []string{`Host[db.example.com] {"ip":"192.0.2.10","host_aliases":["db","d"]}`, `Host[web] {"ip":"2001:db8::1","comment":"the web"}`, `Host[none] {"ensure":"absent"}`},
			"Host[db.example.com] changed host_created\nHost[web] changed host_created\n", start + "\n192.0.2.10\tdb.example.com\tdb d\n2001:db8::1\tweb\t# the web\n"},
		{"change", []string{`Host[old.example.com] {"ip":"192.0.2.99","host_aliases":"older"}`},
			"Host[old.example.com] changed ip(192.0.2.1 -> 192.0.2.99) host_aliases(old -> older)\n", strings.Replace(start, "192.0.2.1 old.example.com old\r", "192.0.2.99\told.example.com\tolder", 1) + "\n"},
		{"no aliases", []string{`Host[old.example.com] {"host_aliases":[],"comment":""}`}, "Host[old.example.com] changed host_aliases(old -> )\n",
			strings.Replace(start, "192.0.2.1 old.example.com old\r", "192.0.2.1\told.example.com", 1) + "\n"},
		{"remove all", []string{`Host[gone] {"ensure":"absent"}`}, "Host[gone] changed host_removed\n", "# top\n127.0.0.1  localhost\n::1 localhost ip6-localhost\n\n192.0.2.1 old.example.com old\r\n192.0.2.3 kept #note\nodd line\n"},
		{"the last line counts", []string{`Host[localhost] {"ip":"127.0.0.1"}`}, "Host[localhost] changed ip(::1 -> 127.0.0.1)\n", strings.Replace(start, "::1 localhost ip6-localhost", "127.0.0.1\tlocalhost\tip6-localhost", 1) + "\n"},
		{"in sync", []string{`Host[kept] {"ip":"192.0.2.3","comment":"note","host_aliases":[]}`}, "", ""},
		{"no address", []string{`Host[new] {"ensure":"present"}`}, "Host[new] failed FAILED change of ensure from absent to present failed: the parameter ip is needed for a new entry\n", ""},
		{"purge", []string{`Resources[host] {"purge":true}`, `Host[localhost] {}`, `Host[k] {"name":"kept"}`}, "Host[old.example.com] changed host_removed\nHost[gone] changed host_removed\n",
			"# top\n127.0.0.1  localhost\n::1 localhost ip6-localhost\n\n192.0.2.3 kept #note\nodd line\n"},
		{"purge with noop", []string{`Resources[host] {"purge":true,"noop":true}`, `Host[localhost] {}`, `Host[kept] {}`, `Host[gone] {}`}, "Host[old.example.com] noop host_removed\n", ""},
		{"no purge", []string{`Resources[host] {}`}, "", ""},
		{"secret", []string{`Host[kept] {"comment":{"sensitive":"s3cret"}}`}, "Host[kept] changed comment([redacted] -> [redacted])\n", strings.Replace(start, "192.0.2.3 kept #note", "192.0.2.3\tkept\t# s3cret", 1) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			path := h.Path("/etc/hosts")
			hosttest.Write(t, path, start, 0o640)
			noop := hosttest.Apply(t, h, types(), true, c.resources...)
			if want := strings.ReplaceAll(c.out, " changed ", " noop "); c.name != "no address" && noop != want {
				t.Errorf("noop:\n%s, want\n%s", noop, want)
			}
			if got := hosttest.Read(t, path); got != start {
				t.Errorf("noop has written %q", got)
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
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
				t.Errorf("mode is %o", info.Mode())
			}
			if again := hosttest.Apply(t, h, types(), false, c.resources...); strings.Contains(again, " changed ") {
				t.Errorf("the second time: %s", again)
			}
		})
	}
}

func TestTarget(t *testing.T) {
	h := hosttest.Host(t)
	path, other := h.Path("/etc/hosts"), h.Path("/other")
	hosttest.Write(t, path, "192.0.2.1 one # c\n192.0.2.2 two\n", 0o644)
	r := []string{`Host[one] {"target":"` + other + `"}`, `Host[new] {"ip":"192.0.2.3","target":"` + other + `"}`}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "Host[one] changed target("+path+" -> "+other+")\nHost[new] changed host_created\n" {
		t.Error(out)
	}
	if hosttest.Read(t, path) != "192.0.2.2 two\n" || hosttest.Read(t, other) != "192.0.2.1\tone\t# c\n192.0.2.3\tnew\n" {
		t.Errorf("%q %q", hosttest.Read(t, path), hosttest.Read(t, other))
	}
	if out := hosttest.Apply(t, h, types(), false, r...); out != "" {
		t.Error(out)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Host[x] {"ip":"not-an-ip"}`:                 `The parameter ip must be an IP address, and has "not-an-ip"`,
		`Host[x] {"ip":{"sensitive":"not-an-ip"}}`:   `The parameter ip must be an IP address`,
		`Host[x] {"ip":"192.0.2.256"}`:               "The parameter ip",
		`Host[bad_-] {"ip":"192.0.2.2"}`:             "The parameter name must be a host name",
		`Host[x] {"host_aliases":["a b"]}`:           "The parameter host_aliases",
		`Host[x] {"comment":"a\nb"}`:                 "The parameter comment must be one line",
		`Resources[nonsense] {"purge":true}`:         "The parameter name must be a resource type",
		`Resources[exec] {"purge":true}`:             "The parameter purge cannot be true for exec",
		`Resources[user] {"unless_uid":["x"]}`:       "The parameter unless_uid",
		`Resources[user] {"unless_system_user":"x"}`: "The parameter unless_system_user",
	} {
		h := hosttest.Host(t)
		if _, err := hosttest.Try(t, h, types(), false, text); err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(want, "address") && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"127.0.0.1 localhost # x", "::1\tlocalhost ip6 # a # b", "# c", "1 a", "10.0.0.1 a#b c", "fe80::1%eth0 x\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := parse("", []string{text})[0]
		if r.Name == "" || (strings.ContainsAny(text, "\n\v\f\r") || strings.Contains(text, "\x85")) {
			return
		}
		out, err := line(r)
		if err != nil {
			t.Fatal(err)
		}
		again := parse("", []string{out})[0]
		if again.Name != r.Name || again.Values["ip"] != r.Values["ip"] || again.Values["host_aliases"] != r.Values["host_aliases"] || again.Values["comment"] != r.Values["comment"] {
			t.Errorf("%q is %v, and its line %q is %v", text, r, out, again)
		}
	})
}
