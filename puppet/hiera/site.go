package hiera

import (
	"context"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// AtSite returns a place in an evaluation as a Caller. It is valid as long as
// the site is. Data functions that it calls count as called from there: in the
// depth of calls, and in stacks.
func AtSite(s *eval.Site) Caller { return siteCaller{s, nil} }

type siteCaller struct {
	s *eval.Site
	l *lookup // on whose behalf functions are called; nil: nobody's
}

func (c siteCaller) Variable(name string, keys ...value.Value) (value.Value, bool) {
	return c.s.Scope.LookupPath(name, keys...)
}

func (c siteCaller) ParseType(text string) (value.Type, error) { return c.s.ParseType(text) }

// Call calls the function in the evaluation that the site is in, which has its
// own context.
func (c siteCaller) Call(_ context.Context, function string, args ...value.Value) (value.Value, error) {
	if err := exists(c.s, function); err != nil {
		return nil, err
	}
	return c.s.CallFor(c.l, function, args...)
}

func (c siteCaller) outer() *lookup {
	l, _ := c.s.Behalf().(*lookup)
	return l
}

func (c siteCaller) inside(l *lookup) Caller { return siteCaller{c.s, l} }

// exists returns an error if a function cannot be called.
func exists(s *eval.Site, function string) error {
	if function == "new" { // known without a definition
		return nil
	}
	d, err := s.Find(eval.KindFunction, function)
	switch {
	case err != nil:
		return &unusable{err}
	case d == nil:
		return errNoFunction
	}
	return nil
}

// unusable is the error of a function that there is, but that cannot be had: it
// is not in the Puppet language, or its file has mistakes.
type unusable struct{ cause error }

func (e *unusable) Error() string { return e.cause.Error() }

// Unwrap says that it is as if there were no function.
func (e *unusable) Unwrap() []error { return []error{errNoFunction, e.cause} }
