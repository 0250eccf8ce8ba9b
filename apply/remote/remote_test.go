package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/remote/helpertest"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/internal/peercred"
	"bolt/transport"
	"bolt/transport/local"
)

// helper is the helper of all tests.
var helper = helpertest.Build{Root: "../.."}

// dial returns a connection to this machine.
func dial(t *testing.T) transport.Conn {
	t.Helper()
	conn, err := local.NewDialer(local.Options{}).Dial(t.Context(), transport.Dest{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A counter counts the operations of a connection.
type counter struct {
	transport.Conn
	runs, puts int
	sent       int
	argv       []string
}

func (c *counter) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	c.runs++
	c.sent += len(cmd.Stdin)
	c.argv = cmd.Argv
	return c.Conn.Run(ctx, cmd)
}

func (c *counter) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	c.puts++
	return c.Conn.Put(ctx, src, dst, o)
}

// place is where a test applies catalogs.
type place struct {
	*counter
	target remote.Target
	dir    string // for files
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	return &place{&counter{Conn: dial(t)}, remote.Target{Helpers: helper.Set(t), Label: "here", Dir: filepath.Join(dir, "state"), DirSetting: "helper-dir"}, dir}
}

// resource is one of a catalog in a test.
type resource map[string]any

// parse makes the catalog of a node.
func parse(t *testing.T, more map[string]any, resources ...resource) *catalog.Catalog {
	t.Helper()
	m := map[string]any{"name": "n1", "version": time.Now().UnixNano(), "catalog_uuid": fmt.Sprint(time.Now().UnixNano()), "resources": resources}
	for k, v := range more {
		m[k] = v
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func file(path, content string) resource {
	return resource{"type": "File", "title": path, "parameters": map[string]any{"ensure": "file", "content": content}}
}

// results collects the results and messages of an apply.
type results struct {
	mu     sync.Mutex
	status map[string]report.Status
	logs   []string
}

func (p *place) apply(t *testing.T, job *remote.Job) (*remote.Outcome, *results, error) {
	t.Helper()
	r := &results{status: make(map[string]report.Status)}
	if job.Node == "" {
		job.Node = "n1"
	}
	job.Result = func(res *report.Result) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, twice := r.status[res.Ref.String()]; twice {
			t.Errorf("%s has two results", res.Ref)
		}
		r.status[res.Ref.String()] = res.Status
	}
	job.Log = func(l *report.Log) { r.logs = append(r.logs, l.Message) }
	p.runs, p.puts, p.sent = 0, 0, 0
	out, err := remote.Apply(t.Context(), p, &p.target, job)
	return out, r, err
}

func (p *place) mustApply(t *testing.T, job *remote.Job) (*remote.Outcome, *results) {
	t.Helper()
	out, r, err := p.apply(t, job)
	if err != nil {
		t.Fatal(err)
	}
	if !out.OK() {
		t.Fatalf("%+v %v", out, r.status)
	}
	return out, r
}

// TestApply counts the operations of an apply: the first apply copies the helper and sends all data, the next
// apply sends nothing.
func TestApply(t *testing.T) {
	p := newPlace(t)
	f := filepath.Join(p.dir, "f")
	c := parse(t, nil, file(f, "one\n"))
	for i, want := range []struct {
		status     report.Status
		runs, puts int
		sends      bool
		content    string
	}{
		{report.Changed, 2, 1, true, "one\n"},
		{report.Unchanged, 1, 0, false, "one\n"},
		{report.Changed, 2, 0, true, "two\n"},
		{report.Unchanged, 1, 0, false, "two\n"},
	} {
		if i == 2 {
			c = parse(t, nil, file(f, "two\n"))
		}
		out, r := p.mustApply(t, &remote.Job{Catalog: c})
		if len(r.status) != 1 || r.status["File["+f+"]"] != want.status {
			t.Errorf("%d: %v, want %s", i, r.status, want.status)
		}
		if p.runs != want.runs || p.puts != want.puts || (p.sent > 0) != want.sends {
			t.Errorf("%d: %d runs, %d copies, %d bytes", i, p.runs, p.puts, p.sent)
		}
		if text, err := os.ReadFile(f); string(text) != want.content {
			t.Errorf("%d: %q, %v", i, text, err)
		}
		fate, err := remote.Asked(t.Context(), p, &p.target, out.Run)
		if err != nil || fate.State != frame.StateEnded || fate.Done.Counts != out.Counts {
			t.Errorf("%d: %+v, %v", i, fate, err)
		}
	}
	if fate, err := remote.Asked(t.Context(), p, &p.target, "never"); err != nil || fate.State != frame.StateUnknown {
		t.Errorf("%+v, %v", fate, err)
	}
}

// source is a file whose content is that of a file of the controller.
func source(t *testing.T, path, from string) (resource, map[string]any) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]any{"path": from, "type": "file", "links": "manage", "mode": 420, "source": "puppet:///modules/m/x",
		"checksum": map[string]any{"type": "sha256", "value": fmt.Sprintf("{sha256}%x", sha256.Sum256(text))}}
	return resource{"type": "File", "title": path, "parameters": map[string]any{"ensure": "file", "source": "puppet:///modules/m/x"}}, meta
}

