package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bolt/internal/logging"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/output"
	"bolt/plans/executor"
	"bolt/project"
)

// A flag is one option of the command line. A command's help lists the flags
// that mean something to it. Puppet Bolt's commands accept Bolt's others, too,
// as Bolt does and its users' scripts expect; see checkFlags for what is refused.
type flag struct {
	name, short string
	arg         string // name of its value in help; "" for a switch
	negatable   bool   // a switch that has a --no- form
	repeat      bool   // may be given several times
	values      []string
	config      func(string) any // its value for the configuration, above whose files it stands, nil for none; nil if it is no setting
	section     string
	help        string
	negative    string // what completion says of the --no- form; "" for the same
	on          string // which commands list it
	strict      bool   // refused by all other commands: Bolt does not know it, or refuses it itself
}

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
	secAudit     = "Audit log"
	secDisplay   = "Display"
	secGlobal    = "Global"
)

var sections = []string{secInventory, secAuth, secEscalate, secContext, secRemote, secTransport, secPuppet, secLookup, secModules, secAudit, secDisplay, secGlobal}

// Where a flag is listed.
const (
	onAction    = "action"    // commands that act on targets
	onRun       = "run"       // command run, script run
	onPrints    = "prints"    // command run, script run, task run
	onRolling   = "rolling"   // commands that may act on their targets in batches
	onTmpdir    = "tmpdir"    // script run, file upload
	onTimeout   = "timeout"   // what may be ended for taking too long
	onDownload  = "download"  // file download, and plans
	onResults   = "results"   // commands that act on targets
	onFold      = "fold"      // those of them that may print equal results once
	onTargets   = "targets"   // commands that targets are named to
	onInventory = "inventory" // commands that read the inventory
	onDetail    = "detail"    // inventory show
	onModules   = "modules"   // commands that look for modules
	onPuppet    = "puppet"    // programs of the Puppet language
	onExecute   = "execute"   // where the program may stand on the command line
	onDump      = "dump"      // puppet dump
	onEval      = "eval"      // puppet eval
	onHiera     = "hiera"     // commands that look up data
	onLookup    = "lookup"    // lookup
	onParams    = "params"    // task run
	onNoop      = "noop"      // task run
	onFilter    = "filter"    // task show, plan show
	onForce     = "force"     // commands that may overwrite
	onResolve   = "resolve"   // module install
	onPlugin    = "plugin"    // secret commands
	onNeeds     = "needs"     // project init
	onNewPlan   = "newplan"   // plan new
	onGraph     = "graph"     // plan graph
	onAll       = "all"
	onJournal   = "journal" // plan run
	onResume    = "resume"  // plan resume
	onCollect   = "collect" // facts collect
	onFacts     = "facts"   // facts show
	onAged      = "aged"    // facts commands
	onAudit     = "audit"   // audit show
	onVerify    = "verify"  // audit verify
)

// occasions says of each place when its flags can be given, for the error that
// they cannot be given elsewhere.
var occasions = map[string]string{
	onAction:    "acting on targets",
	onRun:       "running a command or script", // Bolt's words
	onPrints:    "running a command, script or task",
	onRolling:   "running a command, script or task, or copying files",
	onTmpdir:    "running a script or uploading a file",
	onDownload:  "downloading files or running a plan",
	onTimeout:   "acting on targets, looking up a value or evaluating a program",
	onResults:   "acting on targets or looking up a value",
	onFold:      "acting on targets or looking up a value",
	onTargets:   "acting on targets, showing them or looking up a value",
	onInventory: "acting on targets, showing them or looking up a value",
	onDetail:    "showing targets",
	onModules:   "acting on targets, looking up a value, or checking or evaluating a program",
	onPuppet:    "working on a program of the Puppet language",
	onExecute:   "dumping or evaluating a program",
	onDump:      "dumping a program",
	onEval:      "evaluating a program",
	onHiera:     "looking up a value or evaluating a program",
	onLookup:    "looking up a value",
	onParams:    "running a task",
	onNoop:      "running a task or applying manifest code", // Bolt's words
	onFilter:    "listing tasks or plans",
	onForce:     "installing modules or creating keys",
	onResolve:   "installing modules",
	onPlugin:    "working with secrets",
	onNeeds:     "creating a project",
	onNewPlan:   "creating a plan",
	onJournal:   "running a plan",
	onResume:    "resuming a plan",
	onGraph:     "drawing a plan",
	onCollect:   "collecting facts",
	onFacts:     "showing facts that were kept",
	onAged:      "working on facts that were kept",
	onAudit:     "showing the audit log",
	onVerify:    "verifying an audit log",
}

