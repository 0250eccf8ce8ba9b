package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/transport"
)

func commandCases() []testCase {
	line := func(name, line string, status transport.Status, stdout, stderr string) testCase {
		return testCase{name, func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Line: line}).expect(t, status, stdout, stderr)
		}}
	}
	ok := transport.Status{}
	return []testCase{
		line("output", "echo hello", ok, "hello\n", ""),
		line("exit status", "exit 42", transport.Status{Code: 42}, "", ""),
		line("exit 255", "exit 255", transport.Status{Code: 255}, "", ""),
		{"signal", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Line: "kill -KILL $$"}).expect(t, m.killedBy("KILL"), "", "")
		}},
		{"signal to the program that has replaced the shell", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Line: "exec sh -c 'kill -TERM $$'"}).expect(t, m.killedBy("TERM"), "", "")
		}},
		line("both streams", "echo out; echo err >&2; exit 3", transport.Status{Code: 3}, "out\n", "err\n"),
		line("no output", ":", ok, "", ""),
		line("no line end", "printf 'a\nb'; printf 'c\nd' >&2", ok, "a\nb", "c\nd"),
		line("several lines", "for i in 1 2; do\n  echo $i\ndone\n", ok, "1\n2\n", ""),
		line("here-document", "cat <<X\na $((1+1))\nX\n", ok, "a 2\n", ""),
		line("comment at the end", "echo a # b", ok, "a\n", ""),
		line("quotes", `echo "it's" 'a "b"' \$ '!' '\'`, ok, `it's a "b" $ ! \`+"\n", ""),
		line("stdin is empty", "cat; echo end", ok, "end\n", ""),
		line("wait waits for its own children only", "sleep 0.05 & wait; echo done", ok, "done\n", ""),
		{"binary output", binaryOutput},
		{"stdout before stderr", stdoutFirst},
		{"output comes as it is printed", streamed},
		{"10 MB with bounded memory", bigOutput},
		{"a slow sink slows the command", slowSink},
		{"a sink that fails ends the command", failingSink},
		{"nil sinks", func(t *testing.T, m *machine) {
			st, err := m.dial(t).Run(testContext(t), &transport.Cmd{Line: "echo a; echo b >&2; exit 5"})
			if err != nil || st.Code != 5 {
				t.Errorf("got %+v, %v", st, err)
			}
		}},
		{"words are not expanded", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Argv: []string{"printf", `%s.`, "$HOME", "*", "a  b", "'", `"`, `\`, "", "-n", "\n", "é"}}).
				expect(t, ok, `$HOME.*.a  b.'.".\..-n.`+"\n.é.", "")
		}},
		{"working directory", workingDirectory},
		{"missing working directory", func(t *testing.T, m *machine) {
			_, err := try(testContext(t), m.dial(t), transport.Cmd{Line: "echo no", Dir: "/nonexistent/dir"})
			expectError(t, err, transport.ClassBootstrap, "CHDIR_ERROR")
		}},
		{"environment", environment},
		{"environment is in no command line", secretEnvironment},
		{"many at once", manyAtOnce},
		{"after Close", afterClose},
		{"context that has ended", func(t *testing.T, m *machine) {
			c := m.dial(t)
			ctx, cancel := context.WithCancel(testContext(t))
			cancel()
			_, err := try(ctx, c, transport.Cmd{Line: "echo no"})
			expectError(t, err, transport.ClassCancelled, "")
		}},
		{"NUL byte", func(t *testing.T, m *machine) {
			_, err := try(testContext(t), m.dial(t), transport.Cmd{Line: "echo \x00"})
			expectError(t, err, transport.ClassUnsupported, "")
		}},
		{"neither line nor words", func(t *testing.T, m *machine) {
			_, err := try(testContext(t), m.dial(t), transport.Cmd{})
			expectError(t, err, transport.ClassUnsupported, "")
		}},
		{"too long", func(t *testing.T, m *machine) {
			_, err := try(testContext(t), m.dial(t), transport.Cmd{Line: ": " + strings.Repeat("x", 1<<20)})
			expectError(t, err, transport.ClassUnsupported, "")
		}},
	}
}

