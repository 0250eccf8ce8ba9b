package main

import (
	"slices"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/applying"
	"bolt/cli/catalogs"
	"bolt/cli/collecting"
	"bolt/cli/planning"
	"bolt/cli/programs"
	"bolt/cli/targeting"
	"bolt/cli/tasking"
	"bolt/internal/logging"
	"bolt/internal/spelling"
	"bolt/output"
	"bolt/project"
	"bolt/transport/all"
)

// The sections of a help page, in their order.
const (
	secInventory = "Inventory"
	secAuth      = "Authentication"
	secEscalate  = "Escalation"
	secContext   = "Run context"
	secRemote    = "Remote environment"
	secTransport = "Transport"
	secPuppet    = "Puppet language"
	secLookup    = "Lookup"
	secModules   = "Modules and projects"
	secRelease   = "Releases"
	secAudit     = "Audit log"
	secDisplay   = "Display"
	secGlobal    = "Global"
)

func sections() []string {
	return []string{secInventory, secAuth, secEscalate, secContext, secRemote, secTransport, secPuppet, secLookup, secModules, secRelease, secAudit, secDisplay, secGlobal}
}

// The occasions on which a flag is listed. help/occasions.txt describes each
// occasion in words.
const (
	onAction    = "action"    // commands that act on targets
	onRun       = "run"       // command run, script run
	onPrints    = "prints"    // command run, script run, task run
	onRolling   = "rolling"   // commands that may act on their targets in batches
	onTmpdir    = "tmpdir"    // script run, file upload
	onTimeout   = "timeout"   // actions with a time limit
	onDownload  = "download"  // file download, and plans
	onResults   = "results"   // commands that act on targets
	onFold      = "fold"      // commands of results that may print equal results once
	onTargets   = "targets"   // commands that need targets
	onInventory = "inventory" // commands that read the inventory
	onDetail    = "detail"    // inventory show
	onModules   = "modules"   // commands that look for modules
	onPuppet    = "puppet"    // programs of the Puppet language
	onExecute   = "execute"   // commands whose program may be on the command line
	onDump      = "dump"      // puppet dump
	onEval      = "eval"      // puppet eval
	onFactFile  = "factfile"  // puppet eval, catalog compile
	onCompile   = "compile"   // catalog compile
	onDiff      = "diff"      // catalog diff
	onCodeAudit = "codeaudit" // catalog audit
	onNodes     = "nodes"     // catalog compile, catalog diff
	onHiera     = "hiera"     // commands that look up data
	onLookup    = "lookup"    // lookup
	onParams    = "params"    // task run
	onNoop      = "noop"      // task run, apply
	onApply     = "apply"     // apply
	onEngine    = "engine"    // apply, release create
	onFilter    = "filter"    // task show, plan show
	onForce     = "force"     // commands that may overwrite
	onResolve   = "resolve"   // module install
	onPlugin    = "plugin"    // secret commands
	onNeeds     = "needs"     // project init
	onNewPlan   = "newplan"   // plan new
	onGraph     = "graph"     // plan graph
	onAll       = cli.Always
	onJournal   = "journal"  // plan run
	onResume    = "resume"   // plan resume
	onCollect   = "collect"  // facts collect
	onFacts     = "facts"    // facts show
	onAged      = "aged"     // facts commands
	onAudit     = "audit"    // audit show
	onVerify    = "verify"   // audit verify
	onRelease   = "release"  // commands of releases, rollouts and reports, and commands that apply
	onCreate    = "create"   // release create
	onSigners   = "signers"  // release show, release verify
	onPreview   = "preview"  // release preview
	onSign      = "sign"     // release sign
	onGC        = "gc"       // release gc, rollout gc
	onStrategy  = "strategy" // rollout plan, rollout start, rollout edit
	onStages    = "stages"   // rollout plan, rollout start
	onStart     = "start"    // rollout start
	onRollout   = "rollout"  // commands that drive a rollout
	onReason    = "reason"   // commands that change a rollout
	onAbort     = "abort"    // rollout abort
	onEvents    = "events"   // rollout events
	onWatch     = "watch"    // rollout watch
	onSince     = "since"    // audit show, rollout events, report list
	onFailed    = "failed"   // audit show, report list
)

