package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bolt/internal/sshtest"
	"bolt/transport"
)

func TestMain(m *testing.M) {
	sshtest.HeedSignals()
	goleak.VerifyTestMain(m)
}

// farSide is a machine that a test controls. Its streams are pipes without a
// buffer.
type farSide struct {
	stdin          *io.PipeReader
	stdout, stderr *io.PipeWriter
	ends           func(transport.Status)
	line           string
}

type farSession struct {
	in       *io.PipeWriter
	out, err *io.PipeReader

	once   sync.Once // closes done
	done   chan struct{}
	status transport.Status
	lost   error
}

// start returns a Starter whose session is simulated by play. play ends the
// parts that it must end; Close ends the rest.
func start(t testing.TB, play func(f *farSide)) starterFunc {
	var playing sync.WaitGroup
	t.Cleanup(playing.Wait)
	return func(ctx context.Context, line string, tty bool) (Session, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		errR, errW := io.Pipe()
		s := &farSession{in: inW, out: outR, err: errR, done: make(chan struct{})}
		f := &farSide{inR, outW, errW, func(st transport.Status) { s.end(st, nil) }, line}
		playing.Go(func() { play(f) })
		return s, nil
	}
}

type starterFunc func(context.Context, string, bool) (Session, error)

func (s starterFunc) Start(ctx context.Context, line string, tty bool) (Session, error) {
	return s(ctx, line, tty)
}

func (s *farSession) Stdin() io.WriteCloser { return s.in }
func (s *farSession) Stdout() io.Reader     { return s.out }
func (s *farSession) Stderr() io.Reader     { return s.err }
func (s *farSession) Done() <-chan struct{} { return s.done }

func (s *farSession) Wait() (transport.Status, error) {
	<-s.done
	return s.status, s.lost
}

// end ends the session, the first time.
func (s *farSession) end(st transport.Status, err error) {
	s.once.Do(func() {
		s.status, s.lost = st, err
		close(s.done)
	})
}

func (s *farSession) Close() error {
	s.end(transport.Status{}, &transport.Error{Class: transport.ClassLost, Msg: "connection lost"})
	s.in.Close()
	s.out.Close()
	s.err.Close()
	return nil
}

// end ends the session with a status.
func (f *farSide) end(code int) {
	f.stdout.Close()
	f.stderr.Close()
	f.ends(transport.Status{Code: code})
}

// token returns the token of the script that was started.
func (f *farSide) token() string {
	line := strings.ReplaceAll(f.line, "%%", "%") // as sudo does with its prompt
	i := strings.Index(line, "bolt%")
	return line[i : i+len(testToken)]
}

