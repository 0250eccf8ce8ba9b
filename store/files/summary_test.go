package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/store"
)

// TestDamagedSummary changes each byte of a summary, and cuts it at each length. Summary never returns another value.
func TestDamagedSummary(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, 0, 3)
	must(t, s.Summarize(t.Context(), "log", 3, number(7), number(8)))
	path := s.summary("log")
	text, err := os.ReadFile(path)
	must(t, err)
	check := func(what string, at int, damaged []byte) {
		t.Helper()
		must(t, os.WriteFile(path, damaged, 0o600))
		values, err := s.Summary(t.Context(), "log", 2)
		if err != nil || values != nil {
			t.Errorf("%s at byte %d: %s, %v", what, at, values, err)
		}
	}
	for i := range text {
		check("changed", i, append(append(bytes.Clone(text[:i]), text[i]^1), text[i+1:]...))
		check("cut", i, text[:i])
		check("zero bytes", i, append(bytes.Clone(text[:i]), make([]byte, len(text)-i)...))
	}
	must(t, os.WriteFile(path, text, 0o600))
	if values, err := s.Summary(t.Context(), "log", 2); err != nil || len(values) != 2 {
		t.Errorf("%s, %v", values, err)
	}

	// The summary of another log with the same revision is void, too.
	_, err = s.Append(t.Context(), "other", 0, 0, number(1), number(2), number(3))
	must(t, err)
	must(t, s.Summarize(t.Context(), "other", 3, number(9)))
	must(t, os.Rename(s.summary("other"), path))
	if values, err := s.Summary(t.Context(), "log", 1); err != nil || values != nil {
		t.Errorf("%s, %v", values, err)
	}
}

// TestSummaryOfDamagedLog checks that a summary outlives damage in the middle of its log, but not at its end.
func TestSummaryOfDamagedLog(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for n := range 31 {
		add(t, s, store.Revision(n), 1)
	}
	must(t, s.Summarize(t.Context(), "log", 31, number(7)))
	text, err := os.ReadFile(s.log("log"))
	must(t, err)
	for name, c := range map[string]struct {
		text    string
		summary bool
		events  int
		damaged bool
	}{
		"middle":    {strings.Replace(string(text), `"data":15}`, `"data":16}`, 1), true, 14, true},
		"first":     {strings.Replace(string(text), `"data":1}`, `"data":2}`, 1), true, 0, true},
		"last":      {strings.Replace(string(text), `"revision":31`, `"revision":32`, 1), false, 30, true},
		"torn":      {string(text) + `{"sum`, true, 31, false},
		"torn long": {string(text) + strings.Repeat("x", 100_000), true, 31, false},
		"torn all":  {`{"sum`, false, 0, false},
		"empty":     {"", false, 0, false},
		"no events": {"\n", false, 0, true},
		"removed":   {string(text[:bytes.LastIndex(text[:len(text)-1], []byte("\n"))+1]), false, 30, false},
	} {
		must(t, os.WriteFile(s.log("log"), []byte(c.text), 0o600))
		other := open(t, dir) // it has read nothing
		values, err := other.Summary(t.Context(), "log", 1)
		if err != nil || (values != nil) != c.summary {
			t.Errorf("%s: %s, %v", name, values, err)
		}
		events, err := store.Load(t.Context(), other, "log", 0)
		if _, damaged := errors.AsType[*store.DamagedError](err); len(events) != c.events || damaged != c.damaged {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
	}
}

// TestDropTorn drops a log with a torn tail, and keeps a log that is damaged.
func TestDropTorn(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, 0, 3)
	l, err := s.Lease(t.Context(), "log", "ada", time.Hour)
	must(t, err)
	text, err := os.ReadFile(s.log("log"))
	must(t, err)
	must(t, os.WriteFile(s.log("log"), append(bytes.Clone(text), `{"sum`...), 0o600))
	must(t, s.Drop(t.Context(), "log", 3), l.Release(t.Context()))
	for _, dir := range []string{"logs", "leases"} {
		if left, err := os.ReadDir(filepath.Join(s.dir, dir)); err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
	must(t, os.WriteFile(s.log("log"), bytes.Replace(text, []byte(`"revision":3`), []byte(`"revisiom":3`), 1), 0o600))
	if _, damaged := errors.AsType[*store.DamagedError](s.Drop(t.Context(), "log", 3)); !damaged {
		t.Error("the last event is damaged")
	}
}

// BenchmarkSummary reads the first value of a summary of 100 KB.
func BenchmarkSummary(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir())
	if err == nil {
		_, err = s.Append(b.Context(), "log", 0, 0, number(1))
	}
	if err == nil {
		err = s.Summarize(b.Context(), "log", 1, number(1), json.RawMessage(`"`+strings.Repeat("x", 100_000)+`"`))
	}
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if values, err := s.Summary(b.Context(), "log", 1); err != nil || values == nil {
			b.Fatal(err)
		}
	}
}
