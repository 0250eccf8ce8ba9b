package main

import (
	"bolt/cli"
	"bolt/cli/reporting"
)

// reportCommands returns the commands of reports.
func (s system) reportCommands() []command {
	nodes := completes(s, (*app).reporting, (*reporting.Invocation).CompleteNode)
	read := cli.Wording{Section: secContext, Help: "Read the reports in this directory (default .bolt-state of the project)."}
	return []command{
		{run: by((*app).reporting, (*reporting.Invocation).List), voice: noFiles, Command: cli.Command{
			Name: "report list", Args: "[NODE...]", Check: cli.AnyArguments, Rest: nodes,
			Exit: "0  the reports were listed\n1  a node has no report; or ", Formats: dataFormats, Lists: []string{onRelease, onSince, onFailed, onTargets, onInventory},
			Reworded: map[string]cli.Wording{
				"state":  read,
				"since":  {Section: secDisplay, Help: "Only reports of runs that began since then: an age (90m, 12h, 7d) or a date (2026-01-31)."},
				"failed": {Section: secDisplay, Help: "Only reports of runs that failed or were stopped."},
			},
		}},
		{run: by((*app).reporting, (*reporting.Invocation).Show), voice: noFiles, Command: cli.Command{
			Name: "report show", Args: "NODE [RUN]", Check: reporting.ShowArguments, Complete: []cli.Completer{nodes, completes(s, (*app).reporting, (*reporting.Invocation).CompleteRun)},
			Exit: "0  the report was printed\n1  the report does not exist; or ", Formats: dataFormats, Lists: []string{onRelease},
			Reworded: map[string]cli.Wording{"state": read},
		}},
	}
}
