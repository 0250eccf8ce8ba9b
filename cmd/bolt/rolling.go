package main

import (
	"strings"

	"bolt/internal/spelling"
	"bolt/run"
)

// rollingOf reads the flags for batches of targets. Its errors are usage errors.
func rollingOf(v flagValues) (*run.Rolling, error) {
	r := &run.Rolling{}
	bad := func(name, hint string) error {
		return hinted(usagef("Invalid parameter specified for option '--%s': %s", name, v.last(name)), "%s", hint)
	}
	if v.has("serial") {
		for text := range strings.SplitSeq(v.last("serial"), ",") {
			size, err := run.ParseAmount(text, 1)
			if err != nil {
				return nil, bad("serial", "give a number of targets (at least 1), a percentage (10%), or several of these, separated by commas (1,10%,50%)")
			}
			r.Serial = append(r.Serial, size)
		}
	}
	var needSerial []string
	for _, name := range []string{"max-failures", "pause"} {
		if v.has(name) && !v.has("serial") {
			needSerial = append(needSerial, "'--"+name+"'")
		}
	}
	if needSerial != nil {
		return nil, hinted(usagef("Option %s can only be specified with '--serial'", spelling.Or(needSerial)), "add --serial 1 to act on one target after the other")
	}
	if v.has("max-failures") {
		most, err := run.ParseAmount(v.last("max-failures"), 0)
		if err != nil {
			return nil, bad("max-failures", "give a number of targets (at least 0) or a percentage (10%)")
		}
		r.MaxFailures = &most
	}
	if v.has("pause") {
		d, err := parseTimeout(v.last("pause"))
		if err != nil {
			return nil, bad("pause", "give a number of seconds (30, 0.5) or a time with a unit (90s, 5m, 1h)")
		}
		r.Pause = d
	}
	return r, nil
}

// percentOf reads a --concurrency that is a percentage; ok is false for all other
// values.
func percentOf(text string) (a run.Amount, ok bool) {
	if !strings.HasSuffix(text, "%") {
		return run.Amount{}, false
	}
	a, err := run.ParseAmount(text, 1)
	return a, err == nil
}

// concurrency returns the number of targets that an action runs on at once.
func (a *app) concurrency(targets int) int {
	if share, ok := percentOf(a.values.last("concurrency")); ok {
		return share.Of(targets, 1)
	}
	return a.config.Concurrency
}