func binaryOutput(t *testing.T, m *machine) {
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	file := worldDir(t) + "/bytes"
	if err := os.WriteFile(file, all, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, m.dial(t), transport.Cmd{Line: "cat " + file + "; cat " + file + " >&2"}).
		expect(t, transport.Status{}, string(all), string(all))
}

// merged stores the output of both streams in the order of arrival.
type merged struct{ bytes.Buffer }

// stdoutFirst allows two runs in the other order. Stdout has a head start of a
// few milliseconds. A busy machine can wake its reader later than that, so one good
// series of several is enough. Without a head start, a good series is very rare.
func stdoutFirst(t *testing.T, m *machine) {
	c := m.dial(t)
	const series, mayDiffer = 10, 2
	var others [series]int
	for i := range others {
		if others[i] = stderrFirst(t, c); others[i] <= mayDiffer {
			return
		}
	}
	t.Errorf("stderr came first in %d of 20 runs", others)
}

// stderrFirst counts the runs of 20 in which stderr comes before stdout.
func stderrFirst(t *testing.T, c transport.Conn) (others int) {
	t.Helper()
	for range 20 {
		var both merged
		run(t, c, transport.Cmd{Line: "echo out; echo err >&2", Stdout: &both, Stderr: &both})
		switch got := both.String(); got {
		case "out\nerr\n":
		case "err\nout\n":
			others++
		default:
			t.Fatalf("got %q", got)
		}
	}
	return others
}

func streamed(t *testing.T, m *machine) {
	go1 := worldDir(t) + "/go"
	first := make(chan string, 100)
	c := m.dial(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = try(testContext(t), c, transport.Cmd{
			Line:   "echo one; while [ ! -e " + go1 + " ]; do sleep 0.05; done; echo two",
			Stdout: sinkFunc(func(p []byte) error { first <- string(p); return nil }),
		})
	})
	select {
	case got := <-first:
		if got != "one\n" {
			t.Errorf("got %q", got)
		}
	case <-time.After(limit):
		t.Error("nothing came before the end")
	}
	if err := os.WriteFile(go1, nil, 0o644); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if got := <-first; got != "two\n" {
		t.Errorf("got %q", got)
	}
}

type sinkFunc func([]byte) error

func (f sinkFunc) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func bigOutput(t *testing.T, m *machine) {
	c := m.dial(t)
	run(t, c, transport.Cmd{Line: "true"})
	var n, peak int64
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	count := sinkFunc(func(p []byte) error {
		if n += int64(len(p)); n>>20 != (n-int64(len(p)))>>20 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, int64(now.HeapAlloc)-int64(before.HeapAlloc))
		}
		return nil
	})
	run(t, c, transport.Cmd{Line: "head -c 10000000 /dev/zero; head -c 2000000 /dev/zero >&2", Stdout: count, Stderr: count})
	if n != 12000000 {
		t.Errorf("got %d bytes, want 12000000", n)
	}
	if peak > 8<<20 {
		t.Errorf("%d bytes of heap were in use at the worst", peak)
	}
}

