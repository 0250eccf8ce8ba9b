package main

import (
	"context"
	"slices"

	"bolt/cli"
)

var actionLists = []string{onAction, onTimeout, onResults, onFold, onTargets, onInventory, onModules}

// What exit codes mean; 1 is also that of a mistake in the request.
const (
	exitAction   = "0  everything succeeded\n1  a target failed, or was not reached; or "
	exitPlan     = "0  the plan ended well\n1  it failed, or what it returned is a failure; or "
	exitFound    = "0  a value was found, for every target\n1  no value was found, for one target at least; or "
	exitShown    = "0  everything was printed\n1  "
	exitPool     = "0  it was done\n1  it could not be done; or "
	exitStatus   = "0  a daemon runs\n1  no daemon runs; or "
	exitServe    = "0  the daemon was stopped\n1  it could not serve; or "
	exitValidate = "0  no file has errors; warnings do not count\n1  a file has errors, or could not be read; or "
	exitDump     = "0  the program was read\n1  the program has errors, or could not be read; or "
	exitEval     = "0  the program has a value; with --batch: all lines were answered\n1  the program has errors, or could not be read; or "
)

// commands are all actions, in the order of the help page.
func (s system) commands() []command {
	return slices.Concat(actionCommands(), s.taskCommands(), s.moduleCommands(), shownCommands(), factsCommands(), secretCommands(), pluginCommands(), projectCommands(), s.planCommands(), s.resumeCommands(), policyCommands(), guideCommands(), auditCommands(), poolCommands(), puppetCommands())
}

// actionCommands act on targets.
func actionCommands() []command {
	return []command{
		{
			run: plain(runCommand), targets: true,
			Command: cli.Command{
				Name: "command run", Args: "COMMAND", Check: wordsOfCommand,
				Short: "Run a command on targets",
				Long: `Runs a command line in the login shell of each target and prints what it
answers. The command is one word of this command line, so it usually stands
in quotes; @FILE reads it from a file, - from standard input. It cannot read
standard input on the target.`,
				Example: `  bolt command run uptime -t web1,web2
  bolt command run 'systemctl is-active nginx' -t 'web,!db' --fold
  bolt command run 'apt-get -y upgrade' -t web --serial 1,10% --pause 30s
  bolt command run uptime --where 'facts.os.family == "Debian"' --limit 10%
  bolt command run @check.sh -t 'db*' --run-as postgres --timeout 30
  bolt command run 'df -P /' -t all --format json`,
				Exit: exitAction, Formats: eventFormats, Lists: append([]string{onRun, onPrints, onRolling}, actionLists...),
			},
		},
		{
			run: plain(runScript), targets: true,
			Command: cli.Command{
				Name: "script run", Args: "SCRIPT [ARGUMENTS]", Check: wordsOfScript,
				Rest:  cli.AnyFile,
				Short: "Run a local script on targets",
				Long: `Copies a script to each target, runs it there with the arguments given, and
removes it. Its first line says which interpreter runs it. SCRIPT is a path
on this machine, or MODULE/NAME for a file of a module. Put -- before
arguments that begin with a dash.`,
				Example: `  bolt script run ./setup.sh -t web
  bolt script run ./report.py -t all -- --since yesterday
  bolt script run mymodule/check.sh quick -t db --env-var DEBUG=1`,
				Exit: exitAction, Formats: eventFormats, Lists: append([]string{onRun, onPrints, onTmpdir, onRolling}, actionLists...),
			},
		},
		{
			run: plain(runUpload), targets: true,
			Command: cli.Command{
				Name: "file upload", Args: "SOURCE DESTINATION", Check: wordsOfFile,
				Complete: []cli.Completer{cli.AnyFile},
				Short:    "Copy a local file or directory to targets",
				Long: `Copies a file or a whole directory to each target, with its permissions.
SOURCE is a path on this machine, or MODULE/NAME for a file of a module. If
DESTINATION is a directory that exists, the copy is placed inside it.

SOURCE may be a pattern with *, ? and [...], in quotes so that your shell does
not expand it. Then all files that match are placed in DESTINATION, which must
be a directory. ~ and ~USER at the beginning are home directories on this
machine. A file whose name is exactly SOURCE takes precedence.`,
				Example: `  bolt file upload './conf.d/*.conf' /etc/nginx/conf.d -t web --run-as root
  bolt file upload ./nginx.conf /etc/nginx/nginx.conf -t web --run-as root
  bolt file upload ./site /srv/www -t web`,
				Exit: exitAction, Formats: eventFormats, Lists: append([]string{onTmpdir, onRolling}, actionLists...),
			},
		},
		{
			run: plain(runDownload), targets: true,
			Command: cli.Command{
				Name: "file download", Args: "SOURCE DESTINATION", Check: wordsOfFile,
				Complete: []cli.Completer{nil, cli.AnyFile},
				Short:    "Copy a file or directory from targets",
				Long: `Copies a file or a whole directory from each target to this machine. Each
target gets a directory of its own below DESTINATION, with its name. Hard links
stay links. A target that sends too much fails: see --max-files, --max-size and
--max-depth.

SOURCE may be a pattern with *, ? and [...], in quotes so that your shell does
not expand it. Each target expands it; a target on which nothing matches has
failed. ~ and ~USER at the beginning are home directories on the target; with
--run-as, ~ is that of the run-as user. A file whose name is exactly SOURCE
takes precedence.`,
				Example: `  bolt file download '/var/log/nginx/*.log' ./logs -t web --run-as root
  bolt file download /etc/os-release ./facts -t all
  bolt file download /var/log/nginx ./logs -t web --run-as root
  bolt file download /srv/data ./data -t db --max-size 20G`,
				Exit: exitAction, Formats: eventFormats, Lists: append([]string{onDownload, onRolling}, actionLists...),
			},
		},
	}
}

