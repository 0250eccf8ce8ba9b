package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/remote/helpertest"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
	"bolt/transport/all"
	"bolt/transport/local"
)

// helper is the helper of all tests.
var helper = helpertest.Build{Root: "../.."}

// cutting dials this machine. The first command on its first connection is cut off from bolt when its output has a text; the
// command works on, or is ended as if the connection were gone. Then a file is made.
type cutting struct {
	at   string
	ends bool
	file string

	mu    sync.Mutex
	dials int
	left  sync.WaitGroup
}

func (d *cutting) Dial(ctx context.Context, _ transport.Dest) (transport.Conn, error) {
	conn, err := local.NewDialer(local.Options{}).Dial(ctx, transport.Dest{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dials++
	return &cutConn{Conn: conn, d: d, whole: d.at == "" || d.dials > 1}, err
}

type cutConn struct {
	transport.Conn
	d     *cutting
	whole bool
}

func (c *cutConn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	if c.whole {
		return c.Conn.Run(ctx, cmd)
	}
	inner, end := context.WithCancel(context.WithoutCancel(ctx))
	w := &cutWriter{to: cmd.Stdout, at: c.d.at, seen: make(chan struct{})}
	copied := *cmd
	copied.Stdout = w
	done := make(chan struct{})
	var st transport.Status
	var err error
	c.d.left.Go(func() {
		defer close(done)
		defer end()
		st, err = c.Conn.Run(inner, &copied)
	})
	select {
	case <-done:
		return st, err
	case <-w.seen:
		if c.d.ends {
			end()
		}
		if err := os.WriteFile(c.d.file, nil, 0o600); err != nil {
			return transport.Status{}, err
		}
		return transport.Status{}, &transport.Error{Class: transport.ClassLost, Msg: "The connection was lost"}
	}
}

// Close does not end commands that still run. The test waits for them.
func (c *cutConn) Close() error {
	if c.whole {
		return c.Conn.Close()
	}
	return nil
}

type cutWriter struct {
	to   interface{ Write([]byte) (int, error) }
	at   string
	seen chan struct{}
	once sync.Once
	cut  bool
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.cut {
		return len(p), nil
	}
	n, err := w.to.Write(p)
	if bytes.Contains(p, []byte(w.at)) {
		w.cut = true
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func target(t *testing.T) *inventory.Target {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(`{"targets": [{"name": "n1", "config": {"transport": "local"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.New(t.Context(), v.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), Transport: "ssh"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := inv.Targets(t.Context(), []string{"n1"})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// apply applies resources, TYPE TITLE and parameters in JSON, to this machine.
func apply(t *testing.T, d *cutting, delivery fleet.Delivery, resources string) (*event.Result, *report.Run, []string) {
	t.Helper()
	c, err := catalog.Parse([]byte(`{"name": "n1", "resources": [` + resources + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	delivery.Helpers, delivery.Diffs = helper.Set(t), true
	if delivery.Dir == "" {
		delivery.Dir = filepath.Join(t.TempDir(), "state")
	}
	var done *report.Run
	action := &fleet.Apply{
		Facts:   func(context.Context, *run.Site) (*ordered.Map, error) { return nil, nil },
		Compile: func(context.Context, *inventory.Target, *ordered.Map, bool) (*catalog.Catalog, error) { return c, nil },
		Deliver: delivery.Deliver, Version: "test",
		Report: []fleet.ReportFunc{func(_ context.Context, _ *inventory.Target, _ *catalog.Catalog, r *report.Run) error {
			done = r
			return nil
		}},
	}
	action.Compiles(1)
	var result *event.Result
	var seen []string
	err = run.New(d, run.Options{}).Run(t.Context(), action, []*inventory.Target{target(t)}, event.Func(func(_ context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.TargetResource:
			seen = append(seen, e.Resource.Ref+" "+e.Resource.Status)
		case event.TargetEnd:
			result = e.Result
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	d.left.Wait()
	return result, done, seen
}

func file(path, content string) string {
	return fmt.Sprintf(`{"type": "File", "title": %q, "parameters": {"content": %q}}`, path, content)
}

func command(name, command string) string {
	return fmt.Sprintf(`{"type": "Exec", "title": %q, "parameters": {"command": %q, "path": "/bin:/usr/bin"}}`, name, command)
}

func statuses(r *report.Run) string {
	var list []string
	for _, res := range r.Results {
		list = append(list, res.Ref.String()+" "+string(res.Status))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	resources := file(name, "new\n") + "," + command("fails", "false") + `,{"type": "Notify", "title": "n", "parameters": {"require": "Exec[fails]"}}`
	result, done, seen := apply(t, &cutting{}, fleet.Delivery{}, resources)
	want := "Exec[fails] failed, File[" + name + "] changed, Notify[n] skipped"
	if got := statuses(done); got != want {
		t.Errorf("report has %s\nwant %s", got, want)
	}
	slices.Sort(seen)
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("events are %s\nwant %s", got, want)
	}
	if result.OK() || result.Err.Kind != fleet.KindResource || !strings.HasPrefix(result.Err.Msg, "Resources failed to apply for n1\n  Exec[fails]: ") {
		t.Errorf("error is %+v", result.Err)
	}
	if a := result.Applied; a.Changed != 1 || a.Failed != 1 || a.Skipped != 1 || !strings.Contains(a.Resources[0].Changes[0].Diff, "-old\n+new\n") {
		t.Errorf("applied is %+v", a)
	}
	data, err := result.Value.Value("report").(interface{ Data() (any, error) }).Data()
	if err != nil {
		t.Fatal(err)
	}
	if r := data.(*ordered.Map); r.Value("status") != "failed" || r.Value("report_format") != int64(12) {
		t.Errorf("Puppet's report has the status %v", r.Value("status"))
	}
}

// After the connection was lost, bolt queries the helper for the outcome of the run.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name     string
		ends     bool
		resume   bool
		statuses string
		err      string
	}{
		{"the helper works on", false, false, "Exec[a] changed, Exec[b] changed, Exec[c] changed", ""},
		{"the helper stops", true, false, "Exec[a] changed, Exec[b] changed, Exec[c] skipped", "was finished there, and the rest was skipped"},
		{"the helper is told to go on", true, true, "Exec[a] changed, Exec[b] changed, Exec[c] changed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			// The helper has a second to notice the end of the connection.
			slow := fmt.Sprintf("sh -c 'until test -e %[1]s/cut; do sleep 0.02; done; sleep 1; touch %[1]s/b'", dir)
			resources := strings.Join([]string{command("a", "true"), command("b", slow), command("c", "touch "+dir+"/c")}, ",")
			result, done, _ := apply(t, &cutting{at: "Exec[a]", ends: c.ends, file: dir + "/cut"}, fleet.Delivery{Continue: c.resume}, resources)
			if got := statuses(done); got != c.statuses {
				t.Errorf("report has %s\nwant %s", got, c.statuses)
			}
			switch {
			case c.err == "" && !result.OK():
				t.Errorf("error is %s", result.Err.Msg)
			case c.err != "" && (result.OK() || !strings.Contains(result.Err.Msg, c.err)):
				t.Errorf("error is %+v, want %s", result.Err, c.err)
			}
			if _, err := os.Stat(dir + "/b"); err != nil {
				t.Errorf("the resource that was being applied was not finished: %v", err)
			}
		})
	}
}

func TestReports(t *testing.T) {
	dir := t.TempDir()
	done := &report.Run{ID: "r", Start: time.Now(), Results: []*report.Result{{Ref: catalog.Ref{Type: "Notify", Title: "n"}, Status: report.Changed}}}
	one, err := fleet.NewReports(filepath.Join(dir, "one.json"), 1)
	if err != nil {
		t.Fatal(err)
	}
	many, err := fleet.NewReports(filepath.Join(dir, "many")+"/", 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*fleet.Reports{one, many} {
		if err := r.Write(t.Context(), target(t), nil, done); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one.json", "many/n1.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if want := `"resources":[{"ref":"Notify[n]","status":"changed","refreshed":false}]}` + "\n"; err != nil || !strings.HasSuffix(string(text), want) {
			t.Errorf("%s has %s, %v", name, text, err)
		}
	}
	if _, err := fleet.NewReports(filepath.Join(dir, "one.json"), 2); err == nil || !strings.Contains(err.Error(), "Give a directory") {
		t.Errorf("error for the reports of two targets in a file is %v", err)
	}
}