func (f *farSide) say(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

var asRoot = transport.RunAs{User: "root", Password: transport.NewSecret("pw")}

func TestRunEndsForEveryRemoteBehaviour(t *testing.T) {
	for _, c := range []struct {
		name  string
		cmd   transport.Cmd
		limit time.Duration // of the context
		proof *Proof
		play  func(f *farSide)
		class transport.Class
		code  string
		text  string // in the error
		took  time.Duration
	}{
		{
			name: "it never ends", cmd: transport.Cmd{Line: "x"}, limit: time.Minute,
			play:  func(*farSide) {},
			class: transport.ClassTimeout, text: "may still be running", took: time.Minute + transport.DefaultGrace + killSlack,
		},
		{
			name: "output without end after a cancel", cmd: transport.Cmd{Line: "x", Grace: 5 * time.Second}, limit: time.Second,
			play: func(f *farSide) {
				for {
					if _, err := f.stdout.Write([]byte("y\n")); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			},
			class: transport.ClassTimeout, text: "may still be running", took: 7 * time.Second,
		},
		{
			name: "the streams end, the session does not", cmd: transport.Cmd{Line: "x"}, limit: time.Second,
			play:  func(f *farSide) { f.stdout.Close(); f.stderr.Close() },
			class: transport.ClassTimeout, text: "may still be running", took: time.Second + transport.DefaultGrace + killSlack,
		},
		{
			name: "it takes no data", cmd: transport.Cmd{Line: "x", Stdin: []byte("data")}, limit: time.Second,
			play:  func(*farSide) {},
			class: transport.ClassTimeout, text: "may still be running", took: time.Second + transport.DefaultGrace + killSlack,
		},
		{
			name: "it ends on a cancel", cmd: transport.Cmd{Line: "x"}, limit: time.Second,
			play: func(f *farSide) {
				_, _ = io.Copy(io.Discard, f.stdin)
				f.end(143)
			},
			class: transport.ClassTimeout, text: "has ended", took: time.Second,
		},
		{
			name: "it does not begin", limit: time.Hour, proof: new(Proof),
			cmd: transport.Cmd{Line: "x", Stdin: []byte("data")},
			play: func(f *farSide) {
				_, _ = io.Copy(io.Discard, f.stdin)
				f.end(0)
			},
			class: transport.ClassBootstrap, code: "EXEC_ERROR", text: "bolt sent no data", took: beginsWithin,
		},
		{
			name: "it waits before it begins", limit: time.Second, proof: new(Proof), cmd: transport.Cmd{Line: "x"},
			play:  func(*farSide) {},
			class: transport.ClassTimeout, text: "start-up file", took: time.Second + transport.DefaultGrace + killSlack,
		},
		{
			name: "sudo asks for something else", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, limit: time.Hour,
			play:  func(f *farSide) { f.say(f.stderr, "Verification code: ") },
			class: transport.ClassRunAs, text: `"Verification code:"`, took: foreignPrompt,
		},
		{
			name: "a script that never ran", limit: time.Hour,
			cmd:   transport.Cmd{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Data: []byte("y")}}},
			play:  func(f *farSide) { f.end(0) },
			class: transport.ClassBootstrap, code: "EXEC_ERROR", text: "bolt has no proof that it ran the command: it may have run",
		},
		{
			name: "sudo that never ran anything", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, limit: time.Hour,
			play:  func(f *farSide) { f.end(0) },
			class: transport.ClassBootstrap, code: "EXEC_ERROR", text: "bolt has no proof that it ran the command: it may have run",
		},
		{
			name: "sudo asks twice", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, limit: time.Hour,
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"?")
				got := make([]byte, 3)
				if _, err := io.ReadFull(f.stdin, got); err != nil || string(got) != "pw\n" {
					f.say(f.stderr, "got no password")
				}
				f.say(f.stderr, "falsch\n"+f.token()+"?")
			},
			class: transport.ClassRunAs, code: "BAD_PASSWORD",
		},
		{
			name: "sudo ends after one try", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, limit: time.Hour,
			play:  func(f *farSide) { f.say(f.stderr, "sudo: 1 incorrect password attempt\n"); f.end(1) },
			class: transport.ClassRunAs, code: "BAD_PASSWORD",
		},
		{
			name: "sudo refuses", cmd: transport.Cmd{Line: "x", RunAs: asRoot}, limit: time.Hour,
			play: func(f *farSide) {
				f.say(f.stderr, "Sorry, user deploy is not allowed to execute '/bin/x' as root on web1.\n")
				f.end(1)
			},
			class: transport.ClassRunAs, code: "SUDO_DENIED", text: "User deploy does not have sudo permission on web1",
		},
		{
			name: "a step fails", cmd: transport.Cmd{Line: "x", Stdin: []byte("y")}, limit: time.Hour,
			play: func(f *farSide) {
				f.say(f.stderr, f.token()+"#mkdir no\x1b[31m way"+f.token()+".\n")
				f.end(0)
			},
			class: transport.ClassBootstrap, code: "TMPDIR_ERROR", text: "no[31m way",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), c.limit)
				defer cancel()
				begin := time.Now()
				_, err := Run(ctx, start(t, c.play), &c.cmd, Options{Host: "web1", User: "deploy", Proof: c.proof})
				e, ok := errors.AsType[*transport.Error](err)
				if !ok || e.Class != c.class || e.Code != c.code || !strings.Contains(e.Error(), c.text) {
					t.Errorf("got %#v", err)
				}
				if took := time.Since(begin).Round(100 * time.Millisecond); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// both is a writer for both streams.
type both struct{ bytes.Buffer }

func TestOrderOfOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  transport.Cmd
		play func(f *farSide)
		want string
	}{
		{"stdout passes stderr", transport.Cmd{Line: "x"}, func(f *farSide) {
			f.say(f.stderr, "err\n")
			f.say(f.stdout, "out\n")
			f.end(0)
		}, "out\nerr\n"},
		{"stderr comes well before", transport.Cmd{Line: "x"}, func(f *farSide) {
			f.say(f.stderr, "err\n")
			time.Sleep(10 * lateStdout)
			f.say(f.stdout, "out\n")
			f.end(0)
		}, "err\nout\n"},
		{"stderr first under sudo", transport.Cmd{Line: "x", RunAs: asRoot}, func(f *farSide) {
			f.say(f.stderr, f.token()+"!\n")
			var wg sync.WaitGroup
			wg.Go(func() { f.say(f.stdout, "out\n") })
			time.Sleep(stderrFirst / 2)
			f.say(f.stderr, "err\n")
			wg.Wait()
			f.end(0)
		}, "err\nout\n"},
		{"not for long", transport.Cmd{Line: "x", RunAs: asRoot}, func(f *farSide) {
			f.say(f.stderr, f.token()+"!\n")
			f.say(f.stdout, "out\n")
			time.Sleep(stderrFirst * 2)
			f.say(f.stderr, "err\n")
			f.end(0)
		}, "out\nerr\n"},
		{"not after a prompt", transport.Cmd{Line: "x", RunAs: asRoot}, func(f *farSide) {
			f.say(f.stderr, f.token()+"?")
			_, _ = io.ReadFull(f.stdin, make([]byte, 3))
			f.say(f.stderr, f.token()+"!\n")
			f.say(f.stdout, "out\n")
			time.Sleep(stderrFirst / 2)
			f.say(f.stderr, "err\n")
			f.end(0)
		}, "out\nerr\n"},
		{"what sudo says", transport.Cmd{Line: "x", RunAs: asRoot}, func(f *farSide) {
			f.say(f.stderr, "sudo: unknown user root\n")
			f.end(1)
		}, "sudo: unknown user root\n"},
		{"what is said before sudo begins", transport.Cmd{Line: "x", RunAs: asRoot}, func(f *farSide) {
			f.say(f.stderr, "welcome\nname: ")
			f.say(f.stderr, f.token()+"!\n")
			f.say(f.stderr, "err: ")
			f.end(0)
		}, "welcome\nname: err: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out both
				c.cmd.Stdout, c.cmd.Stderr = &out, &out
				if _, err := Run(context.Background(), start(t, c.play), &c.cmd, Options{Host: "web1", User: "deploy"}); err != nil {
					t.Fatal(err)
				}
				if out.String() != c.want {
					t.Errorf("got %q, want %q", out.String(), c.want)
				}
			})
		})
	}
}

// warmFarSide is a farSide with a ready shell.
type warmFarSide struct {
	starterFunc
	ready starterFunc
}

func (w *warmFarSide) Ready() (Session, func(bool)) {
	s, _ := w.ready(context.Background(), "", false)
	return s, func(bool) {}
}

// TestOutputOfReadyShell checks that a line that a ready shell does not take
// runs in a session.
func TestOutputOfReadyShell(t *testing.T) {
	for _, takes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			far := &warmFarSide{
				starterFunc: start(t, func(f *farSide) {
					f.say(f.stderr, f.token()+"!\n")
					f.say(f.stdout, f.token()+"!\nexec\n")
					f.end(0)
				}),
				ready: start(t, func(f *farSide) {
					for in := bufio.NewReader(f.stdin); !strings.HasPrefix(f.line, "."); { // the last line
						f.line, _ = in.ReadString('\n')
					}
					if takes {
						for _, mark := range []string{"+\n", "!\n"} {
							f.say(f.stdout, f.token()+mark)
							f.say(f.stderr, f.token()+mark)
						}
						f.say(f.stdout, "ready\n")
					}
					f.end(0)
				}),
			}
			want := "exec\n"
			if takes {
				want = "ready\n"
			}
			var out bytes.Buffer
			st, err := Run(t.Context(), far, &transport.Cmd{Argv: []string{"x"}, Stdin: []byte("data"), Stdout: &out}, Options{Host: "web1"})
			if err != nil || !st.OK() || out.String() != want {
				t.Errorf("takes %v: %+v, %v, %q, want %q", takes, st, err, out.String(), want)
			}
		})
	}
}

