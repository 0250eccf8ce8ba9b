package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bolt/apply/report"
	"bolt/internal/ownfile"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// made returns a report of the n-th run of a node.
func made(node string, n int) *Report {
	return &Report{
		Summary: Summary{Node: node, Run: fmt.Sprintf("run%02d", n), Time: noon.Add(time.Duration(n) * time.Minute), Took: 1.5, Status: Changed, By: "ann@desk", Counts: Counts{Changed: 1, Unchanged: 2}},
		Resources: []Resource{{Ref: "File[/etc/motd]", Status: report.Changed, Place: "site.pp:1", Took: 0.1,
			Events: []Event{{Property: "content", Name: "content_changed", Status: report.Success, Is: "a", Should: "b", Message: "content changed", Diff: "-a\n+b\n"}}}},
		Logs: []report.Log{{Ref: "Exec[x]", Level: report.Notice, Message: "said", Time: noon}},
	}
}

func add(t *testing.T, d *Dir, r *Report) {
	t.Helper()
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
}

// all returns the runs of a node, and the paths of its damaged reports.
func all(t *testing.T, d *Dir, node string) (runs, damaged []string) {
	t.Helper()
	for s, err := range d.All(t.Context(), node) {
		if e, is := errors.AsType[*DamagedError](err); is {
			damaged = append(damaged, e.Path)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, s.Run)
	}
	return runs, damaged
}

// last returns the nodes of the newest reports with their runs.
func last(t *testing.T, d *Dir, nodes []string) (list []string) {
	t.Helper()
	for s, err := range d.Last(t.Context(), nodes) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s.Node+" "+s.Run)
	}
	return list
}

