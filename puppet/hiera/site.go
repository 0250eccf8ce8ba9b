package hiera

import (
	"context"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// AtSite returns a place in an evaluation as a Caller. It is valid as long as
// the site is.
func AtSite(s *eval.Site) Caller { return siteCaller{s} }

// AtCall is AtSite for the call of a function. Data functions that it calls
// count as part of the call: of its depth, and in stacks.
func AtCall(c *eval.Call) Caller { return callCaller{siteCaller{&c.Site}, c} }

type siteCaller struct{ s *eval.Site }

func (c siteCaller) Variable(name string) (value.Value, bool) { return c.s.Scope.Lookup(name) }

func (c siteCaller) ParseType(text string) (value.Type, error) { return c.s.ParseType(text) }

func (c siteCaller) Call(ctx context.Context, function string, args ...value.Value) (value.Value, error) {
	if err := exists(c.s, function); err != nil {
		return nil, err
	}
	return c.s.Interp.Call(ctx, function, args...)
}

type callCaller struct {
	siteCaller
	c *eval.Call
}

func (c callCaller) Call(ctx context.Context, function string, args ...value.Value) (value.Value, error) {
	if err := exists(c.s, function); err != nil {
		return nil, err
	}
	return c.c.Fork(ctx).Call(function, nil, args...)
}

func exists(s *eval.Site, function string) error {
	if function == "new" { // known without a definition
		return nil
	}
	d, err := s.Find(eval.KindFunction, function)
	if err == nil && d == nil {
		err = ErrNoFunction
	}
	return err
}