func TestPasswordIsSentOnlyToItsPrompt(t *testing.T) {
	p, err := newPlan(&transport.Cmd{Line: "x", Env: []string{"A=s3cret"}, RunAs: transport.RunAs{User: "root", Password: transport.NewSecret("hunter2")}}, Options{User: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if line := p.exchange().line; strings.Contains(line, "hunter2") || strings.Contains(line, "s3cret") {
		t.Errorf("the line shows a secret: %s", line)
	}
}

func TestLoginShells(t *testing.T) {
	for _, name := range []string{"powershell", "pwsh"} {
		_, err := Run(context.Background(), nil, &transport.Cmd{Line: "x"}, Options{LoginShell: name})
		if transport.ClassOf(err) != transport.ClassUnsupported {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzStderr tests any stderr text of a machine under sudo.
func FuzzStderr(f *testing.F) {
	f.Add([]byte("TOKEN?Sorry, try again.\nTOKEN?"), 0, 3)
	f.Add([]byte("TOKEN?TOKEN!\nhello TOKEN#clean x TOKEN.\n"), 1, 1)
	f.Add([]byte("deploy is not in the sudoers file.\n"), 1, 100)
	f.Add([]byte("name: TOKEN!TOKEN?TOKEN!"), 255, 2)
	f.Fuzz(func(t *testing.T, said []byte, code, n int) {
		n = max(1, n)
		var out bytes.Buffer
		cmd := transport.Cmd{Line: "x", Stderr: &out, RunAs: asRoot}
		st, err := Run(t.Context(), start(t, func(f *farSide) {
			var reading sync.WaitGroup
			reading.Go(func() { _, _ = io.Copy(io.Discard, f.stdin) })
			defer reading.Wait()
			text := bytes.ReplaceAll(said, []byte("TOKEN"), []byte(f.token()))
			for len(text) > 0 {
				k := min(n, len(text))
				if _, err := f.stderr.Write(text[:k]); err != nil {
					return
				}
				text = text[k:]
			}
			f.end(code)
		}), &cmd, Options{Host: "web1", User: "deploy"})
		switch {
		case err != nil && transport.ClassOf(err) == "":
			t.Errorf("an error without a class: %v", err)
		case err == nil && st.Code != code:
			t.Errorf("got %+v, want %d", st, code)
		case err == nil && !bytes.Contains(said, []byte("TOKEN")) && !bytes.Equal(out.Bytes(), said):
			t.Errorf("got %q, want %q", out.Bytes(), said)
		}
	})
}

// TestStartThatMayRun checks that an error of Start for a line that may run is
// returned unchanged, also after a timeout.
func TestStartThatMayRun(t *testing.T) {
	lost := &transport.Error{Class: transport.ClassLost, Msg: "lost while starting a command"}
	maybe := &transport.Error{Class: transport.ClassTimeout, Err: ErrMayRun, Msg: "out of time; it may run"}
	for _, c := range []struct {
		name string
		err  *transport.Error
		text string
	}{
		{"lost", lost, lost.Msg},
		{"no answer", maybe, maybe.Msg},
		{"not begun", &transport.Error{Class: transport.ClassCancelled, Msg: "waiting for a session"}, "before it started"},
		{"no connection", &transport.Error{Class: transport.ClassConnect, Msg: "it has ended"}, "before it started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := starterFunc(func(context.Context, string, bool) (Session, error) {
				cancel()
				return nil, c.err
			})
			_, err := Run(ctx, s, &transport.Cmd{Line: "x"}, Options{Host: "web"})
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
		})
	}
}

// TestProofIsOfTheBeginning checks that a login shell is proven when the
// command begins. Nothing is known about the time after that.
func TestProofIsOfTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var proof Proof
		s := start(t, func(f *farSide) {
			f.say(f.stderr, f.token()+"!\n")
			synctest.Wait()
			if !proof.Fresh() {
				t.Error("no proof as it begins")
			}
			time.Sleep(proofLasts + time.Second)
			f.end(0)
		})
		if st, err := Run(t.Context(), s, &transport.Cmd{Line: "x"}, Options{Host: "web", Proof: &proof}); err != nil || !st.OK() {
			t.Fatalf("%+v, %v", st, err)
		}
		if proof.Fresh() {
			t.Error("a long command is a proof of its end")
		}
	})
}
