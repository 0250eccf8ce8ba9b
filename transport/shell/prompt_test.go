package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/transport"
)

// bySu is run-as with su, which prints its own prompt.
var bySu = transport.RunAs{User: "root", Password: transport.NewSecret("pw"), Executable: "su"}

// TestPromptInWords checks that the password is sent once, and only after the prompt of
// su, in whatever pieces the prompt arrives.
func TestPromptInWords(t *testing.T) {
	for _, c := range []struct {
		name   string
		play   func(f *farSide, answer func() string)
		stderr string
		code   string // of the error
		text   string // in it
	}{
		{"in pieces", func(f *farSide, answer func() string) {
			f.say(f.stderr, "welcome\n"+f.token()+"+\n"+"Pass")
			f.say(f.stderr, "word:")
			got := answer()
			f.say(f.stderr, " ")
			f.say(f.stderr, f.token()+"!\ngot "+got)
			f.end(0)
		}, "welcome\ngot pw\n", "", ""},
		{"of a start-up file", func(f *farSide, answer func() string) {
			f.say(f.stderr, "Password: ")
			f.say(f.stderr, f.token()+"+\n")
			f.say(f.stderr, f.token()+"!\n")
			f.end(0)
		}, "Password: ", "", ""},
		{"of the command", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\n"+f.token()+"!\nPassword: ")
			f.end(0)
		}, "Password: ", "", ""},
		{"behind a message", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\nYour account expires soon.\nPassword: ")
			got := answer()
			f.say(f.stderr, f.token()+"!\ngot "+got)
			f.end(0)
		}, "Your account expires soon.\ngot pw\n", "", ""},
		{"twice", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\nPassword: ")
			answer()
			f.say(f.stderr, "\nPassword: ")
		}, "", "BAD_PASSWORD", "Password of user root for su not recognized on web1"},
		{"before more than is held", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\n"+strings.Repeat("a", 1000)+"\nPassword: ")
			got := answer()
			f.say(f.stderr, strings.Repeat("b", maxSaid))
			f.say(f.stderr, "c")
			f.say(f.stderr, f.token()+"!\ngot "+got)
			f.end(0)
		}, strings.Repeat("a", 1000) + "\n" + strings.Repeat("b", maxSaid) + "cgot pw\n", "", ""},
		{"for something else", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\nOne-time password (OATH) for `root': ")
		}, "", "", "stopped at the prompt \"One-time password (OATH) for `root':\", which is not the password prompt of su"},
		{"a refusal", func(f *farSide, answer func() string) {
			f.say(f.stderr, f.token()+"+\nsu: Permission denied\n")
			f.end(1)
		}, "", "SUDO_DENIED", "User deploy does not have su permission on web1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var stderr bytes.Buffer
				far := start(t, func(f *farSide) {
					c.play(f, func() string {
						got := make([]byte, 3)
						_, _ = io.ReadFull(f.stdin, got)
						return string(got)
					})
				})
				_, err := Run(ctx, far, &transport.Cmd{Line: "x", RunAs: bySu, Stderr: &stderr}, Options{Host: "web1", User: "deploy"})
				if c.text == "" {
					if err != nil || stderr.String() != c.stderr {
						t.Errorf("got %q, %v; want %q", stderr.String(), err, c.stderr)
					}
					return
				}
				if e, ok := errors.AsType[*transport.Error](err); !ok || e.Code != c.code || !strings.Contains(e.Error(), c.text) {
					t.Errorf("got %#v", err)
				}
			})
		})
	}
}

func TestPromptIn(t *testing.T) {
	for said, want := range map[string]int{
		"Password: ": 0, "Password:": 0, "x\nroot's Password: ": 2, "Password for root: ": 0,
		"\rdoas (u@h) password: ": 0, "x\n\rdoas (u@h) password: ": 2,
		strings.Repeat("x", 2*maxPrompt) + "\nPassword: ": 2*maxPrompt + 1, strings.Repeat("Password: ", maxPrompt): -1,
		"x" + "Password for " + strings.Repeat("y", maxPrompt-15) + ": ": -1,
		"": -1, "Password": -1, "Password: \n": -1, "New password: ": -1, "Password (again): ": -1, "Old Password: ": -1, "xPassword: ": -1,
	} {
		if got := promptIn([]byte(said)); got != want {
			t.Errorf("promptIn(%q) = %d, want %d", said, got, want)
		}
	}
}