// flagTable holds all flags. Names, short forms and values are those of
// Puppet Bolt; strict ones but --env-var, and some of the formats, are ours.
func flagTable() []flag {
	return []flag{
		{name: "targets", short: "t", arg: "TARGETS", repeat: true, section: secInventory, on: onTargets,
			help: "Act on these targets: names, aliases, groups, globs (web*), ranges (web[01-12]), URIs; several are separated by commas. '!db' leaves those of db out, '&eu' all but those of eu. @FILE reads them from a file, - from standard input."},
		{name: "query", short: "q", arg: "PQL", section: secInventory, on: onTargets,
			help: "Act on the nodes that this query to PuppetDB returns: inventory[certname] { facts.role = \"web\" }"},
		{name: "rerun", arg: "WHICH", values: []string{"all", "failure", "success"}, section: secInventory, on: onTargets,
			help: "Act on targets of the last run again: all of them, or those that failed or succeeded."},
		{name: "where", arg: "EXPRESSION", section: secInventory, on: onTargets, strict: true,
			help: "Of the targets named, or else of all in the inventory, only those about which this is true: 'facts.os.family == \"Debian\" and \"web\" in groups'. \"bolt guide targets\" says more."},
		{name: "limit", arg: "N", section: secInventory, on: onTargets, strict: true,
			help: "At most N of these targets, or N% of them (rounded up), chosen at random."},
		{name: "limit-seed", arg: "TEXT", section: secInventory, on: onTargets, strict: true,
			help: "Let --limit choose by this text and the names of the targets: the same ones every time."},
		{name: "at-least", arg: "N", section: secInventory, on: onTargets, strict: true,
			help: "Fail, and do nothing, unless at least N targets are found. --limit comes after that."},
		{name: "when-empty", arg: "OUTCOME", values: []string{emptyFail, emptyOK}, section: secInventory, on: onTargets, strict: true,
			help: "What it is when no target is found: fail, or ok (default), which is a warning."},
		{name: "params", arg: "JSON", section: secInventory, on: onParams,
			help: "The task's parameters as a JSON object, instead of NAME=VALUE. @FILE reads it from a file, - from standard input."},
		{name: "noop", section: secInventory, on: onNoop, strict: true,
			help: "Run the task in its no-operation mode, in which it says what it would change."},
		{name: "from", arg: "SOURCE", values: []string{fromTask, fromPuppetDB}, section: secInventory, on: onCollect, strict: true,
			help: "Where facts are from: the task facts (default), which runs on the targets, or PuppetDB."},
		{name: "older-than", arg: "AGE", section: secInventory, on: onAged, strict: true,
			help: "Only targets whose facts are older than this (12h, 7d, 4w; a number alone is seconds), or missing."},
		{name: "detail", section: secInventory, on: onDetail,
			help: "Show each target's settings, variables, facts, features and groups."},

		{name: "user", short: "u", arg: "USER", config: asText, section: secAuth, on: onAction, help: "Log in as this user."},
		{name: "password", short: "p", arg: "PASSWORD", config: asText, section: secAuth, on: onAction,
			help: "Log in with this password. Others can read it in the process list: prefer --password-prompt."},
		{name: "password-prompt", section: secAuth, on: onAction, help: "Ask for the login password on the terminal."},
		{name: "private-key", arg: "FILE", config: asText, section: secAuth, on: onAction, help: "Log in with this private key."},
		{name: "host-key-check", negatable: true, config: asBool, section: secAuth, on: onAction,
			help: "Accept only hosts whose keys are in known_hosts. With --no-host-key-check any key is accepted.", negative: "Accept any host key."},

		{name: "run-as", arg: "USER", config: asText, section: secEscalate, on: onAction, help: "Run as this user, through sudo, su or doas."},
		{name: "sudo-password", arg: "PASSWORD", config: asText, section: secEscalate, on: onAction,
			help: "The password for sudo, su or doas. sudo and doas default to the login password. Prefer --sudo-password-prompt."},
		{name: "sudo-password-prompt", section: secEscalate, on: onAction, help: "Prompt on the terminal for the password of sudo, su or doas."},
		{name: "sudo-executable", arg: "PROGRAM", config: asText, section: secEscalate, on: onAction, help: "Use this program instead of sudo. bolt calls su and doas with their own arguments."},

		{name: "concurrency", short: "c", arg: "N", config: asNumber, section: secContext, on: onAction,
			help: "Act on at most N targets at once (default 100). Commands with --serial also accept N%, a percentage of their targets, rounded down but at least one."},
		{name: "serial", arg: "N", section: secContext, on: onRolling, strict: true,
			help: "Act on N targets, or N% of them, then on the next N. A list (1,10%,50%) gives the sizes of successive batches; the last size applies to all further batches. After a batch with failures, bolt starts no further batch; see --max-failures."},
		{name: "max-failures", arg: "N", section: secContext, on: onRolling, strict: true,
			help: "With --serial: start the next batch unless more than N targets, or more than N% of all, have failed (default 0)."},
		{name: "pause", arg: "DURATION", section: secContext, on: onRolling, strict: true,
			help: "With --serial: wait this long between two batches, in seconds (30, 0.5) or with a unit (90s, 5m)."},
		{name: "timeout", arg: "SECONDS", section: secContext, on: onTimeout, strict: true,
			help: "End each action, lookup or evaluation that has not finished after this time, connecting not counted. A unit may be given (90s, 5m)."},
		{name: "max-files", arg: "N", section: secContext, on: onDownload, strict: true,
			help: "End a download from a target that has more than N files and directories (default 1000000)."},
		{name: "max-size", arg: "SIZE", section: secContext, on: onDownload, strict: true,
			help: "End a download from a target whose files have more bytes than this (500M, 20G). By default a download that has written 64 MiB ends when 5% of the disk are left, or 1 GiB of a large one."},
		{name: "max-depth", arg: "N", section: secContext, on: onDownload, strict: true,
			help: "End a download from a target whose directories are nested more than N deep (default 4096)."},
		{name: "cleanup", negatable: true, config: asBool, section: secContext, on: onAction, help: "Remove temporary files from targets (default). --no-cleanup leaves them there.", negative: "Leave temporary files on targets."},
		{name: "modulepath", short: "m", arg: "DIRS", config: asText, section: secContext, on: onModules, help: "Look for modules in these directories, separated by colons."},
		{name: "project", arg: "DIR", section: secContext, on: onAll, help: "Use the Bolt project in this directory."},
		{name: "inventoryfile", short: "i", arg: "FILE", config: asText, section: secContext, on: onInventory, help: "Read the inventory from this file."},
		{name: "hiera-config", arg: "FILE", config: asText, section: secContext, on: onHiera, help: "Read Hiera's configuration from this file (default hiera.yaml of the project)."},
		{name: "puppetdb", arg: "INSTANCE", section: secContext, on: onTargets, help: "Ask this PuppetDB of puppetdb-instances where none is named."},
		{name: "save-rerun", negatable: true, config: asBool, section: secContext, on: onResults, help: "Record the outcome for --rerun (default).", negative: "Do not record the outcome for --rerun."},

		{name: "journal", section: secContext, on: onJournal, strict: true, help: "Record what the plan does, so that \"bolt plan resume\" can go on with it after a crash or ^C."},
		{name: "unknown", arg: "OUTCOME", values: executor.Outcomes(), section: secContext, on: onResume, strict: true,
			help: "What becomes of targets on which a step had begun when the run was cut off: repeat it there, or take it as done or failed. Without this option it is asked about on the terminal."},
		{name: "retry", section: secContext, on: onResume, strict: true, help: "Do the step again that had failed and ended the plan, where it failed, and go on from there."},

		{name: "env-var", arg: "NAME=VALUE", repeat: true, section: secRemote, on: onRun, strict: true, help: "Set an environment variable for the command or script."},

		{name: "transport", arg: "NAME", values: inventory.Transports(), config: asText, section: secTransport, on: onAction,
			help: "How to reach targets that do not say it themselves: ssh (default), winrm, local, docker, podman or lxd."},
		{name: "proxyjump", short: "J", arg: "HOSTS", config: asText, section: secTransport, on: onAction, strict: true,
			help: "Reach targets over SSH through these jump hosts, as ssh -J does: [USER@]HOST[:PORT], separated by commas."},
		{name: "connect-timeout", arg: "SECONDS", config: asNumber, section: secTransport, on: onAction, help: "Give up connecting after this time (default 10)."},
		{name: "ssl", negatable: true, config: asBool, section: secTransport, on: onAction, help: "Speak WinRM over HTTPS (default).", negative: "Speak WinRM over HTTP."},
		{name: "ssl-verify", negatable: true, config: asBool, section: secTransport, on: onAction, help: "Accept only hosts with a good certificate for WinRM (default).", negative: "Accept any certificate for WinRM."},
		{name: "pool", arg: "MODE", values: project.PoolModes(), config: asText, section: secTransport, on: onAction, strict: true,
			help: "Use the pool daemon, which keeps connections open between invocations: auto (default; it is started when it is missing), off, or required (fail without it)."},
		{name: "tty", negatable: true, config: asBool, section: secTransport, on: onAction, help: "Give the command a terminal on the target.", negative: "Give the command no terminal on the target."},
		{name: "native-ssh", negatable: true, config: asBool, section: secTransport, on: onAction, help: "Call the ssh program instead of the built-in client.", negative: "Use the built-in SSH client."},
		{name: "ssh-command", arg: "COMMAND", config: asText, section: secTransport, on: onAction, help: "The ssh program of --native-ssh, with options of its own (default ssh)."},
		{name: "copy-command", arg: "COMMAND", config: asText, section: secTransport, on: onAction, help: "Copy files with this program under --native-ssh (scp -r, say), and not through ssh itself."},
		{name: "tmpdir", arg: "DIR", config: asText, section: secTransport, on: onTmpdir, help: "Put temporary files on targets below this directory (default /tmp)."},

		{name: "execute", short: "e", arg: "CODE", section: secPuppet, on: onExecute, help: "Take this text for the program."},
		{name: "pretty", section: secPuppet, on: onDump, strict: true, help: "Print each element of a tree on a line of its own, as \"puppet parser dump --pretty\" does."},
		{name: "tasks", section: secPuppet, on: onPuppet, strict: true, help: "Read the program by the rules of plans. Files in a folder called plans are read so anyway."},
		{name: "facts", arg: "FILE", section: secPuppet, on: onEval, strict: true, help: "Read facts from this file, JSON or YAML: the variable $facts, and a variable of the top scope for each fact."},
		{name: "batch", arg: "FILE", section: secPuppet, on: onEval, strict: true, help: "Evaluate the expressions of this file, one JSON object a line, - for standard input."},

		{name: "plan-hierarchy", section: secLookup, on: onLookup, help: "Look up what a plan finds outside of apply blocks, with the plan_hierarchy of hiera.yaml and for no target."},
		{name: "explain", section: secLookup, on: onLookup, strict: true, help: "Print where the value was looked for, and what was found there."},
		{name: "explain-options", section: secLookup, on: onLookup, strict: true, help: "Print where lookup_options were looked for, which say how the key is merged and converted, and not the value."},

		{name: "modules", arg: "NAMES", section: secModules, on: onNeeds, help: "Install these modules, separated by commas, into the new project."},
		{name: "force", section: secModules, on: onForce, help: "Overwrite what is there already: modules and a Puppetfile that bolt does not manage, or keys."},
		{name: "resolve", negatable: true, section: secModules, on: onResolve,
			help: "Work out which versions fit together, with all modules that are depended on (default).", negative: "Install what the Puppetfile says, as it stands."},
		{name: "plugin", arg: "NAME", section: secModules, on: onPlugin, help: "Use this plugin for secrets (default pkcs7)."},
		{name: "pp", section: secModules, on: onNewPlan, help: "Write the plan in the Puppet language instead of YAML."},

		{name: "since", arg: "TIME", section: secAudit, on: onAudit, strict: true, help: "Only what began since then: a time ago (90m, 12h, 7d) or a date (2026-01-31)."},
		{name: "actor", arg: "USER", section: secAudit, on: onAudit, strict: true, help: "Only what this user did, also through sudo."},
		{name: "action", arg: "NAME", section: secAudit, on: onAudit, strict: true, help: "Only commands, scripts, tasks, uploads, downloads or plans: command, script ..."},
		{name: "on", arg: "TARGET", section: secAudit, on: onAudit, strict: true, help: "Only what was done on this target."},
		{name: "failed", section: secAudit, on: onAudit, strict: true, help: "Only what failed, was stopped, or has no end."},
		{name: "last", arg: "N", section: secAudit, on: onAudit, strict: true, help: "Only the last N of them."},
		{name: "expect", arg: "HASH", section: secAudit, on: onVerify, strict: true, help: "Fail if the record with this hash is not in the log."},

		{name: "as", arg: "PICTURE", values: []string{pictureDot, pictureSVG}, section: secDisplay, on: onGraph, strict: true,
			help: "Draw the plan as text for Graphviz, dot (default), or as a picture, svg."},
		{name: "nested", section: secDisplay, on: onGraph, strict: true, help: "Draw what the plans do that the plan calls, each of them once."},
		{name: "fact", arg: "PATH", repeat: true, section: secDisplay, on: onFacts, strict: true,
			help: "Show this fact: os.release.full, processors.models[0], mountpoints[\"/srv\"].size. May be given several times."},
		{name: "filter", arg: "TEXT", section: secDisplay, on: onFilter, help: "List only those whose names contain this text."},
		{name: "format", arg: "FORMAT", values: formatNames(), config: asText, section: secDisplay, on: onAll,
			help: formatHelp(eventFormats)},
		{name: "fold", section: secDisplay, on: onFold, strict: true, help: "When all targets have ended, print equal outputs once, under the folded names of their targets. The most frequent output comes first."},
		{name: "diff", section: secDisplay, on: onFold, strict: true,
			help: "As --fold, but print the difference (diff -u) of each output from the most frequent output, and not that output itself."},
		{name: "output-dir", arg: "DIR", section: secDisplay, on: onPrints, strict: true,
			help: "Also write the output of each target to this directory: standard output to the file TARGET, standard error, if any, to TARGET.err. If the directory does not exist, bolt creates it with mode 0700. Files of earlier runs are replaced. Only one run at a time can use the directory."},
		{name: "stream", config: asBool, section: secDisplay, on: onAction, help: "Print output line by line as it arrives, each line with its target's name."},
		{name: "color", negatable: true, config: asBool, section: secDisplay, on: onAll, help: "Use colours on a terminal (default).", negative: "Use no colours."},
		{name: "verbose", short: "v", negatable: true, section: secDisplay, on: onAction, help: "Print each target's result (default). --no-verbose prints failures and the summary only.", negative: "Print failures and the summary only."},
		{name: "trace", section: secDisplay, on: onAll, help: "Print the chain of causes with an error that ends the run."},

		{name: "log-level", arg: "LEVEL", values: logging.Levels(), section: secGlobal, on: onAll,
			help: "Which messages to print on standard error: trace, debug, info, warn, error or fatal (default warn). Notices of programs are printed as warnings are. With --format json \"puppet eval\" has them in its answer."},
		{name: "clear-cache", section: secGlobal, on: onAll, help: "Forget what plugins found out in earlier runs, and remove other caches in the project."},
		{name: "help", short: "h", section: secGlobal, on: onAll, help: "Show help for the command."},
		{name: "version", section: secGlobal, on: onAll, help: "Show the version."},
	}
}

