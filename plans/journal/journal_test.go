package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/value"
	"bolt/transport"
)

var x, y = &inventory.Target{Name: "x"}, &inventory.Target{Name: "y"}

func create(t *testing.T) (dir string, r *Run) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), Dir)
	r, err := Create(t.Context(), dir, Header{Plan: "site", Params: ordered.Of("b", int64(1), "a", nil)})
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func reopen(t *testing.T, dir string, r *Run, again bool) *Run {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), dir, r.ID, again)
	must(t, err, r.Again())
	t.Cleanup(func() { r.Close() })
	return r
}

func step(t *testing.T, r *Run, place string) *Step {
	t.Helper()
	s, err := r.Step(place, &Action{Function: "run_command", About: "command 'id'", Digest: "d", Targets: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// done performs a step whose result on y is a failure.
func done(t *testing.T, s *Step, raised bool) {
	t.Helper()
	must(t, s.goOn([]*inventory.Target{x, y}), s.began(x), s.began(y),
		s.finished(&event.Result{Target: x, Action: "command"}),
		s.finished(&event.Result{Target: y, Action: "command", Err: &event.Error{Msg: "no"}}), s.End(raised))
}

func TestResumeSkipsCompletedSteps(t *testing.T) {
	dir, r := create(t)
	done(t, step(t, r, "1"), false)
	s := step(t, r, "2")
	must(t, s.goOn([]*inventory.Target{x}), s.began(x))

	r = reopen(t, dir, r, false)
	if got := strings.Join(r.Params.Keys(), " "); r.Header.Plan != "site" || got != "b a" {
		t.Errorf("header %+v, parameters %s", r.Header, got)
	}
	first := step(t, r, "1")
	if got, err := first.Result(y); err != nil || got == nil || got.Err.Msg != "no" || !first.Done() {
		t.Errorf("result %+v, %v; done %v", got, err, first.Done())
	}
	second := step(t, r, "2")
	if got := second.Unknown(); second.Done() || !slices.Equal(got, []string{"x"}) {
		t.Errorf("unknown %v, done %v", got, second.Done())
	}
	must(t, second.Decide(&event.Result{Target: x, Action: "command"}))
	if got, err := second.Result(x); got == nil || err != nil {
		t.Errorf("what was decided is %v, %v", got, err)
	}

	third := reopen(t, dir, r, false)
	if got := step(t, third, "2"); len(got.Unknown()) > 0 {
		t.Errorf("unknown %v after it was decided", got.Unknown())
	}
}

func TestUnknownOutcomes(t *testing.T) {
	s := pastStep{gone: map[string]string{"went": "boot", "began": "boot", "nowhere": ""}, began: map[string]bool{"began": true}}
	for _, c := range []struct {
		target, boot string
		want         bool
	}{
		{"went", "boot", false}, {"went", "other", true}, {"began", "boot", true}, {"began", "other", true}, {"waits", "other", false}, {"nowhere", "", true},
	} {
		if got := s.mayHaveBegun(c.target, c.boot); got != c.want {
			t.Errorf("%s in %q: %v, want %v", c.target, c.boot, got, c.want)
		}
	}
}

func TestFailedStepIsRepeated(t *testing.T) {
	dir, r := create(t)
	done(t, step(t, r, "1"), true) // caught: another step follows
	done(t, step(t, r, "2/1.1"), true)
	done(t, step(t, r, "2/2.1"), false)
	must(t, r.Over("failed", nil))
	if _, err := Open(t.Context(), dir, r.ID, false); err == nil || !strings.Contains(err.Error(), "is still running") {
		t.Errorf("a journal that is written: %v", err)
	}
	must(t, r.Close())
	if _, err := Open(t.Context(), dir, r.ID, false); err == nil || !strings.Contains(err.Error(), "has ended: failed") {
		t.Errorf("a run that has ended: %v", err)
	}
	for range 2 { // the second time it is read from the file
		again, err := Open(t.Context(), dir, r.ID, true)
		must(t, err, again.Again())
		for place, want := range map[string]bool{"1": true, "2/1.1": false, "2/2.1": true} {
			s := step(t, again, place)
			if s.Done() != want || len(s.Unknown()) > 0 {
				t.Errorf("%s is done: %v, want %v; unknown %v", place, s.Done(), want, s.Unknown())
			}
			if got, _ := s.Result(x); got == nil {
				t.Errorf("%s: the result of x is lost", place)
			}
		}
		must(t, again.Close())
	}
}

func TestResumeRefusesDifferentSteps(t *testing.T) {
	dir, r := create(t)
	step(t, r, "1")
	e, err := r.Effect("2", "prompt", "d", false)
	must(t, err, e.Done("Ada"), r.Entered("site", "text"))
	must(t, r.Close())
	for name, ask := range map[string]func(r *Run) error{
		"function": func(r *Run) error {
			_, err := r.Step("1", &Action{Function: "run_task", Digest: "d", Targets: []string{"x", "y"}})
			return err
		},
		"digest": func(r *Run) error {
			_, err := r.Step("1", &Action{Function: "run_command", About: "command 'id'", Digest: "e", Targets: []string{"x", "y"}})
			return err
		},
		"targets": func(r *Run) error {
			_, err := r.Step("1", &Action{Function: "run_command", Digest: "d", Targets: []string{"x"}})
			return err
		},
		"effect":   func(r *Run) error { _, err := r.Effect("1", "prompt", "d", false); return err },
		"step":     func(r *Run) error { _, err := r.Step("2", &Action{Function: "prompt", Digest: "d"}); return err },
		"question": func(r *Run) error { _, err := r.Effect("2", "prompt", "e", false); return err },
		"text":     func(r *Run) error { return r.Entered("site", "other") },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), dir, r.ID, false)
			must(t, err)
			defer r.Close()
			if err := ask(r); err == nil {
				t.Error("no error")
			}
			if err := r.Over("", nil); err == nil {
				t.Error("it goes on after that")
			}
		})
	}
}

