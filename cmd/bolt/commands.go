package main

import (
	"slices"

	"bolt/cli"
	"bolt/cli/applying"
	"bolt/cli/auditing"
	"bolt/cli/catalogs"
	"bolt/cli/collecting"
	"bolt/cli/connecting"
	"bolt/cli/installing"
	"bolt/cli/lookups"
	"bolt/cli/planning"
	"bolt/cli/programs"
	"bolt/cli/running"
	"bolt/cli/sealing"
	"bolt/cli/targeting"
	"bolt/cli/tasking"
)

var actionLists = []string{onAction, onTimeout, onResults, onFold, onTargets, onInventory, onModules}

var applyLists = []string{onApply, onEngine, onRelease, onNoop, onHiera, onRolling, onAction, onTimeout, onResults, onTargets, onInventory, onModules}

// keepsReports are the texts of flags for commands that apply.
var keepsReports = map[string]cli.Wording{
	"state": {Section: secContext, Help: "Keep the reports of the run in this directory (default .bolt-state of the project). \"bolt report list\" lists them."},
}

// The meanings of exit codes. 1 is also the code of a usage error.
const (
	exitAction    = "0  everything succeeded\n1  a target failed, or was not reached; or "
	exitPlan      = "0  the plan succeeded\n1  it failed, or it returned a failure; or "
	exitFound     = "0  a value was found, for every target\n1  no value was found, for one target at least; or "
	exitShown     = "0  everything was printed\n1  "
	exitPool      = "0  it was done\n1  it could not be done; or "
	exitStatus    = "0  a daemon runs\n1  no daemon runs; or "
	exitServe     = "0  the daemon was stopped\n1  it could not serve; or "
	exitValidate  = "0  no file has errors; warnings do not count\n1  a file has errors, or could not be read; or "
	exitDump      = "0  the program was read\n1  the program has errors, or could not be read; or "
	exitInstalled = "0  the modules are there\n1  they could not be installed, and nothing was changed; or "
	exitMade      = "0  it was made\n1  it exists already, or could not be written; or "
	exitEval      = "0  the program has a value; with --batch: all lines were answered\n1  the program has errors, or could not be read; or "
)

