package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog/types"
)

// Properties that the metaparameter audit names are compared with the values that Options.Audited has from the last run. As in
// Puppet, the values before the changes of a run are recorded, also with noop: the next run reports a change that
// this one has made. A difference refreshes other resources, but the resource does not count as changed.

// absent is the value of each property of a resource that does not exist.
const absent = "absent"

// readAudit reads the metaparameter. The word all stands for all properties of the type.
func (s *step) readAudit() error {
	names, _, err := s.resource.Texts("audit")
	if err != nil || len(names) == 0 {
		return err
	}
	t := types.Find(strings.ToLower(s.ref.Type))
	if t == nil {
		return nil
	}
	s.meta.audit = t.Properties
	if s.meta.auditAll = slices.Equal(names, []string{"all"}); !s.meta.auditAll {
		s.meta.audit = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(t.Properties, name) })
	}
	return nil
}

// audit reads the audited properties.
func (a *attempt) audit(ctx context.Context) {
	defer a.guard()
	s := a.s
	if len(s.meta.audit) == 0 || a.failed() {
		return
	}
	name := keyOf(s.ref, s.resource.Params).Title
	list, err := resource.Show(ctx, s.typ, a.host, s.ref.Type, name)
	list = slices.DeleteFunc(list, func(r *resource.Resource) bool { return keyOf(r.Ref, r.Params).Title != name })
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%d resources have its name", len(list))
	}
	if err != nil {
		a.run.host.Logf(s.ref, report.Warning, "its properties are not audited: %v", err)
		return
	}
	a.found = make(map[string]string)
	if a.run.o.Audited != nil {
		a.recorded = a.run.o.Audited(s.ref)
	}
	is := list[0].Params
	gone := slices.Contains([]any{absent, "purged"}, is.Value("ensure"))
	for _, p := range s.meta.audit {
		v, known := is.Get(p)
		switch {
		case s.resource.Secret(p):
			a.run.host.Logf(s.ref, report.Warning, "%s is not audited, because its value is Sensitive and would be recorded", p)
		case known:
			a.found[p] = a.s.concealed(fmt.Sprint(v))
		case gone:
			a.found[p] = absent
		case a.recorded[p] != "":
			a.found[p] = absent // such as the target of a file that is not a link any more
		case !s.meta.auditAll:
			a.run.host.Logf(s.ref, report.Warning, "%s is not audited: its value is not known", p)
		}
	}
}

// was returns the value of a property at the last run, if it is audited and has another value now.
func (a *attempt) was(property string) (value string, differs bool) {
	is, audited := a.found[property]
	value, known := a.recorded[property]
	return value, audited && known && value != is
}

// compare reports the audited properties that have other values than at the last run and that this run does not change.
func (a *attempt) compare() {
	for _, p := range a.s.meta.audit {
		is, audited := a.found[p]
		if !audited {
			continue
		}
		if _, known := a.recorded[p]; !known {
			if is != absent || p == "ensure" {
				a.run.host.Logf(a.s.ref, report.Notice, "%s: audit change: newly-recorded value %s", p, is)
			}
			continue
		}
		synced := slices.ContainsFunc(a.planned, func(c resource.Change) bool { return c.Property == p })
		if was, differs := a.was(p); differs && !synced {
			a.event(report.Event{Property: p, Name: p + "_changed", Outcome: report.Audit, Is: is, Was: was,
				Message: fmt.Sprintf("audit change: previously recorded value %s has been changed to %s", was, is)})
		}
	}
}