func TestAdd(t *testing.T) {
	d := Open(filepath.Join(t.TempDir(), "state", "reports"), Keep)
	if got := last(t, d, nil); got != nil {
		t.Errorf("without a directory: %v", got)
	}
	if _, err := d.Get(t.Context(), "web1", "run01"); !errors.Is(err, ErrNone) {
		t.Errorf("without a directory: %v", err)
	}
	want := made("web1", 1)
	add(t, d, want)
	add(t, d, made("web1", 2))
	add(t, d, made("db1", 1))
	got, err := d.Get(t.Context(), "web1", "run01")
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got := last(t, d, nil); !slices.Equal(got, []string{"db1 run01", "web1 run02"}) {
		t.Errorf("all nodes: %v", got)
	}
	if got := last(t, d, []string{"web1", "none", "db1"}); !slices.Equal(got, []string{"web1 run02", "db1 run01"}) {
		t.Errorf("some nodes: %v", got)
	}
	if got := last(t, d, []string{}); got != nil {
		t.Errorf("no nodes: %v", got)
	}
	if !d.Has("web1", "run02") || d.Has("web1", "run03") {
		t.Error("Has is wrong")
	}
	err = filepath.WalkDir(filepath.Dir(d.Path()), func(path string, e fs.DirEntry, err error) error {
		info, ierr := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err != nil || ierr != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), errors.Join(err, ierr))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(d.Path(), ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPrune checks that the newest reports stay, and that the report of this run stays if clocks disagree.
func TestPrune(t *testing.T) {
	d := Open(t.TempDir(), 3)
	for n := range 6 {
		add(t, d, made("web1", n+1))
	}
	if got, _ := all(t, d, "web1"); !slices.Equal(got, []string{"run06", "run05", "run04"}) {
		t.Errorf("%v", got)
	}
	if runs, err := d.Runs("web1"); err != nil || !slices.Equal(runs, []string{"run06", "run05", "run04"}) {
		t.Errorf("%v, %v", runs, err)
	}
	add(t, d, made("web1", 1))
	if got, _ := all(t, d, "web1"); !slices.Equal(got, []string{"run06", "run05", "run01"}) {
		t.Errorf("after a clock that was set back: %v", got)
	}
	again := made("web1", 5)
	again.Time = noon.Add(time.Hour)
	add(t, d, again)
	if got, _ := all(t, d, "web1"); !slices.Equal(got, []string{"run05", "run06", "run01"}) {
		t.Errorf("after the same run: %v", got)
	}

	dir := filepath.Join(d.Path(), "web1")
	old, young := filepath.Join(dir, ".x.jsonl.1.tmp"), filepath.Join(dir, ".x.jsonl.2.tmp")
	other := filepath.Join(dir, "notes")
	for _, path := range []string{old, young, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{old, other} {
		if err := os.Chtimes(path, noon, time.Now().Add(-2*abandoned)); err != nil {
			t.Fatal(err)
		}
	}
	add(t, d, made("web1", 7))
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old temporary file: %v", err)
	}
	for _, path := range []string{young, other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("another file: %v", err)
		}
	}
}

// TestNames checks that any name is one safe file name, and that no two names share one.
func TestNames(t *testing.T) {
	long := strings.Repeat("a", 300)
	names := []string{"web1", "web1.example.com", "Web1", "../../etc", "..", ".", "", "-rf", ".hidden", "a/b", "a\x00b", "a\nb", "ssh://u@h:22/x", "ü", long, long + "b", "a~b", "\x1b[31m", "con ", strings.Repeat("ü", 200)}
	files := make(map[string]string)
	d := Open(t.TempDir(), Keep)
	for _, name := range names {
		file := strings.ToLower(fileName(name))
		if other, is := files[file]; is {
			t.Errorf("%q and %q share %s", name, other, file)
		}
		files[file] = name
		if len(file) > 100 || strings.ContainsAny(file, "/\x00\n\x1b") || file[0] == '.' || file[0] == '-' {
			t.Errorf("%q has the file name %q", name, file)
		}
		if name == "" { // no node has it
			continue
		}
		r := made(name, 1)
		r.Run = name
		add(t, d, r)
		runs, err := d.Runs(name)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%q: %q, %v", name, runs, err)
		}
		if got, err := d.Get(t.Context(), name, runs[0]); err != nil || got.Node != name || got.Run != name {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	if got := d.Nodes(t.Context()); len(got) != len(names)-1 {
		t.Errorf("%q", got)
	}
	if fileName("web1.example.com") != "web1.example.com" {
		t.Error("a plain name is changed")
	}
}

// TestDamaged checks that a damaged report is an error with its path, and that the others are shown.
func TestDamaged(t *testing.T) {
	whole, err := encode(made("web1", 3))
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(whole, []byte(`"format":1`), []byte(`"format":2`), 1)
	other, err := encode(made("web2", 3))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"empty": nil, "cut in the first line": whole[:20], "cut": whole[:len(whole)-5], "longer": append(slices.Clone(whole), "x\n"...),
		"not JSON": []byte("hello\n"), "another object": []byte("{}\n"), "newer": newer, "another node": other, "no end of line": bytes.Repeat([]byte("x"), 3*maxHead),
	} {
		t.Run(name, func(t *testing.T) {
			d := Open(t.TempDir(), Keep)
			add(t, d, made("web1", 1))
			r := made("web1", 3)
			add(t, d, r)
			path := filepath.Join(d.Path(), "web1", nameOf(r))
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			check(t, d, path)
		})
	}
	for name, make := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			d := Open(t.TempDir(), Keep)
			add(t, d, made("web1", 1))
			path := filepath.Join(d.Path(), "web1", nameOf(made("web1", 3)))
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			check(t, d, path)
		})
	}
}

// check checks that the report with this path is damaged and the report of the first run is not.
func check(t *testing.T, d *Dir, path string) {
	t.Helper()
	runs, damaged := all(t, d, "web1")
	if !slices.Equal(runs, []string{"run01"}) || !slices.Equal(damaged, []string{path}) {
		t.Errorf("runs %q, damaged %q", runs, damaged)
	}
	var got []string
	for s, err := range d.Last(t.Context(), nil) {
		if err == nil {
			got = append(got, s.Run)
		}
	}
	if !slices.Equal(got, []string{"run01"}) {
		t.Errorf("last: %q", got)
	}
	_, err := d.Get(t.Context(), "web1", "run03")
	if e, is := errors.AsType[*DamagedError](err); !is || e.Path != path || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if err := d.Add(made("web1", 4)); err != nil {
		t.Error(err)
	}
}

// TestWriters lets several writers and a reader work on one node at the same time.
func TestWriters(t *testing.T) {
	t.Run("keep 5", func(t *testing.T) { writeAtOnce(t, 5) })
	t.Run("keep 1", func(t *testing.T) { writeAtOnce(t, 1) })
}

func writeAtOnce(t *testing.T, keep int) {
	const writers, runs = 4, 25
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			d := Open(dir, keep)
			for n := range runs {
				if err := d.Add(made("web1", n*writers+w)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reader := Open(dir, keep)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			for _, err := range reader.Last(context.WithoutCancel(t.Context()), nil) {
				if err != nil {
					t.Error(err)
				}
			}
		}
	}()
	wg.Wait()
	<-done
	add(t, reader, made("web1", writers*runs))
	if got, damaged := all(t, reader, "web1"); len(got) != keep || damaged != nil || got[0] != fmt.Sprintf("run%02d", writers*runs) {
		t.Errorf("%q, %q", got, damaged)
	}
}

