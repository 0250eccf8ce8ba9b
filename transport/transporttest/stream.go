package transporttest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bolt/transport"
)

func streamCases() []testCase {
	ok := transport.Status{}
	return []testCase{
		{"100 MB both ways at once", func(t *testing.T, m *machine) {
			in, out := newBytes(100<<20), sha256.New()
			r := run(t, m.dial(t), transport.Cmd{Line: "cat", Input: in, Stdout: out})
			r.expect(t, ok, "", "")
			if !bytes.Equal(out.Sum(nil), in.sum.Sum(nil)) {
				t.Error("the returned data differs from the sent data")
			}
		}},
		{"conversation", conversation},
		{"slow command", slowCommand},
		{"slow sink", slowStreamSink},
		{"command closes its input", func(t *testing.T, m *machine) {
			r := run(t, m.dial(t), transport.Cmd{Line: "head -c 5; exec </dev/null; sleep 0.3; echo; echo done", Input: endless{}})
			r.expect(t, ok, "xxxxx\ndone\n", "")
		}},
		{"input ends while output goes on", func(t *testing.T, m *machine) {
			line := `cat; for i in 1 2 3; do sleep 0.1; echo "$i"; done; exit 4`
			r := run(t, m.dial(t), transport.Cmd{Line: line, Input: strings.NewReader("in\n")})
			r.expect(t, transport.Status{Code: 4}, "in\n1\n2\n3\n", "")
		}},
		{"empty input", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Line: "cat; echo end", Input: strings.NewReader("")}).expect(t, ok, "end\n", "")
		}},
		{"command ends first", func(t *testing.T, m *machine) {
			in, end := io.Pipe()
			defer end.Close()
			run(t, m.dial(t), transport.Cmd{Line: "read -r l; echo \"$l\"; exit 3", Input: io.MultiReader(strings.NewReader("in\n"), in)}).
				expect(t, transport.Status{Code: 3}, "in\n", "")
			run(t, m.dial(t), transport.Cmd{Line: "kill -KILL $$", Input: in}).expectStatus(t, m.killedBy("KILL"))
		}},
		{"cannot be read", func(t *testing.T, m *machine) {
			broken := errors.New("the disk is on fire")
			for _, cmd := range []transport.Cmd{{Line: "cat; sleep 100"}, {Argv: []string{"./x"}, TmpDir: worldDir(t), Files: []transport.File{script("x", "cat; sleep 100")}}} {
				cmd.Input = io.MultiReader(strings.NewReader("in\n"), readerFunc(func([]byte) (int, error) { return 0, broken }))
				_, err := try(testContext(t), m.dial(t), cmd)
				expectError(t, err, transport.ClassCancelled, "")
				if !errors.Is(err, broken) {
					t.Errorf("got %v, want the reader's error in it", err)
				}
			}
		}},
		{"sink fails", func(t *testing.T, m *machine) {
			full := errors.New("the disk is full")
			_, err := try(testContext(t), m.dial(t), transport.Cmd{Line: "cat", Input: endless{}, Stdout: sinkFunc(func([]byte) error { return full })})
			expectError(t, err, transport.ClassCancelled, "")
			if !errors.Is(err, full) {
				t.Errorf("got %v, want the sink's error in it", err)
			}
		}},
		{"cancel while it reads", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			in, end := io.Pipe()
			defer end.Close()
			m.expectCancelled(t, transport.Cmd{Line: s.line() + " & cat; wait", Input: in}, s)
		}},
		{"cancel while it does not read", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{Line: s.line() + "; echo no", Input: endless{}}, s)
		}},
		{"cancel of a script that ignores TERM", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			dir := worldDir(t)
			m.expectCancelled(t, transport.Cmd{TmpDir: dir, Grace: time.Second, Argv: []string{"./x"}, Input: endless{},
				Files: []transport.File{script("x", "trap '' TERM\n"+s.line()+"\n"+s.line())}}, s)
			eventually(t, "the private directory is gone", func() bool { return isEmpty(t, dir) })
		}},
		{"with files and environment", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			data := bytes.Repeat([]byte("file\n"), 1<<20)
			cmd := transport.Cmd{TmpDir: dir, Dir: "/usr", Argv: []string{"./x", "a b"}, Env: []string{"A=b c"}, Input: strings.NewReader("in\x00\n"),
				Files: []transport.File{script("x", `pwd; echo "$1 $A"; wc -c <"${0%/*}/data"; cat; exit 5`), {Name: "data", Mode: 0o600, Data: data}}}
			r := run(t, m.dial(t), cmd)
			r.expect(t, transport.Status{Code: 5}, fmt.Sprintf("/usr\na b b c\n%d\nin\x00\n", len(data)), "")
			expectEmpty(t, dir)
		}},
		{"arguments", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Argv: []string{"cat"}, Input: strings.NewReader("in")}).expect(t, ok, "in", "")
		}},
		{"run-as", streamRunAs},
		{"refused", func(t *testing.T, m *machine) {
			c := m.dial(t)
			for _, cmd := range []transport.Cmd{{Stdin: []byte("x")}, {TTY: true}} {
				dir := worldDir(t)
				cmd.Line, cmd.Input = "touch "+dir+"/ran", readerFunc(func([]byte) (int, error) {
					t.Error("the stream was read")
					return 0, io.EOF
				})
				_, err := try(testContext(t), c, cmd)
				expectError(t, err, transport.ClassUnsupported, "")
				expectEmpty(t, dir)
			}
		}},
		{"client is killed", killedClient},
	}
}

