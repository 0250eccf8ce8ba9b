package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/store"
)

// isSummary checks the first n values of the summary of a log.
func isSummary(t *testing.T, s store.Store, log string, n int, want ...string) {
	t.Helper()
	values, err := s.Summary(t.Context(), log, n)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(values, want, func(v json.RawMessage, w string) bool { return string(v) == w }) {
		t.Fatalf("the summary is %s, want %s", values, want)
	}
}

func summary(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	isSummary(t, a, "log", 1)
	conflict := func(at, have store.Revision) {
		t.Helper()
		err := a.Summarize(ctx, "log", at, number(1))
		if e, is := errors.AsType[*store.ConflictError](err); !is || e.Have != have {
			t.Errorf("a summary of revision %d: %v", at, err)
		}
	}
	conflict(1, 0)
	_, err := a.Append(ctx, "log", 0, 0, numbers(1, 3)...)
	must(t, err)
	isSummary(t, a, "log", 1)
	conflict(2, 3)
	conflict(4, 3)
	long := fmt.Sprintf("%q", strings.Repeat("x", 1<<20))
	must(t, b.Summarize(ctx, "log", 3, json.RawMessage(`{ "n": 1 }`), json.RawMessage(long), number(3)))
	isSummary(t, a, "log", 0)
	isSummary(t, a, "log", 1, `{"n":1}`)
	isSummary(t, a, "log", 3, `{"n":1}`, long, `{"n":3}`)
	isSummary(t, a, "log", 4)
	isSummary(t, a, "other", 1)

	// Another event makes it void.
	_, err = b.Append(ctx, "log", 3, 0, json.RawMessage(long))
	must(t, err)
	isSummary(t, a, "log", 1)
	conflict(3, 4)
	must(t, a.Summarize(ctx, "log", 4, number(4)))
	must(t, b.Summarize(ctx, "log", 4, number(5)))
	isSummary(t, a, "log", 1, `{"n":5}`)
	names, err := a.Names(ctx, "")
	if err != nil || !slices.Equal(names, []string{"log"}) {
		t.Errorf("%v, %v", names, err)
	}

	// The two processes write at the same time. Each summary that is seen is one of the last revision.
	var all sync.WaitGroup
	for _, s := range []store.Store{a, b} {
		all.Go(func() {
			for range 50 {
				revision, err := s.Append(ctx, "busy", last(t, s), 0, number(1))
				if _, is := errors.AsType[*store.ConflictError](err); is {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				err = s.Summarize(ctx, "busy", revision, json.RawMessage(fmt.Sprint(revision)))
				if _, is := errors.AsType[*store.ConflictError](err); err != nil && !is {
					t.Error(err)
					return
				}
				before := last(t, s)
				values, err := s.Summary(ctx, "busy", 1)
				if after := last(t, s); err != nil || before == after && values != nil && string(values[0]) != fmt.Sprint(after) {
					t.Errorf("the summary of revision %d is %s, %v", after, values, err)
				}
			}
		})
	}
	all.Wait()
}

func last(t *testing.T, s store.Store) store.Revision {
	events, err := store.Load(t.Context(), s, "busy", 0)
	if err != nil {
		t.Error(err)
	}
	return store.Revision(len(events))
}

// held checks that Held sees leases, and takes nothing.
func held(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	is := func(want string) {
		t.Helper()
		switch e, err := b.Held(ctx, "x"); {
		case err != nil:
			t.Fatal(err)
		case e == nil && want != "", e != nil && (e.Holder != want || e.Name != "x" || time.Until(e.Until) < time.Minute):
			t.Errorf("%v, want %q", e, want)
		}
	}
	is("")
	l, err := a.Lease(ctx, "x", "ada", time.Hour)
	must(t, err)
	is("ada")
	must(t, l.Renew(ctx, 2*time.Hour))
	is("ada")
	must(t, l.Release(ctx))
	is("")
	_, err = a.Lease(ctx, "x", "ben", time.Nanosecond)
	must(t, err)
	for {
		if e, err := b.Held(ctx, "x"); err != nil || e == nil {
			must(t, err)
			break
		}
	}
}

func drop(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	refused := func(at, have store.Revision) {
		t.Helper()
		err := b.Drop(ctx, "log", at)
		if e, is := errors.AsType[*store.ConflictError](err); !is || e.Have != have {
			t.Errorf("drop of revision %d: %v", at, err)
		}
	}
	refused(1, 0)
	for range 2 {
		r, err := a.Append(ctx, "log", 0, 0, numbers(1, 3)...)
		must(t, err)
		must(t, a.Summarize(ctx, "log", r, number(1)))
		_, err = a.Append(ctx, "log/sub", 0, 0, number(1))
		if _, is := errors.AsType[*store.ConflictError](err); !is {
			must(t, err)
		}
		l, err := a.Lease(ctx, "log", "ada", time.Hour)
		must(t, err)
		refused(2, 3)
		refused(0, 3)
		must(t, b.Drop(ctx, "log", 3))
		must(t, l.Release(ctx))
		refused(3, 0)
		isSummary(t, a, "log", 1)
		events, err := store.Load(ctx, a, "log", 0)
		must(t, err)
		check(t, events, 1, 0)
		names, err := a.Names(ctx, "")
		if err != nil || !slices.Equal(names, []string{"log/sub"}) {
			t.Errorf("%v, %v", names, err)
		}
		if e, err := a.Held(ctx, "log"); e != nil || err != nil {
			t.Errorf("%v, %v", e, err)
		}
		_, err = a.Append(ctx, "log", 3, 0, number(4))
		if e, is := errors.AsType[*store.ConflictError](err); !is || e.Have != 0 {
			t.Errorf("append to a log that was dropped: %v", err)
		}
	}
	l, err := a.Lease(ctx, "lease", "ada", time.Hour)
	must(t, err)
	for range 2 {
		must(t, b.Drop(ctx, "lease", 0))
	}
	must(t, l.Release(ctx))
	l, err = b.Lease(ctx, "lease", "ben", time.Hour)
	must(t, err)
	must(t, l.Release(ctx))
}
