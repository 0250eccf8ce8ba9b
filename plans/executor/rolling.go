package executor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/puppet/value"
)

// rolling says how an action goes over its targets in batches.
//
// Differs from Puppet: its plans act on all targets at once. The names of the
// options are Ansible's (playbook keywords serial, max_fail_percentage).
type rolling struct {
	serial []amount // sizes of batches, the last one for all that follow; nil: all at once
	most   *amount  // failures that do not end it; nil: none, if there are batches
	pause  time.Duration
}

// An amount of targets: so many, or a part of all.
type amount struct {
	n       int
	percent bool
}

// of returns how many of all targets it is: one at least, if atLeast says so.
func (a amount) of(all, atLeast int) int {
	n := a.n
	if a.percent {
		n = all * a.n / 100
	}
	return max(n, atLeast)
}

// parseAmount reads 5 or '10%'.
func parseAmount(v value.Value, least int) (a amount, ok bool) {
	switch v := v.(type) {
	case value.Int:
		return amount{n: int(v)}, int64(v) >= int64(least) && v < 1<<31
	case value.String:
		text, percent := strings.CutSuffix(string(v), "%")
		n, err := strconv.Atoi(strings.TrimSpace(text))
		return amount{n, percent}, err == nil && n >= least && (!percent || n <= 100)
	}
	return amount{}, false
}

// option reads one of the options of rolling.
func (r *rolling) option(name string, v value.Value) error {
	wrong := func(what string) error {
		return failf("bolt/validation-error", "Option '%s' must be %s, got %s", name, what, value.Inspect(v))
	}
	switch name {
	case "serial":
		list := []value.Value{v}
		if a, is := v.(*value.Array); is {
			list = a.Elems()
		}
		for _, e := range list {
			size, ok := parseAmount(e, 1)
			if !ok {
				return wrong("a number of targets, a part of them like '10%', or an Array of these")
			}
			r.serial = append(r.serial, size)
		}
		if r.serial == nil {
			return wrong("an Array that is not empty")
		}
	case "max_failures":
		most, ok := parseAmount(v, 0)
		if !ok {
			return wrong("a number of targets, or a part of them like '10%'")
		}
		r.most = &most
	case "pause":
		d, ok := seconds(v)
		if !ok || d < 0 {
			return wrong("a number of seconds")
		}
		r.pause = d
	}
	return nil
}

// check refuses options that say nothing together.
func (r *rolling) check() error {
	if r.serial == nil && (r.most != nil || r.pause > 0) {
		return failf("bolt/validation-error", "The options 'max_failures' and 'pause' are about batches of targets: they need the option 'serial'")
	}
	return nil
}

// batches are the sizes of the batches of n targets.
func (r *rolling) batches(n int) []int {
	if r.serial == nil {
		return []int{n}
	}
	var sizes []int
	for i, left := 0, n; left > 0; i++ {
		size := min(r.serial[min(i, len(r.serial)-1)].of(n, 1), left)
		sizes = append(sizes, size)
		left -= size
	}
	return sizes
}

// tooMany reports whether so many failures of n targets end it.
func (r *rolling) tooMany(failures, n int) bool {
	switch {
	case r.serial == nil:
		return false
	case r.most == nil:
		return failures > 0
	}
	return failures > r.most.of(n, 0)
}

// stopped is why targets were not begun.
func (r *rolling) stopped(failures, begun int) string {
	if begun == 1 {
		return "Not begun, because the target before had failed"
	}
	return fmt.Sprintf("Not begun, because %d of the %d targets before had failed", failures, begun)
}