// commands returns all actions, in the order of the help page. The texts of their help
// are the files of the folder help.
func (s system) commands() []command {
	return slices.Concat([]command{
		{run: by((*app).running, (*running.Invocation).Command), targets: true, Command: cli.Command{
			Name: "command run", Args: "COMMAND", Check: running.NeedCommand,
			Exit: exitAction, Formats: eventFormats, Lists: append([]string{onRun, onPrints, onRolling}, actionLists...),
		}},
		{run: by((*app).running, (*running.Invocation).Script), targets: true, Command: cli.Command{
			Name: "script run", Args: "SCRIPT [ARGUMENTS]", Check: running.NeedScript,
			Rest: cli.AnyFile,
			Exit: exitAction, Formats: eventFormats, Lists: append([]string{onRun, onPrints, onTmpdir, onRolling}, actionLists...),
		}},
		{run: by((*app).running, (*running.Invocation).Upload), targets: true, Command: cli.Command{
			Name: "file upload", Args: "SOURCE DESTINATION", Check: running.NeedPaths,
			Complete: []cli.Completer{cli.AnyFile},
			Exit:     exitAction, Formats: eventFormats, Lists: append([]string{onTmpdir, onRolling}, actionLists...),
		}},
		{run: by((*app).running, (*running.Invocation).Download), targets: true, Command: cli.Command{
			Name: "file download", Args: "SOURCE DESTINATION", Check: running.NeedPaths,
			Complete: []cli.Completer{nil, cli.AnyFile},
			Exit:     exitAction, Formats: eventFormats, Lists: append([]string{onDownload, onRolling}, actionLists...),
		}},
		{run: by((*app).applying, (*applying.Invocation).Manifest), targets: true, Command: cli.Command{
			Name: "apply", Args: "[FILE]", Check: cli.OneArgument,
			Complete: []cli.Completer{cli.FileOf("pp")},
			Exit:     exitAction, Formats: eventFormats, Lists: append([]string{onExecute}, applyLists...), Reworded: keepsReports,
		}},
		{run: by((*app).tasking, (*tasking.Invocation).Show), Command: cli.Command{
			Name: "task show", Args: "[TASK]", Check: cli.OneArgument,
			Complete: []cli.Completer{completes(s, (*app).tasking, (*tasking.Invocation).Complete)},
			Exit:     exitShown, Formats: listFormats, Lists: []string{onFilter, onModules},
		}},
		{run: by((*app).tasking, (*tasking.Invocation).Run), targets: true, Command: cli.Command{
			Name: "task run", Args: "TASK [NAME=VALUE...]", Check: tasking.Need,
			Complete: []cli.Completer{completes(s, (*app).tasking, (*tasking.Invocation).Complete)}, Rest: completes(s, (*app).tasking, (*tasking.Invocation).CompleteParameters),
			Exit: exitAction, Formats: eventFormats, Lists: append([]string{onParams, onNoop, onTmpdir, onPrints, onRolling}, actionLists...),
		}},
		{run: by((*app).installing, (*installing.Invocation).Add), Command: cli.Command{
			Name: "module add", Args: "MODULE", Check: cli.NeedArgument("Must specify a module name."),
			Exit: exitInstalled, Formats: listFormats,
		}},
		{run: by((*app).installing, (*installing.Invocation).Install), Command: cli.Command{
			Name: "module install", Check: installing.NoModules,
			Exit: exitInstalled, Formats: listFormats, Lists: []string{onForce, onResolve},
		}},
		{run: by((*app).installing, (*installing.Invocation).Show), Command: cli.Command{
			Name: "module show", Args: "[MODULE]", Check: cli.OneArgument,
			Complete: []cli.Completer{completes(s, (*app).installing, (*installing.Invocation).Complete)},
			Exit:     exitShown, Formats: listFormats, Lists: []string{onModules},
		}},
		{run: by((*app).shows, (*targeting.Listing).ShowTargets), Command: cli.Command{
			Name: "inventory show", Check: noWordsButTargets,
			Exit: exitShown, Formats: listFormats, Lists: []string{onTargets, onInventory, onDetail},
		}},
		{run: by((*app).shows, (*targeting.Listing).ShowGroups), Command: cli.Command{
			Name: "group show", Check: cli.NoArguments,
			Exit: exitShown, Formats: listFormats, Lists: []string{onInventory},
		}},
		{run: by((*app).lookups, (*lookups.Invocation).Look), Command: cli.Command{
			Name: "lookup", Args: "KEY [NAME=VALUE...]", Check: lookups.Need,
			Exit: exitFound, Formats: eventFormats, Lists: []string{onHiera, onLookup, onTimeout, onResults, onFold, onTargets, onInventory, onModules},
		}},
		{run: by((*app).collecting, (*collecting.Invocation).Collect), targets: true, Command: cli.Command{
			Name: "facts collect", Check: noWordsButTargets,
			Exit: exitAction, Formats: eventFormats, Lists: append([]string{onCollect, onAged}, actionLists...),
		}},
		{run: by((*app).collecting, (*collecting.Invocation).Show), Command: cli.Command{
			Name: "facts show", Check: noWordsButTargets,
			Exit: exitShown, Formats: plainFormats, Lists: []string{onTargets, onInventory, onFacts, onAged},
		}},
		{run: by((*app).collecting, (*collecting.Invocation).Forget), Command: cli.Command{
			Name: "facts forget", Check: noWordsButTargets,
			Exit: exitShown, Formats: plainFormats, Lists: []string{onTargets, onInventory, onAged},
		}},
		{run: by((*app).sealing, (*sealing.Invocation).Encrypt), Command: cli.Command{
			Name: "secret encrypt", Args: "VALUE", Check: sealing.Need("encrypt"),
			Exit: exitShown, Formats: listFormats, Lists: []string{onPlugin, onModules},
		}},
		{run: by((*app).sealing, (*sealing.Invocation).Decrypt), Command: cli.Command{
			Name: "secret decrypt", Args: "VALUE", Check: sealing.Need("decrypt"),
			Exit: exitShown, Formats: listFormats, Lists: []string{onPlugin, onModules},
		}},
		{run: by((*app).sealing, (*sealing.Invocation).CreateKeys), Command: cli.Command{
			Name: "secret createkeys", Check: cli.NoArguments,
			Exit: exitShown, Formats: listFormats, Lists: []string{onPlugin, onForce, onModules},
		}},
		{run: by((*app).shows, (*targeting.Listing).ShowPlugins), Command: cli.Command{
			Name: "plugin show", Check: cli.NoArguments,
			Exit: exitShown, Formats: listFormats, Lists: []string{onModules},
		}},
		{run: with(runProjectInit), voice: noFiles, Command: cli.Command{
			Name: "project init", Args: "[NAME]", Check: cli.OneArgument,
			Exit: exitMade, Formats: listFormats, Lists: []string{onNeeds},
		}},
		{run: by((*app).planning, (*planning.Invocation).Show), Command: cli.Command{
			Name: "plan show", Args: "[PLAN]", Check: cli.OneArgument,
			Complete: []cli.Completer{completes(s, (*app).planning, (*planning.Invocation).Complete)},
			Exit:     exitShown, Formats: listFormats, Lists: []string{onFilter, onModules},
		}},
		{run: by((*app).planning, (*planning.Invocation).Run), Command: cli.Command{
			Name: "plan run", Args: "PLAN [NAME=VALUE...]", Check: planning.Need,
			Complete: []cli.Completer{completes(s, (*app).planning, (*planning.Invocation).Complete)}, Rest: completes(s, (*app).planning, (*planning.Invocation).CompleteParameters),
			Exit: exitPlan, Formats: eventFormats, Lists: []string{onParams, onJournal, onAction, onTimeout, onDownload, onResults, onTargets, onInventory, onModules},
		}},
		{run: by((*app).planning, (*planning.Invocation).New), Command: cli.Command{
			Name: "plan new", Args: "NAME", Check: cli.NeedArgument("Must specify a plan name."),
			Exit: exitMade, Formats: listFormats, Lists: []string{onNewPlan},
		}},
		{run: by((*app).planning, (*planning.Invocation).Convert), Command: cli.Command{
			Name: "plan convert", Args: "PLAN", Check: cli.NeedArgument("Must specify a plan."),
			Complete: []cli.Completer{cli.OrFiles(completes(s, (*app).planning, (*planning.Invocation).CompleteYAML))},
			Exit:     exitShown, Formats: listFormats, Lists: []string{onModules},
		}},
		{run: by((*app).planning, (*planning.Invocation).Graph), Command: cli.Command{
			Name: "plan graph", Args: "PLAN", Check: cli.NeedArgument("Must specify a plan to draw"),
			Complete: []cli.Completer{completes(s, (*app).planning, (*planning.Invocation).Complete)},
			Exit:     exitShown, Formats: listFormats, Lists: []string{onGraph, onModules},
		}},
		{run: by((*app).planning, (*planning.Invocation).Resume), voice: noFiles, Command: cli.Command{
			Name: "plan resume", Args: "RUN [NAME=VALUE...]", Check: planning.NeedRun,
			Complete: []cli.Completer{completes(s, (*app).planning, (*planning.Invocation).CompleteRuns)},
			Exit:     exitPlan, Formats: eventFormats, Lists: []string{onResume, onAction, onTimeout, onDownload, onResults, onInventory, onModules},
		}},
		{run: by((*app).planning, (*planning.Invocation).ShowRuns), Command: cli.Command{
			Name: "plan runs", Check: cli.NoArguments,
			Exit: exitShown, Formats: listFormats,
		}},
		{run: by((*app).applying, (*applying.Invocation).Policy), targets: true, Command: cli.Command{
			Name: "policy apply", Args: "POLICY[,POLICY...]", Check: applying.NeedPolicies,
			Complete: []cli.Completer{completes(s, (*app).applying, (*applying.Invocation).CompletePolicy)},
			Exit:     exitAction, Formats: eventFormats, Lists: applyLists, Reworded: keepsReports,
		}},
		{run: by((*app).applying, (*applying.Invocation).NewPolicy), Command: cli.Command{
			Name: "policy new", Args: "NAME", Check: cli.NeedArgument("Must specify a name for the new policy."),
			Exit: exitMade, Formats: listFormats,
		}},
		{run: by((*app).applying, (*applying.Invocation).ShowPolicies), Command: cli.Command{
			Name: "policy show", Check: cli.NoArguments,
			Exit: exitShown, Formats: listFormats, Lists: []string{onModules},
		}},
		{run: with(runGuide), voice: noFiles, Command: cli.Command{
			Name: "guide", Args: "[TOPIC]", Check: cli.OneArgument,
			Complete: []cli.Completer{guideTopics},
			Exit:     exitShown, Formats: listFormats,
		}},
		{run: by((*app).auditing, (*auditing.Invocation).Show), voice: noFiles, Command: cli.Command{
			Name: "audit show", Args: "[FILE...]", Check: cli.AnyArguments,
			Exit: exitShown, Formats: plainFormats, Lists: []string{onSince, onFailed, onAudit},
		}},
		{run: by((*app).auditing, (*auditing.Invocation).Verify), voice: noFiles, Command: cli.Command{
			Name: "audit verify", Args: "[FILE...]", Check: cli.AnyArguments,
			Exit: "0  the chain is whole\n1  it is broken, or does not contain the hash of --expect; or ", Formats: plainFormats, Lists: []string{onVerify},
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Start), voice: noFiles, Command: cli.Command{
			Name: "pool start", Check: cli.NoArguments,
			Exit: exitPool, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Stop), voice: noFiles, Command: cli.Command{
			Name: "pool stop", Check: cli.NoArguments,
			Exit: exitPool, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Drain), voice: noFiles, Command: cli.Command{
			Name: "pool drain", Check: cli.NoArguments,
			Exit: exitPool, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Status), voice: noFiles, Command: cli.Command{
			Name: "pool status", Check: cli.NoArguments,
			Exit: exitStatus, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Metrics), voice: noFiles, Command: cli.Command{
			Name: "pool metrics", Check: cli.NoArguments,
			Exit: exitPool, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).ShowLog), voice: noFiles, Command: cli.Command{
			Name: "pool logs", Check: cli.NoArguments,
			Exit: exitPool, Formats: plainFormats,
		}},
		{run: by((*app).connecting, (*connecting.Invocation).Serve), voice: noFiles, Command: cli.Command{
			Name: "pool serve", Check: cli.NoArguments,
			Exit: exitServe, Formats: plainFormats,
		}},
		{run: with(runCatalogCompile), data: true, Command: cli.Command{
			Name: "catalog compile", Args: "[FILE]", Check: cli.OneArgument,
			Complete: []cli.Completer{cli.FileOf("pp", "yaml", "yml")},
			Exit:     "0  the catalogs of all nodes were compiled\n1  one was not; or ", Formats: compileFormats, Lists: []string{onExecute, onCompile, onNodes, onFactFile, onTimeout, onHiera, onTargets, onInventory, onModules},
		}},
		{run: by((*app).catalogs, (*catalogs.Invocation).Show), voice: noFiles, Command: cli.Command{
			Name: "catalog show", Args: "FILE [RESOURCE]", Check: catalogs.ShowArguments,
			Complete: []cli.Completer{cli.FileOf("json")},
			Exit:     exitShown, Formats: showFormats,
		}},
		{run: by((*app).catalogs, (*catalogs.Invocation).Diff), Command: cli.Command{
			Name: "catalog diff", Args: "BEFORE [AFTER]", Check: catalogs.DiffArguments,
			Complete: []cli.Completer{cli.AnyFile, cli.AnyFile},
			Exit:     "0  the catalogs were compared\n2  with --exit-code: they differ\n1  they could not be read or compiled; or ", Formats: listFormats, Lists: []string{onDiff, onNodes, onFactFile, onTimeout, onHiera, onTargets, onInventory},
		}},
		{run: by((*app).catalogs, (*catalogs.Invocation).Find), voice: noFiles, Command: cli.Command{
			Name: "catalog find", Args: "RESOURCE PATH...", Check: catalogs.FindArguments,
			Rest: cli.AnyFile,
			Exit: "0  a node has the resource\n1  no node has it; or ", Formats: listFormats,
		}},
		{run: by((*app).catalogs, (*catalogs.Invocation).Audit), Command: cli.Command{
			Name: "catalog audit", Args: "[PATH]", Check: cli.OneArgument,
			Complete: []cli.Completer{cli.AnyFile},
			Exit:     "0  everything is supported, or --fail-on accepts the rest\n2  something is not supported\n1  the code could not be read; or ", Formats: listFormats,
			Lists: []string{onCodeAudit, onNodes, onFactFile, onTimeout, onHiera, onTargets, onInventory, onModules},
		}},
		{run: by((*app).applying, (*applying.Invocation).Resource), targets: true, Command: cli.Command{
			Name: "puppet resource", Args: "TYPE [NAME]", Check: applying.NeedType,
			Complete: []cli.Completer{applying.CompleteType},
			Exit:     exitAction, Formats: eventFormats, Lists: actionLists,
		}},
		{run: by((*app).programs, (*programs.Invocation).Validate), voice: noFiles, Command: cli.Command{
			Name: "puppet validate", Args: "FILE...", Check: programs.NeedFile,
			Rest: cli.FileOf("pp", "epp"),
			Exit: exitValidate, Formats: plainFormats, Lists: []string{onPuppet, onModules},
		}},
		{run: by((*app).programs, (*programs.Invocation).Dump), voice: noFiles, data: true, Command: cli.Command{
			Name: "puppet dump", Args: "[FILE...]", Check: cli.AnyArguments,
			Rest: cli.FileOf("pp", "epp"),
			Exit: exitDump, Formats: treeFormats, Lists: []string{onPuppet, onExecute, onDump},
		}},
		{run: by((*app).programs, (*programs.Invocation).Eval), voice: noFiles, data: true, Command: cli.Command{
			Name: "puppet eval", Args: "[FILE] [NAME=VALUE...]", Check: cli.AnyArguments,
			Complete: []cli.Completer{cli.FileOf("pp", "epp")},
			Exit:     exitEval, Formats: plainFormats, Lists: []string{onPuppet, onExecute, onEval, onFactFile, onTimeout, onHiera, onModules},
		}},
	}, s.reportCommands(), s.releaseCommands(), s.rolloutCommands())
}
