package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bolt/facts/factcache"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/output/layout"
	"bolt/output/listing"
	"bolt/project"
	"bolt/run"
)

// factsTask is the task that tells the facts of a target.
const factsTask = "facts"

// The values of --from, which are what a record of facts says as well.
const (
	fromTask     = "task"
	fromPuppetDB = "puppetdb"
)

// A factStore is where the facts of the project's targets are kept.
type factStore struct {
	*factcache.Cache
	now     time.Time
	damaged int   // records that could not be read, as if they were not there
	first   error // what is wrong with the first of them
}

// facts is the store of the project: a directory of its own in the user's cache,
// or in the project where there is none.
func (a *app) facts() *factStore {
	dir := a.project.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	place := filepath.Join(a.project.Dir, ".facts")
	if cache := a.cacheDir("facts"); cache != "" {
		place = filepath.Join(cache, hex.EncodeToString(sum[:8]))
	}
	return &factStore{Cache: factcache.Open(place), now: time.Now()}
}

// record is what is kept of a target, nil for nothing.
func (s *factStore) record(ctx context.Context, name string, want factcache.Want) (*factcache.Record, error) {
	r, err := s.Get(ctx, inventory.SafeName(name), want)
	if _, ok := errors.AsType[*factcache.DamagedError](err); ok {
		if s.damaged++; s.damaged == 1 {
			s.first = err
		}
		return nil, nil
	}
	return r, err
}

// warnDamaged tells of records that could not be read.
func (s *factStore) warnDamaged(a *app) {
	if s.damaged == 0 {
		return
	}
	others := ""
	if s.damaged > 1 {
		others = fmt.Sprintf(", and %d more", s.damaged-1)
	}
	a.logs.Warn("damaged_facts", fmt.Sprintf("Facts that were kept count as if they were not there: %v%s. Collect them again with 'bolt facts collect'.", s.first, others))
}

// older are the targets whose facts are missing or of the age that --older-than
// says; without that all of them.
func (s *factStore) older(ctx context.Context, a *app, targets []*inventory.Target) ([]*inventory.Target, error) {
	if !a.values.has("older-than") {
		return targets, nil
	}
	age, err := project.ParseAge(a.values.last("older-than"))
	if err != nil {
		return nil, err
	}
	var older []*inventory.Target
	for _, t := range targets {
		r, err := s.record(ctx, t.Name, factcache.Only())
		if err != nil {
			return nil, err
		}
		if r == nil || r.Age(s.now) > age {
			older = append(older, t)
		}
	}
	return older, nil
}

// stopped is the error of work that was ended, of which who ended it knows.
func stopped(err error) error {
	if errors.Is(err, run.ErrStopped) {
		return errPrinted
	}
	return err
}

// keptFacts are the facts that targets are chosen by, with what there is to say
// of their age.
type keptFacts struct {
	*factStore
	told   map[string]bool // targets whose facts are old
	old    int             // of these, those that nobody was warned of yet
	oldest time.Duration
}

// cachedFacts is what the inventory asks about a target when targets are chosen.
func (a *app) cachedFacts(ctx context.Context, name string, facts []string) (*ordered.Map, error) {
	if a.kept == nil {
		a.kept = &keptFacts{factStore: a.facts(), told: make(map[string]bool)}
	}
	want := factcache.Only(facts...)
	if facts == nil {
		want = factcache.All()
	}
	r, err := a.kept.record(ctx, name, want)
	if err != nil || r == nil {
		return nil, stopped(err)
	}
	if age := r.Age(a.kept.now); age > a.config.FactMaxAge && !a.kept.told[name] {
		a.kept.told[name] = true
		a.kept.old++
		a.kept.oldest = max(a.kept.oldest, age)
	}
	return r.Facts, nil
}

// warnKept tells that targets were chosen by facts that are old or damaged.
func (a *app) warnKept() {
	k := a.kept
	if k == nil {
		return
	}
	k.warnDamaged(a)
	k.damaged = 0
	if k.old == 0 {
		return
	}
	of := "1 target"
	if k.old > 1 {
		of = fmt.Sprintf("%d targets", k.old)
	}
	age := layout.Period(a.config.FactMaxAge)
	a.logs.Warn("old_facts", fmt.Sprintf("Targets were chosen by facts of %s that are older than %s, the oldest from %s ago. 'bolt facts collect --older-than %s' collects them again.", of, age, layout.Period(k.oldest), age))
	k.old = 0
}

