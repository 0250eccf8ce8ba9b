// Package value applies resources of the type value: a value that other resources receive. A value has no state on the
// host. The type stands for the kind value of mgmt.
package value

import (
	"context"
	"slices"

	"bolt/apply/resource"
)

// Type returns the type value.
func Type() resource.Type { return valueType{} }

type valueType struct{}

type item struct{ r *resource.Resource }

func (valueType) New(r *resource.Resource) (resource.Item, error) {
	if r.Params.Value("any") == nil {
		return nil, &resource.ParamError{Param: "any", Problem: "must be given, or received"}
	}
	return item{r}, nil
}

func (item) Parallel() {}

// Watch returns no sources of events: a value has no state.
func (item) Watch(context.Context, *resource.Host) []resource.Watch { return nil }

func (item) Read(context.Context, *resource.Host) error { return nil }

func (item) Plan() ([]resource.Change, error) { return nil, nil }

func (item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// Sent returns the parameter any.
func (v item) Sent() (values map[string]any, secret bool) {
	return map[string]any{"any": v.r.Params.Value("any")}, slices.Contains(v.r.Secrets, "any")
}