func TestEffects(t *testing.T) {
	dir, r := create(t)
	want := ordered.Of("z", int64(1), "a", []any{"x", 1.5, nil})
	e, err := r.Effect("1", "run_container", "d", true)
	must(t, err)
	if _, known := e.Value(); known || e.Unknown() {
		t.Error("a new effect is known")
	}
	must(t, e.Done(want))
	_, err = r.Effect("2", "run_container", "d", true)
	must(t, err)

	r = reopen(t, dir, r, false)
	e, err = r.Effect("1", "run_container", "d", true)
	must(t, err)
	if got, known := e.Value(); !known || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if e, err = r.Effect("2", "run_container", "d", true); err != nil || !e.Unknown() {
		t.Errorf("an effect that was begun is known, or %v", err)
	}
}

func TestClock(t *testing.T) {
	dir, r := create(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	if got := r.Clock(func() time.Time { return now })(); !got.Equal(now) {
		t.Errorf("%v", got)
	}
	r = reopen(t, dir, r, false)
	clock := r.Clock(func() time.Time { return now.Add(time.Hour) })
	if a, b := clock(), clock(); !a.Equal(now) || !b.Equal(now.Add(time.Hour)) {
		t.Errorf("%v, %v", a, b)
	}
}

// TestEachBranchHasItsOwnClock checks that each branch reads its own times, in any order of the
// branches.
func TestEachBranchHasItsOwnClock(t *testing.T) {
	dir, r := create(t)
	var now time.Time
	told := make(map[string]time.Time)
	clock := r.Clock(func() time.Time { now = now.Add(time.Second); return now })
	for _, branch := range []string{"1/1.", "1/2.", ""} {
		r.In(branch)
		told[branch] = clock()
	}
	r = reopen(t, dir, r, false)
	clock = r.Clock(func() time.Time { t.Error("a time was not recorded"); return now })
	for _, branch := range []string{"", "1/2.", "1/1."} {
		r.In(branch)
		if got := clock(); !got.Equal(told[branch]) {
			t.Errorf("branch %q: %v, want %v", branch, got, told[branch])
		}
	}
}

// TestJournalFiles checks that an incomplete last line is dropped, that other lines are read, and
// that only the owner can read the file.
func TestJournalFiles(t *testing.T) {
	dir, r := create(t)
	done(t, step(t, r, "1"), false)
	must(t, r.Close())
	f, err := os.OpenFile(r.Path(), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"kind":"go","pla`)
	must(t, err, f.Close())
	r, err = Open(t.Context(), dir, r.ID, false)
	must(t, err)
	done(t, step(t, r, "2"), false)
	must(t, r.Over("", nil), r.Close())
	info, err := os.Stat(r.Path())
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte("{}\n"), 0o600))
	var warned []string
	list, err := List(dir, func(err error) { warned = append(warned, err.Error()) })
	must(t, err)
	if len(list) != 1 || list[0].State != Finished || list[0].Steps != 2 || len(warned) != 1 || !strings.Contains(warned[0], "bad.jsonl") {
		t.Errorf("%+v, %v", list, warned)
	}
	must(t, Prune(dir, time.Now().Add(time.Hour)))
	if list, err = List(dir, func(error) {}); err != nil || len(list) != 0 {
		t.Errorf("after removal %+v, %v", list, err)
	}
}

