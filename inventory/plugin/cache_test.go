package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/inventory/plugin"
)

// A cached is a project whose plugin counts how often it is asked. Each of its
// invocations is a set of plugins of its own.
type cached struct {
	t      *testing.T
	o      plugin.Options
	mu     sync.Mutex
	asked  int
	now    time.Time
	warned []string
}

func newCached(t *testing.T) *cached {
	c := &cached{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	c.o, _ = world(t, nil, map[string]fakeTask{"count": {do: func(params *ordered.Map) (*ordered.Map, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked++
		if v, ok := params.Get("value"); ok {
			return ordered.Of("value", v), nil
		}
		return ordered.Of("value", int64(c.asked)), nil
	}}})
	c.o.CacheFile = filepath.Join(c.o.Project, ".plugin_cache.json")
	c.o.Now = func() time.Time { return c.now }
	c.o.Warn = func(id, text string) { c.warned = append(c.warned, id+": "+text) }
	return c
}

// resolve is one invocation, which resolves one reference.
func (c *cached) resolve(pairs ...any) any {
	c.t.Helper()
	p := plugin.New(c.o)
	v, err := p.Resolve(c.t.Context(), "task", ordered.Of(append([]any{"_plugin", "task", "task", "count"}, pairs...)...))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.Save(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return v
}

func (c *cached) want(got any, want int) {
	c.t.Helper()
	if got != int64(want) {
		c.t.Errorf("got %v, want %d", got, want)
	}
}

func (c *cached) file() string {
	data, err := os.ReadFile(c.o.CacheFile)
	if err != nil {
		return ""
	}
	return string(data)
}

func ttl(seconds any) *ordered.Map { return ordered.Of("ttl", seconds) }

func TestCache(t *testing.T) {
	c := newCached(t)
	c.want(c.resolve(), 1)
	c.want(c.resolve("_cache", ttl(int64(0))), 2)
	if c.file() != "" {
		t.Errorf("something was kept that was not to be: %s", c.file())
	}
	c.want(c.resolve("_cache", ttl(int64(60))), 3)
	c.want(c.resolve("_cache", ttl(int64(60))), 3)
	if info, err := os.Stat(c.o.CacheFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	c.want(c.resolve("_cache", ttl(int64(60)), "parameters", ordered.Of("n", int64(1))), 4) // another reference
	c.want(c.resolve("_cache", ttl(int64(0))), 5)
	c.now = c.now.Add(59 * time.Second)
	c.want(c.resolve("_cache", ttl(int64(60))), 3)
	c.want(c.resolve("_cache", ttl(0.5)), 6) // fresher than it was kept for
	c.now = c.now.Add(time.Second)
	c.want(c.resolve("_cache", ttl(int64(60))), 7)
	c.want(c.resolve("_cache", ttl(int64(60))), 7)
	if n := strings.Count(c.file(), `"mtime"`); n != 1 { // that of parameters is over, too
		t.Errorf("%d entries are kept: %s", n, c.file())
	}
	if len(c.warned) > 0 {
		t.Errorf("warned %q", c.warned)
	}
}

func TestCacheDefault(t *testing.T) {
	c := newCached(t)
	c.o.CacheTTL = time.Minute
	c.want(c.resolve(), 1)
	c.want(c.resolve(), 1)
	c.want(c.resolve("_cache", nil), 1)
	c.want(c.resolve("_cache", ttl(int64(0))), 2)
	c.o.Config = ordered.Of("task", ordered.Of("x", "y")) // what is configured counts
	c.want(c.resolve(), 3)
	c.o.CacheFile = ""
	c.want(c.resolve(), 4)
	c.want(c.resolve(), 5)
}

func TestCacheClock(t *testing.T) {
	c := newCached(t)
	c.want(c.resolve("_cache", ttl(int64(1e9))), 1)
	c.now = c.now.Add(-time.Hour)
	c.want(c.resolve("_cache", ttl(int64(1e9))), 2)
	c.want(c.resolve("_cache", ttl(int64(1e9))), 2)
	c.now = c.now.Add(2 * time.Hour)
	c.want(c.resolve("_cache", ttl(int64(1e9))), 2)
	// More than a time can be.
	c.want(c.resolve("_cache", ttl(int64(1)<<62), "parameters", ordered.Of("n", int64(1))), 3)
	c.now = c.now.Add(1000 * time.Hour)
	c.want(c.resolve("_cache", ttl(1e300), "parameters", ordered.Of("n", int64(1))), 3)
}

func TestCacheValidation(t *testing.T) {
	c := newCached(t)
	for _, x := range []struct {
		cache any
		says  string
	}{
		{int64(5), "_cache must be a Hash, received Integer: 5"},
		{"5", `_cache must be a Hash, received String: "5"`},
		{[]any{true}, `_cache must be a Hash, received Array: [true]`},
		{&ordered.Map{}, "_cache must set 'ttl' key."},
		{ordered.Of("TTL", int64(5)), "_cache must set 'ttl' key."},
		{ttl(int64(-1)), "'ttl' key under '_cache' must be a minimum of 0."},
		{ttl(-0.5), "'ttl' key under '_cache' must be a minimum of 0."},
		{ttl("60"), "'ttl' key under '_cache' must be a number of seconds."},
		{ttl(nil), "'ttl' key under '_cache' must be a number of seconds."},
	} {
		_, err := plugin.New(c.o).Resolve(t.Context(), "nosuch", ordered.Of("_cache", x.cache))
		if err == nil || err.Error() != x.says {
			t.Errorf("%v: %v", x.cache, err)
		}
	}
}

// TestCacheValues: what comes out of the file is what went in, or it was not
// kept.
func TestCacheValues(t *testing.T) {
	for _, kept := range []any{
		nil, true, "text \x00 \" \u2028 ü", int64(-5), 1.0, 1.5, []any{}, &ordered.Map{},
		ordered.Of("b", []any{int64(1), nil}, "a", ordered.Of("", false)), "<&>",
	} {
		c := newCached(t)
		for range 2 {
			if v := c.resolve("_cache", ttl(int64(60)), "parameters", ordered.Of("value", kept)); !reflect.DeepEqual(v, kept) {
				t.Errorf("%#v became %#v", kept, v)
			}
		}
		if c.asked != 1 {
			t.Errorf("%#v was not kept", kept)
		}
	}
	c := newCached(t)
	for range 2 {
		if v := c.resolve("_cache", ttl(int64(60)), "parameters", ordered.Of("value", "\xff\xfe")); v != "\xff\xfe" {
			t.Errorf("got %q", v)
		}
	}
	if c.asked != 2 || c.file() != "" {
		t.Errorf("what JSON cannot hold is kept: %s", c.file())
	}
}

func TestCacheFile(t *testing.T) {
	entry := func(at, ttl string) string {
		return fmt.Sprintf(`{"xihev-zaper-kerel-hyl": {"result": "theirs", "mtime": %q, "ttl": %s}}`, at, ttl)
	}
	for _, x := range []struct {
		name, text string
		warns      string
		stays      bool // the other's entry
	}{
		{"Puppet Bolt's", entry("2026-03-01 12:59:50 +0100", "60"), "", true},
		{"Puppet Bolt's, over", entry("2026-03-01 11:00:00 +0000", "60"), "", false},
		{"no time", entry("yesterday", "60"), "", false},
		{"no ttl", entry("2026-03-01 11:59:50 +0000", `"x"`), "", false},
		{"no result", `{"xihev-zaper-kerel-hyl": {"mtime": "2026-03-01 11:59:50 +0000", "ttl": 60}}`, "", false},
		{"no entry", `{"xihev-zaper-kerel-hyl": 5}`, "", false},
		{"empty", "", "EOF", false},
		{"cut", `{"a": {"result": `, "EOF", false},
		{"a list", "[]", "not a JSON object", false},
		{"junk", "\x00\x01\x02", "invalid character", false},
		{"large", strings.Repeat(" ", readfile.Language+1), "larger than", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newCached(t)
			if err := os.WriteFile(c.o.CacheFile, []byte(x.text), 0o644); err != nil {
				t.Fatal(err)
			}
			c.want(c.resolve("_cache", ttl(int64(60))), 1)
			c.want(c.resolve("_cache", ttl(int64(60))), 1)
			if x.warns == "" && len(c.warned) > 0 || x.warns != "" && (len(c.warned) != 1 || !strings.Contains(c.warned[0], x.warns)) {
				t.Errorf("warned %q", c.warned)
			}
			if strings.Contains(c.file(), "xihev") != x.stays {
				t.Errorf("the file holds %s", c.file())
			}
			if info, err := os.Stat(c.o.CacheFile); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestCacheNoFile: what is no file is left alone.
func TestCacheNoFile(t *testing.T) {
	c := newCached(t)
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, c.o.CacheFile); err != nil {
		t.Fatal(err)
	}
	c.want(c.resolve("_cache", ttl(int64(60))), 1)
	c.want(c.resolve("_cache", ttl(int64(60))), 2)
	if data, err := os.ReadFile(precious); err != nil || string(data) != "{}" {
		t.Errorf("%s, %v", data, err)
	}
	if len(c.warned) != 2 || !strings.Contains(c.warned[0], "not a regular file") {
		t.Errorf("warned %q", c.warned)
	}
}

func TestCacheUnwriteable(t *testing.T) {
	c := newCached(t)
	c.o.CacheFile = filepath.Join(c.o.Project, "nowhere", "cache.json")
	p := plugin.New(c.o)
	v, err := p.Resolve(t.Context(), "task", ordered.Of("_plugin", "task", "task", "count", "_cache", ttl(int64(60))))
	if v != int64(1) || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	if err := p.Save(t.Context()); err == nil || !strings.Contains(err.Error(), c.o.CacheFile) {
		t.Errorf("got %v", err)
	}
}

// TestCacheBounds: the oldest entries go.
func TestCacheBounds(t *testing.T) {
	c := newCached(t)
	p := plugin.New(c.o)
	big := strings.Repeat("x", 9<<20)
	for i := range 2 {
		c.now = c.now.Add(time.Second)
		if _, err := p.Resolve(t.Context(), "task", ordered.Of("_plugin", "task", "task", "count", "_cache", ttl(int64(600)), "parameters", ordered.Of("n", int64(i), "value", big))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(c.file()); n > readfile.Language || n < 9<<20 {
		t.Errorf("the file has %d bytes", n)
	}
	for _, i := range []int{1, 0} {
		want := 3 - i // the second was kept
		p := plugin.New(c.o)
		if _, err := p.Resolve(t.Context(), "task", ordered.Of("_plugin", "task", "task", "count", "_cache", ttl(int64(600)), "parameters", ordered.Of("n", int64(i), "value", big))); err != nil {
			t.Fatal(err)
		}
		if c.asked != want {
			t.Errorf("%d: asked %d times, want %d", i, c.asked, want)
		}
	}
}

// TestCacheAtOnce: many invocations write the file, and none loses what another
// has found out.
func TestCacheAtOnce(t *testing.T) {
	c := newCached(t)
	const n = 24
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			p := plugin.New(c.o)
			if _, err := p.Resolve(t.Context(), "task", ordered.Of("_plugin", "task", "task", "count", "_cache", ttl(int64(60)), "parameters", ordered.Of("n", int64(i)))); err != nil {
				t.Error(err)
			}
			if err := p.Save(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range n {
		c.resolve("_cache", ttl(int64(60)), "parameters", ordered.Of("n", int64(i)))
	}
	if c.asked != n {
		t.Errorf("asked %d times for %d references", c.asked, n)
	}
	files, err := os.ReadDir(c.o.Project)
	if err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func FuzzCacheFile(f *testing.F) {
	f.Add([]byte(`{"k": {"result": {"a": [1, null]}, "mtime": "2026-03-01T11:59:50Z", "ttl": 60}}`))
	f.Add([]byte(`{"k": {"result": 1, "mtime": "2026-03-01 11:59:50 +0000", "ttl": -1e400}}`))
	f.Add([]byte(`{"k": {"result": 1, "mtime": "9999-99-99", "ttl": 1.5}, "k": []}`))
	f.Add([]byte(`{`))
	o := plugin.Options{
		CacheFile: filepath.Join(f.TempDir(), "cache.json"),
		CacheTTL:  time.Minute,
		Now:       func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Env:       func(string) (string, bool) { return "value", true },
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(o.CacheFile, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what is written can be read
			p := plugin.New(o)
			if v, err := p.Resolve(t.Context(), "env_var", ordered.Of("var", "x")); v != "value" || err != nil {
				t.Fatalf("got %v, %v", v, err)
			}
			if err := p.Save(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.Warn = func(id, text string) { t.Errorf("%s: %s", id, text) }
		}
		o.Warn = nil
	})
}

func TestSaveIsStopped(t *testing.T) {
	c := newCached(t)
	p := plugin.New(c.o)
	if _, err := p.Resolve(t.Context(), "task", ordered.Of("_plugin", "task", "task", "count", "_cache", ttl(int64(60)))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Save(ctx); err == nil || c.file() != "" {
		t.Errorf("got %v, the file holds %s", err, c.file())
	}
	if err := p.Save(t.Context()); err != nil || !slices.Contains([]int{1}, strings.Count(c.file(), "mtime")) {
		t.Errorf("got %v, the file holds %s", err, c.file())
	}
}
