package audit

import (
	"path/filepath"
	"testing"
	"time"
)

func TestSelectLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := New(path, time.Now)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		request := NewRequest()
		for _, event := range []Event{Begin, End} {
			r := Record{Event: event, Request: request, Action: Action{Name: name}}
			if event == End {
				r.Outcome = &Outcome{Status: Success}
			}
			if err := log.Add(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for last, want := range map[int]string{-1: "abcde", 0: "", 2: "de", 9: "abcde"} {
		got := ""
		matched, others, err := Select(t.Context(), []string{path}, Filter{}, last, func(e *Entry) error {
			got += e.Begin.Name
			return nil
		})
		if err != nil || matched != 5 || others != 0 || got != want {
			t.Errorf("the last %d: %q, %d, %d, %v; want %q", last, got, matched, others, err, want)
		}
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
	} {
		if got, ok := ParseSince(text, now); !ok || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1h", "xd", "-1d", "yesterday"} {
		if got, ok := ParseSince(text, now); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
