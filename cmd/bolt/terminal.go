package main

import (
	"fmt"

	"bolt/cli/targeting"
	"bolt/output"
	"bolt/output/listing"
)

func (a *app) format() output.Format { return output.Find(a.config.Format) }

func (a *app) listOptions() listing.Options {
	return listing.Options{Format: a.format(), Color: a.Color()}
}

// tell prints a sentence about a completed action: on standard output or, with
// JSON, on standard error.
func (a *app) tell(text string) error {
	out := a.sys.out
	if a.format().Data {
		out = a.sys.err
	}
	_, err := fmt.Fprintln(out, text)
	return written(err)
}

// say prints a line on standard output.
func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.sys.out, format+"\n", args...)
	return written(err)
}

// shows returns the parts of this invocation that the commands for targets, groups and plugins use.
func (a *app) shows() *targeting.Listing {
	return &targeting.Listing{Sources: a.sources, Out: results{a.sys.out}, How: a.listOptions()}
}
