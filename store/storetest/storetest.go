// Package storetest checks stores against the contract of package store.
package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bolt/store"
)

// Run checks stores. open opens the store in a directory, which is empty at first. A second call with the same
// directory opens the same store, as a second process does.
func Run(t *testing.T, open func(t *testing.T, place string) store.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, a, b store.Store)
	}{
		{"Blobs", blobs},
		{"ParallelPuts", parallelPuts},
		{"Logs", logs},
		{"Names", names},
		{"Conflict", conflict},
		{"ParallelAppends", parallelAppends},
		{"Watch", watch},
		{"WatchFromRevision", watchFromRevision},
		{"Fence", fence},
		{"Lease", lease},
		{"LeaseEnds", leaseEnds},
		{"Held", held},
		{"Summary", summary},
		{"Drop", drop},
		{"Ended", ended},
		{"Misuse", misuse},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := t.TempDir()
			c.test(t, open(t, place), open(t, place))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// number returns the data of the n-th event in tests.
func number(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }

func numbers(from, to int) (list []json.RawMessage) {
	for n := from; n <= to; n++ {
		list = append(list, number(n))
	}
	return list
}

// check compares events with the numbers of their revisions.
func check(t *testing.T, events []store.Event, from, to int) {
	t.Helper()
	if len(events) != to-from+1 {
		t.Fatalf("%d events, want %d", len(events), to-from+1)
	}
	for i, e := range events {
		if e.Revision != store.Revision(from+i) || string(e.Data) != string(number(from+i)) {
			t.Fatalf("event %d is %d %s", from+i, e.Revision, e.Data)
		}
		if e.Time.IsZero() || e.Time.Location() != time.UTC {
			t.Errorf("event %d has the time %v", from+i, e.Time)
		}
	}
}

func blobs(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	for _, data := range [][]byte{nil, []byte("a"), make([]byte, 1<<20)} {
		d, err := a.Put(ctx, data)
		must(t, err)
		if d != store.DigestOf(data) {
			t.Errorf("digest %s", d)
		}
		got, err := b.Get(ctx, d)
		if err != nil || string(got) != string(data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if has, err := b.Has(ctx, d); !has || err != nil {
			t.Errorf("%v, %v", has, err)
		}
	}
	gone := store.DigestOf([]byte("a"))
	must(t, b.Remove(ctx, gone))
	must(t, b.Remove(ctx, gone))
	if has, err := a.Has(ctx, gone); has || err != nil {
		t.Errorf("a removed content: %v, %v", has, err)
	}
	_, err := a.Get(ctx, gone)
	if e, is := errors.AsType[*store.NotFoundError](err); !is || e.Digest != gone {
		t.Errorf("a removed content: %v", err)
	}
	count := 0
	for d, err := range a.List(ctx) {
		must(t, err)
		if count++; d == gone {
			t.Error("a removed content is listed")
		}
	}
	if count != 2 {
		t.Errorf("%d contents are listed", count)
	}
}

func parallelPuts(t *testing.T, a, b store.Store) {
	const workers, contents = 8, 30
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			s := a
			if w%2 == 1 {
				s = b
			}
			for i := range contents {
				data := fmt.Appendf(nil, "content %d", i)
				d, err := s.Put(t.Context(), data)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), d); err != nil || string(got) != string(data) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	count := 0
	for _, err := range a.List(t.Context()) {
		must(t, err)
		count++
	}
	if count != contents {
		t.Errorf("%d contents", count)
	}
}

func logs(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	events, err := store.Load(ctx, a, "log", 0)
	must(t, err)
	check(t, events, 1, 0)
	r, err := a.Append(ctx, "log", 0, 0, numbers(1, 3)...)
	if r != 3 || err != nil {
		t.Fatalf("revision %d, %v", r, err)
	}
	if r, err = b.Append(ctx, "log", 3, 0, json.RawMessage("{ \"n\" :\n4 }")); r != 4 || err != nil {
		t.Fatalf("revision %d, %v", r, err)
	}
	if r, err = b.Append(ctx, "log", 4, 0); r != 4 || err != nil {
		t.Fatalf("no events: revision %d, %v", r, err)
	}
	for after := range 6 {
		for _, s := range []store.Store{a, b} {
			events, err := store.Load(ctx, s, "log", store.Revision(after))
			must(t, err)
			check(t, events, after+1, max(4, after))
		}
	}
}

func names(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	for _, name := range []string{"rollouts/b", "releases", "rollouts/a", "rollouts"} {
		_, err := a.Append(ctx, name, 0, 0, number(1))
		must(t, err)
	}
	for prefix, want := range map[string][]string{
		"":          {"releases", "rollouts", "rollouts/a", "rollouts/b"},
		"rollouts/": {"rollouts/a", "rollouts/b"},
		"x":         nil,
	} {
		if got, err := b.Names(ctx, prefix); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: %v, %v", prefix, got, err)
		}
	}
}

