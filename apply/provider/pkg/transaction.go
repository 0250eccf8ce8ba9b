package pkg

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// ReadAll implements resource.Reader.
func (packages) ReadAll(ctx context.Context, h *resource.Host, list []resource.Item) []error {
	own := make([]*item, len(list))
	for i, x := range list {
		own[i] = x.(*item)
	}
	return readAll(ctx, h, own)
}

// readAll sets the states of items, with one query for each manager.
func readAll(ctx context.Context, h *resource.Host, list []*item) []error {
	type key struct{ manager, command string }
	groups := make(map[key][]*item)
	var keys []key
	all := managers()
	var system *manager
	for _, it := range list {
		it.m, it.err, it.candidate, it.pick = all[it.provider], nil, "", ""
		if it.m == nil {
			if system == nil {
				if system, it.err = platform(h); it.err != nil {
					continue
				}
			}
			it.m = system
		}
		if !it.hasVirtual {
			it.virtual = it.m.virtual
		}
		if it.mark != "" && it.m.hold == nil {
			h.Logf(it.r.Ref, report.Info, "The mark is not managed: %s has none", it.m.name)
		}
		k := key{it.m.name, it.command}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], it)
	}
	for _, k := range keys {
		group := groups[k]
		if err := readGroup(ctx, h, k.command, group); err != nil {
			for _, it := range group {
				it.err = err
			}
		}
	}
	errs := make([]error, len(list))
	for i, it := range list {
		errs[i] = it.err
	}
	return errs
}

func readGroup(ctx context.Context, h *resource.Host, command string, group []*item) error {
	c, err := newCall(h, group[0].m, command)
	if errors.Is(err, errNoProgram) && group[0].m.language {
		// Without pip, no package of pip is there. With noop, another resource can make the program later. Otherwise, the
		// installation fails with this error.
		for _, it := range group {
			it.is = state{}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.refresh(ctx, group); err != nil {
		return err
	}
	var latests []*item
	for _, it := range group {
		if it.wish == latest && it.err == nil && (it.is.installed() || it.m.foresees) {
			if it.m.sourced && it.source == "" {
				it.err = errNoSource(it.m)
				continue
			}
			latests = append(latests, it)
		}
	}
	if len(latests) == 0 {
		return nil
	}
	return c.manager.latest(ctx, c, latests)
}

// refresh reads the states.
func (c *call) refresh(ctx context.Context, group []*item) error {
	for _, it := range group {
		it.is = state{}
	}
	return c.manager.read(ctx, c, group)
}

func errNoSource(m *manager) error {
	return errors.New(m.name + " installs packages from files only: set the parameter source")
}

// DoAll implements resource.Doer.
func (packages) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	return doAll(ctx, h, works)
}

// A job is a key: items with equal jobs can be one transaction.
type job struct {
	manager, command string
	operation        operation
	options          string
	replace          bool
	source, held     bool
	alone            *item // set if the transaction has this item only
}

// doAll makes the changes of items: in the order of the first item of each transaction.
func doAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make(map[*item]error)
	groups := make(map[job][]*item)
	var jobs []job
	for _, w := range works {
		it := w.Item.(*item)
		j := it.job(w.Changes[0].Property)
		if it.m.sourced && it.source == "" && (j.operation == install || j.operation == upgrade || j.operation == downgrade) {
			errs[it] = errNoSource(it.m)
			continue
		}
		if groups[j] == nil {
			jobs = append(jobs, j)
		}
		groups[j] = append(groups[j], it)
	}
	for _, j := range jobs {
		group := groups[j]
		c, err := newCall(h, group[0].m, j.command)
		if err != nil {
			for _, it := range group {
				errs[it] = err
			}
			continue
		}
		t := transaction{c, j.operation, errs}
		t.run(ctx, group)
	}
	list := make([]error, len(works))
	for i, w := range works {
		list[i] = errs[w.Item.(*item)]
	}
	return list
}

