package apply

import (
	"errors"
	"fmt"
	"reflect"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/catalog/types"
)

// A resource receives when its turn comes. The engine puts the values into a copy of the resource, and its type makes
// a new item from the copy. Before, an example stands for each value (types.Received), so that the type can check the other
// parameters before the run.

// A receipt is a parameter of a step that gets its value from another step.
type receipt struct {
	param, key string
	from       *step
}

// Sent has the values that a resource has sent to others.
type Sent struct {
	values map[string]any // by key
	secret bool           // nothing of it must be shown
}

// connect connects each step that sends with its receivers.
func (p *preparation) connect() {
	for _, e := range types.CheckRecv(p.catalog) {
		p.fail(e.Resource, &resource.ParamError{Param: e.Param, Problem: e.Problem})
	}
	for _, r := range p.catalog.Resources() {
		to := p.run.byRef[r.Ref]
		list, err := r.Receives()
		if err != nil || to == nil || to.resource == nil {
			continue // CheckRecv has reported it, or it is not applied
		}
		for _, x := range list {
			from := p.run.byRef[x.From]
			if from == nil || from.resource == nil {
				continue // the same
			}
			from.resource.Sends = append(from.resource.Sends, x.Key)
			to.receipts = append(to.receipts, receipt{x.Param, x.Key, from})
			from.receivers = append(from.receivers, to)
		}
	}
}

// send keeps the values that the item of a finished attempt sends. It wakes the receivers if a value is new.
func (s *scheduler) send(a *attempt) {
	st := a.s
	from, is := st.item.(resource.Sender)
	if !is || a.failed() || len(st.receivers) == 0 && s.o.Sent == nil { // a later catalog of a watch can have receivers
		return
	}
	before := s.o.Sent[st.ref]
	values, secret := from.Sent()
	if len(values) == 0 {
		st.sent = before
		return
	}
	st.sent = Sent{values, secret}
	if s.o.Sent == nil {
		return
	}
	s.o.Sent[st.ref] = st.sent
	for _, to := range st.receivers {
		to.woken = to.woken || !reflect.DeepEqual(st.sent, before)
	}
}

// notSent returns the reason to skip a step: a value that it receives was not sent, and would not be sent without noop
// either. It returns "" if all values were sent, or can be sent without noop.
func (s *step) notSent() string {
	for _, x := range s.receipts {
		switch {
		case x.from.status == report.Skipped:
			return fmt.Sprintf("it receives %s from %s, which was skipped", x.param, x.from.ref)
		case x.from.sent.values[x.key] == nil && !x.from.uncertain():
			return fmt.Sprintf("it receives %s from %s, which sent no %s in this run", x.param, x.from.ref, x.key)
		}
	}
	return ""
}

// uncertain reports whether noop prevented a change that could change the values that a step sends.
func (s *step) uncertain() bool { return s.status == report.Noop || s.wouldSend }

// receive makes the item of a step from the values that it receives. If the step ends with that, receive returns
// how: it failed, or noop prevents that a value is known.
func (s *scheduler) receive(st *step) (ended *attempt) {
	if len(st.receipts) == 0 || st.received {
		return nil
	}
	a := newAttempt(s.Run, st)
	for _, x := range st.receipts {
		if x.from.uncertain() {
			a.event(report.Event{Property: x.param, Name: x.param + "_changed", Outcome: report.NoopOut,
				Message: fmt.Sprintf("%s would be known after %s has run", x.param, x.from.ref)})
			a.result.Status = report.Noop
		}
	}
	if a.result.Status == report.Noop {
		return a
	}
	made := *st.resource
	made.Params, made.Secrets = made.Params.Clone(), append([]string{}, made.Secrets...)
	for _, x := range st.receipts {
		if x.from.sent.secret {
			made.Secrets = append(made.Secrets, x.param)
		}
		made.Params.Set(x.param, x.from.sent.values[x.key])
	}
	st.resource = &made
	s.conceal(st)
	item, err := st.typ.New(st.resource)
	for _, x := range st.receipts {
		v := x.from.sent.values[x.key]
		if problem := types.Receivable(st.ref.Type, x.param, v); problem != "" {
			err = &resource.ParamError{Param: x.param, Problem: problem}
		} else if hasNUL(v) && !mayHaveNUL(x.param) {
			err = &resource.ParamError{Param: x.param, Problem: noNUL}
		}
	}
	if err != nil {
		a.fail("", errors.New(err.Error()+" (it was received)"))
		return a
	}
	st.item, st.received = item, true
	return nil
}

// noNUL is the problem of values with a NUL character: paths, names and arguments of programs cannot have them.
const noNUL = "must not have a NUL character in it"

// mayHaveNUL reports whether a parameter is a text that is written to files or logs.
func mayHaveNUL(param string) bool { return param == "content" || param == "message" }

// examples sets the parameters that receive their values later.
func examples(r *resource.Resource, from *catalog.Resource) {
	list, err := from.Receives()
	if err != nil {
		return // CheckRecv reports it
	}
	for _, x := range list {
		if v := types.Received(r.Type, x.Param); v != nil {
			r.Params.Set(x.Param, v)
		}
	}
}