// shownCommands are about the inventory and its data.
func shownCommands() []command {
	return []command{
		{
			run: with(showInventory),
			Command: cli.Command{
				Name: "inventory show", Check: noWordsButTargets,
				Short: "Show targets",
				Long: `Prints the names of the targets that the inventory knows, or of those that
options such as --targets and --where choose. With --detail it prints all that
is known of each: settings (passwords left out), variables, facts, features,
groups.`,
				Example: `  bolt inventory show
  bolt inventory show -t 'web*' --detail
  bolt inventory show -t 'web,!db' --where 'facts.os.family == "Debian"'
  bolt inventory show --format json`,
				Note: "Options about connecting, such as --user or --transport, are accepted: they are among the settings that --detail shows.",
				Exit: exitShown, Formats: listFormats, Lists: []string{onTargets, onInventory, onDetail},
			},
		},
		{
			run: bare(showGroups),
			Command: cli.Command{
				Name: "group show", Check: cli.NoArguments,
				Short:   "Show groups",
				Long:    `Prints the names of all groups of the inventory.`,
				Example: `  bolt group show`,
				Note:    "Options of commands that act on targets are accepted, and change nothing here.",
				Exit:    exitShown, Formats: listFormats, Lists: []string{onInventory},
			},
		},
		{
			run: with(func(ctx context.Context, a *app, o *lookupOptions) error { return runLookup(ctx, a, o.args) }),
			Command: cli.Command{
				Name: "lookup", Args: "KEY [NAME=VALUE...]", Check: wordsOfLookup,
				Short: "Look up data with Hiera",
				Long: `Looks up a key in the data of the project (hiera.yaml) and of its modules, for
each target as an apply block would: with the facts and variables that the
inventory has of it. Nothing is connected to. NAME=VALUE gives further
variables for interpolation, whose values are always strings. With
--plan-hierarchy the key is looked up once, as a plan does it outside of apply
blocks.`,
				Example: `  bolt lookup ntp::servers -t web1,web2
  bolt lookup profile::port -t web1 --explain
  bolt lookup release::branch --plan-hierarchy stage=test`,
				Note: "Options of commands that act on targets, such as --user, --run-as or --no-verbose, are accepted, and change nothing here: nothing is connected to, and values are always printed.",
				Exit: exitFound, Formats: eventFormats, Lists: []string{onHiera, onLookup, onTimeout, onResults, onFold, onTargets, onInventory, onModules},
			},
		},
	}
}

// poolCommands control the daemon.
func poolCommands() []command {
	return []command{
		{
			run: plain(runPoolStart), voice: noFiles,
			Command: cli.Command{
				Name: "pool start", Check: cli.NoArguments,
				Short: "Start the daemon that keeps connections",
				Long: `Starts the pool daemon, which keeps SSH connections open between invocations.
There is seldom need to: whatever connects starts it, unless the setting pool
is off. Its limits are those of the project in which it starts.`,
				Example: `  bolt pool start`,
				Exit:    exitPool, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolStop), voice: noFiles,
			Command: cli.Command{
				Name: "pool stop", Check: cli.NoArguments,
				Short: "Stop the daemon and close its connections",
				Long: `Ends the pool daemon at once: what runs on targets through it is ended there,
all connections are closed, and what it knew of passwords is gone.`,
				Example: `  bolt pool stop`,
				Exit:    exitPool, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolDrain), voice: noFiles,
			Command: cli.Command{
				Name: "pool drain", Check: cli.NoArguments,
				Short: "Let the daemon finish, then end",
				Long: `Tells the pool daemon to begin nothing new and to end when what it is doing
is done. The next invocation starts a new one.`,
				Example: `  bolt pool drain`,
				Exit:    exitPool, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolStatus), voice: noFiles,
			Command: cli.Command{
				Name: "pool status", Check: cli.NoArguments,
				Short: "Show the daemon and its connections",
				Long: `Prints the state of the pool daemon, and for each connection its state, age,
time without use, requests in flight and waiting, sessions that the server
allows at a time, actions done, dials saved, and bytes. The exit code is 1 if
no daemon runs.`,
				Example: `  bolt pool status
  bolt pool status --format json`,
				Exit: exitStatus, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolMetrics), voice: noFiles,
			Command: cli.Command{
				Name: "pool metrics", Check: cli.NoArguments,
				Short: "Print the daemon's counters for Prometheus",
				Long: `Prints the pool daemon's counters in Prometheus's text format, for its
textfile collector or a scrape through a command.`,
				Example: `  bolt pool metrics > /var/lib/node_exporter/bolt_pool.prom`,
				Exit:    exitPool, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolLogs), voice: noFiles,
			Command: cli.Command{
				Name: "pool logs", Check: cli.NoArguments,
				Short:   "Print the daemon's log",
				Long:    `Prints the log of the pool daemon. "bolt pool status" tells where it is.`,
				Example: `  bolt pool logs | tail`,
				Exit:    exitPool, Formats: plainFormats,
			},
		},
		{
			run: plain(runPoolServe), voice: noFiles,
			Command: cli.Command{
				Name: "pool serve", Check: cli.NoArguments,
				Short: "Be the daemon, in the foreground",
				Long: `Serves as the pool daemon until it is stopped, logging to standard error. It
is for service managers: under systemd it takes over a socket that systemd
listens on. See docs/pool.md.`,
				Example: `  bolt pool serve --log-level debug`,
				Exit:    exitServe, Formats: plainFormats,
			},
		},
	}
}