// conversation makes a command answer each line before the next one is sent.
func conversation(t *testing.T, m *machine) {
	const rounds = 200
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := m.dial(t)
	var work sync.WaitGroup
	work.Go(func() {
		defer out.Close()
		st, err := c.Run(testContext(t), &transport.Cmd{Line: `while read -r l; do echo "got $l"; done; exit 7`, Input: in, Stdout: out})
		if err != nil || st.Code != 7 {
			t.Errorf("%+v, %v", st, err)
		}
	})
	answers := bufio.NewReader(from)
	var begin time.Time
	for i := range rounds + 1 {
		if i == 1 {
			begin = time.Now() // the command has begun
		}
		fmt.Fprintf(to, "%d\n", i)
		answer, err := answers.ReadString('\n')
		if want := fmt.Sprintf("got %d\n", i); err != nil || answer != want {
			t.Errorf("got %q, %v, want %q", answer, err, want)
			break
		}
	}
	t.Logf("%v a message", time.Since(begin)/rounds)
	to.Close()
	go io.Copy(io.Discard, from)
	work.Wait()
}

// maxAhead is more than all buffers between a stream and a command that does
// not read it.
const maxAhead = 16 << 20

// slowCommand is a command that does not read for a while. Then the stream must
// not be read either.
func slowCommand(t *testing.T, m *machine) {
	in := newBytes(50 << 20)
	dir := worldDir(t)
	c := m.dial(t)
	var r result
	var err error
	var work sync.WaitGroup
	work.Go(func() {
		r, err = try(testContext(t), c, transport.Cmd{Line: "until [ -e " + dir + "/go ]; do sleep 0.05; done; wc -c", Input: in})
	})
	eventually(t, "the stream is read", func() bool { return in.read.Load() > 0 })
	for before := int64(-1); before != in.read.Load(); time.Sleep(200 * time.Millisecond) {
		before = in.read.Load()
	}
	if n := in.read.Load(); n > maxAhead {
		t.Errorf("%d bytes were read for a command that takes none", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	if err != nil || strings.TrimSpace(r.stdout) != fmt.Sprint(50<<20) {
		t.Errorf("%+v, %v", r, err)
	}
}

// slowStreamSink is a writer that blocks for a while. Then the command waits,
// and its input is not read either.
func slowStreamSink(t *testing.T, m *machine) {
	in, out := newBytes(50<<20), sha256.New()
	held := make(chan struct{})
	hold := sync.OnceFunc(func() { <-held })
	var work sync.WaitGroup
	c := m.dial(t)
	var err error
	work.Go(func() {
		_, err = try(testContext(t), c, transport.Cmd{Line: "cat", Input: in, Stdout: sinkFunc(func(p []byte) error {
			hold()
			out.Write(p)
			return nil
		})})
	})
	eventually(t, "the stream is read", func() bool { return in.read.Load() > 0 })
	for before := int64(-1); before != in.read.Load(); time.Sleep(200 * time.Millisecond) {
		before = in.read.Load()
	}
	if n := in.read.Load(); n > 2*maxAhead {
		t.Errorf("%d bytes were read for a sink that takes none", n)
	}
	close(held)
	work.Wait()
	if err != nil || !bytes.Equal(out.Sum(nil), in.sum.Sum(nil)) {
		t.Errorf("%v, or the returned data differs from the sent data", err)
	}
}

func streamRunAs(t *testing.T, m *machine) {
	u := Users(t)
	for name, k := range map[string]struct {
		user User
		as   transport.RunAs
		want string
	}{
		"without a password": {u.Free, transport.RunAs{User: "root"}, "root"},
		"with a password":    {u.Asked, transport.RunAs{User: "root", Password: transport.NewSecret(u.Asked.Password)}, "root"},
		"not root":           {u.Free, transport.RunAs{User: u.Denied.Name}, u.Denied.Name},
		"su": {u.Free, transport.RunAs{User: u.Asked.Name, Executable: "su", Password: transport.NewSecret(u.Asked.Password)},
			u.Asked.Name},
	} {
		t.Run(name, func(t *testing.T) {
			c := m.dialAs(t, k.user)
			in, out := newBytes(5<<20), sha256.New()
			run(t, c, transport.Cmd{Line: "cat", RunAs: k.as, Input: in, Stdout: out}).expect(t, transport.Status{}, "", "")
			if !bytes.Equal(out.Sum(nil), in.sum.Sum(nil)) {
				t.Error("the returned data differs from the sent data")
			}
			dir := worldDir(t)
			run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Env: []string{"A=b"}, RunAs: k.as, Input: strings.NewReader("in\n"),
				Files: []transport.File{script("x", `id -un; echo "$A"; cat`)}}).expect(t, transport.Status{}, k.want+"\nb\nin\n", "")
			expectEmpty(t, dir)

			s := newSleeper(t)
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			var work sync.WaitGroup
			work.Go(func() {
				_, err := try(ctx, c, transport.Cmd{TmpDir: dir, Line: s.line() + "; echo no", RunAs: k.as, Input: endless{}})
				expectError(t, err, transport.ClassCancelled, "")
			})
			eventually(t, "the command runs", func() bool { return runs(t, s.args()) })
			cancel()
			work.Wait()
			eventually(t, "all processes of the command have ended", func() bool { return !runs(t, s.args()) })
			expectEmpty(t, dir)
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		_, err := try(testContext(t), m.dialAs(t, u.Asked), transport.Cmd{Line: "echo no",
			RunAs: transport.RunAs{User: "root", Password: transport.NewSecret("wr0ng")},
			Input: readerFunc(func([]byte) (int, error) {
				t.Error("the stream was read")
				return 0, io.EOF
			})})
		expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD")
	})
}

// killedEnv is the variable with the command that the client of killedClient
// runs.
const killedEnv = "BOLT_TRANSPORTTEST_KILLED"

// killedClient kills a process that runs commands; the commands must end with
// it. The process is this test program, with only this case.
func killedClient(t *testing.T, m *machine) {
	if what := os.Getenv(killedEnv); what != "" {
		dir, line, _ := strings.Cut(what, " ")
		cmd := transport.Cmd{TmpDir: dir, Line: line, Input: endless{}}
		if strings.HasPrefix(line, "./x") {
			cmd.Line, cmd.Argv, cmd.Env = "", []string{"./x"}, []string{"A=b"}
			cmd.Files = []transport.File{script("x", strings.TrimPrefix(line, "./x "))}
		}
		_, err := m.dial(t).Run(context.Background(), &cmd)
		t.Fatalf("the command has ended: %v", err)
	}
	for name, form := range map[string]string{"line": "%s; echo no", "reads": "%s & cat >/dev/null; wait", "script": "./x trap '' TERM; %s; echo no"} {
		t.Run(name, func(t *testing.T) {
			s := newSleeper(t)
			dir, files := worldDir(t), worldDir(t)
			path, _, _ := strings.Cut(t.Name(), "/"+name)
			client := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(regexp.QuoteMeta(path), "/", "$/^")+"$", "-test.timeout=2m")
			client.Env = append(os.Environ(), killedEnv+"="+dir+" "+fmt.Sprintf(form, s.line()), "TMPDIR="+files)
			var said bytes.Buffer
			client.Stdout, client.Stderr = &said, &said
			client.WaitDelay = time.Second // its children may hold its output
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				killWith(t, files) // a server that it has started
				if t.Failed() {
					t.Logf("the client printed: %s", said.String())
				}
			}()
			eventually(t, "the command runs", func() bool { return runs(t, s.args()) })
			time.Sleep(200 * time.Millisecond) // until buffers are full
			if err := client.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = client.Wait() // it was killed
			eventually(t, "all processes of the command have ended", func() bool { return !runs(t, s.args()) })
			eventually(t, "the private directories are gone", func() bool { return isEmpty(t, dir) })
		})
	}
}

// killWith kills the processes that have a text in their command line.
func killWith(t *testing.T, text string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // the process may have ended
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && bytes.Contains(line, []byte(text)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// endless is an endless stream of one byte.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// numbers is a stream of bytes without repetitions.
type numbers struct {
	left   int
	read   atomic.Int64
	random *rand.ChaCha8
	sum    hash.Hash
}

func newBytes(n int) *numbers {
	return &numbers{left: n, random: rand.NewChaCha8([32]byte{1}), sum: sha256.New()}
}

func (s *numbers) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, _ := s.random.Read(p[:min(len(p), s.left)]) // never fails
	s.left -= n
	s.read.Add(int64(n))
	s.sum.Write(p[:n])
	return n, nil
}
