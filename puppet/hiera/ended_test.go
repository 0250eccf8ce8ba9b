package hiera_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/puppet/hiera"
	"bolt/puppet/value"
)

// heldFiles are Files whose ReadFile blocks for one name until it is released.
type heldFiles struct {
	hiera.Files
	name  string
	reads chan struct{} // gets one for each read that begins
	free  chan struct{} // closed: reads go on
}

func (f *heldFiles) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if filepath.Base(path) == f.name {
		f.reads <- struct{}{}
		select {
		case <-f.free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return f.Files.ReadFile(ctx, path)
}

// TestCanceledReadIsNotCached checks that a lookup that its context ends while
// a file is read does not affect other lookups that wait for the same file or
// come later, in the same session and in others.
func TestCanceledReadIsNotCached(t *testing.T) {
	files := map[string]string{
		env + "hiera.yaml":          defaults + "hierarchy: [{name: c, path: common.yaml}]\n",
		env + "data/common.yaml":    "a: 1\nlookup_options: {a: {merge: first}}\n",
		module + "hiera.yaml":       "version: 5\n",
		module + "data/common.yaml": "m::a: 1\n",
	}
	for _, c := range []struct{ name, key string }{{"common.yaml", "a"}, {"hiera.yaml", "m::a"}} {
		t.Run(c.name, func(t *testing.T) {
			held := &heldFiles{name: c.name, reads: make(chan struct{}, 100), free: make(chan struct{})}
			w := newWorld(t, worldOptions{files: files, options: func(o *hiera.Options) {
				held.Files = o.Files
				o.Files = held
			}})
			lookup := func(ctx context.Context, s *hiera.Session) chan error {
				ended := make(chan error, 1)
				at := hiera.AtSite(w.in.Site(ctx, nil))
				go func() {
					v, err := s.Lookup(ctx, at, hiera.Request{Names: []string{c.key}})
					if err == nil && v != value.Int(1) {
						err = errors.New("it is " + value.Inspect(v))
					}
					ended <- err
				}()
				return ended
			}
			ended := func(who string, got chan error, why string) {
				t.Helper()
				var e *hiera.Error
				if err := <-got; !errors.As(err, &e) || e.Kind != "canceled" || !strings.Contains(e.Msg, why) {
					t.Errorf("%s: %v", who, err)
				}
			}
			first, stop := context.WithCancelCause(t.Context())
			second, stopSecond := context.WithCancelCause(t.Context())
			reads := lookup(first, w.s)
			<-held.reads
			waits, other := lookup(second, w.h.Session(hiera.SessionOptions{})), lookup(t.Context(), w.h.Session(hiera.SessionOptions{}))
			time.Sleep(50 * time.Millisecond) // they wait for the first
			stopSecond(errors.New("second is over"))
			ended("who waits", waits, "second is over")
			stop(errors.New("first is over"))
			ended("who reads", reads, "first is over")
			close(held.free)
			if err := <-other; err != nil {
				t.Errorf("who has not ended: %v", err)
			}
			if err := <-lookup(t.Context(), w.s); err != nil {
				t.Errorf("later in the session: %v", err)
			}
		})
	}
}

// TestPathIsDirectory checks the error of a path of the hierarchy that is a
// directory.
func TestPathIsDirectory(t *testing.T) {
	w := newWorld(t, worldOptions{files: map[string]string{env + "hiera.yaml": defaults + "hierarchy: [{name: c, path: sub}]\n", env + "data/sub/x.yaml": "a: 1\n"}})
	_, err := w.lookup("a")
	if want := filepath.Join(w.dir, env, "data/sub") + ": this is a directory, and data is read from files"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := os.Remove(filepath.Join(w.dir, env, "hiera.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, env, "hiera.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.s = w.h.Session(hiera.SessionOptions{})
	if _, err := w.lookup("a"); err == nil || !strings.Contains(err.Error(), "hiera.yaml: this is a directory") {
		t.Errorf("hiera.yaml: %v", err)
	}
}
