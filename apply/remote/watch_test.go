package remote_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/apply/remote"
	"bolt/apply/report"
	"bolt/internal/sshtest"
)

// A watched is a watch that a test has started.
type watched struct {
	lines chan string // results as "Type[title] status", messages, and rounds
	next  chan *remote.Job
	stop  context.CancelCauseFunc
	done  chan error
}

var errEnough = errors.New("the test is over")

// watch starts a watch, and waits for the end of its first check.
func (p *place) watch(t *testing.T, job *remote.Job) *watched {
	t.Helper()
	job.Node = "n1"
	w := &watched{lines: make(chan string, 10000), next: make(chan *remote.Job), done: make(chan error, 1)}
	w.take(job)
	ctx, stop := context.WithCancelCause(t.Context())
	w.stop = stop
	go func() {
		w.done <- remote.Watch(ctx, p, &p.target, job, w.next, func(r *remote.Round) {
			w.lines <- fmt.Sprintf("round first=%v changed=%d failed=%d %s", r.First, r.Counts.Changed, r.Counts.Failed, r.Error)
		})
	}()
	t.Cleanup(func() { stop(errEnough) })
	w.wait(t, "round first=true")
	return w
}

func (w *watched) take(job *remote.Job) {
	job.Result = func(r *report.Result) {
		if r.Status != report.Unchanged {
			w.lines <- fmt.Sprintf("%s %s", r.Ref, r.Status)
		}
	}
	job.Log = func(l *report.Log) { w.lines <- l.Message }
}

// wait waits for a line that begins with prefix.
func (w *watched) wait(t *testing.T, prefix string) string {
	t.Helper()
	late := time.After(time.Minute)
	var before []string
	for {
		select {
		case line := <-w.lines:
			if strings.HasPrefix(line, prefix) {
				return line
			}
			before = append(before, line)
		case err := <-w.done:
			t.Fatalf("the watch has ended before %q: %v; after %q", prefix, err, before)
		case <-late:
			t.Fatalf("%q did not come; these came: %q", prefix, before)
		}
	}
}

// end ends the watch.
func (w *watched) end(t *testing.T) {
	t.Helper()
	w.stop(errEnough)
	select {
	case err := <-w.done:
		if !errors.Is(err, errEnough) {
			t.Errorf("the end: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the watch does not end")
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s: %q %v, want %q", name, got, err, want)
	}
}

// TestWatch changes, removes and replaces files while they are watched over a real connection.
func TestWatch(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	p := newPlace(t)
	p.Conn, _ = dialSSH(t, s, "root")
	a, b := filepath.Join(p.dir, "a"), filepath.Join(p.dir, "sub", "b")
	sub := resource{"type": "File", "title": filepath.Dir(b), "parameters": map[string]any{"ensure": "directory"}}
	w := p.watch(t, &remote.Job{Catalog: parse(t, nil, file(a, "right"), sub, file(b, "also right"))})
	expect(t, a, "right")
	write(t, a, "wrong")
	w.wait(t, "File["+a+"] changed")
	w.wait(t, "round first=false changed=1")
	expect(t, a, "right")
	if err := os.RemoveAll(filepath.Dir(b)); err != nil {
		t.Fatal(err)
	}
	w.wait(t, "File["+b+"] changed")
	expect(t, b, "also right")
	w.end(t)
	if left, err := os.ReadDir(filepath.Join(p.target.Dir, "incoming")); err != nil || len(left) > 0 {
		t.Errorf("contents are left: %v %v", left, err)
	}
	write(t, a, "wrong again")
	if out, _ := p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(a, "right"))}); out.Counts.Changed != 1 {
		t.Errorf("after the watch: %+v", out)
	}
}

// TestWatchContent puts back a file whose content was in its place when the watch began, so that it comes only now.
func TestWatchContent(t *testing.T) {
	p := newPlace(t)
	for _, size := range []int{5, 5 << 20} {
		f, src := filepath.Join(p.dir, fmt.Sprint("f", size)), filepath.Join(p.dir, fmt.Sprint("src", size))
		text := strings.Repeat("x", size)
		write(t, src, text)
		write(t, f, text)
		res, meta := source(t, f, src)
		c := parse(t, map[string]any{"metadata": map[string]any{f: meta}}, res)
		w := p.watch(t, &remote.Job{Catalog: c})
		write(t, f, "wrong")
		w.wait(t, "File["+f+"] changed")
		expect(t, f, text)
		w.end(t)
	}
}

// TestWatchEdit replaces the catalog: only the differences are applied, and the old catalog stays after a wrong catalog.
func TestWatchEdit(t *testing.T) {
	p := newPlace(t)
	a, b, c := filepath.Join(p.dir, "a"), filepath.Join(p.dir, "b"), filepath.Join(p.dir, "c")
	w := p.watch(t, &remote.Job{Catalog: parse(t, nil, file(a, "1"), file(b, "1"))})
	edit := func(list ...resource) {
		t.Helper()
		job := &remote.Job{Node: "n1", Catalog: parse(t, nil, list...)}
		w.take(job)
		w.next <- job
	}
	edit(file(a, "1"), file(b, "2"), file(c, "2"))
	if line := w.wait(t, "round first=true"); line != "round first=true changed=2 failed=0 " {
		t.Errorf("%s", line)
	}
	expect(t, b, "2")
	write(t, c, "wrong")
	w.wait(t, "File["+c+"] changed")
	edit(file(a, "3"), resource{"type": "File", "title": b, "parameters": map[string]any{"mode": "nonsense"}})
	if line := w.wait(t, "round first=true"); !strings.Contains(line, "mistake") {
		t.Errorf("%s", line)
	}
	expect(t, a, "1")
	write(t, b, "wrong")
	w.wait(t, "File["+b+"] changed")
	expect(t, b, "2")
	edit(file(a, "4"))
	w.wait(t, "round first=true")
	expect(t, a, "4")
	write(t, b, "free")
	write(t, a, "wrong")
	w.wait(t, "File["+a+"] changed")
	expect(t, b, "free")
	w.end(t)
}

// TestWatchFailed has a file that cannot be made. When it can, it is made at once, and so is the file that depends on it.
func TestWatchFailed(t *testing.T) {
	p := newPlace(t)
	first, second := filepath.Join(p.dir, "missing", "first"), filepath.Join(p.dir, "second")
	after := file(second, "x")
	after["parameters"].(map[string]any)["require"] = "File[" + first + "]"
	w := p.watch(t, &remote.Job{Catalog: parse(t, nil, file(first, "x"), after)})
	if err := os.Mkdir(filepath.Dir(first), 0o755); err != nil {
		t.Fatal(err)
	}
	w.wait(t, "File["+second+"] changed")
	expect(t, first, "x")
	w.end(t)
}

// TestWatchBusy lets another run work while a watch is attached.
func TestWatchBusy(t *testing.T) {
	p := newPlace(t)
	f := filepath.Join(p.dir, "f")
	w := p.watch(t, &remote.Job{Catalog: parse(t, nil, file(f, "of the watch"))})
	out, _ := p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "of the other run"))})
	if out.Counts.Changed != 1 {
		t.Errorf("%+v", out)
	}
	w.wait(t, "File["+f+"] changed")
	expect(t, f, "of the watch")
	w.end(t)
}
