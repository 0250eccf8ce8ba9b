package main

import (
	"bolt/cli"
	"bolt/cli/reporting"
)

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
