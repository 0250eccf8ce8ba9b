package executor

import (
	"bolt/puppet/value"
	"bolt/run"
)

// parseAmount reads 5 or '10%'.
func parseAmount(v value.Value, least int) (a run.Amount, ok bool) {
	switch v := v.(type) {
	case value.Int:
		return run.Amount{N: int(v)}, int64(v) >= int64(least) && v < 1<<31
	case value.String:
		a, err := run.ParseAmount(string(v), least)
		return a, err == nil
	}
	return run.Amount{}, false
}

// rollingOption reads one option for batches into r.
func rollingOption(r *run.Rolling, name string, v value.Value) error {
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
			r.Serial = append(r.Serial, size)
		}
		if r.Serial == nil {
			return wrong("an Array that is not empty")
		}
	case "max_failures":
		most, ok := parseAmount(v, 0)
		if !ok {
			return wrong("a number of targets, or a part of them like '10%'")
		}
		r.MaxFailures = &most
	case "pause":
		d, ok := seconds(v)
		if !ok || d < 0 {
			return wrong("a number of seconds")
		}
		r.Pause = d
	}
	return nil
}

// checkRolling refuses options that need the option serial.
func checkRolling(r *run.Rolling) error {
	if r.Serial == nil && (r.MaxFailures != nil || r.Pause > 0) {
		return failf("bolt/validation-error", "The options 'max_failures' and 'pause' control batches of targets and require the option 'serial'")
	}
	return nil
}
