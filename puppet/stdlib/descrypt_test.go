package stdlib

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCrypt compares hashes with those of crypt(3) and openssl(1).
func TestCrypt(t *testing.T) {
	for _, password := range []string{"", "x", "testpassword", "8 bytes!", "8 bytes!9", "pä", "\x01\x7f~", "a password of more than 16 bytes"} {
		for _, salt := range []string{"46", "ab", "zz", "./", "Z9", "abcdef", "5f-3", "$1$abc", "$1$abcdefghij$x", "$5$abc", "$6$saltsalt$"} {
			want, err := exec.CommandContext(t.Context(), "perl", "-e", "print crypt($ARGV[0], $ARGV[1])", password, salt).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Crypt(password, salt); err != nil || got != string(want) {
				t.Errorf("%q with %q: %q, %v, want %q", password, salt, got, err, want)
			}
		}
		if password == "" {
			continue // openssl reads such a password from its terminal
		}
		for _, salt := range []string{"PhT5FuSg", "a"} {
			want, err := exec.CommandContext(t.Context(), "openssl", "passwd", "-apr1", "-salt", salt, password).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := APR1(password, salt); err != nil || got != strings.TrimSpace(string(want)) {
				t.Errorf("%q with %q: %q, want %q", password, salt, got, want)
			}
		}
	}
	for _, salt := range []string{"", "a", "ä", "!!", "$", "$1$", "$2a$10$abcdefghijklmnopqrstuv", "$6$rounds=1000$abc", "a:"} {
		if got, err := Crypt("x", salt); err == nil {
			t.Errorf("the salt %q is not refused: %q", salt, got)
		}
	}
	for _, salt := range []string{"a:b", "a$b", "a\nb", strings.Repeat("a", 65)} {
		if got, err := APR1("x", salt); err == nil {
			t.Errorf("the salt %q is not refused: %q", salt, got)
		}
	}
	for _, password := range []string{"a\x00b", strings.Repeat("a", maxPassword+1)} {
		_, err := Crypt(password, "ab")
		_, other := APR1(password, "ab")
		if err == nil || other == nil {
			t.Errorf("%.10q is not refused", password)
		}
	}
}