func slowSink(t *testing.T, m *machine) {
	dir := worldDir(t)
	release := make(chan struct{})
	c := m.dial(t)
	var wg sync.WaitGroup
	var n int
	wg.Go(func() {
		_, err := try(testContext(t), c, transport.Cmd{
			Line:   "head -c 30000000 /dev/zero; echo >" + dir + "/done",
			Stdout: sinkFunc(func(p []byte) error { <-release; n += len(p); return nil }),
		})
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	time.Sleep(300 * time.Millisecond) // nothing must happen
	if _, err := os.Stat(dir + "/done"); err == nil {
		t.Error("30 MB were taken from the command while its sink took nothing")
	}
	close(release)
	wg.Wait()
	if n != 30000000 {
		t.Errorf("got %d bytes", n)
	}
}

func failingSink(t *testing.T, m *machine) {
	full := fmt.Errorf("sink is full")
	_, err := try(testContext(t), m.dial(t), transport.Cmd{
		Line:   "echo a; sleep 100",
		Stdout: sinkFunc(func([]byte) error { return full }),
	})
	if e := expectError(t, err, transport.ClassCancelled, ""); !strings.Contains(e.Error(), full.Error()) {
		t.Errorf("the cause is missing: %v", e)
	}
}

func workingDirectory(t *testing.T, m *machine) {
	c := m.dial(t)
	dir := worldDir(t) + "/it's a dir"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, c, transport.Cmd{Line: "pwd", Dir: dir}).expect(t, transport.Status{}, dir+"\n", "")
	run(t, c, transport.Cmd{Argv: []string{"pwd"}, Dir: dir}).expect(t, transport.Status{}, dir+"\n", "")
	want, err := os.Getwd()
	if m.env.StartsHome {
		want, err = os.UserHomeDir()
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, transport.Cmd{Line: "pwd"}).expect(t, transport.Status{}, want+"\n", "")
}

func environment(t *testing.T, m *machine) {
	c := m.dial(t)
	value := "a b'c\"d\\e$f`g`\n\\n\nh "
	run(t, c, transport.Cmd{
		Line: `printf '%s|' "$PT_A" "$EMPTY" "$_x"`,
		Env:  []string{"PT_A=" + value, "EMPTY=", "_x=y"},
	}).expect(t, transport.Status{}, value+"||y|", "")
	run(t, c, transport.Cmd{Argv: []string{"env", "-u", "x", "printenv", "PT_A", "UID", "BIG"}, Env: []string{"PT_A=1", "UID=7", "BIG=" + strings.Repeat("z", 70000)}}).
		expect(t, transport.Status{}, "1\n7\n"+strings.Repeat("z", 70000)+"\n", "")
	run(t, c, transport.Cmd{Line: "nosuchcommand_x", Env: []string{"A=1"}}).
		expectStatus(t, transport.Status{Code: 127})
}

func (r result) expectStatus(t *testing.T, status transport.Status) {
	t.Helper()
	if r.status != status {
		t.Errorf("got %+v stdout %q stderr %q, want %+v", r.status, clip(r.stdout), clip(r.stderr), status)
	}
}

func secretEnvironment(t *testing.T, m *machine) {
	dir := worldDir(t)
	c := m.dial(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := try(testContext(t), c, transport.Cmd{
			Line: "echo >" + dir + "/up; while [ ! -e " + dir + "/go ]; do sleep 0.05; done",
			Env:  []string{"PT_password=tr0ub4dor"},
		})
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	eventually(t, "the command runs", func() bool { _, err := os.Stat(dir + "/up"); return err == nil })
	if runs(t, "tr0ub4dor") {
		t.Error("a process shows the variable in its command line")
	}
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func manyAtOnce(t *testing.T, m *machine) {
	c := m.dial(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprint("run ", i)
			r, err := try(testContext(t), c, transport.Cmd{
				Argv:  []string{"./x", want},
				Files: []transport.File{script("x", `echo "$1"; cat; sleep 0.1; exit `+fmt.Sprint(i))},
				Stdin: []byte(want),
			})
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			r.expect(t, transport.Status{Code: i}, want+"\n"+want, "")
		})
	}
	wg.Wait()
}

func afterClose(t *testing.T, m *machine) {
	if m.env.Shared {
		return
	}
	c := m.dial(t)
	run(t, c, transport.Cmd{Line: "true"})
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	_, err := try(testContext(t), c, transport.Cmd{Line: "echo no", Stdout: io.Discard})
	if class := transport.ClassOf(err); err == nil || class == "" {
		t.Errorf("Run on a closed connection: error %v", err)
	}
	if err := c.Put(testContext(t), transport.Tree{Path: "/etc/hostname"}, worldDir(t)+"/x", transport.FileOptions{}); err == nil {
		t.Error("Put on a closed connection: no error")
	}
}