func conflict(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	refused := func(s store.Store, after, have store.Revision) {
		t.Helper()
		_, err := s.Append(ctx, "log", after, 0, number(9))
		if e, is := errors.AsType[*store.ConflictError](err); !is || e.Have != have || e.Log != "log" {
			t.Errorf("after %d: %v", after, err)
		}
	}
	refused(a, 1, 0)
	_, err := a.Append(ctx, "log", 0, 0, numbers(1, 2)...)
	must(t, err)
	refused(b, 0, 2)
	refused(b, 1, 2)
	refused(a, 3, 2)
	events, err := store.Load(ctx, b, "log", 0)
	must(t, err)
	check(t, events, 1, 2)
}

// parallelAppends lets several writers add events. Each tries again after a conflict.
func parallelAppends(t *testing.T, a, b store.Store) {
	const workers, each = 4, 25
	var all sync.WaitGroup
	for w := range workers {
		s := a
		if w%2 == 1 {
			s = b
		}
		all.Go(func() {
			last := store.Revision(0)
			for done := 0; done < each; {
				r, err := s.Append(t.Context(), "log", last, 0, number(int(last)+1))
				if e, is := errors.AsType[*store.ConflictError](err); is {
					last = e.Have
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				last = r
				done++
			}
		})
	}
	all.Wait()
	events, err := store.Load(t.Context(), a, "log", 0)
	must(t, err)
	check(t, events, 1, workers*each)
}

func watch(t *testing.T, a, b store.Store) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const last = 8
	var seen []store.Event
	next := make(chan bool, last)
	var all sync.WaitGroup
	all.Go(func() {
		for e, err := range b.Watch(ctx, "log", 0) {
			if err != nil {
				t.Error(err)
				return
			}
			e.Data = bytes.Clone(e.Data)
			seen = append(seen, e)
			next <- true
		}
	})
	for n := 1; n <= last; n += 2 {
		_, err := a.Append(ctx, "log", store.Revision(n-1), 0, numbers(n, n+1)...)
		must(t, err)
		<-next
		<-next
	}
	stop()
	all.Wait()
	check(t, seen, 1, last)
}

func watchFromRevision(t *testing.T, a, b store.Store) {
	_, err := a.Append(t.Context(), "log", 0, 0, numbers(1, 5)...)
	must(t, err)
	var seen []store.Event
	for e, err := range b.Watch(t.Context(), "log", 3) {
		must(t, err)
		e.Data = bytes.Clone(e.Data)
		if seen = append(seen, e); len(seen) == 2 {
			break
		}
	}
	check(t, seen, 4, 5)
}

func fence(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	_, err := a.Append(ctx, "log", 0, 3, number(1))
	must(t, err)
	_, err = b.Append(ctx, "log", 1, 2, number(2))
	if e, is := errors.AsType[*store.FencedError](err); !is || e.Have != 3 || e.Log != "log" {
		t.Errorf("a lower fence: %v", err)
	}
	_, err = b.Append(ctx, "log", 1, 0, number(2)) // a command of another terminal
	must(t, err)
	_, err = b.Append(ctx, "log", 2, 3, number(3))
	must(t, err)
	_, err = b.Append(ctx, "log", 3, 4, number(4))
	must(t, err)
	_, err = a.Append(ctx, "log", 4, 3, number(5))
	if _, is := errors.AsType[*store.FencedError](err); !is {
		t.Errorf("a lower fence: %v", err)
	}
	events, err := store.Load(ctx, a, "log", 0)
	must(t, err)
	check(t, events, 1, 4)
	for i, want := range []store.Fence{3, 0, 3, 4} {
		if events[i].Fence != want {
			t.Errorf("event %d has the fence %d", i+1, events[i].Fence)
		}
	}
}

