// Package anchor applies resources of the type anchor, which do nothing: relations go through them.
package anchor

import (
	"context"

	"bolt/apply/resource"
)

type anchorType struct{}

// Type returns the type anchor.
func Type() resource.Type { return anchorType{} }

type item struct{}

// New implements resource.Type.
func (anchorType) New(*resource.Resource) (resource.Item, error) { return item{}, nil }

// Read implements resource.Item.
func (item) Read(context.Context, *resource.Host) error { return nil }

// Plan implements resource.Item.
func (item) Plan() ([]resource.Change, error) { return nil, nil }

// Do implements resource.Item.
func (item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// Refresh implements resource.Refresher: an anchor passes refreshes on.
func (item) Refresh(context.Context, *resource.Host, []resource.Change) error { return nil }

// Watch implements resource.Watcher: an anchor has no state.
func (item) Watch(context.Context, *resource.Host) []resource.Watch { return nil }
