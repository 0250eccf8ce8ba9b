package curl

import "testing"

// TestConfig checks that values are quoted and that empty ones are left out.
func TestConfig(t *testing.T) {
	c := New("http://a/b")
	c.Set("user", "me:a \"b\\c\t")
	c.Set("proxy", "")
	want := "silent\nshow-error\nlocation\ngloboff\nconnect-timeout = 60\nurl = \"http://a/b\"\nuser = \"me:a \\\"b\\\\c\\t\"\n"
	if got := string(c.Bytes()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShown checks that a message has no password of a URL.
func TestShown(t *testing.T) {
	for location, want := range map[string]string{
		"http://me:secret@a/b": "http://a/b", "https://a/b@c": "https://a/b@c", "/a/b": "/a/b", "https://u:p@ss@host:80/a@b": "https://host:80/a@b", "http://a@b": "http://b",
		"https://u:pa/ss@h/f": "https://h/f", "https://host:80/a@b": "https://host:80/a@b", "https://u:pa/s@s@h": "https://h",
	} {
		if got := Shown(location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
		if got := Named(location, true); got != "(Sensitive)" {
			t.Errorf("%s: a secret location is named %s", location, got)
		}
	}
}
