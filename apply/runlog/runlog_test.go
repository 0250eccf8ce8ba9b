package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/apply/runlog"
	"bolt/catalog"
)

func open(t *testing.T) *runlog.Dir {
	t.Helper()
	d, err := runlog.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func lock(t *testing.T, d *runlog.Dir, run string) *runlog.Lock {
	t.Helper()
	l, err := d.Lock(t.Context(), frame.Holder{Run: run, Node: "n1", By: "me", Start: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Unlock() })
	return l
}

func begin(t *testing.T, l *runlog.Lock, run, boot string) *runlog.Journal {
	t.Helper()
	j, err := l.Begin(t.Context(), runlog.Start{Run: run, Node: "n1", By: "me", Boot: boot}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func exec(title string) catalog.Ref { return catalog.Ref{Type: "Exec", Title: title} }

func fate(t *testing.T, d *runlog.Dir, run, boot string) *frame.Fate {
	t.Helper()
	f, err := d.Fate(run, boot)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFate follows a run from its beginning to its end, and one that was interrupted.
func TestFate(t *testing.T) {
	d := open(t)
	if f := fate(t, d, "one", "b"); f.State != frame.StateUnknown {
		t.Errorf("before: %+v", f)
	}
	l := lock(t, d, "one")
	if f := fate(t, d, "one", "b"); f.State != frame.StateRunning {
		t.Errorf("with the lock: %+v", f)
	}
	j := begin(t, l, "one", "b")
	j.Changing(exec("a"))
	j.Changing(exec("b"))
	j.Ended(&report.Result{Ref: exec("a"), Status: report.Changed})
	j.Ended(&report.Result{Ref: exec("u"), Status: report.Unchanged})
	if f := fate(t, d, "one", "b"); f.State != frame.StateRunning || !slices.Equal(f.Progress, []string{"Exec[b]"}) || len(f.Ended) != 1 {
		t.Errorf("in the middle: %+v", f)
	}
	l.Unlock()
	if f := fate(t, d, "one", "b"); f.State != frame.StateBroken || !slices.Equal(f.Progress, []string{"Exec[b]"}) || f.Rebooted {
		t.Errorf("interrupted: %+v", f)
	}
	if f := fate(t, d, "one", "other"); f.State != frame.StateBroken || !f.Rebooted {
		t.Errorf("after a reboot: %+v", f)
	}
	l = lock(t, d, "two")
	j = begin(t, l, "two", "b")
	if err := j.Done(&frame.Done{Counts: frame.Counts{Changed: 3}, Stopped: frame.StopLost}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if f := fate(t, d, "two", "other"); f.State != frame.StateEnded || f.Done.Counts.Changed != 3 || f.Done.Stopped != frame.StopLost || f.Rebooted || f.By != "me" || f.Node != "n1" {
		t.Errorf("ended: %+v", f)
	}
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "two"}, time.Now()); !errors.Is(err, runlog.ErrTwice) {
		t.Errorf("the same ID: %v", err)
	}
}

// TestOwed hands refreshes from run to run.
func TestOwed(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	owed := func(want ...string) {
		t.Helper()
		refs, err := l.Owed("n1")
		var got []string
		for _, r := range refs {
			got = append(got, r.Title)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("owed %q, %v, want %q", got, err, want)
		}
	}
	owed()
	j := begin(t, l, "1", "")
	for range 2 { // the second time has no effect
		if err := j.Owe([]catalog.Ref{exec("a"), exec("b"), exec("c")}); err != nil {
			t.Fatal(err)
		}
	}
	j.Paid(exec("b"))
	j.Paid(exec("never owed"))
	owed("a", "c") // it was interrupted
	j = begin(t, l, "2", "")
	j.Paid(exec("a"))
	if err := j.Owe([]catalog.Ref{exec("d")}); err != nil {
		t.Fatal(err)
	}
	owed("c", "d")
	j = begin(t, l, "3", "")
	if got := j.Owed(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if err := j.Done(&frame.Done{Owed: []string{"Exec[c]"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	owed("c")
	j = begin(t, l, "4", "")
	if err := j.Done(&frame.Done{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	owed()
}

// TestOweFails checks that a refresh which could not be recorded is an error each time: the resources that would need it must
// not be changed.
func TestOweFails(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	j := begin(t, l, "1", "")
	if err := j.Done(&frame.Done{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the file is closed
		if err := j.Owe([]catalog.Ref{exec("a")}); err == nil {
			t.Error("a refresh was recorded in a closed journal")
		}
	}
}

// TestPatternInPath has a state directory whose name is a pattern that does not match itself.
func TestPatternInPath(t *testing.T) {
	d, err := runlog.Open(filepath.Join(t.TempDir(), "state[1]"))
	if err != nil {
		t.Fatal(err)
	}
	l := lock(t, d, "x")
	if err := begin(t, l, "1", "").Owe([]catalog.Ref{exec("a")}); err != nil {
		t.Fatal(err)
	}
	if owed, err := l.Owed("n1"); err != nil || len(owed) != 1 {
		t.Errorf("%v, %v", owed, err)
	}
}

// TestClock checks that the order of runs does not depend on the clock.
func TestClock(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	now := time.Now()
	for i := range 30 {
		j, err := l.Begin(t.Context(), runlog.Start{Run: fmt.Sprint("r", i), Node: "n1"}, now.Add(-time.Duration(i)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Owe([]catalog.Ref{exec(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
		j.Paid(exec(fmt.Sprint(i - 1)))
	}
	if refs, err := l.Owed("n1"); err != nil || len(refs) != 1 || refs[0].Title != "29" {
		t.Errorf("%v, %v", refs, err)
	}
	if list, _ := filepath.Glob(d.Path("runs", "*")); len(list) != 20 {
		t.Errorf("%d journals", len(list))
	}
	if f := fate(t, d, "r9", ""); f.State != frame.StateUnknown {
		t.Errorf("%+v", f)
	}
	if f := fate(t, d, "r10", ""); f.State != frame.StateBroken {
		t.Errorf("%+v", f)
	}
}

// TestTorn cuts a journal at each byte: reading it never fails, and what is owed is what the
// whole lines say.
func TestTorn(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	j := begin(t, l, "1", "")
	if err := j.Owe([]catalog.Ref{exec("a")}); err != nil {
		t.Fatal(err)
	}
	j.Changing(exec("n"))
	j.Paid(exec("a"))
	name := d.Path("runs", "1.log")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(text); n >= 0; n-- {
		for _, tail := range []string{"", "\x00\x00\x00", "\n{\"owe\":\n"} {
			if err := os.WriteFile(name, append(slices.Clone(text[:n]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			lines := strings.Count(string(text[:n]), "\n")
			want := 0
			if lines == 2 || lines == 3 {
				want = 1
			}
			refs, err := l.Owed("n1")
			if tail == "\n{\"owe\":\n" && n > 0 && text[n-1] == '}' {
				continue // the line is whole with this tail
			}
			if err != nil || len(refs) != want {
				t.Fatalf("%d bytes and %q: %v, %v", n, tail, refs, err)
			}
		}
	}
}

// TestFence checks that a run makes lower sequence numbers stale when it begins, but not in noop mode, and not if it is refused.
func TestFence(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	runs := 0
	begin := func(s runlog.Start) error {
		runs++
		s.Run = fmt.Sprintf("%032x", runs)
		if s.Node == "" {
			s.Node = "n1"
		}
		if err := l.Fence(s.Node, s.Seq); err != nil {
			return err
		}
		j, err := l.Begin(t.Context(), s, time.Now())
		if err == nil {
			err = j.Done(&frame.Done{}, time.Now())
		}
		return err
	}
	for _, c := range []struct {
		seq int64
		ok  bool
	}{{5, true}, {5, true}, {4, false}, {0, true}, {4, false}, {-1, false}, {6, true}, {5, false}} {
		err := begin(runlog.Start{Seq: c.seq})
		var stale *runlog.StaleError
		if c.ok != (err == nil) || err != nil && !errors.As(err, &stale) {
			t.Errorf("%d: %v", c.seq, err)
		}
	}
	if err := begin(runlog.Start{Seq: 90, Noop: true}); err != nil {
		t.Error(err)
	}
	if err := begin(runlog.Start{Seq: 1, Noop: true}); err == nil {
		t.Error("a stale number was accepted in noop mode")
	}
	var drifted *runlog.DriftError
	if err := begin(runlog.Start{Seq: 80, Release: "r80", Expected: "r70"}); !errors.As(err, &drifted) {
		t.Errorf("a node with another release: %v", err)
	}
	if err := begin(runlog.Start{Seq: 7}); err != nil {
		t.Errorf("after runs in noop mode and a refused run: %v", err)
	}
	if err := begin(runlog.Start{Node: "n2", Seq: 1}); err != nil {
		t.Errorf("another node: %v", err)
	}
	if err := os.WriteFile(d.Path("sequence"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begin(runlog.Start{Seq: 100}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
}

// TestLock checks that a second run learns who has the lock.
func TestLock(t *testing.T) {
	d := open(t)
	l := lock(t, d, "one")
	_, err := d.Lock(t.Context(), frame.Holder{Run: "two", Node: "n1"})
	var busy *runlog.BusyError
	if !errors.As(err, &busy) || busy.Holder.Run != "one" || busy.Holder.By != "me" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Lock(ctx, frame.Holder{Run: "two", Node: "n1"}); err == nil || errors.As(err, &busy) && busy.Holder == nil {
		t.Errorf("%v", err)
	}
	l.Unlock()
	l = lock(t, d, "two")
	// A run of another node waits for its turn.
	time.AfterFunc(500*time.Millisecond, func() { l.Unlock() })
	other, err := d.Lock(t.Context(), frame.Holder{Run: "three", Node: "n2"})
	if err != nil {
		t.Fatal(err)
	}
	other.Unlock()
}

// TestOpen checks directories that must not be used.
func TestOpen(t *testing.T) {
	base := t.TempDir()
	for name, prepare := range map[string]func(dir string) error{
		"a link":           func(dir string) error { return os.Symlink(t.TempDir(), dir+"/state") },
		"a file":           func(dir string) error { return os.WriteFile(dir+"/state", nil, 0o600) },
		"an open parent":   func(dir string) error { return os.Chmod(dir, 0o777) },
		"a foreign parent": func(dir string) error { return os.Chown(dir, 1234, 1234) },
		"no parent":        os.Remove,
		"a foreign one": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/state", 0o700), os.Chown(dir+"/state", 1234, 1234))
		},
		"an open one": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/state", 0o700), os.Chmod(dir+"/state", 0o770))
		},
	} {
		dir := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), prepare(dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := runlog.Open(dir + "/state"); err == nil {
			t.Errorf("%s was used", name)
		}
	}
	dir := filepath.Join(base, "readable")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := runlog.Open(dir); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, dir := range []string{"", "x", "/x/../y", "/x/"} {
		if _, err := runlog.Open(dir); err == nil {
			t.Errorf("%q was used", dir)
		}
	}
}

// TestLinkInside checks that nothing is removed through a link in the state directory.
func TestLinkInside(t *testing.T) {
	d := open(t)
	if err := os.Symlink(t.TempDir(), d.Path("catalogs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("incoming"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"catalogs", "incoming"} {
		if err := d.Make(name); err == nil || !strings.Contains(err.Error(), d.Path(name)+" is not a directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Make("new"); err != nil {
		t.Error(err)
	}
}

// TestManyNames has one machine with many names: each run waits for its turn, and always knows whose turn it is.
func TestManyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				l, err := d.Lock(t.Context(), frame.Holder{Run: "run", Node: fmt.Sprint("n", strings.Repeat("x", i)), Start: time.Now()})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(10 * time.Millisecond)
				l.Unlock()
			})
		}
		all.Wait()
	})
}

// TestHighestNumber has a damaged journal that leaves no number for the next one.
func TestHighestNumber(t *testing.T) {
	d := open(t)
	damaged := `{"begin":{"number":9223372036854775807,"node":"n1","by":"b","owed":["Exec[damaged]"]}}` + "\n"
	if err := os.WriteFile(d.Path("runs", "damaged.log"), []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"first", "second"} {
		l := lock(t, d, run)
		j := begin(t, l, run, "")
		if err := j.Owe([]catalog.Ref{exec(run)}); err != nil {
			t.Fatal(err)
		}
		if err := j.Done(&frame.Done{Owed: []string{exec(run).String()}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		l.Unlock()
	}
	l := lock(t, d, "third")
	defer l.Unlock()
	if owed, err := l.Owed("n1"); err != nil || len(owed) != 1 || owed[0] != exec("second") {
		t.Errorf("%v, %v", owed, err)
	}
}

func TestCheckID(t *testing.T) {
	for id, ok := range map[string]bool{"a": true, "0f-9A": true, "": false, "-a": false, "../x": false, "a/b": false, "a\x00": false, "a b": false, strings.Repeat("x", 65): false} {
		if err := runlog.CheckID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestChecked(t *testing.T) {
	d := open(t)
	times, err := d.Checked()
	if err != nil || len(times) > 0 {
		t.Errorf("%v, %v", times, err)
	}
	now := time.Now().UTC().Round(time.Second)
	for _, title := range []string{"a", "b"} {
		if times, err = d.Checked(); err == nil {
			err = d.SetChecked(times, []catalog.Ref{exec(title)}, now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if times, err = d.Checked(); err != nil || !times["Exec[a]"].Equal(now) || !times["Exec[b]"].Equal(now) {
		t.Errorf("%v, %v", times, err)
	}
	if err := d.SetChecked(times, []catalog.Ref{exec("c")}, now.AddDate(1, 0, 0)); err != nil {
		t.Error(err)
	}
	if times, err = d.Checked(); err != nil || len(times) != 1 {
		t.Errorf("%v, %v", times, err)
	}
	if err := os.WriteFile(d.Path("checked"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if times, err = d.Checked(); err != nil || len(times) > 0 {
		t.Errorf("%v, %v", times, err)
	}
}

// TestAudited keeps the values of many resources, as of a large directory whose files are audited.
func TestAudited(t *testing.T) {
	d := open(t)
	now := time.Now().UTC().Round(time.Second)
	values := make(map[catalog.Ref]map[string]string)
	long := strings.Repeat("x", 20_000)
	for i := range 1000 {
		values[exec(fmt.Sprint(i))] = map[string]string{"content": long}
	}
	if err := d.SetAudited(nil, values, now); err != nil {
		t.Fatal(err)
	}
	audits, err := d.Audited()
	if a := audits["Exec[7]"]; err != nil || len(audits) != len(values) || a.Values["content"] != long || !a.At.Equal(now) {
		t.Errorf("%d of %d, %v", len(audits), len(values), err)
	}
	if err := d.SetAudited(audits, map[catalog.Ref]map[string]string{exec("new"): {"content": "y"}}, now.AddDate(1, 0, 0)); err != nil {
		t.Error(err)
	}
	if audits, err = d.Audited(); err != nil || len(audits) != 1 || audits["Exec[new]"].Values["content"] != "y" {
		t.Errorf("%d, %v", len(audits), err)
	}
}

// FuzzJournal reads journals of any content.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"begin":{"number":1,"node":"n","by":"b","owed":["Exec[x]"]},"at":"2026-11-27T09:23:41Z"}` + "\n" + `{"owe":["Exec[a]"]}` + "\n" + `{"start":"Exec[a]"}` + "\n" + `{"end":{"ref":"Exec[a]","status":"changed"}}` + "\n" + `{"done":{"counts":{}}}` + "\n"))
	f.Add([]byte("{}\n\n\x00"))
	dir := f.TempDir()
	d, err := runlog.Open(filepath.Join(dir, "state"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(d.Path("runs", "x.log"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Fate("x", "boot"); err != nil {
			t.Fatal(err)
		}
		l, err := d.Lock(t.Context(), frame.Holder{Run: "y"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Unlock()
		if _, err := l.Owed("n1"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLockOfWatch has a run of the same node wait for the check of a watch.
func TestLockOfWatch(t *testing.T) {
	d := open(t)
	check, err := d.Lock(t.Context(), frame.Holder{Run: "check", Node: "n1", Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		l, err := d.Lock(t.Context(), frame.Holder{Run: "run", Node: "n1"})
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Errorf("the run did not wait: %v", err)
	case <-time.After(time.Second): // longer than a run waits for another run of the node
	}
	if err := check.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}
