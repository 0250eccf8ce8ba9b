package main

import (
	"bolt/cli"
	"bolt/cli/releasing"
)

// releaseCommands returns the commands of releases.
func (s system) releaseCommands() []command {
	names := []cli.Completer{completes(s, (*app).releasing, (*releasing.Invocation).Complete)}
	return []command{
		{run: by((*app).releasing, (*releasing.Invocation).Create), Command: cli.Command{
			Name: "release create", Args: "[FILE]", Check: cli.OneArgument,
			Complete: []cli.Completer{cli.FileOf("pp", "yaml", "yml")},
			Exit:     "0  there is a new release\n1  a node could not be compiled, or nothing could be stored; or ", Formats: plainFormats,
			Lists: []string{onRelease, onCreate, onEngine, onExecute, onNodes, onFactFile, onTimeout, onHiera, onTargets, onInventory, onModules},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).List), voice: noFiles, Command: cli.Command{
			Name: "release list", Check: cli.NoArguments, Exit: exitShown, Formats: plainFormats, Lists: []string{onRelease},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Show), voice: noFiles, Command: cli.Command{
			Name: "release show", Args: "[RELEASE]", Check: cli.OneArgument, Complete: names, Exit: exitShown, Formats: plainFormats, Lists: []string{onRelease, onSigners},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Diff), voice: noFiles, Command: cli.Command{
			Name: "release diff", Args: "BEFORE [AFTER]", Check: releasing.DiffArguments, Complete: append(names, names...),
			Exit: "0  the releases were compared\n2  with --exit-code: they differ\n1  they could not be read; or ", Formats: plainFormats, Lists: []string{onRelease, onDiff},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Preview), Command: cli.Command{
			Name: "release preview", Args: "[RELEASE]", Check: cli.OneArgument, Complete: names,
			Exit: "0  the changes of all nodes are known, and are in the limit\n1  a node failed, or has more changes than --max-changes; or ", Formats: eventFormats,
			Lists: []string{onRelease, onPreview, onAction, onTimeout, onTargets, onInventory},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Sign), voice: noFiles, Command: cli.Command{
			Name: "release sign", Args: "[RELEASE]", Check: cli.OneArgument, Complete: names,
			Exit: "0  the release is signed\n1  it could not be signed; or ", Formats: plainFormats, Lists: []string{onRelease, onSign},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Verify), voice: noFiles, Command: cli.Command{
			Name: "release verify", Args: "[RELEASE]", Check: cli.OneArgument, Complete: names,
			Exit: "0  the release is whole and signed as it must be\n1  it is not; or ", Formats: plainFormats, Lists: []string{onRelease, onSigners},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Export), voice: noFiles, Command: cli.Command{
			Name: "release export", Args: "RELEASE FILE", Check: releasing.ExportArguments, Complete: append(names, cli.AnyFile),
			Exit: exitMade, Formats: plainFormats, Lists: []string{onRelease},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Import), voice: noFiles, Command: cli.Command{
			Name: "release import", Args: "FILE", Check: cli.NeedArgument("Must specify a file of \"bolt release export\"."), Complete: []cli.Completer{cli.AnyFile},
			Exit: "0  the release is there\n1  the file was refused; or ", Formats: plainFormats, Lists: []string{onRelease},
		}},
		{run: by((*app).releasing, (*releasing.Invocation).Collect), voice: noFiles, Command: cli.Command{
			Name: "release gc", Check: cli.NoArguments,
			Exit: "0  everything was removed\n1  it could not be removed; or ", Formats: plainFormats, Lists: []string{onRelease, onGC, onNoop},
		}},
	}
}
