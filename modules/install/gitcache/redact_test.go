package gitcache

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for address, want := range map[string]string{
		"https://h/x":                      "https://h/x",
		"https://h/x@y":                    "https://h/x@y",
		"https://me:s3cret@h/x":            "https://xxxxx@h/x",
		"https://s3cret@h:8443/x":          "https://xxxxx@h:8443/x",
		"https://s3cret:x-oauth-basic@h/x": "https://xxxxx@h/x",
		"HTTP://me:s3cret@h/x":             "HTTP://xxxxx@h/x",
		"https://me:s3cret%zz@h/x":         "https://xxxxx@h/x", // no URL
		"https://me:s3/cret@h/x":           "https://xxxxx@h/x", // no URL
		"https://me:s3cret@h/x\n":          "https://xxxxx@h/x\n",
		"ssh://git@h/x":                    "ssh://git@h/x",
		"ssh://git:s3cret@h/x":             "ssh://git:xxxxx@h/x",
		"git@h:me/x":                       "git@h:me/x",
		"/srv/a@b":                         "/srv/a@b",
		"./x":                              "./x",
		"https://h/x?token=a@b":            "https://h/x?token=a@b",
	} {
		if got := Redact(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestWithoutPassword(t *testing.T) {
	for _, c := range []struct{ address, said string }{
		{"https://me:s3cret@h/x", "unable to access 'https://me:s3cret@h/x/': refused"},
		{"https://s3cret@h/x", "Authentication failed for 'https://s3cret@h/x/'"},
		{"https://s3cret:x-oauth-basic@h/x", "Authentication failed for 'https://s3cret@h/x/'"},
		{"https://me:s3cret%2f1@h/x", "no s3cret%2f1, s3cret/1, s3cret%2F1"},
		{"ssh://git:s3cret@h/x", "no s3cret"},
		{"https://me:s3cret%zz@h/x", "no s3cret%zz"},
	} {
		if got := withoutPassword(c.said, c.address); strings.Contains(got, "s3cret") || !strings.Contains(got, hidden) {
			t.Errorf("%s: %q", c.address, got)
		}
	}
	if got := withoutPassword("some message of git", "https://me@h/x"); got != "some message of git" {
		t.Errorf("%q", got)
	}
}

// An address with a control character is shown without its password.
func TestCheckURLHides(t *testing.T) {
	for _, address := range []string{"https://me:s3cret@h/x\n", "https://me:s3cret%zz@h/x", "svn://me:s3cret@h/x", "https://s3cret@/x", "-https://me:s3cret@h/x", "ext::https://me:s3cret@h/x"} {
		if err := CheckURL(address); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