// puppetCommands work on programs of the Puppet language.
func puppetCommands() []command {
	return []command{
		{
			run: plain(runPuppetValidate), voice: noFiles,
			Command: cli.Command{
				Name: "puppet validate", Args: "FILE...", Check: wordsOfFiles,
				Rest:  cli.FileOf("pp", "epp"),
				Short: "Check manifests, plans and templates",
				Long: `Reads files of the Puppet language and prints what is wrong with them, with
the place and the line. Files that end in .epp are templates; files in a
folder called plans have the rules of plans. Of a directory all such files
below it are read. In modules, those on the module path and others that have a
metadata.json, definitions must be in the files that their names tell.
The FILE - is standard input. Nothing is evaluated.`,
				Example: `  bolt puppet validate manifests/*.pp templates/*.epp
  bolt puppet validate modules/profile
  bolt puppet validate plans/deploy.pp --format json`,
				Exit: exitValidate, Formats: plainFormats, Lists: []string{onPuppet, onModules},
			},
		},
		{
			run: plain(runPuppetDump), voice: noFiles, data: true,
			Command: cli.Command{
				Name: "puppet dump", Args: "[FILE...]", Check: cli.AnyArguments,
				Rest:  cli.FileOf("pp", "epp"),
				Short: "Print the syntax tree of a program",
				Long: `Prints the tree that a program of the Puppet language is read as, in Puppet
Node notation (--format pn, the default) or the same as JSON (--format json).
The FILE - is standard input. Templates have to be in files that end in .epp:
--execute and - take none. Of several files each tree has the file's name above
it; as JSON each is a document {"file", "tree"}, whose tree is null for a file
that has none.`,
				Example: `  bolt puppet dump manifests/init.pp
  bolt puppet dump -e '$x = 1 + 2' --format json`,
				Exit: exitDump, Formats: treeFormats, Lists: []string{onPuppet, onExecute, onDump},
			},
		},
		{
			run: plain(runPuppetEval), voice: noFiles, data: true,
			Command: cli.Command{
				Name: "puppet eval", Args: "[FILE] [NAME=VALUE...]", Check: cli.AnyArguments,
				Complete: []cli.Completer{cli.FileOf("pp", "epp")},
				Short:    "Evaluate a program of the Puppet language",
				Long: `Evaluates a program and prints its value and the value's type. The FILE - is
standard input. Of a template, a file that ends in .epp, the text is printed
and nothing else. NAME=VALUE sets a parameter of a template, or a variable of
a program; VALUE is what it is as JSON (8080, true, [1, 2], "8080"), or else a
string. Functions and types of modules are there, and data of Hiera; what needs
a catalog is not.

What a program says, and errors, go to standard error: notices and what is
graver, info and debug with --log-level. With --format json all of it is one
document on standard output; the value is rich data there, which shows what a
Sensitive hides.

--batch reads expressions, one JSON object {"expr": "..."} a line, and answers
each with one line as soon as it has its value: {"value", "type", "string"}, or
{"error": {"line", "column", "message", "kind"}}, with "id" before them if the
line has one and "logs" behind them if something was said. An error has "file"
if it is not in the expression, but in a file of a module, and "stack" if there
are calls around it. Each is evaluated on its own. Files of modules, templates,
data and hiera.yaml are read again when they have changed; the facts, variables
and the configuration stay as they were at the beginning. Empty lines are
skipped; a line that is something else, or longer than 16 MiB, is answered with
an error. An expression may make 10 million calls.`,
				Example: `  bolt puppet eval -e '[1, 2, 3].map |$x| { $x * 2 }'
  bolt puppet eval check.pp --facts facts.json --format json
  bolt puppet eval motd.epp name=web1 port=8080 > motd
  echo '{"expr": "1 + 1"}' | bolt puppet eval --batch -`,
				Exit: exitEval, Formats: plainFormats, Lists: []string{onPuppet, onExecute, onEval, onTimeout, onHiera, onModules},
			},
		},
	}
}
