package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"bolt/apply/resource"
	"bolt/apply/runlog"
	"bolt/apply/serve"
	"bolt/catalog"
)

// A fakeType has resources with a state in memory. The parameter "fail" fails a change or a
// refresh, and "wait" waits for a channel before it.
type fakeType struct {
	mu     sync.Mutex
	state  map[string]string
	events []string
	begun  chan string
	refuse bool // all changes
	gate   chan struct{}
}

func newFake() *fakeType {
	return &fakeType{state: make(map[string]string), begun: make(chan string, 100), gate: make(chan struct{})}
}

func (f *fakeType) New(r *resource.Resource) (resource.Item, error) {
	if r.Params.Value("bad") != nil {
		return nil, &resource.ParamError{Param: "bad", Problem: "must not be given"}
	}
	want, _, err := r.Text("command")
	return &fakeItem{f, r, want, ""}, err
}

type fakeItem struct {
	f        *fakeType
	r        *resource.Resource
	want, is string
}

func (i *fakeItem) Read(context.Context, *resource.Host) error {
	i.f.mu.Lock()
	defer i.f.mu.Unlock()
	i.is = i.f.state[i.r.Title]
	return nil
}

func (i *fakeItem) Plan() ([]resource.Change, error) {
	if i.is == i.want || i.r.Params.Value("refreshonly") == true {
		return nil, nil
	}
	return []resource.Change{{Property: "returns", Is: i.is, Should: i.want}}, nil
}

func (i *fakeItem) Do(_ context.Context, h *resource.Host, _ *resource.Change) error {
	if i.f.refuse {
		return nil // noop of a resource overrides that of the run
	}
	i.f.begun <- i.r.Title
	if i.r.Params.Value("user") == "wait" {
		<-i.f.gate
	}
	if i.r.Params.Value("user") == "chatty" {
		for range 1000 {
			h.Logf(i.r.Ref, report.Info, "%s", strings.Repeat("x", 100<<10))
		}
	}
	i.f.mu.Lock()
	defer i.f.mu.Unlock()
	i.f.state[i.r.Title] = i.want
	i.f.events = append(i.f.events, "set "+i.r.Title)
	if i.r.Params.Value("user") == "fail" {
		return errors.New("it was to fail")
	}
	return nil
}

func (i *fakeItem) Refresh(context.Context, *resource.Host, []resource.Change) error {
	i.f.mu.Lock()
	defer i.f.mu.Unlock()
	i.f.events = append(i.f.events, "refresh "+i.r.Title)
	return nil
}

// took returns the events since the last call.
func (f *fakeType) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.events
	f.events = nil
	return list
}

func exec(title string, params ...any) map[string]any {
	p := map[string]any{"command": "/bin/" + title}
	for i := 0; i < len(params); i += 2 {
		p[params[i].(string)] = params[i+1]
	}
	return map[string]any{"type": "Exec", "title": title, "tags": []string{"tag" + title}, "parameters": p}
}