func collectFacts(ctx context.Context, a *app, o *actionOptions) error {
	store := a.facts()
	if err := store.Prepare(store.now); err != nil {
		return err
	}
	from, name, object := fromTask, "task", factsTask
	if a.values.last("from") == fromPuppetDB {
		from, name, object = fromPuppetDB, factsTask, fromPuppetDB
	}
	among := func(ctx context.Context, targets []*inventory.Target) ([]*inventory.Target, error) {
		older, err := store.older(ctx, a, targets)
		if err == nil && len(older) < len(targets) {
			a.log.Info("facts are young enough", "targets", len(targets)-len(older))
		}
		if err == nil && len(older) == 0 && len(targets) > 0 && !a.format().IsJSON() {
			fmt.Fprintf(a.console, "Nothing is collected: no facts are older than %s.\n", a.values.last("older-than"))
		}
		return older, err
	}
	return a.actAmong(ctx, o, name, object, among, func(targets []*inventory.Target) (run.Action, error) {
		action, err := a.factsAction(ctx, from, targets)
		if err != nil {
			return nil, err
		}
		return &keeping{action, func(t *inventory.Target, facts *ordered.Map) error {
			return store.Put(factcache.Record{Target: inventory.SafeName(t.Name), Collected: time.Now(), Source: from, Version: version, Facts: facts})
		}}, nil
	})
}

// factsAction is what tells the facts of targets.
func (a *app) factsAction(ctx context.Context, from string, targets []*inventory.Target) (run.Action, error) {
	if from == fromPuppetDB {
		db := a.puppetDB()
		return newFactsQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
			return db.Facts(ctx, certnames, "")
		})
	}
	library := a.tasks()
	t, err := library.Find(ctx, factsTask)
	if err != nil {
		return nil, err
	}
	return a.taskAction(ctx, library, t, &ordered.Map{}, false)
}

// keeping is an action whose results are facts, which are kept. Its own results
// say how many.
type keeping struct {
	run.Action
	keep func(t *inventory.Target, facts *ordered.Map) error
}

// OnDevices and Here are those of the action.
func (k *keeping) OnDevices() bool {
	d, ok := k.Action.(run.DeviceAction)
	return ok && d.OnDevices()
}

// Here see OnDevices.
func (k *keeping) Here() bool {
	l, ok := k.Action.(run.LocalAction)
	return ok && l.Here()
}

// Do keeps what the action tells of a target. It is done beside the other
// targets, not after them.
func (k *keeping) Do(ctx context.Context, site *run.Site) error {
	if err := k.Action.Do(ctx, site); err != nil || site.Result.Err != nil {
		return err
	}
	facts := &ordered.Map{}
	for name, v := range site.Result.Value.All() {
		if !strings.HasPrefix(name, "_") { // _output, _sensitive: a result's own
			facts.Set(name, v)
		}
	}
	if facts.Len() == 0 {
		return noFacts("The task %s told no facts", k.Object())
	}
	site.Result.Value = &ordered.Map{}
	if err := k.keep(site.Target, facts); err != nil {
		return err
	}
	site.Result.Value.Set("facts", facts.Len())
	return nil
}