// job returns the key of the transaction in which an item can be changed.
func (it *item) job(property string) job {
	j := job{manager: it.m.name, command: it.command, operation: install}
	options := it.install
	switch {
	case property == "mark":
		j.operation, options = unhold, nil
		if it.mark == "hold" {
			j.operation = hold
		}
		return j
	case it.wish == absent:
		j.operation, options, j.held = remove, it.uninstall, it.is.held
	case it.wish == purged:
		j.operation, options, j.held = purge, it.uninstall, it.is.held
	default:
		j.replace, j.source = it.replace, it.source != ""
		if it.is.installed() {
			j.operation = it.direction()
		}
	}
	j.options = strings.Join(options, "\x00")
	if it.m.single {
		j.alone = it
	}
	return j
}

// direction returns the operation for another version of an installed package, which can be newer or older.
// Managers that do not need to know do both with install.
func (it *item) direction() operation {
	if _, is := it.m.driver.(yum); !is {
		if it.m.sourced {
			return upgrade
		}
		return install
	}
	last := it.is.versions[len(it.is.versions)-1]
	if it.wish == version && !it.only && parseRange(it.version) == nil && it.m.against(it.version, last) < 0 {
		return downgrade
	}
	return upgrade
}

// A transaction is one operation on several packages.
type transaction struct {
	*call
	o    operation
	errs map[*item]error
}

// run makes a transaction. After a failure, items that are not as wanted are tried again in halves.
func (t *transaction) run(ctx context.Context, items []*item) {
	err := t.once(ctx, items)
	if err == nil && (t.manager.trusted || t.o == hold || t.o == unhold) {
		return
	}
	if again := t.refresh(context.WithoutCancel(ctx), items); again != nil {
		t.fail(items, errors.Join(err, again))
		return
	}
	var rest []*item
	for _, it := range items {
		switch {
		case !t.done(it):
			rest = append(rest, it)
		case err != nil:
			t.Logf(it.r.Ref, report.Warning, "The package is as wanted, although %s reported a failure: %v", t.manager.name, err)
		}
	}
	var lock *lockError
	switch {
	case len(rest) == 0:
	case err == nil:
		for _, it := range rest {
			t.errs[it] = errors.New(t.manager.name + " reported success, and the package is " + it.shown())
		}
	case len(items) == 1 || errors.As(err, &lock) || ctx.Err() != nil:
		t.fail(rest, err)
	case len(rest) == 1:
		t.run(ctx, rest)
	default:
		t.run(ctx, rest[:len(rest)/2])
		t.run(ctx, rest[len(rest)/2:])
	}
}

// done reports whether an item is as wanted after a transaction.
func (t *transaction) done(it *item) bool {
	switch {
	case it.err != nil || it.is.partial:
		return false
	case t.o == hold || t.o == unhold:
		return it.is.held == (t.o == hold)
	}
	return it.inSync()
}

func (t *transaction) fail(items []*item, err error) {
	for _, it := range items {
		t.errs[it] = err
	}
}

// once runs the programs of a transaction. A package that is held is released before and, if it is to be held, held again
// afterwards.
func (t *transaction) once(ctx context.Context, items []*item) (err error) {
	m := t.manager
	if t.o == hold || t.o == unhold {
		return m.hold(ctx, t.call, items, t.o == hold)
	}
	if t.o == remove || t.o == purge || m.hold == nil {
		return m.change(ctx, t.call, t.o, items)
	}
	var held, holding []*item
	for _, it := range items {
		if it.is.held {
			held = append(held, it)
		}
		if it.mark == "hold" {
			holding = append(holding, it)
		}
	}
	if len(held) > 0 {
		if err := m.hold(ctx, t.call, held, false); err != nil {
			return err
		}
	}
	err = m.change(ctx, t.call, t.o, items)
	if len(holding) > 0 {
		err = errors.Join(err, m.hold(context.WithoutCancel(ctx), t.call, holding, true))
	}
	return err
}

// names are the names of the packages that are changed.
func names(items []*item) []string {
	list := make([]string, len(items))
	for i, it := range items {
		list[i] = it.real()
	}
	return list
}

// unique is the list without repeated elements, in order.
func unique(list []string) (out []string) {
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