// An ID has 16 random bits, so 2,000 runs of one second draw some 30 twice.
func TestRunsOfOneSecond(t *testing.T) {
	dir := t.TempDir()
	const perWorker, workers = 250, 8
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range perWorker {
				r, err := Create(t.Context(), dir, Header{Plan: "site", Params: &ordered.Map{}})
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
			}
		})
	}
	all.Wait()
	if files, _ := filepath.Glob(filepath.Join(dir, "*"+ext)); !t.Failed() && len(files) != perWorker*workers {
		t.Errorf("%d runs have %d journals", perWorker*workers, len(files))
	}
}

func TestResultsRoundTrip(t *testing.T) {
	out := capture.New(capture.Options{})
	for i, text := range []string{"a\n", "b\xff\x00", "c"} {
		if _, err := out.Stream(capture.Stream(i % 2)).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	cut := capture.New(capture.Options{Limit: 2})
	if _, err := cut.Stream(capture.Stdout).Write([]byte("long")); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*event.Result{
		"cut":    {Target: x, Action: "command", Output: cut},
		"output": {Target: x, Action: "command", Object: "id", Output: out, Elapsed: time.Second},
		"signal": {Target: x, Action: "command", Output: capture.New(capture.Options{}), Status: transport.Status{Code: -1, Signal: "TERM"},
			Err: &event.Error{Kind: "k", Code: "C", Msg: "<m>", Hint: "h", Class: "failed", Command: true, Details: ordered.Of("exit_code", nil)}},
		"value": {Target: x, Action: "task", Value: ordered.Of("z", int64(1<<60), "a", 1.0, "list", []any{nil, true}), Err: &event.Error{Given: ordered.Of("msg", "m"), Details: &ordered.Map{}}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := encodeResult(r)
			must(t, err)
			back, err := decodeResult(text, x, nil)
			must(t, err)
			var want, got bytes.Buffer
			must(t, r.WriteJSON(&want), back.WriteJSON(&got))
			if want.String() != got.String() || back.Elapsed != r.Elapsed || back.Status != r.Status {
				t.Errorf("%s\nwant %s", &got, &want)
			}
			if r.Err != nil && (back.Err.Hint != r.Err.Hint || back.Err.Class != r.Err.Class) {
				t.Errorf("error %+v, want %+v", back.Err, r.Err)
			}
		})
	}
}

// TestWriteErrors checks that a failed write is an error, because without the line that a target
// has begun, a resumed run assumes that it did not begin.
func TestWriteErrors(t *testing.T) {
	dir, r := create(t)
	s := step(t, r, "1")
	must(t, s.goOn([]*inventory.Target{x, y}), s.began(x))
	must(t, r.file.Close())
	if s.began(y) == nil || s.finished(&event.Result{Target: x}) == nil || r.Over("", nil) == nil {
		t.Error("what was not written is no error")
	}
	r, err := Open(t.Context(), dir, r.ID, false)
	must(t, err)
	defer r.Close()
	if got := step(t, r, "1").Unknown(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("unknown %v", got)
	}
}

// TestNothingBeginsAfterRefusal checks that no step begins any more, but results of running steps
// are written.
func TestNothingBeginsAfterRefusal(t *testing.T) {
	dir, r := create(t)
	other := step(t, r, "2")
	r = reopen(t, dir, r, false)
	s := step(t, r, "1")
	must(t, s.goOn([]*inventory.Target{x, y}), s.began(x))
	if _, err := r.Effect("2", "prompt", "d", false); err == nil {
		t.Fatal("an effect in the place of a step")
	}
	if s.began(y) == nil || other.goOn([]*inventory.Target{y}) == nil {
		t.Error("something is begun after that")
	}
	must(t, s.finished(&event.Result{Target: x}))
	r = reopen(t, dir, r, false)
	if got, err := step(t, r, "1").Result(x); got == nil || err != nil {
		t.Errorf("result %v, %v", got, err)
	}
}

// TestTargetNamesHaveNoPasswords checks that names are written without passwords.
func TestTargetNamesHaveNoPasswords(t *testing.T) {
	dir, r := create(t)
	u := &inventory.Target{Name: "ssh://u:geheim@h", URI: "ssh://u:geheim@h"}
	a := &Action{Function: "run_command", Targets: []string{u.SafeName()}}
	s, err := r.Step("1", a)
	must(t, err, s.goOn([]*inventory.Target{u}), s.began(u), s.finished(&event.Result{Target: u}), s.End(false))
	text, err := os.ReadFile(r.Path())
	must(t, err)
	if bytes.Contains(text, []byte("geheim")) {
		t.Errorf("the password is in %s", text)
	}
	r = reopen(t, dir, r, false)
	if s, err = r.Step("1", a); err != nil || !s.Done() {
		t.Errorf("done %v, %v", s.Done(), err)
	}
	if res, err := s.Result(u); res == nil || err != nil {
		t.Errorf("result %v, %v", res, err)
	}
}