// ndjson is the format that Bolt does not have.
const ndjson = string(output.NDJSON)

// The values of --format that commands have, the default first.
var (
	eventFormats = project.Formats()                    // commands that act on targets
	listFormats  = []string{"human", "json", "rainbow"} // Bolt's others
	plainFormats = []string{"human", "json"}            // ours
	treeFormats  = []string{formatPN, "json"}           // puppet dump
)

// formatNames are all formats.
func formatNames() []string { return append(slices.Clone(eventFormats), formatPN) }

// nearestFormat is the one of a command's formats that is meant by one that a
// configuration file sets, for all commands.
func nearestFormat(formats []string, f string) string {
	switch {
	case slices.Contains(formats, f):
		return f
	case f == ndjson:
		return "json"
	}
	return "human"
}

// formatHelp explains --format to users of a command that has these formats.
func formatHelp(formats []string) string {
	words := slices.Clone(formats)
	for i, f := range words {
		switch f {
		case "human":
			words[i] += " (default)"
		case ndjson:
			words[i] += " (one event a line, as it happens)"
		case formatPN:
			words[i] += " (Puppet Node notation, the default)"
		}
	}
	return "How to print results: " + spelling.Or(words) + "."
}

func asText(s string) any { return s }
func asBool(s string) any { return s == "true" }

