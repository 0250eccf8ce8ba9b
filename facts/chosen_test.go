package facts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/facts/factcache"
	"bolt/format/ordered"
)

// TestOldFacts: who chooses by facts that are old or damaged is told so once.
func TestOldFacts(t *testing.T) {
	var log strings.Builder
	warn := func(id, text string) { fmt.Fprintf(&log, "%s [ID: %s]\n", text, id) }
	store := Open(t.TempDir(), filepath.Join(t.TempDir(), "cache"), time.Now())
	chosen := NewChosen(store, 7*24*time.Hour)
	chosen.Warn(warn)
	if err := store.Prepare(store.Now); err != nil {
		t.Fatal(err)
	}
	for i, days := range []int{0, 6, 8, 40, 1} {
		facts := ordered.Of("os", int64(days), "other", true)
		if err := store.Put(factcache.Record{Target: fmt.Sprintf("web%d", i), Collected: store.Now.AddDate(0, 0, -days), Facts: facts}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name string, facts []string, want string) {
		t.Helper()
		got, err := chosen.Of(t.Context(), name, facts)
		if err != nil {
			t.Fatal(err)
		}
		text := "nothing"
		if got != nil {
			text = fmt.Sprint(got.Keys())
		}
		if text != want {
			t.Errorf("%s has %s, want %s", name, text, want)
		}
	}
	tells := func(want ...string) {
		t.Helper()
		log.Reset()
		chosen.Warn(warn)
		if want == nil && log.Len() > 0 {
			t.Errorf("got %s", log.String())
		}
		for _, w := range want {
			if !strings.Contains(log.String(), w) {
				t.Errorf("got %s, want %s", log.String(), w)
			}
		}
	}
	ask("web0", []string{"os"}, "[os]")
	ask("web1", nil, "[os other]")
	ask("web4", []string{"absent"}, "[]")
	ask("web9", nil, "nothing")
	tells()
	ask("web2", nil, "[os other]")
	ask("web3", nil, "[os other]")
	ask("web3", nil, "[os other]")
	tells("facts of 2 targets that are older than 7d, the oldest from 40d ago", "'bolt facts collect --older-than 7d'", "old_facts")
	ask("web3", nil, "[os other]")
	tells()
	files, err := filepath.Glob(filepath.Join(store.Dir(), "*.facts"))
	for _, f := range files {
		err = errors.Join(err, os.Truncate(f, 20))
	}
	if err != nil {
		t.Fatal(err)
	}
	ask("web0", nil, "nothing")
	ask("web1", nil, "nothing")
	tells("cannot be read and are ignored: the file "+store.Dir(), "and 1 more", "damaged_facts")
	tells()
}
