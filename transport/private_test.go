package transport

import (
	"regexp"
	"testing"
)

func TestPrivateDir(t *testing.T) {
	for _, c := range []struct{ tmpDir, name, want string }{
		{"", "mine", "/tmp/mine"},
		{"/var/tmp/", "mine", "/var/tmp/mine"},
		{"/", "mine", "/mine"},
		{"below", "mine", "below/mine"},
	} {
		if got := PrivateDir(c.tmpDir, c.name); got != c.want {
			t.Errorf("PrivateDir(%q, %q) = %q, want %q", c.tmpDir, c.name, got, c.want)
		}
	}
	random := regexp.MustCompile(`^/x/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	a, b := PrivateDir("/x", ""), PrivateDir("/x", "")
	if !random.MatchString(a) || a == b {
		t.Errorf("without a name: %q, then %q", a, b)
	}
}
