package nativessh

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"bolt/transport"
)

// FuzzConfiguration checks that no time is negative or larger than ssh allows.
func FuzzConfiguration(f *testing.F) {
	f.Add("host web\nuser deploy\nconnecttimeout none\n")
	f.Add("connecttimeout 70\r\nuser \n")
	f.Fuzz(func(t *testing.T, out string) {
		if c := parseConfiguration(out); c.connectTimeout < 0 || c.connectTimeout > 1<<31*time.Second || strings.Contains(c.user, "\n") {
			t.Errorf("got %+v", c)
		}
	})
}

// FuzzRefused checks that every text of ssh leads to an error with a class,
// without control characters for a terminal.
func FuzzRefused(f *testing.F) {
	f.Add("ssh: connect to host x port 22: Connection refused\r\n", "bye\n")
	f.Add("Authenticated to x ([::1]:22) using \"publickey\".\n", "Connection to x closed by remote host.\r\n")
	f.Add("Control master terminated unexpectedly\n", "")
	f.Fuzz(func(t *testing.T, said, stderr string) {
		s := &session{starter: &starter{to: transport.Dest{Host: "web"}, words: []string{"ssh"}}, stderr: &tail{end: []byte(stderr)}}
		text, loggedIn := digest(said)
		for _, err := range []error{s.refused(text), s.lost(text), s.lost(s.stderr.lastWords())} {
			control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
			if transport.ClassOf(err) == "" || strings.ContainsFunc(err.Error(), control) {
				t.Errorf("%v, %q", loggedIn, err)
			}
		}
	})
}
