package main

import (
	"bolt/cli/targeting"
	"bolt/output"
	"bolt/output/listing"
)

func (a *app) format() output.Format { return output.Find(a.config.Format) }

func (a *app) listOptions() listing.Options {
	return listing.Options{Format: a.format(), Color: a.Color()}
}

// shows returns the parts of this invocation that the commands for targets, groups and plugins use.
func (a *app) shows() *targeting.Listing {
	return &targeting.Listing{Sources: a.sources, Out: results{a.sys.out}, How: a.listOptions()}
}
