package inventory

import (
	"strings"
	"testing"
)

func TestParseURI(t *testing.T) {
	tests := []struct {
		in   string
		want uri
	}{
		{"h", uri{host: "h"}},
		{"h:99", uri{host: "h", port: 99}},
		{"h:", uri{host: "h"}},
		{"foo:bar@h", uri{user: "foo", hasUser: true, password: "bar", hasPass: true, host: "h"}},
		{"u@h:22", uri{user: "u", hasUser: true, host: "h", port: 22}},
		{"ssh://u%40x:p%23@[::1]:2222", uri{scheme: "ssh", user: "u@x", hasUser: true, password: "p#", hasPass: true, host: "::1", port: 2222}},
		{"ssh://u:a@b@h", uri{scheme: "ssh", user: "u", hasUser: true, password: "a@b", hasPass: true, host: "h"}},
		{"ssh://u:a:b@h", uri{scheme: "ssh", user: "u", hasUser: true, password: "a:b", hasPass: true, host: "h"}},
		{"::1", uri{host: "::1"}},
		{"2001:db8::22", uri{host: "2001:db8::22"}},
		{"[fe80::1%eth0]:22", uri{host: "fe80::1%eth0", port: 22}},
		{"fake://switch1.example/path?q=1", uri{scheme: "fake", host: "switch1.example"}},
		{"docker://a_b.c", uri{scheme: "docker", host: "a_b.c"}},
		{"local://", uri{scheme: "local"}},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := parseURI(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	for _, bad := range []string{"", "h:port", "h:99999", "h:-1", "[::1", "[h]:22", "[::1]x", "a b", `h"`, "1s://h", "u%zz@h", "u:%@h", "h{1}", "a:b:22", "a:b:", "u:p:/x@h"} {
		if got, err := parseURI(bad); err == nil {
			t.Errorf("parseURI(%q) = %+v, want an error", bad, got)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, s := range []string{"h", "ssh://u:p@h:22", "[::1]:22", "u%40:p%23@h", "a://b@c:d@e/f?g#h", "::1", "://", "x@", ":@://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseURI(s)
		if err != nil {
			return
		}
		if u.port < 0 || u.port > 65535 {
			t.Fatalf("port %d", u.port)
		}
		again, err := parseURI(SafeName(s))
		if err != nil {
			return // what is left of ":@://" is no URI any more
		}
		if again.hasPass || again.host != u.host || again.port != u.port || again.user != u.user {
			t.Fatalf("%q is %+v, without password %+v", s, u, again)
		}
	})
}

func TestSplitWords(t *testing.T) {
	tests := map[string][]string{
		"": nil, " , ": nil, "a": {"a"}, "a,b c\td\n e": {"a", "b", "c", "d", "e"},
		"{a,b},c": {"{a,b}", "c"}, "x{a, b}y z": {"x{a, b}y", "z"}, "[a,b]": {"[a,b]"}, "{a,{b,c}},d": {"{a,{b,c}}", "d"},
		"a{,b": {"a{", "b"}, "a},b": {"a}", "b"}, "{a,b},{c,d}": {"{a,b}", "{c,d}"},
	}
	for in, want := range tests {
		got := splitWords(in)
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("splitWords(%q) = %q, want %q", in, got, want)
		}
	}
}