// flags returns all flags. Names, short forms and values are the same as in Puppet
// Bolt. Puppet Bolt does not have the strict flags except --env-var, and it does
// not have some of the formats.
func (s system) flags() []cli.Flag {
	transports := all.List()
	dialed := all.Dialed(transports)
	dialed[0] += " (default)"
	return []cli.Flag{
		{Name: "targets", Short: "t", Arg: "TARGETS", Repeat: true, Complete: completes(s, (*app).targets, (*targeting.Sources).Complete), Section: secInventory, On: onTargets,
			Help: "Act on these targets: names, aliases, groups, globs (web*), ranges (web[01-12]), URIs; several are separated by commas. '!db' excludes the targets of db, '&eu' keeps only the targets of eu. @FILE reads them from a file, - from standard input."},
		{Name: "query", Short: "q", Arg: "PQL", Section: secInventory, On: onTargets,
			Help: "Act on the nodes that this query to PuppetDB returns: inventory[certname] { facts.role = \"web\" }"},
		{Name: "rerun", Arg: "WHICH", Values: []string{"all", "failure", "success"}, Section: secInventory, On: onTargets,
			Help: "Act on targets of the last run again: all targets, or only the failed or the successful ones."},
		{Name: "where", Arg: "EXPRESSION", Complete: acting.CompleteWhere, Section: secInventory, On: onTargets, Strict: true,
			Help: "Act only on targets for which this expression is true: 'facts.os.family == \"Debian\" and \"web\" in groups'. Without named targets, it selects from all targets of the inventory. See \"bolt guide targets\"."},
		{Name: "limit", Arg: "N", Section: secInventory, On: onTargets, Strict: true,
			Help: "At most N of these targets, or N% of them (rounded up), chosen at random."},
		{Name: "limit-seed", Arg: "TEXT", Section: secInventory, On: onTargets, Strict: true,
			Help: "Let --limit choose by this text and the names of the targets: the same ones every time."},
		{Name: "at-least", Arg: "N", Section: secInventory, On: onTargets, Strict: true,
			Help: "Fail, and do nothing, unless at least N targets are found. --limit comes after that."},
		{Name: "when-empty", Arg: "OUTCOME", Values: []string{acting.EmptyFail, acting.EmptyOK}, Section: secInventory, On: onTargets, Strict: true,
			Help: "The outcome if no target is found: fail, or ok (default), which prints a warning."},
		{Name: "params", Arg: "JSON", Section: secInventory, On: onParams,
			Help: "The task's parameters as a JSON object, instead of NAME=VALUE. @FILE reads it from a file, - from standard input."},
		{Name: "noop", Section: secInventory, On: onNoop, Strict: true,
			Help: "Report what would be changed, and change nothing. A task must support this."},
		{Name: "from", Arg: "SOURCE", Values: collecting.From(), Check: cli.OneOfThese, Section: secInventory, On: onCollect, Strict: true,
			Help: "The source of facts: bolt's helper, the task facts, or PuppetDB. The default is a task facts of your own modules, or else the helper."},
		{Name: "older-than", Arg: "AGE", Section: secInventory, On: onAged, Strict: true,
			Help: "Only targets whose facts are older than this (12h, 7d, 4w; a number alone is seconds), or missing."},
		{Name: "detail", Section: secInventory, On: onDetail,
			Help: "Show each target's settings, variables, facts, features and groups."},

		{Name: "user", Short: "u", Arg: "USER", Setting: cli.String, Section: secAuth, On: onAction, Help: "Log in as this user."},
		{Name: "password", Short: "p", Arg: "PASSWORD", Secret: true, Setting: cli.String, Section: secAuth, On: onAction,
			Help: "Log in with this password. Others can read it in the process list: prefer --password-prompt."},
		{Name: "password-prompt", Section: secAuth, On: onAction, Help: "Ask for the login password on the terminal."},
		{Name: "private-key", Arg: "FILE", Setting: cli.String, Absolute: cli.AbsolutePath, Complete: cli.AnyFile, Section: secAuth, On: onAction, Help: "Log in with this private key."},
		{Name: "host-key-check", Negatable: true, Setting: cli.Bool, Section: secAuth, On: onAction,
			Help: "Accept only hosts whose keys are in known_hosts. With --no-host-key-check any key is accepted.", Negative: "Accept any host key."},

		{Name: "run-as", Arg: "USER", Setting: cli.String, Section: secEscalate, On: onAction, Help: "Run as this user, through sudo, su or doas."},
		{Name: "sudo-password", Arg: "PASSWORD", Secret: true, Setting: cli.String, Section: secEscalate, On: onAction,
			Help: "The password for sudo, su or doas. sudo and doas default to the login password. Prefer --sudo-password-prompt."},
		{Name: "sudo-password-prompt", Section: secEscalate, On: onAction, Help: "Prompt on the terminal for the password of sudo, su or doas."},
		{Name: "sudo-executable", Arg: "PROGRAM", Setting: cli.String, Section: secEscalate, On: onAction, Help: "Use this program instead of sudo. bolt calls su and doas with their own arguments."},

		{Name: "compile-concurrency", Arg: "N", Setting: cli.Int, Check: cli.Count, Section: secContext, On: onApply, Help: "Compile at most N catalogs at a time (default: the number of processors)."},
		{Name: "concurrency", Short: "c", Arg: "N", Setting: cli.Int, Check: amountOrCount, Section: secContext, On: onAction,
			Help: "Act on at most N targets at once (default 100). Commands with --serial also accept N%, a percentage of their targets, rounded down but at least one."},
		{Name: "serial", Arg: "N", Section: secContext, On: onRolling, Strict: true,
			Help: "Act on N targets, or N% of them, then on the next N. A list (1,10%,50%) gives the sizes of successive batches; the last size applies to all further batches. After a batch with failures, bolt starts no further batch; see --max-failures."},
		{Name: "max-failures", Arg: "N", Section: secContext, On: onRolling, Strict: true,
			Help: "With --serial: start the next batch unless more than N targets, or more than N% of all, have failed (default 0)."},
		{Name: "pause", Arg: "DURATION", Section: secContext, On: onRolling, Strict: true,
			Help: "With --serial: wait this long between two batches, in seconds (30, 0.5) or with a unit (90s, 5m)."},
		{Name: "timeout", Arg: "SECONDS", Section: secContext, On: onTimeout, Strict: true,
			Help: "End each action, lookup or evaluation that has not finished after this time, connecting not counted. A unit may be given (90s, 5m)."},
		{Name: "max-files", Arg: "N", Section: secContext, On: onDownload, Strict: true,
			Help: "End a download from a target that has more than N files and directories (default 1000000)."},
		{Name: "max-size", Arg: "SIZE", Section: secContext, On: onDownload, Strict: true,
			Help: "End a download from a target whose files have more bytes than this (500M, 20G). By default a download that has written 64 MiB ends when 5% of the disk are left, or 1 GiB of a large one."},
		{Name: "max-depth", Arg: "N", Section: secContext, On: onDownload, Strict: true,
			Help: "End a download from a target whose directories are nested more than N deep (default 4096)."},
		{Name: "cleanup", Negatable: true, Setting: cli.Bool, Section: secContext, On: onAction, Help: "Remove temporary files from targets (default). --no-cleanup leaves them there.", Negative: "Leave temporary files on targets."},
		{Name: "modulepath", Short: "m", Arg: "DIRS", Setting: cli.String, Absolute: cli.AbsolutePaths, Complete: cli.Directory, Section: secContext, On: onModules, Help: "Look for modules in these directories, separated by colons."},
		{Name: "project", Arg: "DIR", Complete: cli.Directory, Section: secContext, On: onAll, Help: "Use the Bolt project in this directory."},
		{Name: "inventoryfile", Short: "i", Arg: "FILE", Setting: cli.String, Absolute: cli.AbsolutePath, Complete: cli.FileOf("yaml", "yml"), Section: secContext, On: onInventory, Help: "Read the inventory from this file."},
		{Name: "hiera-config", Arg: "FILE", Setting: cli.String, Absolute: cli.AbsolutePath, Complete: cli.FileOf("yaml", "yml"), Section: secContext, On: onHiera, Help: "Read Hiera's configuration from this file (default hiera.yaml of the project)."},
		{Name: "puppetdb", Arg: "INSTANCE", Section: secContext, On: onTargets, Help: "Ask this PuppetDB of puppetdb-instances where none is named."},
		{Name: "save-rerun", Negatable: true, Setting: cli.Bool, Section: secContext, On: onResults, Help: "Record the outcome for --rerun (default).", Negative: "Do not record the outcome for --rerun."},

		{Name: "journal", Section: secContext, On: onJournal, Strict: true, Help: "Record the steps of the plan, so that \"bolt plan resume\" can continue it after a crash or ^C."},
		{Name: "unknown", Arg: "OUTCOME", Values: planning.Outcomes(), Section: secContext, On: onResume, Strict: true,
			Help: "For targets on which a step had begun when the run was cut off: repeat the step, or treat it as done or as failed. Without this option, bolt asks on the terminal."},
		{Name: "retry", Section: secContext, On: onResume, Strict: true, Help: "Do the step again that had failed and ended the plan, where it failed, and go on from there."},

		{Name: "stdin", Arg: "FILE", Complete: cli.FileOf(), Section: secRemote, On: onRun, Strict: true,
			Help: "Let the command or script on each target read this file as its standard input; - is standard input of bolt."},
		{Name: "env-var", Arg: "NAME=VALUE", Repeat: true, Section: secRemote, On: onRun, Strict: true, Help: "Set an environment variable for the command or script."},

		{Name: "transport", Arg: "NAME", Values: targeting.Transports(), Setting: cli.String, Check: cli.OneOf, Section: secTransport, On: onAction,
			Help: "The transport for targets whose names and settings do not set one: " + spelling.Or(dialed) + "."},
		{Name: "proxyjump", Short: "J", Arg: "HOSTS", Setting: cli.String, Section: secTransport, On: onAction, Strict: true,
			Help: "Reach targets over SSH through these jump hosts, as ssh -J does: [USER@]HOST[:PORT], separated by commas."},
		{Name: "connect-timeout", Arg: "SECONDS", Setting: cli.Int, Check: cli.Count, Section: secTransport, On: onAction, Help: "Give up connecting after this time (default 10)."},
		{Name: "ssl", Negatable: true, Setting: cli.Bool, Section: secTransport, On: onAction, Help: "Speak WinRM over HTTPS (default).", Negative: "Speak WinRM over HTTP."},
		{Name: "ssl-verify", Negatable: true, Setting: cli.Bool, Section: secTransport, On: onAction, Help: "Accept only hosts with a good certificate for WinRM (default).", Negative: "Accept any certificate for WinRM."},
		{Name: "pool", Arg: "MODE", Values: project.PoolModes(), Setting: cli.String, Section: secTransport, On: onAction, Strict: true,
			Help: "Use the pool daemon, which keeps connections open between invocations: auto (default; it is started when it is missing), off, or required (fail without it)."},
		{Name: "tty", Negatable: true, Setting: cli.Bool, Section: secTransport, On: onAction, Help: "Give the command a terminal on the target.", Negative: "Give the command no terminal on the target."},
		{Name: "native-ssh", Negatable: true, Setting: cli.Bool, Section: secTransport, On: onAction, Help: "Call the ssh program instead of the built-in client.", Negative: "Use the built-in SSH client."},
		{Name: "ssh-command", Arg: "COMMAND", Setting: cli.String, Section: secTransport, On: onAction, Help: "The ssh program of --native-ssh, with options of its own (default ssh)."},
		{Name: "copy-command", Arg: "COMMAND", Setting: cli.String, Section: secTransport, On: onAction, Help: "Copy files with this program under --native-ssh (scp -r, say), and not through ssh itself."},
		{Name: "tmpdir", Arg: "DIR", Setting: cli.String, Section: secTransport, On: onTmpdir, Help: "Put temporary files on targets below this directory (default /tmp)."},

		{Name: "execute", Short: "e", Arg: "CODE", Section: secPuppet, On: onExecute, Help: "Take this text for the program."},
		{Name: "tags", Arg: "NAMES", Section: secPuppet, On: onApply, Strict: true, Help: "Apply only resources with one of these tags, separated by commas. Names of classes and of types are tags, too."},
		{Name: "skip-tags", Arg: "NAMES", Section: secPuppet, On: onApply, Strict: true, Help: "Do not apply resources with one of these tags, separated by commas."},
		{Name: "sema", Arg: "N", Check: cli.Count, Section: secPuppet, On: onApply, Strict: true, Help: "Apply at most N resources at a time on each target (the global semaphore of mgmt). Without it, only the workers and the semaphores of resources are limits."},
		{Name: "report", Arg: "PATH", Complete: cli.AnyFile, Section: secPuppet, On: onApply, Strict: true, Help: "Write a report with the status of each resource to this file, or to PATH/TARGET.json if PATH is a directory. Several targets need a directory."},
		{Name: "report-to", Arg: "WHERE", Values: []string{applying.ReportToPuppetDB}, Check: cli.OneOfThese, Section: secPuppet, On: onApply, Strict: true,
			Help: "Also send the report of each target to PuppetDB (the setting puppetdb, or --puppetdb). If a report cannot be sent, bolt prints a warning and exits with 1."},
		{Name: "graph", Arg: "DIR", Complete: cli.Directory, Section: secPuppet, On: onApply, Strict: true, Help: "Draw the resources of each target and their relations for Graphviz: in DIR/TARGET.before.dot before the run, and in DIR/TARGET.dot after it, coloured by status."},
		{Name: "engine", Arg: "NAME", Values: applying.Engines(), Check: cli.OneOfThese, Section: secPuppet, On: onEngine, Strict: true,
			Help: "Apply catalogs with bolt, or with the puppet that is installed on the targets. Puppet can apply resources of types for which only Ruby code exists. By default, bolt applies them, except on targets with the feature puppet-engine."},
		{Name: "collect-facts", Negatable: true, Section: secPuppet, On: onApply, Strict: true, Help: "Collect the facts of each target if the manifest reads a fact that the inventory does not have, and store them (default). Facts of the inventory override them.",
			Negative: "Use the facts of the inventory, and those that \"bolt facts collect\" has stored."},
		{Name: "continue", Section: secPuppet, On: onApply, Strict: true, Help: "If the connection to a target is lost, apply the rest of the catalog there all the same. By default, the resource that is being applied is finished, and the rest is skipped."},
		{Name: "watch", Section: secPuppet, On: onApply, Strict: true, Help: "Stay connected after the run, and put each resource right again whose state changes. Changed code is applied, too. ^C ends the watch."},
		{Name: "converged-timeout", Arg: "SECONDS", Section: secPuppet, On: onApply, Strict: true, Help: "With --watch: end when no target has changed anything for this time, such as 60 or 5m."},
		{Name: "pretty", Section: secPuppet, On: onDump, Strict: true, Help: "Print each element of a tree on a line of its own, as \"puppet parser dump --pretty\" does."},
		{Name: "tasks", Section: secPuppet, On: onPuppet, Strict: true, Help: "Read the program by the rules of plans. Files in a folder called plans are read so anyway."},
		{Name: "node", Arg: "NAME", Section: secPuppet, On: onNodes, Strict: true, Help: "Compile for this node (its certname), which need not be a target. --facts gives its facts."},
		{Name: "environment-path", Arg: "DIR", Complete: cli.AnyFile, Section: secPuppet, On: onNodes, Strict: true, Help: "Compile an environment in this directory: its manifests, modules, environment.conf and hiera.yaml."},
		{Name: "environment", Arg: "NAME", Section: secPuppet, On: onNodes, Strict: true, Help: "The name of the environment (default: that of the classifier, or production)."},
		{Name: "output", Arg: "DIR", Complete: cli.AnyFile, Section: secPuppet, On: onCompile, Strict: true, Help: "Write each catalog to DIR/NODE.json, with its secrets encrypted. Only the owner can read the file."},
		{Name: "inputs", Section: secPuppet, On: onCompile, Strict: true, Help: "Print the facts and the keys of Hiera that the compilation of each node read, and the resources that it collected from other nodes, instead of the catalog."},
		{Name: "compiler", Arg: "NAME", Values: catalogs.Compilers(), Section: secPuppet, On: onNodes, Strict: true, Help: "Compile with bolt (default), an installed puppet, or a Puppet Server (the setting puppetserver)."},
		{Name: "classifier", Arg: "FILE", Complete: cli.AnyFile, Section: secPuppet, On: onNodes, Strict: true, Help: "Take classes, variables and the environment of nodes from this program, as Puppet's setting external_nodes, or from a .yaml file."},
		{Name: "class", Arg: "NAME", Repeat: true, Section: secPuppet, On: onNodes, Strict: true, Help: "Declare this class for each node, after its node definition."},
		{Name: "exports", Arg: "FROM", Complete: catalogs.CompleteExports, Section: secPuppet, On: onNodes, Strict: true,
			Help: "Collect the exported resources of other nodes from puppetdb, from the catalogs in this directory, or from the nodes of this run (fleet). With own, collect those of the node itself only, without a warning."},
		{Name: "exit-code", Section: secPuppet, On: onDiff, Strict: true, Help: "Exit with status 2 if the catalogs differ."},
		{Name: "fail-on", Arg: "WHAT", Values: catalogs.FailOn(), Check: cli.OneOfThese, Section: secPuppet, On: onCodeAudit, Strict: true,
			Help: "Exit with status 2 if something is not supported (needs, the default), only if something can work neither with bolt nor with Puppet (impossible), or never (nothing)."},
		{Name: "full", Section: secPuppet, On: onCodeAudit, Strict: true, Help: "Print all places of each reason, the verdicts of all classes, and the parts that are supported."},
		{Name: "facts", Arg: "FILE", Complete: cli.FileOf("json", "yaml", "yml"), Section: secPuppet, On: onFactFile, Strict: true, Help: "Read facts from this file, JSON or YAML: the variable $facts, and a variable of the top scope for each fact. For catalogs, puppetdb reads them from PuppetDB."},
		{Name: "batch", Arg: "FILE", Complete: cli.AnyFile, Section: secPuppet, On: onEval, Strict: true, Help: "Evaluate the expressions of this file, one JSON object a line, - for standard input."},

		{Name: "plan-hierarchy", Section: secLookup, On: onLookup, Help: "Look up the key as a plan does outside of apply blocks: with the plan_hierarchy of hiera.yaml and without a target."},
		{Name: "explain", Section: secLookup, On: onLookup, Strict: true, Help: "Print the searched places and the values found there."},
		{Name: "explain-options", Section: secLookup, On: onLookup, Strict: true, Help: "Print the searched places for lookup_options, which set how the values of the key are merged and converted, instead of the value."},

		{Name: "modules", Arg: "NAMES", Section: secModules, On: onNeeds, Help: "Install these modules, separated by commas, into the new project."},
		{Name: "force", Section: secModules, On: onForce, Help: "Overwrite existing files: modules and a Puppetfile that bolt does not manage, or keys."},
		{Name: "resolve", Negatable: true, Section: secModules, On: onResolve,
			Help: "Choose compatible versions of the modules and their dependencies (default).", Negative: "Install the Puppetfile as it is."},
		{Name: "plugin", Arg: "NAME", Section: secModules, On: onPlugin, Help: "Use this plugin for secrets (default pkcs7)."},
		{Name: "pp", Section: secModules, On: onNewPlan, Help: "Write the plan in the Puppet language instead of YAML."},

		{Name: "state", Arg: "DIR", Complete: cli.Directory, Section: secRelease, On: onRelease, Strict: true, Help: "Store releases in this directory (default .bolt-state of the project)."},
		{Name: "from-catalogs", Arg: "DIR", Complete: cli.Directory, Section: secRelease, On: onCreate, Strict: true, Help: "Make the release of the catalogs in this directory, as \"bolt catalog compile --output\" writes them, and compile nothing."},
		{Name: "max-changes", Arg: "N", Check: cli.Count, Section: secRelease, On: onPreview, Strict: true, Help: "Exit with status 1 if more than N resources would change on a node. With 0, each change is one too many."},
		{Name: "key", Arg: "FILE", Complete: cli.AnyFile, Section: secRelease, On: onSign, Strict: true, Help: "Sign with this SSH key: a private key, or a public key whose private key is in the ssh-agent."},
		{Name: "signature", Arg: "FILE", Complete: cli.AnyFile, Section: secRelease, On: onSign, Strict: true, Help: "Add the signature in this file, which \"ssh-keygen -Y sign -n bolt-release\" made."},
		{Name: "allowed-signers", Arg: "FILE", Complete: cli.AnyFile, Section: secRelease, On: onSigners, Strict: true, Help: "Check signatures with this file of allowed keys (ssh-keygen(1), ALLOWED SIGNERS), instead of the setting releases.allowed-signers."},
		{Name: "keep", Arg: "N", Check: cli.Count, Section: secRelease, On: onGC, Strict: true, Help: "Also remove all releases but the last N. Releases that a rollout names stay."},

		{Name: "strategy", Arg: "FILE", Complete: cli.FileOf("yaml", "yml"), Section: secRelease, On: onStrategy, Strict: true, Help: "The strategy file: waves, gates and limits. Without it, all nodes are one wave, and the first failure pauses the rollout."},
		{Name: "plan", Arg: "NAME", Complete: completes(s, (*app).planning, (*planning.Invocation).Complete), Section: secRelease, On: onStages, Strict: true, Help: "Run this plan once for each node, which is its parameter targets, instead of applying catalogs."},
		{Name: "task", Arg: "NAME", Complete: completes(s, (*app).tasking, (*tasking.Invocation).Complete), Section: secRelease, On: onStages, Strict: true, Help: "Run this task on each node instead of applying catalogs."},
		{Name: "emergency", Section: secRelease, On: onStages, Strict: true, Help: "Start although there is a freeze, if the strategy allows this for emergencies."},
		{Name: "yes", Section: secRelease, On: onStart, Strict: true, Help: "Start without a question."},
		{Name: "ignore-drift", Section: secRelease, On: onStart, Strict: true, Help: "Also apply the release to nodes on which something else was applied since the last rollout."},
		{Name: "wait", Section: secRelease, On: onRollout, Strict: true, Help: "Wait for approvals, windows and the end of pauses, instead of ending with the status 3."},
		{Name: "reason", Arg: "TEXT", Section: secRelease, On: onReason, Strict: true, Help: "The reason, which the log of the rollout keeps."},
		{Name: "cancel", Section: secRelease, On: onAbort, Strict: true, Help: "Stop the nodes in work after the resource that they apply. By default, the nodes in work are finished."},
		{Name: "plain", Section: secRelease, On: onWatch, Strict: true, Help: "Print lines, although standard output is a terminal."},
		{Name: "follow", Section: secRelease, On: onEvents, Strict: true, Help: "Print new events until the rollout has ended."},

		{Name: "since", Arg: "TIME", Section: secAudit, On: onSince, Strict: true, Help: "Only actions that began since then: an age (90m, 12h, 7d) or a date (2026-01-31)."},
		{Name: "actor", Arg: "USER", Section: secAudit, On: onAudit, Strict: true, Help: "Only actions of this user, also through sudo."},
		{Name: "action", Arg: "NAME", Section: secAudit, On: onAudit, Strict: true, Help: "Only commands, scripts, tasks, uploads, downloads or plans: command, script ..."},
		{Name: "on", Arg: "TARGET", Section: secAudit, On: onAudit, Strict: true, Help: "Only actions on this target."},
		{Name: "failed", Section: secAudit, On: onFailed, Strict: true, Help: "Only actions that failed, were stopped, or have no end."},
		{Name: "last", Arg: "N", Section: secAudit, On: onAudit, Strict: true, Help: "Only the last N of them."},
		{Name: "expect", Arg: "HASH", Section: secAudit, On: onVerify, Strict: true, Help: "Fail if the record with this hash is not in the log."},

		{Name: "as", Arg: "PICTURE", Values: planning.Pictures(), Check: cli.OneOfThese, Section: secDisplay, On: onGraph, Strict: true,
			Help: "Draw the plan as text for Graphviz, dot (default), or as a picture, svg."},
		{Name: "nested", Section: secDisplay, On: onGraph, Strict: true, Help: "Also draw the plans that the plan calls, each of them once."},
		{Name: "fact", Arg: "PATH", Repeat: true, Section: secDisplay, On: onFacts, Strict: true,
			Help: "Show this fact: os.release.full, processors.models[0], mountpoints[\"/srv\"].size. May be given several times."},
		{Name: "filter", Arg: "TEXT", Section: secDisplay, On: onFilter, Help: "List only tasks or plans whose names contain this text."},
		{Name: "format", Arg: "FORMAT", Values: formatNames(), Setting: cli.String, Vary: varyFormat, Section: secDisplay, On: onAll,
			Help: formatHelp(eventFormats)},
		{Name: "fold", Section: secDisplay, On: onFold, Strict: true, Help: "When all targets have ended, print equal outputs once, under the folded names of their targets. The most frequent output comes first."},
		{Name: "diff", Section: secDisplay, On: onFold, Strict: true,
			Help: "As --fold, but print the difference (diff -u) of each output from the most frequent output, and not that output itself."},
		{Name: "output-dir", Arg: "DIR", Complete: cli.Directory, Section: secDisplay, On: onPrints, Strict: true,
			Help: "Also write the output of each target to this directory: standard output to the file TARGET, standard error, if any, to TARGET.err. If the directory does not exist, bolt creates it with mode 0700. Files of earlier runs are replaced. Only one run at a time can use the directory."},
		{Name: "stream", Setting: cli.Bool, Section: secDisplay, On: onAction, Help: "Print output line by line as it arrives, each line with its target's name."},
		{Name: "color", Negatable: true, Setting: cli.Bool, Section: secDisplay, On: onAll, Help: "Use colours on a terminal (default).", Negative: "Use no colours."},
		{Name: "verbose", Short: "v", Negatable: true, Section: secDisplay, On: onAction, Help: "Print each target's result (default). --no-verbose prints failures and the summary only.", Negative: "Print failures and the summary only."},
		{Name: "trace", Section: secDisplay, On: onAll, Help: "Print the chain of causes with an error that ends the run."},

		{Name: "log-level", Arg: "LEVEL", Values: logging.Levels(), Section: secGlobal, On: onAll,
			Help: "Which messages to print on standard error: trace, debug, info, warn, error or fatal (default warn). Notices of programs are printed as warnings are. With --format json \"puppet eval\" has them in its answer."},
		{Name: "clear-cache", Section: secGlobal, On: onAll, Help: "Delete the cached results of plugins and other caches in the project."},
		{Name: "help", Short: "h", Section: secGlobal, On: onAll, Help: "Show help for the command."},
		{Name: "version", Section: secGlobal, On: onAll, Help: "Show the version."},
	}
}