func text(t *testing.T, resources ...any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"name": "n1", "resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pack makes the input of the helper.
func pack(t *testing.T, catalog []byte) []byte {
	t.Helper()
	p := frame.NewPacker()
	if err := p.Raw(frame.TypeCatalog, catalog); err != nil {
		t.Fatal(err)
	}
	b, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func machine(t *testing.T, f *fakeType) *serve.Machine {
	t.Helper()
	return &serve.Machine{Dir: filepath.Join(t.TempDir(), "state"), Types: map[string]resource.Type{"Exec": f}, Boot: "boot"}
}

// An answer is what the helper said.
type answer struct {
	code   int
	need   *frame.Need
	done   *frame.Done
	fate   *frame.Fate
	status map[string]report.Status
	logs   int
}

func read(t *testing.T, run string, code int, out io.Reader) *answer {
	t.Helper()
	a := &answer{code: code, status: make(map[string]report.Status)}
	r := frame.NewReader(out)
	if _, err := r.Skip(run); err != nil {
		t.Fatal(err)
	}
	for {
		typ, body, err := r.Next()
		if errors.Is(err, io.EOF) {
			return a
		}
		if err == nil {
			switch typ {
			case frame.TypeHello:
				err = frame.Decode(typ, body, new(frame.Hello))
			case frame.TypeNeed:
				a.need = new(frame.Need)
				err = frame.Decode(typ, body, a.need)
			case frame.TypeDone:
				a.done = new(frame.Done)
				err = frame.Decode(typ, body, a.done)
			case frame.TypeFate:
				a.fate = new(frame.Fate)
				err = frame.Decode(typ, body, a.fate)
			case frame.TypeLog:
				a.logs++
			case frame.TypeEvent:
				var res frame.Result
				err = frame.Decode(typ, body, &res)
				a.status[res.Ref] = res.Status
			default:
				err = fmt.Errorf("a frame of type %v", typ)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func apply(t *testing.T, m *serve.Machine, q serve.Request, in []byte) *answer {
	t.Helper()
	if q.Node == "" {
		q.Node = "n1"
	}
	var out bytes.Buffer
	code := m.Apply(t.Context(), &q, bytes.NewReader(in), &out)
	return read(t, q.Run, code, &out)
}

func asked(t *testing.T, m *serve.Machine, run string) *frame.Fate {
	t.Helper()
	var out bytes.Buffer
	a := read(t, run, m.Asked(run, false, &out), &out)
	if a.fate == nil {
		t.Fatalf("%+v", a)
	}
	return a.fate
}

// TestCatalogs checks what the helper asks for, and catalogs that it refuses. Nothing is changed then.
func TestCatalogs(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	good := text(t, exec("a"))
	digest := fmt.Sprintf("%x", sha256.Sum256(good))
	if a := apply(t, m, serve.Request{Run: "1", Catalog: digest}, nil); a.code != serve.ExitNeed || !a.need.Catalog {
		t.Errorf("%+v", a)
	}
	for name, c := range map[string]struct {
		q    serve.Request
		in   []byte
		kind frame.Kind
		text string
	}{
		"another digest":    {serve.Request{Catalog: strings.Repeat("a", 64)}, pack(t, good), frame.KindInput, "another digest"},
		"no catalog":        {serve.Request{}, pack(t, []byte("{")), frame.KindCatalog, "unexpected EOF"},
		"another node":      {serve.Request{Node: "n2"}, pack(t, good), frame.KindCatalog, `the catalog is for the node "n1", and this node is "n2"`},
		"no input":          {serve.Request{}, []byte("this is not compressed"), frame.KindInput, "gzip"},
		"half an input":     {serve.Request{}, pack(t, good)[:40], frame.KindInput, "EOF"},
		"an edge":           {serve.Request{}, pack(t, []byte(`{"name":"n1","resources":[],"edges":[{"source":"A[x]","target":"B[y]"}]}`)), frame.KindCatalog, "A[x] is not among the resources"},
		"a cycle":           {serve.Request{}, pack(t, text(t, exec("a", "require", "Exec[b]"), exec("b", "require", "Exec[a]"))), frame.KindCatalog, "wait for each other"},
		"unknown types":     {serve.Request{}, pack(t, text(t, map[string]any{"type": "Aug", "title": "x"}, map[string]any{"type": "Beg", "title": "x"})), frame.KindCatalog, "Aug, Beg"},
		"a bad run":         {serve.Request{Run: "../x"}, pack(t, good), frame.KindInput, "cannot be the ID"},
		"an unknown frame":  {serve.Request{}, wrongFrame(t), frame.KindInput, "a frame of type 'E'"},
		"a relation beyond": {serve.Request{}, pack(t, text(t, exec("a", "require", "Exec[b]"))), frame.KindCatalog, "Exec[b]"},
	} {
		if c.q.Run == "" {
			c.q.Run = "r"
		}
		a := apply(t, m, c.q, c.in)
		if a.code != serve.ExitRefused || a.done == nil || a.done.Refused == nil || a.done.Refused.Kind != c.kind || !strings.Contains(strings.Join(a.done.Refused.Messages, "\n"), c.text) {
			t.Errorf("%s: %+v %+v", name, a, a.done.Refused)
		}
		if events := f.took(); events != nil {
			t.Errorf("%s: %q", name, events)
		}
	}
	if f := asked(t, m, "r"); f.State != frame.StateUnknown {
		t.Errorf("%+v", f)
	}
	if a := apply(t, m, serve.Request{Run: "2", Catalog: digest}, pack(t, good)); a.code != serve.ExitOK || a.status["Exec[a]"] != report.Changed {
		t.Errorf("%+v", a)
	}
	if a := apply(t, m, serve.Request{Run: "3", Catalog: digest}, nil); a.code != serve.ExitOK || a.done.Counts.Unchanged != 1 || len(a.status) != 0 {
		t.Errorf("%+v", a)
	}
	if a := apply(t, m, serve.Request{Run: "3", Catalog: digest}, nil); a.code != serve.ExitRefused || a.done.Refused.Kind != frame.KindTwice {
		t.Errorf("%+v", a)
	}
}

func wrongFrame(t *testing.T) []byte {
	t.Helper()
	p := frame.NewPacker()
	if err := p.Raw(frame.TypeEvent, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	b, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOwed breaks runs off between a change and its refresh, in several ways. A later run makes up for it, once.
func TestOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		m := machine(t, f)
		signal := make(chan struct{})
		m.Signal = signal
		c := pack(t, text(t, exec("a", "notify", "Exec[z]"), exec("b", "user", "wait"), exec("z", "refreshonly", true)))
		done := make(chan *answer)
		go func() { done <- apply(t, m, serve.Request{Run: "1"}, c) }()
		for title := range f.begun {
			if title == "b" {
				break
			}
		}
		if fate := asked(t, m, "1"); fate.State != frame.StateRunning || !slices.Equal(fate.Progress, []string{"Exec[b]"}) {
			t.Errorf("%+v", fate)
		}
		if a := apply(t, m, serve.Request{Run: "2"}, c); a.code != serve.ExitRefused || a.done.Refused.Kind != frame.KindBusy || a.done.Refused.Holder.Run != "1" {
			t.Errorf("%+v", a)
		}
		close(signal)
		synctest.Wait() // the engine has seen it
		close(f.gate)
		a := <-done
		if a.code != serve.ExitFailed || a.done.Stopped != frame.StopSignal || !slices.Equal(a.done.Owed, []string{"Exec[z]"}) || a.done.Counts != (frame.Counts{Changed: 2, Skipped: 1}) {
			t.Errorf("%+v", a.done)
		}
		if got := f.took(); !slices.Equal(got, []string{"set a", "set b"}) {
			t.Errorf("%q", got)
		}
		m.Signal = nil
		for _, step := range []struct {
			run    string
			q      serve.Request
			events []string
			owed   int
		}{
			{"noop", serve.Request{Noop: true}, nil, 1},
			{"other tags", serve.Request{Tags: []string{"taga"}}, nil, 1},
			{"a whole run", serve.Request{}, []string{"refresh z"}, 0},
			{"another one", serve.Request{}, nil, 0},
		} {
			step.q.Run = strings.ReplaceAll(step.run, " ", "-")
			a := apply(t, m, step.q, c)
			if got := f.took(); a.code != serve.ExitOK || !slices.Equal(got, step.events) || len(a.done.Owed) != step.owed {
				t.Errorf("%s: %q, %+v", step.run, got, a.done)
			}
		}
	})
}

// TestFailedRefresh checks that a refresh is not made up for if the resource that it is of was skipped because of a failure.
func TestFailedRefresh(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	c := pack(t, text(t, exec("a", "notify", "Exec[z]"), exec("b", "user", "fail", "before", "Exec[z]"), exec("z", "refreshonly", true)))
	if a := apply(t, m, serve.Request{Run: "1"}, c); a.code != serve.ExitFailed || a.status["Exec[z]"] != report.Skipped || len(a.done.Owed) > 0 {
		t.Errorf("%+v %+v", a, a.done)
	}
	f.took()
	if a := apply(t, m, serve.Request{Run: "2"}, c); a.code != serve.ExitOK || f.took() != nil {
		t.Errorf("%+v", a)
	}
}

// TestReboot checks what is said of a run during which the machine was started again.
func TestReboot(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	c := pack(t, text(t, exec("a", "notify", "Exec[z]"), exec("b", "user", "wait"), exec("z", "refreshonly", true)))
	done := make(chan *answer)
	go func() { done <- apply(t, m, serve.Request{Run: "1"}, c) }()
	for title := range f.begun {
		if title == "b" {
			break
		}
	}
	// What the disk has at this moment is all that there is after the reboot.
	later := *m
	later.Boot, later.Dir = "another boot", filepath.Join(t.TempDir(), "state")
	copyDir(t, m.Dir, later.Dir)
	close(f.gate)
	<-done
	f.took()
	if fate := asked(t, &later, "1"); fate.State != frame.StateBroken || !fate.Rebooted || !slices.Equal(fate.Progress, []string{"Exec[b]"}) {
		t.Errorf("%+v", fate)
	}
	if a := apply(t, &later, serve.Request{Run: "2"}, c); a.code != serve.ExitOK || !slices.Equal(f.took(), []string{"refresh z"}) {
		t.Errorf("%+v", a)
	}
}

// A stuck writer takes a number of bytes, and then blocks until it is closed.
type stuck struct {
	left   int
	closed chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		<-s.closed
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestLost checks runs whose reader goes: the resource that is under way is finished, and the rest is skipped.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"with the signal of the pipe", "with an error of writing"} {
			f := newFake()
			m := machine(t, f)
			lost := make(chan struct{})
			m.Lost = lost
			out := &stuck{left: 1000, closed: make(chan struct{})}
			q := &serve.Request{Run: "1", Node: "n1"}
			c := pack(t, text(t, exec("a", "user", "chatty"), exec("b")))
			done := make(chan int)
			go func() { done <- m.Apply(t.Context(), q, bytes.NewReader(c), out) }()
			<-f.begun
			synctest.Wait() // all wait for the reader
			if name == "with an error of writing" {
				close(out.closed)
			} else {
				close(lost)
				defer close(out.closed)
			}
			if code := <-done; code != serve.ExitFailed {
				t.Errorf("%s: %d", name, code)
			}
			m.Lost = nil
			if fate := asked(t, m, "1"); fate.State != frame.StateEnded || fate.Done.Stopped != frame.StopLost || fate.Done.Counts != (frame.Counts{Changed: 1, Skipped: 1}) {
				t.Errorf("%s: %+v", name, fate.Done)
			}
		}
	})
}

// TestMuchOutput checks that the output stays far below what a controller takes.
func TestMuchOutput(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	var list []any
	for i := range 3 {
		list = append(list, exec(fmt.Sprint("e", i), "user", "chatty"))
	}
	var size counter
	code := m.Apply(t.Context(), &serve.Request{Run: "1", Node: "n1"}, bytes.NewReader(pack(t, text(t, list...))), &size)
	if code != serve.ExitOK || size < 100<<20 || size > 140<<20 {
		t.Errorf("%d, %d bytes", code, size)
	}
}

// TestLongEnd checks that a run ends with a Done also if its texts are longer than a frame.
func TestLongEnd(t *testing.T) {
	m := machine(t, newFake())
	const many = 1200
	long := func(i int) string { return fmt.Sprintf("%04d%s", i, strings.Repeat("<", 1000)) } // JSON writes six bytes for each
	var wrong []any
	for i := range many {
		wrong = append(wrong, exec(long(i), "bad", true))
	}
	if a := apply(t, m, serve.Request{Run: "1"}, pack(t, text(t, wrong...))); a.done == nil || a.done.Refused == nil || len(a.done.Refused.Messages) < 100 {
		t.Errorf("%+v", a.done)
	}
	d, err := runlog.Open(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.Lock(t.Context(), frame.Holder{Run: "2", Node: "n1", Start: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Begin(t.Context(), runlog.Start{Run: "2", Node: "n1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var owed []catalog.Ref
	for i := range many {
		owed = append(owed, catalog.Ref{Type: "Exec", Title: long(i)})
	}
	if err := errors.Join(j.Owe(owed), l.Unlock()); err != nil {
		t.Fatal(err)
	}
	if a := apply(t, m, serve.Request{Run: "3", Noop: true}, pack(t, text(t, exec("a")))); a.done == nil || a.done.Counts.Noop != 1 {
		t.Errorf("%+v", a.done)
	}
	if f := asked(t, m, "3"); f.Done == nil || len(f.Done.Owed) != many {
		t.Errorf("the journal lacks the refreshes that are owed: %+v", f.Done)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o700)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// FuzzCatalog applies catalogs of any content with noop. The helper answers, and changes nothing.
func FuzzCatalog(f *testing.F) {
	for _, text := range []string{
		`{"name":"n1","resources":[{"type":"Exec","title":"a","parameters":{"command":"/x","require":"Exec[b]"}},{"type":"Exec","title":"b","parameters":{"command":["/x\u0000"],"noop":false}}]}`,
		`{"name":"n1","resources":[{"type":"Class","title":"Main"},{"type":"File","title":"/a\u0000b","parameters":{"source":"puppet:///m"}}],"edges":[{"source":"Class[Main]","target":"File[/a\u0000b]"}],"metadata":{"/a\u0000b":{"type":"file","checksum":{"type":"sha256","value":"{sha256}` + strings.Repeat("0", 64) + `"}}}}`,
		`{"name":"n1","resources":[{"type":"Schedule","title":"s","parameters":{"period":"daily"}},{"type":"Exec","title":"a","parameters":{"command":"/x","schedule":"s","tag":["x"]}}]}`,
	} {
		f.Add([]byte(text))
	}
	dir := filepath.Join(f.TempDir(), "state")
	n := 0
	f.Fuzz(func(t *testing.T, text []byte) {
		fake := newFake()
		fake.refuse = true
		m := &serve.Machine{Dir: dir, Types: map[string]resource.Type{"Exec": fake}, Boot: "boot"}
		n++
		a := apply(t, m, serve.Request{Run: fmt.Sprint("r", n, "-", time.Now().UnixNano()), Noop: true}, pack(t, text))
		if a.need == nil && a.done == nil {
			t.Errorf("no answer: %+v", a)
		}
	})
}
