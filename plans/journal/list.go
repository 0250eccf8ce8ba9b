package journal

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/filelock"
	"bolt/internal/ownfile"
)

// A Summary is an entry in a list of runs.
type Summary struct {
	Header
	State State
	Began time.Time
	Last  time.Time // of the last line
	Steps int       // completed steps
	Error string    // the failure of the plan
	Path  string
}

// A State is the state of a run.
type State string

// These are the states of runs.
const (
	Running     State = "running"     // a process writes its journal
	Interrupted State = "interrupted" // it can be resumed
	Failed      State = "failed"      // the plan ended with a failure
	Finished    State = "finished"    // the plan has ended
)

// List returns the runs of a directory, the newest first. It calls warn for each
// journal that cannot be read.
func List(dir string, warn func(error)) ([]Summary, error) {
	return list(dir, time.Time{}, warn)
}

// list is like List. If before is not zero, it returns only the runs whose files
// were last written before that time.
func list(dir string, before time.Time, warn func(error)) ([]Summary, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(dir, err, "be read")
	}
	var all []Summary
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext {
			continue
		}
		if info, err := e.Info(); err == nil && !before.IsZero() && !info.ModTime().Before(before) {
			continue
		}
		s, err := summary(filepath.Join(dir, e.Name()))
		if err != nil {
			warn(err)
			continue
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Summary) int { return cmp.Or(b.Began.Compare(a.Began), strings.Compare(b.ID, a.ID)) })
	return all, nil
}

// idOf returns the ID of the run with a journal at path, independently of the
// journal's content.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ext) }

func summary(path string) (*Summary, error) {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, failed(path, err, "be read")
	}
	defer f.Close()
	p, h, _, err := read(f)
	if err != nil {
		return nil, failed(path, err, "be read")
	}
	h.ID = idOf(path)
	s := &Summary{Header: *h, State: Interrupted, Began: p.began, Last: p.last, Error: p.failure, Path: path}
	for _, step := range p.steps {
		if step.done {
			s.Steps++
		}
	}
	switch {
	case errors.Is(filelock.Try(f), filelock.ErrHeld):
		s.State = Running
	case p.over && p.failure != "":
		s.State = Failed
	case p.over:
		s.State = Finished
	}
	return s, nil
}

// Prune removes the journals of runs that have finished before a time.
func Prune(dir string, before time.Time) error {
	list, err := list(dir, before, func(error) {})
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.State == Finished && s.Last.Before(before) {
			if err := os.Remove(s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return failed(s.Path, err, "be removed")
			}
		}
	}
	return nil
}