// TestBegunIfATargetMayHaveBegun checks that a step has begun only if it was allowed to begin on a
// target.
func TestBegunIfATargetMayHaveBegun(t *testing.T) {
	dir, r := create(t)
	step(t, r, "1")
	s := step(t, r, "2")
	must(t, s.goOn([]*inventory.Target{x}))
	r = reopen(t, dir, r, false)
	if step(t, r, "1").Begun() || !step(t, r, "2").Begun() {
		t.Error("begun without any target, or not begun with one")
	}
}

// TestSecrets checks that a result with a secret is not written, so that its outcome stays unknown.
func TestSecrets(t *testing.T) {
	dir, r := create(t)
	s := step(t, r, "1")
	secret := ordered.Of("list", []any{ordered.Of("_sensitive", value.NewSensitive(value.String("geheim")))})
	must(t, s.goOn([]*inventory.Target{x, y}), s.began(x), s.began(y), s.finished(&event.Result{Target: x, Value: secret}), s.finished(&event.Result{Target: y}), s.End(false))
	r = reopen(t, dir, r, false)
	s = step(t, r, "1")
	if got := s.Unknown(); s.Done() || !s.Ended() || !slices.Equal(got, []string{"x"}) {
		t.Errorf("unknown %v, done %v, ended %v", got, s.Done(), s.Ended())
	}
}

// TestRetryOfConcurrentStep checks that a failed step is repeated, even if concurrent branches
// continued after it.
func TestRetryOfConcurrentStep(t *testing.T) {
	dir, r := create(t)
	done(t, step(t, r, "1/1.1"), true)
	done(t, step(t, r, "2"), false)
	must(t, r.Over("failed", []string{"1/1.1", "9"}))
	r = reopen(t, dir, r, true)
	if step(t, r, "1/1.1").Done() || !step(t, r, "2").Done() {
		t.Error("the one that failed is done, or the other one is not")
	}
}

// TestInvalidJournalsAreReported checks that files that are not journals are reported, and that a
// renamed journal has the name of its file.
func TestInvalidJournalsAreReported(t *testing.T) {
	dir, r := create(t)
	must(t, r.Close(), os.Rename(r.Path(), filepath.Join(dir, "b.jsonl")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo.jsonl"), 0o600), os.Mkdir(filepath.Join(dir, "dir.jsonl"), 0o700))
	must(t, os.Symlink("loop.jsonl", filepath.Join(dir, "loop.jsonl")))
	var warned []string
	list, err := List(dir, func(err error) { warned = append(warned, err.Error()) })
	must(t, err)
	if len(list) != 1 || list[0].ID != "b" || len(warned) != 3 {
		t.Errorf("%+v, %q", list, warned)
	}
	if r, err := Open(t.Context(), dir, "fifo", false); err == nil {
		t.Errorf("%+v", r)
	}
	r, err = Open(t.Context(), dir, "b", false)
	must(t, err)
	defer r.Close()
	if r.ID != "b" {
		t.Errorf("name %q", r.ID)
	}
}

func TestPlacesFollowInOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2", "1", true}, {"1", "2", false}, {"10", "9", true}, {"1", "1", false},
		{"2/1.2", "2/1.1", true}, {"2/2.5", "2/1.1", false}, {"3", "2/1.1", true}, {"2/1.1", "2", false}, {"2/1.3/2.1", "2/1.2/1.9", true},
	} {
		if got := follows(c.a, c.b); got != c.want {
			t.Errorf("%s after %s: %v", c.a, c.b, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	dir, r := filepath.Join(f.TempDir(), Dir), (*Run)(nil)
	r, err := Create(f.Context(), dir, Header{Plan: "site", Params: &ordered.Map{}})
	if err != nil {
		f.Fatal(err)
	}
	s, err := r.Step("1", &Action{Function: "run_command", Targets: []string{"x"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, err := range []error{s.goOn([]*inventory.Target{x}), s.finished(&event.Result{Target: x}), s.End(true), r.Over("m", nil), r.Close()} {
		if err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(r.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		p, h, n, err := read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if h == nil || n > int64(len(text)) {
			t.Fatalf("header %v, %d of %d bytes", h, n, len(text))
		}
		p.failedLast()
		for _, s := range p.steps {
			for _, at := range s.results {
				l, err := readLine(bytes.NewReader(text), at)
				if err != nil {
					t.Fatalf("a line cannot be read again: %v", err)
				}
				_, _ = decodeResult(l.Result, x, nil)
			}
		}
	})
}