// TestLarge checks that a report is bounded: at first it loses diffs, then outcomes that are not failures.
func TestLarge(t *testing.T) {
	r := made("web1", 1)
	big := r.Resources[0]
	big.Events = []Event{{Status: report.Success, Message: "changed", Diff: strings.Repeat("+line\n", 1000)}}
	r.Resources = slices.Repeat([]Resource{big}, 400)
	data, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil || len(got.Resources) != 400 || got.Omitted != 0 || got.Resources[0].Events[0].Diff != leftOut {
		t.Errorf("%d resources, %v", len(got.Resources), err)
	}
	if r.Resources[0].Events[0].Diff == leftOut {
		t.Error("the report of the caller was changed")
	}

	big.Events = []Event{{Status: report.Success, Message: strings.Repeat("long ", 1000)}}
	failed := big
	failed.Status = report.Failed
	r.Resources = append(slices.Repeat([]Resource{big}, 400), failed)
	if data, err = encode(r); err != nil || len(data) > maxFile {
		t.Fatal(len(data), err)
	}
	got, err = Parse(data)
	if err != nil || got.Omitted == 0 || got.Resources[len(got.Resources)-1].Status != report.Failed || len(got.Resources)+len(got.Logs)+got.Omitted != 402 {
		t.Errorf("%d resources, %d omitted, %v", len(got.Resources), got.Omitted, err)
	}
	r.Node = strings.Repeat("n", maxHead)
	if _, err := encode(r); err == nil {
		t.Error("no error for a summary that is too large")
	}
}

// TestSmall checks the size of the report of a run that has changed nothing.
func TestSmall(t *testing.T) {
	r := Of(&report.Run{ID: "25a23960-39d3-4445-a031-bbc6a2d3de57", Start: time.Now(), Took: time.Second, Results: []*report.Result{{Status: report.Unchanged}}})
	r.Node, r.By, r.Release, r.Rollout = "web1.example.com", "ann@desk", strings.Repeat("a", 64), "20261127-141811-motd"
	data, err := encode(r)
	if err != nil || len(data) > 1000 || r.Status != Unchanged || r.Counts.Unchanged != 1 {
		t.Errorf("%d bytes, %+v, %v", len(data), r, err)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		counts  Counts
		stopped bool
		want    Status
	}{
		{Counts{Changed: 1, Failed: 1, Noop: 1}, true, Failed},
		{Counts{Changed: 1}, true, Stopped},
		{Counts{Changed: 1, Noop: 1}, false, Changed},
		{Counts{Noop: 1, Unchanged: 1}, false, Noop},
		{Counts{Skipped: 1}, false, Unchanged},
	} {
		if got := tt.counts.status(tt.stopped); got != tt.want {
			t.Errorf("%+v, %v: %s, want %s", tt.counts, tt.stopped, got, tt.want)
		}
	}
}

// TestErrors checks that a report that cannot be written is an error and leaves no file.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open(filepath.Join(file, "reports"), Keep).Add(made("web1", 1)); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%v", err)
	}
	if err := Open("/dev/full", Keep).Add(made("web1", 1)); err == nil {
		t.Error("no error")
	}
	linked := Open(filepath.Join(t.TempDir(), "reports"), 1)
	add(t, linked, made("web1", 1))
	if err := os.Symlink(filepath.Join(linked.Path(), "web1"), filepath.Join(linked.Path(), "web2")); err != nil {
		t.Fatal(err)
	}
	if err := linked.Add(made("web2", 2)); !errors.Is(err, ownfile.ErrLink) {
		t.Errorf("%v", err)
	}
	if got, _ := all(t, linked, "web1"); !slices.Equal(got, []string{"run01"}) {
		t.Errorf("after a link: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := Open(dir, Keep)
	add(t, d, made("web1", 1))
	for _, err := range d.Last(ctx, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	whole, err := encode(made("web1", 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("{\"format\":1,\"bytes\":2,\"node\":\"x\",\"time\":\"2026-11-27T12:00:00Z\"}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil {
			return // the summary has grown
		}
		if _, err := Parse(again); err != nil {
			t.Errorf("%v\n%q\n%q", err, data, again)
		}
	})
}
