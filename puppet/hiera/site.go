package hiera

import (
	"context"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// AtSite returns a site in an evaluation as a Caller. It is valid as long as
// the site is. Data functions that it calls are part of the depth of calls and
// of the stacks there.
func AtSite(s *eval.Site) Caller { return siteCaller{s, nil} }

type siteCaller struct {
	s *eval.Site
	l *lookup // functions are called on its behalf; or nil
}

func (c siteCaller) Variable(name string, keys ...value.Value) (value.Value, bool) {
	return c.s.Scope.LookupPath(name, keys...)
}

func (c siteCaller) ParseType(text string) (value.Type, error) { return c.s.ParseType(text) }

// Call calls the function in the evaluation of the site, which has its own
// context.
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
	if function == "new" { // exists without a definition
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

// unusable is the error of a function that exists but cannot be used: it is not
// in the Puppet language, or its file contains errors.
type unusable struct{ cause error }

func (e *unusable) Error() string { return e.cause.Error() }

// Unwrap makes the error equivalent to that of a function that does not exist.
func (e *unusable) Unwrap() []error { return []error{errNoFunction, e.cause} }
