// Package kv applies resources of the type kv: keys with values in a store on the host. The type stands for the kind kv of mgmt,
// whose store is part of a cluster. Here the store is a file in the helper's state directory, and only the user of the
// helper can read it. So mgmt's parameter mapped, which makes one key for each host, does not exist.
//
// A key without a value is removed. With skiplessthan, a value is only replaced by a greater one, unless the resource is
// refreshed. Other resources receive the value that the store then has, which mgmt's language reads with functions.
package kv

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type kv.
func Type() resource.Type { return kvType{} }

type kvType struct{}

type item struct {
	key     string
	value   string
	given   bool // a key without a value is removed
	secret  bool
	greater func(a, b string) bool // nil without skiplessthan

	found bool // Read: the store has the key, with this value
	old   entry
}

func (kvType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{key: f.Text("key", f.Text("name", r.Title)), value: f.Text("value", ""), secret: r.Secret("value")}
	_, x.given = r.Params.Get("value")
	switch {
	case x.key == "" || len(x.key) > 1024 || !utf8.ValidString(x.key):
		f.Refuse("key", "must be a string of 1 to 1024 bytes")
	case len(x.value) > maxValue:
		f.Refuse("value", fmt.Sprintf("must not have more than %d MiB", maxValue>>20))
	case !utf8.ValidString(x.value):
		f.Refuse("value", "must be text (UTF-8)")
	}
	skip := f.Bool("skiplessthan", false)
	style := f.Text("skipcmpstyle", "int")
	switch style {
	case "int", "0":
		if _, err := strconv.ParseInt(x.value, 10, 64); skip && x.given && err != nil {
			f.RefuseValue("value", "must be a whole number, because of skiplessthan", x.value)
		}
		x.greater = greaterInt
	case "string", "1":
		x.greater = func(a, b string) bool { return a > b }
	default:
		f.RefuseValue("skipcmpstyle", "must be int (0) or string (1)", style)
	}
	if !skip {
		x.greater = nil
	}
	return x, f.Err
}

// greaterInt reports whether the number a is greater than b. Any number is greater than a value that is not a number.
func greaterInt(a, b string) bool {
	m, _ := strconv.ParseInt(a, 10, 64) // New has checked it
	n, err := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	return err != nil || m > n
}

// Watch returns the file of the store.
func (x *item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return []resource.Watch{{Path: filepath.Join(h.State, fileName)}}
}

func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return kvType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll reads the store once.
func (kvType) ReadAll(_ context.Context, h *resource.Host, items []resource.Item) []error {
	keys, err := load(h)
	errs := make([]error, len(items))
	for i, it := range items {
		errs[i] = err
		x := it.(*item)
		x.old, x.found = keys[x.key]
	}
	return errs
}

// Plan compares the value with the stored value.
func (x *item) Plan() ([]resource.Change, error) { return x.plan(false), nil }

func (x *item) plan(exact bool) []resource.Change {
	c := resource.Change{Property: "value", Is: "absent", Should: x.value}
	if x.found {
		c.Is = x.old.Value
	}
	if x.old.Secret { // then the new value differs, or nothing is changed
		c.Is = report.Redacted
	}
	switch {
	case !x.given && !x.found:
		return nil
	case !x.given:
		c.Should = "absent"
	case x.found && x.value == x.old.Value && (x.old.Secret || !x.secret):
		return nil
	case x.found && x.value != x.old.Value && x.greater != nil && !exact && !x.greater(x.value, x.old.Value):
		return nil
	}
	return []resource.Change{c}
}

func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return kvType{}.DoAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll writes the store once.
func (kvType) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	err := change(ctx, h, func(keys map[string]entry) {
		for _, w := range works {
			x := w.Item.(*item)
			if !x.given {
				delete(keys, x.key)
				x.old, x.found = entry{}, false
				continue
			}
			x.old, x.found = entry{x.value, x.secret}, true
			keys[x.key] = x.old
		}
	})
	return slices.Repeat([]error{err}, len(works))
}

// Refresh sets the exact value, also if it is not greater.
func (x *item) Refresh(ctx context.Context, h *resource.Host, _ []resource.Change) error {
	if err := x.Read(ctx, h); err != nil {
		return err
	}
	changes := x.plan(true)
	if len(changes) == 0 {
		return nil
	}
	return x.Do(ctx, h, &changes[0])
}

// Sent returns the value of the store; nothing if it does not have the key.
func (x *item) Sent() (values map[string]any, secret bool) {
	if !x.found {
		return nil, x.secret
	}
	return map[string]any{"value": x.old.Value}, x.secret || x.old.Secret
}