// The values of --format that commands have, the default first.
var (
	eventFormats = output.Names(output.Events)                            // commands that act on targets
	listFormats  = output.Names(output.Lists)                             // other commands of Bolt
	plainFormats = output.Names(output.Own)                               // commands that Bolt does not have
	dataFormats  = append(slices.Clone(plainFormats), output.NDJSON.Name) // commands of reports
	treeFormats  = []string{programs.FormatPN, output.JSON.Name}          // puppet dump
	// compileFormats are the formats of catalog compile.
	compileFormats = append(slices.Clone(eventFormats), catalogs.FormatPuppetDB, catalogs.FormatDot)
	// showFormats are the formats of catalog show.
	showFormats = append(slices.Clone(listFormats), catalogs.FormatDot)
)

// formatNames returns the names of all formats.
func formatNames() []string { return append(slices.Clone(compileFormats), programs.FormatPN) }

// formatHelp returns the help of --format for a command with these formats.
func formatHelp(formats []string) string {
	words := slices.Clone(formats)
	for i, f := range words {
		about := output.About(f)
		switch f {
		case catalogs.FormatPuppetDB:
			about = "the form that PuppetDB stores"
		case programs.FormatPN:
			about = "Puppet Node notation, the default"
		case catalogs.FormatDot:
			about = "a drawing, for Graphviz"
		}
		if about != "" {
			words[i] += " (" + about + ")"
		}
	}
	return "How to print results: " + spelling.Or(words) + "."
}

// varyFormat adapts --format to a command.
func varyFormat(f *cli.Flag, c *cli.Command) {
	f.Values, f.Help = c.Formats, formatHelp(c.Formats)
}

// amountOrCount is cli.Count that accepts a percentage, too.
func amountOrCount(f *cli.Flag, text string) error {
	if _, percent := acting.Percentage(text); percent {
		return nil
	}
	return cli.Count(f, text)
}
