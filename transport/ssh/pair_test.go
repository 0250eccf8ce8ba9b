package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestStreamCommandsTakeTwoSessions checks commands that read a stream. They
// need two sessions each. If the server has few sessions, they wait for each
// other; if it has only one, they are refused.
func TestStreamCommandsTakeTwoSessions(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		config string
		fails  bool
	}{{"", false}, {"MaxSessions 3\n", false}, {"MaxSessions 2\n", false}, {"MaxSessions 1\n", true}} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kept %v", strings.TrimSpace(k.config), kept), func(t *testing.T) {
				t.Parallel()
				s := sshtest.Start(t, sshtest.Options{Config: k.config})
				c := newLab(t, func(o *Options) { o.Keep = kept }, s).mustDial(t, dest(s))
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
				defer cancel()
				var work sync.WaitGroup
				for n := range 12 {
					work.Go(func() {
						in := fmt.Sprintf("input %d\n", n)
						var out strings.Builder
						cmd := transport.Cmd{Line: "cat; sleep 0.1", Stdout: &out}
						stream := n%3 > 0
						if stream {
							cmd.Input = io.MultiReader(strings.NewReader(in))
						} else {
							cmd.Line = "echo " + strings.TrimSpace(in)
						}
						st, err := c.Run(ctx, &cmd)
						if stream && k.fails {
							if transport.ClassOf(err) != transport.ClassUnsupported || !strings.Contains(err.Error(), "one session") {
								t.Errorf("%+v, %v, want a refusal", st, err)
							}
							return
						}
						if err != nil || !st.OK() || out.String() != in {
							t.Errorf("%+v, %v, %q, want %q", st, err, out.String(), in)
						}
					})
				}
				work.Wait()
			})
		}
	}
}

// TestPairAfterWrongLimit checks the second session of a command if the limit of
// places is one, and the server allows more or not. The limit falls below that of the
// server if refusals are read when the sessions that were open have ended.
func TestPairAfterWrongLimit(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 3} {
		for _, noQueue := range []bool{false, true} {
			for _, early := range []bool{false, true} {
				t.Run(fmt.Sprintf("MaxSessions %d, no queue %v, early %v", most, noQueue, early), func(t *testing.T) {
					t.Parallel()
					s := sshtest.Start(t, sshtest.Options{Config: fmt.Sprintf("MaxSessions %d\n", most)})
					c := newLab(t, nil, s).mustDial(t, dest(s))
					if noQueue {
						c.NoQueue()
					}
					p := &pair{Conn: c}
					wrong := func() {
						c.places.mu.Lock()
						defer c.places.mu.Unlock()
						c.places.taught, c.places.limit = true, 1
					}
					if early {
						wrong()
					}
					first, err := p.Start(t.Context(), "exec cat", false)
					if err != nil {
						t.Fatal(err)
					}
					defer first.Close()
					if !early {
						wrong()
					}
					second, err := p.Start(t.Context(), "exec cat", false)
					if err == nil {
						second.Close()
					}
					if most == 1 && !errors.Is(err, errOneSession) || most > 1 && err != nil {
						t.Errorf("second session: %v", err)
					}
				})
			}
		}
	}
}

// TestStreamLoginShells checks that a stream arrives completely under every
// login shell.
func TestStreamLoginShells(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	for name, k := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := dest(s)
			to.User, _ = account(t, "s"+name, k.path)
			to.LoginShell = k.family
			c := l.mustDial(t, to)
			in := strings.Repeat("stream\x00\n", 1<<18)
			for _, cmd := range []transport.Cmd{{Line: "cat; exit 3"}, {Line: "cat; exit 3", Env: []string{"A=b"}}, {Line: "cat; exit 3", Dir: "/"}} {
				var out strings.Builder
				cmd.Stdout = &out
				cmd.Input = strings.NewReader(in)
				st, err := c.Run(t.Context(), &cmd)
				if err != nil || st.Code != 3 || out.String() != in {
					t.Errorf("%q, %q: %+v, %v, %d bytes", cmd.Line, cmd.Env, st, err, out.Len())
				}
			}
		})
	}
}