// asNumber returns nil for a percentage, which is not a setting.
func asNumber(s string) any {
	n, err := parseCount(s) // it was checked when it was read
	if err != nil {
		return nil
	}
	return int64(n)
}

// flagValues holds what was given, by flag name; only given flags are there.
type flagValues map[string][]string

func (v flagValues) has(name string) bool { _, ok := v[name]; return ok }

// last is the value that counts of a flag that may be given once.
func (v flagValues) last(name string) string {
	if l := v[name]; len(l) > 0 {
		return l[len(l)-1]
	}
	return ""
}

// folds reports whether equal results are printed once, and returns the flag for it.
func (v flagValues) folds() (name string, ok bool) {
	if v.on("diff", false) {
		return "--diff", true
	}
	return "--fold", v.on("fold", false)
}

// on reads a switch; def is its value when it is not given.
func (v flagValues) on(name string, def bool) bool {
	if !v.has(name) {
		return def
	}
	return v.last(name) == "true"
}

// flagValue is the pflag.Value that records into a flagValues.
type flagValue struct {
	f    flag
	into flagValues
	text string // what a negative form stands for
}

func (v *flagValue) String() string   { return "" }
func (v *flagValue) Type() string     { return "string" }
func (v *flagValue) IsBoolFlag() bool { return v.f.arg == "" }

