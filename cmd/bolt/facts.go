package main

import (
	"bolt/cli/collecting"
)

// collecting returns the parts of this invocation that the commands about facts use.
func (a *app) collecting() *collecting.Invocation {
	return &collecting.Invocation{
		Version: version, Out: results{a.sys.out}, Console: a.Console, List: a.listOptions(), Logs: a.logs, Log: a.log,
		Store: a.sources.Facts(), MaxAge: a.config.FactMaxAge, Targets: a.sources.Targets, PuppetDB: a.sources.PuppetDB, Tasks: a.tasking(),
		Helper: a.applying().Collector, Act: a.running().ActAmong,
	}
}
