// Package facts collects facts of targets, stores them, and returns the stored
// facts for printing.
//
// A Store keeps the records of one project in files (package factcache). A
// Keeping wraps an action whose results are facts: the task facts, or a Query
// of PuppetDB. A Collection collects facts through the helper, or with the task
// where no helper can run. Chosen provides facts to the inventory for the selection of
// targets, and warns about old or damaged facts.
package facts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"bolt/facts/factcache"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// Task is the name of the task that returns the facts of a target.
const Task = "facts"

// The sources of facts, as a record names them.
const (
	FromHelper   = "helper"
	FromTask     = "task"
	FromPuppetDB = "puppetdb"
)

// A Store stores the facts of a project's targets. Only one goroutine may use
// it, except for the methods of its Cache.
type Store struct {
	*factcache.Cache
	Now     time.Time // the time that ages are relative to
	damaged int       // number of records that could not be read and count as missing
	first   error     // the error of the first of them
}

// Open returns the store of a project: a directory of its own in cache, which is a
// directory of the user, or in the project if cache is "".
func Open(project, cache string, now time.Time) *Store {
	dir := project
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	place := filepath.Join(project, ".facts")
	if cache != "" {
		place = filepath.Join(cache, hex.EncodeToString(sum[:8]))
	}
	return &Store{Cache: factcache.Open(place), Now: now}
}

// Record returns the stored record of a target, or nil if there is none. A
// damaged record counts as missing; WarnDamaged reports it.
func (s *Store) Record(ctx context.Context, name string, want factcache.Want) (*factcache.Record, error) {
	r, err := s.Get(ctx, inventory.SafeName(name), want)
	if _, ok := errors.AsType[*factcache.DamagedError](err); ok {
		if s.damaged++; s.damaged == 1 {
			s.first = err
		}
		return nil, nil
	}
	return r, err
}

// WarnDamaged warns about the damaged records that Record has found since the
// last call of WarnDamaged.
func (s *Store) WarnDamaged(warn func(id, text string)) {
	if s.damaged == 0 {
		return
	}
	others := ""
	if s.damaged > 1 {
		others = fmt.Sprintf(", and %d more", s.damaged-1)
	}
	warn("damaged_facts", fmt.Sprintf("Stored facts cannot be read and are ignored: %v%s. Run 'bolt facts collect' to collect them again.", s.first, others))
	s.damaged = 0
}

// Older returns the targets whose facts are missing or older than age, and all targets if
// age is nil.
func (s *Store) Older(ctx context.Context, targets []*inventory.Target, age *time.Duration) ([]*inventory.Target, error) {
	if age == nil {
		return targets, nil
	}
	var older []*inventory.Target
	for _, t := range targets {
		r, err := s.Record(ctx, t.Name, factcache.Only())
		if err != nil {
			return nil, err
		}
		if r == nil || r.Age(s.Now) > *age {
			older = append(older, t)
		}
	}
	return older, nil
}

// ForgetAll removes the facts of targets if they are older than age, or always if age is
// nil. It returns how many targets had facts.
func (s *Store) ForgetAll(ctx context.Context, targets []*inventory.Target, age *time.Duration) (n int, err error) {
	targets, err = s.Older(ctx, targets, age)
	if err != nil {
		return 0, err
	}
	for _, t := range targets {
		was, err := s.Forget(inventory.SafeName(t.Name))
		if err != nil {
			return n, err
		}
		if was {
			n++
		}
	}
	return n, nil
}

// Keep returns an action that stores the results of the given action. from is
// the source of the facts, and version is the version of this program.
func (s *Store) Keep(action run.Action, from, version string) *Keeping {
	return &Keeping{action, func(t *inventory.Target, facts *ordered.Map) error { return s.Save(t, facts, from, version) }}
}

// Save stores the facts of a target, which were collected now. Prepare must have been called before. from and
// version are as for Keep. It is safe for concurrent use.
func (s *Store) Save(t *inventory.Target, facts *ordered.Map, from, version string) error {
	return s.Put(factcache.Record{Target: inventory.SafeName(t.Name), Collected: time.Now(), Source: from, Version: version, Facts: facts})
}