// TestContents checks which contents travel: small ones with the catalog, large ones only if the machine lacks them, and
// very large ones as files.
func TestContents(t *testing.T) {
	p := newPlace(t)
	var list []resource
	metas := make(map[string]any)
	sizes := []int{10, 100_000, 6 << 20}
	for i, size := range sizes {
		from := filepath.Join(p.dir, fmt.Sprint("from", i))
		random := make([]byte, size)
		for k := range random {
			random[k] = byte(k*k*(i+1) + k>>8)
		}
		if err := os.WriteFile(from, random, 0o644); err != nil {
			t.Fatal(err)
		}
		r, meta := source(t, filepath.Join(p.dir, fmt.Sprint("to", i)), from)
		list, metas[r["title"].(string)] = append(list, r), meta
	}
	c := parse(t, map[string]any{"metadata": metas}, list...)
	same := func() {
		t.Helper()
		for i := range sizes {
			a, _ := os.ReadFile(filepath.Join(p.dir, fmt.Sprint("from", i)))
			if b, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprint("to", i))); err != nil || string(a) != string(b) {
				t.Errorf("file %d: %d bytes, want %d, %v", i, len(b), len(a), err)
			}
		}
	}
	p.mustApply(t, &remote.Job{Catalog: c})
	if same(); p.runs != 3 || p.puts != 2 { // without a helper, with one, with what it needs
		t.Errorf("fresh: %d runs, %d copies", p.runs, p.puts)
	}
	if p.mustApply(t, &remote.Job{Catalog: c}); p.runs != 1 || p.puts != 0 {
		t.Errorf("unchanged: %d runs, %d copies", p.runs, p.puts)
	}
	for i := range sizes {
		if err := os.Remove(filepath.Join(p.dir, fmt.Sprint("to", i))); err != nil {
			t.Fatal(err)
		}
		p.mustApply(t, &remote.Job{Catalog: c})
		if same(); p.runs != 2 {
			t.Errorf("without file %d: %d runs, %d copies", i, p.runs, p.puts)
		}
	}
	// A source that has changed since is an error before anything is changed.
	if err := os.WriteFile(filepath.Join(p.dir, "from1"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(p.dir, "to1"))
	os.Remove(filepath.Join(p.dir, "to0"))
	_, _, err := p.apply(t, &remote.Job{Catalog: c})
	if transport.ClassOf(err) != transport.ClassFile || !strings.Contains(err.Error(), "Compile it again") {
		t.Errorf("a changed source: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "to0")); err == nil {
		t.Error("something was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(p.target.Dir, "incoming", "*", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRefused checks errors of the machine: nothing is changed, and the kind is the reason.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	f := filepath.Join(p.dir, "f")
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil), Seq: 5})
	for _, c := range []struct {
		name string
		job  *remote.Job
		kind frame.Kind
		text string
	}{
		{"a smaller sequence number", &remote.Job{Catalog: parse(t, nil, file(f, "")), Seq: 4}, frame.KindStale, "older than 5"},
		{"unknown types", &remote.Job{Catalog: parse(t, nil, file(f, ""), resource{"type": "Aug", "title": "x"}, resource{"type": "Beg", "title": "x"})}, frame.KindCatalog, "Aug, Beg"},
	} {
		_, _, err := p.apply(t, c.job)
		var refused *remote.RefusedError
		if !errors.As(err, &refused) || refused.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s: something was changed", c.name)
		}
	}
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil), Seq: 5})
}

func ownerOf(info os.FileInfo) int { return peercred.Owner(info) }
