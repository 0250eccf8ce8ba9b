package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/provider"
	"bolt/apply/remote"
	"bolt/apply/remote/embedded"
	"bolt/apply/remote/helpertest"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/transport"
	"bolt/transport/local"
)

// clientVariable makes the test binary a client that applies a catalog: it holds the state
// directory, the ID of the run, the file of the catalog, and the file of the helper.
const clientVariable = "BOLT_TEST_CLIENT"

// TestMain lets the test binary act as the helper, if it was copied under the name of a helper, and
// as a client.
func TestMain(m *testing.M) {
	// The race detector delays the end of each process by a second, and this test starts many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	name := filepath.Base(os.Args[0])
	switch client := os.Getenv(clientVariable); {
	case strings.HasPrefix(name, helperName), strings.HasPrefix(name, "new-"), len(os.Args) > 1 && os.Args[1] == "hold":
		os.Exit(realMain(context.Background(), os.Args[1:], provider.All))
	case client != "":
		os.Exit(clientMain(strings.Split(client, "|")))
	}
	code := m.Run()
	os.RemoveAll(packed)
	os.Exit(code)
}

// packed is the directory with this test binary as the helper, after packedSelf.
var packed string

// packedSelf makes that directory for all tests.
func packedSelf(t *testing.T) string {
	t.Helper()
	if packed != "" {
		return packed
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if packed, err = os.MkdirTemp("", "helpers"); err != nil {
		t.Fatal(err)
	}
	helpertest.Write(t, packed, map[string][]byte{"linux-" + runtime.GOARCH: program})
	return packed
}

// clientMain applies a catalog as bolt does.
func clientMain(args []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	text, err := os.ReadFile(args[2])
	if err != nil {
		return fail(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return fail(err)
	}
	set, err := embedded.Load(os.DirFS(args[3]))
	if err != nil {
		return fail(err)
	}
	ctx := context.Background()
	conn, err := local.NewDialer(local.Options{}).Dial(ctx, transport.Dest{})
	if err != nil {
		return fail(err)
	}
	out, err := remote.Apply(ctx, conn, &remote.Target{Helpers: set, Dir: args[0]}, &remote.Job{Catalog: c, Node: c.Name, Run: args[1]})
	if err == nil && !out.OK() {
		err = fmt.Errorf("%+v", out)
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// A site is a directory in which a catalog is applied and disturbed.
type site struct {
	dir     string // of the managed files
	helpers string // directory of the helpers
	target  remote.Target
	conn    transport.Conn
	file    string // of the catalog
	catalog *catalog.Catalog
}

const units = 12

// newSite makes a site whose catalog has files, each with a refresh, and slow commands.
func newSite(t *testing.T) *site {
	t.Helper()
	base := t.TempDir()
	s := &site{dir: filepath.Join(base, "managed"), helpers: packedSelf(t), file: filepath.Join(base, "catalog")}
	set, err := embedded.Load(os.DirFS(s.helpers))
	if err != nil {
		t.Fatal(err)
	}
	s.target = remote.Target{Helpers: set, Dir: filepath.Join(base, "state")}
	if s.conn, err = local.NewDialer(local.Options{}).Dial(t.Context(), transport.Dest{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	var list []any
	for i := range units {
		list = append(list,
			map[string]any{"type": "File", "title": s.path("file", i), "parameters": map[string]any{"ensure": "file", "content": fmt.Sprintf("text %d\n", i), "notify": fmt.Sprintf("Exec[refresh %d]", i)}},
			map[string]any{"type": "Exec", "title": fmt.Sprintf("slow %d", i), "parameters": map[string]any{
				"command": fmt.Sprintf("echo begin %d >>%s; sleep 0.01; echo end %d >>%s; touch %s", i, s.path("log", 0), i, s.path("log", 0), s.path("done", i)),
				"creates": s.path("done", i), "provider": "shell"}},
			map[string]any{"type": "Exec", "title": fmt.Sprintf("refresh %d", i), "parameters": map[string]any{
				"command": fmt.Sprintf("echo refresh %d >>%s", i, s.path("log", 0)), "refreshonly": true, "provider": "shell"}})
	}
	s.set(t, list...)
	return s
}

func (s *site) path(name string, i int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%d", name, i))
}

// set writes the catalog of the site.
func (s *site) set(t *testing.T, resources ...any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": "n1", "resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	if s.catalog, err = catalog.Parse(text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// reset removes the managed files.
func (s *site) reset(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (s *site) apply(ctx context.Context, run string) (*remote.Outcome, map[string]report.Status, error) {
	status := make(map[string]report.Status)
	out, err := remote.Apply(ctx, s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1", Run: run, Result: func(r *report.Result) { status[r.Ref.String()] = r.Status }})
	return out, status, err
}

func (s *site) asked(t *testing.T, run string) *frame.Fate {
	t.Helper()
	f, err := remote.Asked(t.Context(), s.conn, &s.target, run)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// logged waits until a resource has written a line into the log.
func (s *site) logged(t *testing.T, line string) {
	t.Helper()
	for range 60_000 {
		if strings.Contains(s.log(), line) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("no %q in the log: %q", line, s.log())
}

// wait waits until a run is over.
func (s *site) wait(t *testing.T, run string) *frame.Fate {
	t.Helper()
	for range 1000 {
		if f := s.asked(t, run); f.State != frame.StateRunning {
			return f
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("run %s does not end: %+v", run, s.asked(t, run))
	return nil
}

// gone waits until no process has the state directory in its command line. A helper
// whose client was killed may begin late.
func (s *site) gone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(all, func(file string) bool {
			line, _ := os.ReadFile(file) // the process may have ended
			return strings.Contains(string(line), s.target.Dir)
		}) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the helper of the killed client does not end")
		}
	}
}

// complete applies the catalog once more and checks that the result is the result of an undisturbed
// run.
func (s *site) complete(t *testing.T, what string) {
	t.Helper()
	out, status, err := s.apply(t.Context(), "")
	if err != nil || !out.OK() || len(status) != 3*units {
		t.Fatalf("%s: the next apply: %+v, %v", what, out, err)
	}
	log, err := os.ReadFile(s.path("log", 0))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(log), "\n")
	for i := range units {
		if text, err := os.ReadFile(s.path("file", i)); string(text) != fmt.Sprintf("text %d\n", i) {
			t.Errorf("%s: file %d: %q, %v", what, i, text, err)
		}
		for _, line := range []string{"begin", "end", "refresh"} {
			if !slices.Contains(lines, fmt.Sprintf("%s %d", line, i)) {
				t.Errorf("%s: no %s of %d in %q", what, line, i, lines)
			}
		}
	}
	if out, status, err = s.apply(t.Context(), ""); err != nil || out.Counts.Unchanged != 3*units {
		t.Errorf("%s: the apply after it: %+v, %v, %v", what, out, status, err)
	}
}

// whole checks that no command was interrupted.
func (s *site) whole(t *testing.T, what string) {
	t.Helper()
	log, err := os.ReadFile(s.path("log", 0))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for i := range units {
		begun, ended := strings.Count(string(log), fmt.Sprintf("begin %d\n", i)), strings.Count(string(log), fmt.Sprintf("end %d\n", i))
		if begun != ended || begun > 1 {
			t.Errorf("%s: command %d began %d times and ended %d times", what, i, begun, ended)
		}
	}
}

// points is the number of random points at which each kind of disturbance is tried. "go test -count" tries
// more.
const points = 12

// TestKillHelper kills the helper at random points, and checks that the next apply has the result
// of an undisturbed run.
func TestKillHelper(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	s.complete(t, "undisturbed")
	states := make(map[frame.State]int)
	for i := range points {
		s.reset(t)
		run := fmt.Sprint("kill-", i)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(time.Duration(rand.IntN(350)) * time.Millisecond)
			if h := s.holder(); h != nil && h.Run == run {
				_ = syscall.Kill(h.PID, syscall.SIGKILL) // it may have ended
			}
		}()
		_, _, err := s.apply(t.Context(), run)
		<-killed
		if err != nil && transport.ClassOf(err) != transport.ClassLost && transport.ClassOf(err) != transport.ClassBootstrap {
			t.Errorf("%d: %v", i, err)
		}
		f := s.wait(t, run) // a command that was running goes on
		states[f.State]++
		if f.Rebooted {
			t.Errorf("%d: %+v", i, f)
		}
		s.complete(t, fmt.Sprint(run, " ", f.State, " ", f.Progress))
	}
	t.Logf("%v", states)
}

// holder returns the run that holds, or held, the lock.
func (s *site) holder() *frame.Holder {
	text, err := os.ReadFile(filepath.Join(s.target.Dir, "lock"))
	h := new(frame.Holder)
	if err != nil || json.Unmarshal(text, h) != nil {
		return nil
	}
	return h
}

// TestKillClient kills the client at random points, and checks that the helper finishes the current resource,
// and stops.
func TestKillClient(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	s.complete(t, "undisturbed")
	states := make(map[string]int)
	for i := range points {
		s.reset(t)
		run := fmt.Sprint("client-", i)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), clientVariable+"="+strings.Join([]string{s.target.Dir, run, s.file, s.helpers}, "|"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(50+rand.IntN(400)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		s.gone(t)
		f := s.wait(t, run)
		state := string(f.State)
		if f.Done != nil {
			state += " " + string(f.Done.Stopped)
		}
		states[state]++
		if f.State == frame.StateBroken {
			t.Errorf("%d: %+v", i, f)
		}
		s.whole(t, run)
		s.complete(t, run)
	}
	t.Logf("%v", states)
}

// TestCancel cancels applies at random points, as ^C does.
func TestCancel(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	s.complete(t, "undisturbed")
	states := make(map[string]int)
	for i := range points {
		s.reset(t)
		run := fmt.Sprint("cancel-", i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+rand.IntN(400))*time.Millisecond)
		out, status, err := s.apply(ctx, run)
		cancel()
		f := s.wait(t, run)
		state := string(f.State)
		if f.Done != nil {
			state += " " + string(f.Done.Stopped)
		}
		states[state]++
		if f.State == frame.StateBroken || err != nil && transport.ClassOf(err) != transport.ClassTimeout || err == nil && !out.OK() {
			t.Errorf("%d: %v, %+v", i, err, f)
		}
		if f.Done != nil && len(status) != 3*units {
			t.Errorf("%d: %d results arrived after %s", i, len(status), state)
		}
		s.whole(t, run)
		s.complete(t, run)
	}
	t.Logf("%v", states)
}

// TestContinue checks that a run with the option to continue goes on without a reader.
func TestContinue(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	if _, err := remote.Apply(t.Context(), s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1", Noop: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !strings.Contains(s.log(), "end 0") {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := remote.Apply(ctx, s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1", Run: "on", Continue: true})
	if f := s.wait(t, "on"); f.State != frame.StateEnded || f.Done.Stopped != "" || f.Done.Counts.Changed != 3*units {
		t.Errorf("%v, %+v", err, f.Done)
	}
	s.whole(t, "on")
}

func (s *site) log() string {
	text, _ := os.ReadFile(s.path("log", 0))
	return string(text)
}

// TestTwoAtOnce starts a second run during a run, and checks that it is rejected with the ID of the
// first run.
func TestTwoAtOnce(t *testing.T) {
	s := newSite(t)
	s.set(t, map[string]any{"type": "Exec", "title": "x", "parameters": map[string]any{"provider": "shell",
		"command": fmt.Sprintf("echo begin 0 >>%s; while ! [ -e %s ]; do sleep 0.1; done", s.path("log", 0), s.path("go", 0))}})
	s.reset(t)
	done := make(chan error)
	go func() {
		_, _, err := s.apply(t.Context(), "first")
		done <- err
	}()
	s.logged(t, "begin 0")
	_, _, err := s.apply(t.Context(), "second")
	var refused *remote.RefusedError
	if !errors.As(err, &refused) || refused.Kind != frame.KindBusy || refused.Holder == nil || refused.Holder.Run != "first" || time.Since(refused.Holder.Start) > time.Minute {
		t.Errorf("%v", err)
	}
	if f := s.asked(t, "first"); f.State != frame.StateRunning {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(s.path("go", 0), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if f := s.asked(t, "second"); f.State != frame.StateUnknown {
		t.Errorf("%+v", f)
	}
}

// TestGuard kills the helper while a program works that must not be interrupted. The program goes on
// although its output has no reader, and no other run begins before it has ended.
func TestGuard(t *testing.T) {
	s := newSite(t)
	s.set(t, map[string]any{"type": "Exec", "title": "x", "parameters": map[string]any{
		"command": fmt.Sprintf("echo begin 0 >>%[1]s; until [ -e %[2]s ]; do sleep 0.05; done; i=0; while [ $i -lt 5000 ]; do echo a long line of output that fills every pipe || exit 1; i=$((i+1)); done; sleep 100 & echo $! >%[3]s; echo end 0 >>%[1]s; touch %[4]s",
			s.path("log", 0), s.path("go", 0), s.path("child", 0), s.path("done", 0)),
		"creates": s.path("done", 0), "provider": "shell"}})
	s.reset(t)
	done := make(chan error)
	go func() {
		_, _, err := s.apply(t.Context(), "first")
		done <- err
	}()
	s.logged(t, "begin 0")
	if err := syscall.Kill(s.holder().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; transport.ClassOf(err) != transport.ClassLost {
		t.Errorf("%v", err)
	}
	_, _, err := s.apply(t.Context(), "second")
	var refused *remote.RefusedError
	if !errors.As(err, &refused) || refused.Kind != frame.KindBusy || refused.Holder == nil || refused.Holder.Run != "first" {
		t.Errorf("%v", err)
	}
	if f := s.asked(t, "first"); f.State != frame.StateRunning || !slices.Equal(f.Progress, []string{"Exec[x]"}) {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(s.path("go", 0), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := s.wait(t, "first"); f.State != frame.StateBroken {
		t.Errorf("%+v", f)
	}
	// A process that the program has left behind does not hold the lock.
	child, err := os.ReadFile(s.path("child", 0))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("kill", strings.TrimSpace(string(child))).CombinedOutput(); err != nil {
		t.Errorf("the lock was held until the process that was left behind had ended: %v: %s", err, out)
	}
	if !strings.Contains(s.log(), "end 0") {
		t.Errorf("%q", s.log())
	}
	if out, _, err := s.apply(t.Context(), "third"); err != nil || out.Counts.Unchanged != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestGuardTimeout kills the helper while a program with a timeout works. The guard then ends the program and
// its children, so that the next run does not wait forever.
func TestGuardTimeout(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	s.set(t, map[string]any{"type": "Exec", "title": "x", "parameters": map[string]any{"provider": "shell", "timeout": 3,
		"command": fmt.Sprintf("(sleep 60; touch %s) & echo $! >%s; echo begin 0 >>%s; sleep 60", s.path("done", 0), s.path("child", 0), s.path("log", 0))}})
	done := make(chan error)
	go func() {
		_, _, err := s.apply(t.Context(), "first")
		done <- err
	}()
	s.logged(t, "begin 0")
	if err := syscall.Kill(s.holder().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
	if f := s.wait(t, "first"); f.State != frame.StateBroken {
		t.Errorf("%+v", f)
	}
	child, err := os.ReadFile(s.path("child", 0))
	if err != nil {
		t.Fatal(err)
	}
	for runs(strings.TrimSpace(string(child))) { // for a minute, if it is not ended
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := os.Stat(s.path("done", 0)); err == nil {
		t.Error("what the program has started was not ended")
	}
}

// runs reports whether a process has not ended.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestGuardIdentity runs programs under a guard: as another user, with both output streams in one, and a
// program that does not exist.
func TestGuardIdentity(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	if err := os.Chown(s.dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(s.dir), filepath.Dir(filepath.Dir(s.dir))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, script := filepath.Join(s.dir, "out"), filepath.Join(s.dir, "script")
	if err := os.WriteFile(script, []byte("exit 0 # without an interpreter line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.set(t,
		map[string]any{"type": "Exec", "title": "as", "parameters": map[string]any{"provider": "shell", "user": "nobody", "command": "id -u >" + out + "; id -G >>" + out}},
		map[string]any{"type": "Exec", "title": "streams", "parameters": map[string]any{"provider": "shell", "logoutput": true,
			"command": "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"}},
		map[string]any{"type": "Exec", "title": "killed", "parameters": map[string]any{"provider": "shell", "command": "kill -9 $$", "returns": 137}},
		map[string]any{"type": "Exec", "title": "script", "parameters": map[string]any{"command": script}},
	)
	var logs []string
	o, err := remote.Apply(t.Context(), s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1", Log: func(l *report.Log) { logs = append(logs, l.Message) },
		Result: func(r *report.Result) {
			if killed := r.Ref.Title == "killed"; (r.Status == report.Failed) != killed || (r.Status == report.Changed) == killed {
				t.Errorf("%+v", r)
			}
		}})
	if err != nil || o.OK() {
		t.Errorf("%+v, %v", o, err)
	}
	if text, err := os.ReadFile(out); string(text) != "65534\n65534\n" {
		t.Errorf("%q, %v", text, err)
	}
	var want []string
	for i := 1; i < 10; i++ {
		want = append(want, fmt.Sprint("out ", i), fmt.Sprint("err ", i))
	}
	if got := strings.Join(logs, "\n"); !strings.Contains(got, strings.Join(want, "\n")) {
		t.Errorf("%q", logs)
	}
}
