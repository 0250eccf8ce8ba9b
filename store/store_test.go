package store

import (
	"strings"
	"testing"
)

func TestParseDigest(t *testing.T) {
	good := string(DigestOf([]byte("a")))
	if d, err := ParseDigest(good); err != nil || string(d) != good {
		t.Errorf("%q: %v", d, err)
	}
	for _, bad := range []string{"", good[1:], good + "0", strings.ToUpper(good), "../" + good[3:]} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("%q is a digest", bad)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"releases", "rollouts/web-2026.1_a"} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a//b", ".a", "a/../b", "A", "a b", "a\x00", strings.Repeat("a", 201)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
