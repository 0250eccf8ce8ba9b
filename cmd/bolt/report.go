package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/history"
	"bolt/cli"
	"bolt/cli/reporting"
	"bolt/format/fault"
	"bolt/inventory"
)

// reports returns the reports in a state directory, "" for the project's state directory.
func (a *app) reports(state string) *history.Dir {
	keep := history.Keep
	if n := a.config.Apply.KeepReports; n != nil {
		keep = int(*n)
	}
	return history.Open(filepath.Join(cmp.Or(state, a.state()), history.Folder), keep)
}

// keeper returns the keeper of reports in a state directory, "" for the project's. Outside of a project,
// reports are only kept if --state names a directory.
func (a *app) keeper(state string) *fleet.Keeper {
	setting := a.config.Apply.KeepReports
	if setting != nil && *setting == 0 || state == "" && !a.project.Made() {
		return nil
	}
	who := a.auditing().Actor()
	asked := state != "" || setting != nil
	dir := a.reports(state)
	return &fleet.Keeper{Dir: dir, By: who.Address(), Redact: a.sources.Redact, Lost: func(t *inventory.Target, err error) {
		if !asked && unwritable(err) {
			a.log.Info("no reports are kept, because the project cannot be written to", "directory", dir.Path(), "err", err)
			return
		}
		a.logs.WarnOnce("report_not_kept", fmt.Sprintf("The report of %s was not kept in %s: %v", t.SafeName(), dir.Path(), fault.WithoutPath(err)))
	}}
}

// unwritable reports whether an error means that this user cannot write to a directory. A project can be
// intentionally read-only.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// reporting returns the parts of this invocation that the commands of reports use.
func (a *app) reporting() *reporting.Invocation {
	return &reporting.Invocation{Out: results{a.sys.out}, How: a.listOptions(), Logs: a.logs, Now: time.Now(), Reports: a.reports, Targets: a.sources.Targets}
}

// reportCommands returns the commands of reports.
func (s system) reportCommands() []command {
	nodes := completes(s, (*app).reporting, (*reporting.Invocation).CompleteNode)
	return []command{
		{run: by((*app).reporting, (*reporting.Invocation).List), voice: noFiles, Command: cli.Command{
			Name: "report list", Args: "[NODE...]", Check: cli.AnyArguments, Rest: nodes,
			Exit: "0  the reports were listed\n1  a node has no report; or ", Formats: dataFormats, Lists: []string{onRelease, onSince, onFailed, onTargets, onInventory},
		}},
		{run: by((*app).reporting, (*reporting.Invocation).Show), voice: noFiles, Command: cli.Command{
			Name: "report show", Args: "NODE [RUN]", Check: reporting.ShowArguments, Complete: []cli.Completer{nodes, completes(s, (*app).reporting, (*reporting.Invocation).CompleteRun)},
			Exit: "0  the report was printed\n1  there is no such report; or ", Formats: dataFormats, Lists: []string{onRelease},
		}},
	}
}
