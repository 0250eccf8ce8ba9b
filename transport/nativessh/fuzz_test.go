package nativessh

import (
	"strings"
	"testing"
	"unicode"

	"bolt/transport"
)

// FuzzRefused: whatever ssh says, there is an error with a class, and nothing in
// it that a terminal would obey.
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