func showFacts(ctx context.Context, a *app, _ []string) error {
	columns, paths, want, err := a.shownFacts()
	if err != nil {
		return err
	}
	targets, err := a.targets(ctx)
	if err != nil {
		return err
	}
	store := a.facts()
	if targets, err = store.older(ctx, a, targets); err != nil {
		return stopped(err)
	}
	store.damaged = 0 // they come again
	defer func() { store.warnDamaged(a) }()
	view := &listing.Facts{Columns: columns, MaxAge: a.config.FactMaxAge, Dir: store.Dir(), Targets: func(yield func(listing.TargetFacts, error) bool) {
		for _, t := range targets {
			one := listing.TargetFacts{Name: t.Name, SafeName: t.SafeName()}
			r, err := store.record(ctx, t.Name, want)
			if err != nil {
				yield(one, stopped(err))
				return
			}
			if r != nil {
				one.Collected, one.Age, one.Source, one.Facts = r.Collected, r.Age(store.now), r.Source, r.Facts
				one.Values = valuesOf(paths, r.Facts)
				if a.values.has("fact") {
					one.Facts = &ordered.Map{}
					for i, path := range paths {
						one.Facts.Set(path[0].String(), one.Values[i])
					}
				}
			}
			if !yield(one, nil) {
				return
			}
		}
	}}
	err = listing.PrintFacts(a.sys.out, a.listOptions(), view)
	if errors.Is(err, errPrinted) {
		return err
	}
	return written(err)
}

// A column of facts is made of the values of paths, with blanks between them.
type column []factcache.Path

// wellKnown are the columns without --fact: what they are called, and the paths.
var wellKnown = [][]string{
	{"OS", "os.name", "os.release.full"},
	{"Architecture", "os.architecture"},
	{"Kernel", "kernelrelease"},
	{"Processors", "processors.count"},
	{"Memory", "memory.system.total"},
	{"Virtual", "virtual"},
}

// shownFacts says what is shown of a target, and which facts that takes.
func (a *app) shownFacts() (names []string, columns []column, want factcache.Want, err error) {
	asked := wellKnown
	if a.values.has("fact") {
		asked = nil
		for _, path := range a.values["fact"] {
			asked = append(asked, []string{path, path})
		}
	}
	var facts []string
	for _, one := range asked {
		var c column
		for _, text := range one[1:] {
			path, err := factcache.ParsePath(text)
			if err != nil {
				return nil, nil, want, hinted(usagef("Invalid parameter specified for option '--fact': %v", err), `a fact is written os.release.full, processors.models[0] or mountpoints["/srv"].size`)
			}
			c, facts = append(c, path), append(facts, path.Fact())
		}
		names, columns = append(names, one[0]), append(columns, c)
	}
	if a.format().IsJSON() && !a.values.has("fact") {
		return names, columns, factcache.All(), nil
	}
	return names, columns, factcache.Only(facts...), nil
}

// valuesOf are the values of columns.
func valuesOf(columns []column, facts *ordered.Map) []any {
	values := make([]any, len(columns))
	for i, c := range columns {
		if len(c) == 1 {
			values[i] = c[0].In(facts)
			continue
		}
		var texts []string
		for _, path := range c {
			if v := path.In(facts); v != nil {
				texts = append(texts, fmt.Sprint(v))
			}
		}
		values[i] = strings.Join(texts, " ")
	}
	return values
}

func forgetFacts(ctx context.Context, a *app, _ []string) error {
	store := a.facts()
	n := 0
	switch {
	case choosing(a.values) || a.values.has("targets") || a.values.has("query") || a.values.has("rerun"):
		targets, err := a.targets(ctx)
		if err != nil {
			return err
		}
		if targets, err = store.older(ctx, a, targets); err != nil {
			return stopped(err)
		}
		for _, t := range targets {
			was, err := store.Forget(inventory.SafeName(t.Name))
			if err != nil {
				return err
			}
			if was {
				n++
			}
		}
	case a.values.has("older-than"):
		age, err := project.ParseAge(a.values.last("older-than"))
		if err != nil {
			return err
		}
		if n, err = store.ForgetBefore(ctx, store.now.Add(-age)); err != nil {
			return stopped(err)
		}
	default:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --older-than"),
			"bolt facts forget -t all removes the facts of all targets that the inventory knows, --older-than 0 those of all others, too")
	}
	return written(listing.PrintForgotten(a.sys.out, a.listOptions(), n))
}

// cacheDir is a directory in the user's cache (XDG Base Directory
// Specification); "" if there is none.
func (a *app) cacheDir(name string) string {
	dir := a.sys.env("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		h := home(a.sys)
		if h == "" {
			return ""
		}
		dir = filepath.Join(h, ".cache")
	}
	return filepath.Join(dir, "bolt", name)
}