func lease(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	holder := func(want string) {
		t.Helper()
		got, err := b.Held(ctx, "rollouts/x")
		if err != nil || (got == nil) != (want == "") || got != nil && (got.Holder != want || time.Until(got.Until) < time.Minute) {
			t.Errorf("the lease is that of %v (%v), want %q", got, err, want)
		}
	}
	holder("")
	first, err := a.Lease(ctx, "rollouts/x", "ada on host1", time.Hour)
	must(t, err)
	holder("ada on host1")
	if first.Fence() == 0 {
		t.Error("the fence is 0")
	}
	_, err = b.Lease(ctx, "rollouts/x", "ben on host2", time.Hour)
	if e, is := errors.AsType[*store.HeldError](err); !is || e.Holder != "ada on host1" || e.Name != "rollouts/x" || time.Until(e.Until) < time.Minute {
		t.Fatalf("a second lease: %v", err)
	}
	other, err := b.Lease(ctx, "rollouts", "ben", time.Hour)
	must(t, err)
	must(t, other.Release(ctx))
	must(t, first.Renew(ctx, 2*time.Hour))
	must(t, first.Release(ctx))
	must(t, first.Release(ctx))
	holder("")
	second, err := b.Lease(ctx, "rollouts/x", "ben on host2", time.Hour)
	must(t, err)
	if second.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d", second.Fence(), first.Fence())
	}
	must(t, first.Release(ctx)) // is not that of the second holder
	holder("ben on host2")
	err = first.Renew(ctx, time.Hour)
	if e, is := errors.AsType[*store.HeldError](err); !is || e.Holder != "ben on host2" {
		t.Errorf("renewing a lease that another holder has: %v", err)
	}
	must(t, second.Renew(ctx, time.Hour))
	must(t, second.Release(ctx))
}

// leaseEnds checks that another holder can take a lease whose time has ended.
func leaseEnds(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	first, err := a.Lease(ctx, "x", "ada", time.Millisecond)
	must(t, err)
	for {
		second, err := b.Lease(ctx, "x", "ben", time.Hour)
		if e, is := errors.AsType[*store.HeldError](err); is {
			if time.Until(e.Until) > time.Second {
				t.Fatal(err)
			}
			continue
		}
		must(t, err)
		if second.Fence() <= first.Fence() {
			t.Errorf("fence %d after %d", second.Fence(), first.Fence())
		}
		break
	}
	if got, err := a.Held(ctx, "x"); err != nil || got == nil || got.Holder != "ben" {
		t.Errorf("the lease is that of %v (%v)", got, err)
	}
	if err := first.Renew(ctx, time.Hour); err == nil {
		t.Error("a lease was renewed that another holder has")
	}
}

// ended checks that no method does anything if its context has ended.
func ended(t *testing.T, a, _ store.Store) {
	_, err := a.Append(t.Context(), "log", 0, 0, number(1))
	must(t, err)
	d, err := a.Put(t.Context(), []byte("a"))
	must(t, err)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for name, call := range map[string]func() error{
		"Put":       func() error { _, err := a.Put(ctx, []byte("b")); return err },
		"Get":       func() error { _, err := a.Get(ctx, d); return err },
		"Has":       func() error { _, err := a.Has(ctx, d); return err },
		"Remove":    func() error { return a.Remove(ctx, d) },
		"Events":    func() error { _, err := store.Load(ctx, a, "log", 0); return err },
		"Append":    func() error { _, err := a.Append(ctx, "log", 1, 0, number(2)); return err },
		"Lease":     func() error { _, err := a.Lease(ctx, "x", "ada", time.Hour); return err },
		"Held":      func() error { _, err := a.Held(ctx, "x"); return err },
		"Drop":      func() error { return a.Drop(ctx, "log", 1) },
		"Summarize": func() error { return a.Summarize(ctx, "log", 1, number(1)) },
		"Summary":   func() error { _, err := a.Summary(ctx, "log", 1); return err },
	} {
		if err := call(); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range a.Watch(ctx, "log", 0) {
		t.Error("an event was seen after the end")
	}
	if _, err := a.Get(t.Context(), d); err != nil {
		t.Error(err)
	}
}

func misuse(t *testing.T, a, _ store.Store) {
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Get":            func() error { _, err := a.Get(ctx, "../../etc/passwd"); return err },
		"Has":            func() error { _, err := a.Has(ctx, ""); return err },
		"Remove":         func() error { return a.Remove(ctx, "x") },
		"Events":         func() error { _, err := store.Load(ctx, a, "../x", 0); return err },
		"Append":         func() error { _, err := a.Append(ctx, "X", 0, 0, number(1)); return err },
		"Append data":    func() error { _, err := a.Append(ctx, "x", 0, 0, number(1), json.RawMessage(`{`)); return err },
		"Lease":          func() error { _, err := a.Lease(ctx, "/x", "ada", time.Hour); return err },
		"Held":           func() error { _, err := a.Held(ctx, "/x"); return err },
		"Drop":           func() error { return a.Drop(ctx, "../x", 0) },
		"Summarize":      func() error { return a.Summarize(ctx, "../x", 0, number(1)) },
		"Summary":        func() error { _, err := a.Summary(ctx, "../x", 1); return err },
		"Append no data": func() error { _, err := a.Append(ctx, "x", 0, 0, nil); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	events, err := store.Load(ctx, a, "x", 0)
	must(t, err)
	check(t, events, 1, 0)
}