func (v *flagValue) Set(s string) error {
	if v.f.arg == "" && v.text != "" {
		s = v.text
	}
	v.into[v.f.name] = append(v.into[v.f.name], s)
	return nil
}

// takes reports whether a flag means something to a command.
func (c *command) takes(f flag) bool { return f.on == onAll || slices.Contains(c.lists, f.on) }

// addFlags defines all flags on cmd; those that mean nothing to c are hidden
// from completion as well.
func addFlags(cmd *cobra.Command, c *command, into flagValues) {
	for _, f := range flagTable() {
		if f.name == "help" || f.name == "version" {
			continue
		}
		hidden := !c.takes(f)
		define := func(name, short, help, text string) {
			pf := &pflag.Flag{Name: name, Shorthand: short, Usage: help, Value: &flagValue{f, into, text}, Hidden: hidden}
			if f.arg == "" {
				pf.NoOptDefVal = "true"
			}
			cmd.Flags().AddFlag(pf)
		}
		if f.name == "format" {
			f.help = formatHelp(c.formats)
		}
		define(f.name, f.short, f.help, "")
		if f.negatable {
			define("no-"+f.name, "", cmp.Or(f.negative, f.help), "false")
		}
	}
}

// flagHelp renders the flags of c's help page, by section.
func flagHelp(c *command) string {
	var b strings.Builder
	for _, sec := range sections {
		first := true
		for _, f := range flagTable() {
			if f.section != sec || !c.takes(f) {
				continue
			}
			if f.name == "format" {
				f.help = formatHelp(c.formats)
			}
			if first {
				b.WriteString("\n" + sec + "\n")
				first = false
			}
			b.WriteString(flagLine(f))
		}
	}
	return b.String()
}

// flagLine is a flag and its explanation, wrapped to a terminal of 100 columns.
func flagLine(f flag) string {
	const left, width = 34, 100
	head := "    "
	if f.short != "" {
		head = "-" + f.short + ", "
	}
	if f.negatable {
		head += "--[no-]" + f.name
	} else {
		head += "--" + f.name
	}
	if f.arg != "" {
		head += " " + f.arg
	}
	head = "  " + head
	var b strings.Builder
	b.WriteString(head)
	if len(head) > left-2 {
		b.WriteString("\n" + strings.Repeat(" ", left))
	} else {
		b.WriteString(strings.Repeat(" ", left-len(head)))
	}
	b.WriteString(wrap(f.help, width-left, strings.Repeat(" ", left)))
	b.WriteString("\n")
	return b.String()
}

// wrap breaks text into lines of at most width, each but the first after indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len(w) > width:
			b.WriteString("\n" + indent)
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}
