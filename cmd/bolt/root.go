package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bolt/internal/spelling"
)

// A command is one action of the command line.
type command struct {
	name    string // "command run", or one word
	args    string // of its usage line
	short   string
	long    string
	example string
	exit    string   // what its exit codes mean
	note    string   // of its help, about flags that it does not list
	lists   []string // which flags mean something to it
	run     func(ctx context.Context, app *app, args []string) error
	words   func(args []string) error // checks the words that are no flags, before anything is read
	targets bool                      // needs --targets or --rerun
	voice   voice
	formats []string // values of --format that it has
	data    bool     // standard output is what others read on: for people, errors are printed beside it
}

// ours reports whether Puppet Bolt has no such command.
func (c *command) ours() bool {
	group, _, _ := strings.Cut(c.name, " ")
	return group == "pool" || group == "puppet" || group == "facts" || group == "audit"
}

// lookupCommand is the name of the command that knows --plan-hierarchy.
const lookupCommand = "lookup"

// groups are the commands of two words by their first, with a sentence for
// each.
var groups = []struct{ name, short string }{
	{"command", "Run a command on targets"},
	{"script", "Run a local script on targets"},
	{"file", "Copy files and directories to and from targets"},
	{"task", "Run tasks of modules on targets, and show them"},
	{"module", "Install modules into a project, and show them"},
	{"inventory", "Show the targets that the inventory knows"},
	{"group", "Show the groups of the inventory"},
	{"facts", "Collect facts of targets, and show those that were kept"},
	{"secret", "Keep secrets encrypted in files of a project"},
	{"plugin", "Show plugins, which look up values"},
	{"project", "Make projects"},
	{"plan", "Show plans of modules, and write them"},
	{"policy", "Write and show policies, classes of a project"},
	{"audit", "Show and verify what was recorded of actions"},
	{"pool", "Control the daemon that keeps connections open"},
	{"puppet", "Work on programs of the Puppet language"},
}

// purpose says what the program does, in the infinitive.
const purpose = "run commands, scripts and tasks, copy files, install modules, look up data with Hiera, and check and evaluate programs of the Puppet language"

// description is the first paragraph of the general help and of the manual.
const description = "bolt runs commands, scripts and tasks and copies files on many machines at once, over SSH, with nothing installed on them. " +
	"It installs modules, looks up data with Hiera, and checks and evaluates programs of the Puppet language, without Ruby."

// cobraCommands are those that are not in commands.
var cobraCommands = []string{"completion", "man"}

// asListed are the groups whose actions Puppet Bolt names in another order than
// the alphabet's: ours.
var asListed = []string{"task", "secret"}

// otherCommands are Puppet Bolt's that are not here.
var otherCommands = []string{"apply"}

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
	exitMistake  = "the command line, a file or the configuration is wrong"
)

// commands are all actions, in the order of the help page.
func commands() []command {
	return slices.Concat(actionCommands(), taskCommands(), moduleCommands(), shownCommands(), factsCommands(), secretCommands(), pluginCommands(), projectCommands(), planCommands(), resumeCommands(), policyCommands(), guideCommands(), auditCommands(), poolCommands(), puppetCommands())
}

// actionCommands act on targets.
func actionCommands() []command {
	return []command{
		{
			name: "command run", args: "COMMAND", targets: true, run: runCommand, words: wordsOfCommand,
			short: "Run a command on targets",
			long: `Runs a command line in the login shell of each target and prints what it
answers. The command is one word of this command line, so it usually stands
in quotes; @FILE reads it from a file, - from standard input. It cannot read
standard input on the target.`,
			example: `  bolt command run uptime -t web1,web2
  bolt command run 'systemctl is-active nginx' -t 'web,!db' --fold
  bolt command run 'apt-get -y upgrade' -t web --serial 1,10% --pause 30s
  bolt command run uptime --where 'facts.os.family == "Debian"' --limit 10%
  bolt command run @check.sh -t 'db*' --run-as postgres --timeout 30
  bolt command run 'df -P /' -t all --format json`,
			exit: exitAction, formats: eventFormats, lists: append([]string{onRun, onPrints, onRolling}, actionLists...),
		},
		{
			name: "script run", args: "SCRIPT [ARGUMENTS]", targets: true, run: runScript, words: wordsOfScript,
			short: "Run a local script on targets",
			long: `Copies a script to each target, runs it there with the arguments given, and
removes it. Its first line says which interpreter runs it. SCRIPT is a path
on this machine, or MODULE/NAME for a file of a module. Put -- before
arguments that begin with a dash.`,
			example: `  bolt script run ./setup.sh -t web
  bolt script run ./report.py -t all -- --since yesterday
  bolt script run mymodule/check.sh quick -t db --env-var DEBUG=1`,
			exit: exitAction, formats: eventFormats, lists: append([]string{onRun, onPrints, onTmpdir, onRolling}, actionLists...),
		},
		{
			name: "file upload", args: "SOURCE DESTINATION", targets: true, run: runUpload, words: wordsOfFile,
			short: "Copy a local file or directory to targets",
			long: `Copies a file or a whole directory to each target, with its permissions.
SOURCE is a path on this machine, or MODULE/NAME for a file of a module. If
DESTINATION is a directory that exists, the copy is placed inside it.

SOURCE may be a pattern with *, ? and [...], in quotes so that your shell does
not expand it. Then all files that match are placed in DESTINATION, which must
be a directory. ~ and ~USER at the beginning are home directories on this
machine. A file whose name is exactly SOURCE takes precedence.`,
			example: `  bolt file upload './conf.d/*.conf' /etc/nginx/conf.d -t web --run-as root
  bolt file upload ./nginx.conf /etc/nginx/nginx.conf -t web --run-as root
  bolt file upload ./site /srv/www -t web`,
			exit: exitAction, formats: eventFormats, lists: append([]string{onTmpdir, onRolling}, actionLists...),
		},
		{
			name: "file download", args: "SOURCE DESTINATION", targets: true, run: runDownload, words: wordsOfFile,
			short: "Copy a file or directory from targets",
			long: `Copies a file or a whole directory from each target to this machine. Each
target gets a directory of its own below DESTINATION, with its name. Hard links
stay links. A target that sends too much fails: see --max-files, --max-size and
--max-depth.

SOURCE may be a pattern with *, ? and [...], in quotes so that your shell does
not expand it. Each target expands it; a target on which nothing matches has
failed. ~ and ~USER at the beginning are home directories on the target; with
--run-as, ~ is that of the run-as user. A file whose name is exactly SOURCE
takes precedence.`,
			example: `  bolt file download '/var/log/nginx/*.log' ./logs -t web --run-as root
  bolt file download /etc/os-release ./facts -t all
  bolt file download /var/log/nginx ./logs -t web --run-as root
  bolt file download /srv/data ./data -t db --max-size 20G`,
			exit: exitAction, formats: eventFormats, lists: append([]string{onDownload, onRolling}, actionLists...),
		},
	}
}

// shownCommands are about the inventory and its data.
func shownCommands() []command {
	return []command{
		{
			name: "inventory show", run: showInventory, words: noWordsButTargets,
			short: "Show targets",
			long: `Prints the names of the targets that the inventory knows, or of those that
options such as --targets and --where choose. With --detail it prints all that
is known of each: settings (passwords left out), variables, facts, features,
groups.`,
			example: `  bolt inventory show
  bolt inventory show -t 'web*' --detail
  bolt inventory show -t 'web,!db' --where 'facts.os.family == "Debian"'
  bolt inventory show --format json`,
			note: "Options about connecting, such as --user or --transport, are accepted: they are among the settings that --detail shows.",
			exit: exitShown, formats: listFormats, lists: []string{onTargets, onInventory, onDetail},
		},
		{
			name: "group show", run: showGroups, words: noWords,
			short:   "Show groups",
			long:    `Prints the names of all groups of the inventory.`,
			example: `  bolt group show`,
			note:    "Options of commands that act on targets are accepted, and change nothing here.",
			exit:    exitShown, formats: listFormats, lists: []string{onInventory},
		},
		{
			name: lookupCommand, args: "KEY [NAME=VALUE...]", targets: true, run: runLookup, words: wordsOfLookup,
			short: "Look up data with Hiera",
			long: `Looks up a key in the data of the project (hiera.yaml) and of its modules, for
each target as an apply block would: with the facts and variables that the
inventory has of it. Nothing is connected to. NAME=VALUE gives further
variables for interpolation, whose values are always strings. With
--plan-hierarchy the key is looked up once, as a plan does it outside of apply
blocks.`,
			example: `  bolt lookup ntp::servers -t web1,web2
  bolt lookup profile::port -t web1 --explain
  bolt lookup release::branch --plan-hierarchy stage=test`,
			note: "Options of commands that act on targets, such as --user, --run-as or --no-verbose, are accepted, and change nothing here: nothing is connected to, and values are always printed.",
			exit: exitFound, formats: eventFormats, lists: []string{onHiera, onLookup, onTimeout, onResults, onFold, onTargets, onInventory, onModules},
		},
	}
}

// poolCommands control the daemon.
func poolCommands() []command {
	return []command{
		{
			name: "pool start", run: runPoolStart, words: noWords, voice: noFiles,
			short: "Start the daemon that keeps connections",
			long: `Starts the pool daemon, which keeps SSH connections open between invocations.
There is seldom need to: whatever connects starts it, unless the setting pool
is off. Its limits are those of the project in which it starts.`,
			example: `  bolt pool start`,
			exit:    exitPool, formats: plainFormats,
		},
		{
			name: "pool stop", run: runPoolStop, words: noWords, voice: noFiles,
			short: "Stop the daemon and close its connections",
			long: `Ends the pool daemon at once: what runs on targets through it is ended there,
all connections are closed, and what it knew of passwords is gone.`,
			example: `  bolt pool stop`,
			exit:    exitPool, formats: plainFormats,
		},
		{
			name: "pool drain", run: runPoolDrain, words: noWords, voice: noFiles,
			short: "Let the daemon finish, then end",
			long: `Tells the pool daemon to begin nothing new and to end when what it is doing
is done. The next invocation starts a new one.`,
			example: `  bolt pool drain`,
			exit:    exitPool, formats: plainFormats,
		},
		{
			name: "pool status", run: runPoolStatus, words: noWords, voice: noFiles,
			short: "Show the daemon and its connections",
			long: `Prints the state of the pool daemon, and for each connection its state, age,
time without use, requests in flight and waiting, sessions that the server
allows at a time, actions done, dials saved, and bytes. The exit code is 1 if
no daemon runs.`,
			example: `  bolt pool status
  bolt pool status --format json`,
			exit: exitStatus, formats: plainFormats,
		},
		{
			name: "pool metrics", run: runPoolMetrics, words: noWords, voice: noFiles,
			short: "Print the daemon's counters for Prometheus",
			long: `Prints the pool daemon's counters in Prometheus's text format, for its
textfile collector or a scrape through a command.`,
			example: `  bolt pool metrics > /var/lib/node_exporter/bolt_pool.prom`,
			exit:    exitPool, formats: plainFormats,
		},
		{
			name: "pool logs", run: runPoolLogs, words: noWords, voice: noFiles,
			short:   "Print the daemon's log",
			long:    `Prints the log of the pool daemon. "bolt pool status" tells where it is.`,
			example: `  bolt pool logs | tail`,
			exit:    exitPool, formats: plainFormats,
		},
		{
			name: "pool serve", run: runPoolServe, words: noWords, voice: noFiles,
			short: "Be the daemon, in the foreground",
			long: `Serves as the pool daemon until it is stopped, logging to standard error. It
is for service managers: under systemd it takes over a socket that systemd
listens on. See docs/pool.md.`,
			example: `  bolt pool serve --log-level debug`,
			exit:    exitServe, formats: plainFormats,
		},
	}
}

// puppetCommands work on programs of the Puppet language.
func puppetCommands() []command {
	return []command{
		{
			name: "puppet validate", args: "FILE...", run: runPuppetValidate, words: wordsOfFiles, voice: noFiles,
			short: "Check manifests, plans and templates",
			long: `Reads files of the Puppet language and prints what is wrong with them, with
the place and the line. Files that end in .epp are templates; files in a
folder called plans have the rules of plans. Of a directory all such files
below it are read. In modules, those on the module path and others that have a
metadata.json, definitions must be in the files that their names tell.
The FILE - is standard input. Nothing is evaluated.`,
			example: `  bolt puppet validate manifests/*.pp templates/*.epp
  bolt puppet validate modules/profile
  bolt puppet validate plans/deploy.pp --format json`,
			exit: exitValidate, formats: plainFormats, lists: []string{onPuppet, onModules},
		},
		{
			name: "puppet dump", args: "[FILE...]", run: runPuppetDump, words: anyFiles, voice: noFiles,
			short: "Print the syntax tree of a program",
			long: `Prints the tree that a program of the Puppet language is read as, in Puppet
Node notation (--format pn, the default) or the same as JSON (--format json).
The FILE - is standard input. Templates have to be in files that end in .epp:
--execute and - take none. Of several files each tree has the file's name above
it; as JSON each is a document {"file", "tree"}, whose tree is null for a file
that has none.`,
			example: `  bolt puppet dump manifests/init.pp
  bolt puppet dump -e '$x = 1 + 2' --format json`,
			exit: exitDump, formats: treeFormats, data: true, lists: []string{onPuppet, onExecute, onDump},
		},
		{
			name: "puppet eval", args: "[FILE] [NAME=VALUE...]", run: runPuppetEval, words: anyFiles, voice: noFiles,
			short: "Evaluate a program of the Puppet language",
			long: `Evaluates a program and prints its value and the value's type. The FILE - is
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
			example: `  bolt puppet eval -e '[1, 2, 3].map |$x| { $x * 2 }'
  bolt puppet eval check.pp --facts facts.json --format json
  bolt puppet eval motd.epp name=web1 port=8080 > motd
  echo '{"expr": "1 + 1"}' | bolt puppet eval --batch -`,
			exit: exitEval, formats: plainFormats, data: true, lists: []string{onPuppet, onExecute, onEval, onTimeout, onHiera, onModules},
		},
	}
}

// execute carries out one command line.
func execute(ctx context.Context, argv []string, sys system) error {
	values := flagValues{}
	if len(argv) > 0 && argv[0] == bashCommand {
		return completeBash(ctx, argv[1:], values, sys)
	}
	if len(argv) > 0 && (strings.HasPrefix(argv[0], "__complete") || slices.Contains(cobraCommands, argv[0])) {
		root := newRoot(values, sys, nil)
		root.SetArgs(argv)
		return root.ExecuteContext(ctx)
	}
	words, flags, err := arrange(argv)
	if err != nil {
		return err
	}
	if slices.Contains(flags, "--version") {
		_, err := fmt.Fprintln(sys.out, version)
		return err
	}
	help := slices.Contains(flags, "--help")
	if len(words) > 0 && words[0] == "help" {
		help, words = true, words[1:]
	}
	if help || len(words) == 0 {
		return printHelp(ctx, words, sys)
	}
	if err := absent(words); err != nil {
		return err
	}
	c, rest, err := findCommand(words)
	if err != nil {
		return err
	}
	args := append(strings.Fields(c.name), flags...)
	args = append(append(args, "--"), rest...)
	root := newRoot(values, sys, c)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// named returns the command whose name words begin with, and the words after
// it; nil if there is none.
func named(words []string) (c *command, rest []string) {
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return &c, words[len(name):]
		}
	}
	return nil, nil
}

// findCommand is named for words that must begin with a command.
func findCommand(words []string) (c *command, rest []string, err error) {
	if c, rest := named(words); c != nil {
		return c, rest, nil
	}
	var names, actions []string
	for _, c := range commands() {
		name, action, _ := strings.Cut(c.name, " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if name == words[0] {
			actions = append(actions, action)
		}
	}
	if !slices.Contains(asListed, words[0]) {
		slices.Sort(actions)
	}
	switch {
	case actions == nil:
		err := usagef("'%s' is not a Bolt command. See 'bolt help'.", words[0])
		if slices.Contains(otherCommands, words[0]) {
			return nil, nil, hinted(err, "this version can %s; %s is Puppet Bolt's", purpose, words[0])
		}
		if near := spelling.Near(words[0], names); near != "" {
			return nil, nil, hinted(err, "did you mean %s?", near)
		}
		return nil, nil, err
	case len(words) == 1:
		err := usagef("Expected an action of the form 'bolt %s <action>'", words[0])
		return nil, nil, hinted(err, "the action is %s", spelling.Or(actions))
	}
	err = usagef("Expected action '%s' to be one of %s", words[1], strings.Join(actions, ", "))
	if words[0] == "puppet" {
		switch {
		case words[1] == "lookup":
			return nil, nil, hinted(err, "bolt lookup looks up data")
		case words[1] == "parser" && len(words) > 2 && slices.Contains(actions, words[2]):
			return nil, nil, hinted(err, "bolt puppet %s is what puppet parser %s is", words[2], words[2])
		case words[1] == "parser", words[1] == "epp":
			return nil, nil, hinted(err, "bolt puppet validate checks programs and templates, dump prints their trees, eval evaluates and renders them")
		}
	}
	if near := spelling.Near(words[1], actions); near != "" {
		err = hinted(err, "did you mean %s?", near)
	}
	return nil, nil, err
}

// newRoot builds the tree of commands; flags are recorded in values. Only the
// command called only has flags, if it is not nil: they take a millisecond for
// all.
func newRoot(values flagValues, sys system, only *command) *cobra.Command {
	root := &cobra.Command{
		Use:           "bolt",
		Short:         strings.ToUpper(purpose[:1]) + purpose[1:],
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(sys.out)
	root.SetErr(sys.err)
	parents := map[string]*cobra.Command{"": root}
	for _, g := range groups {
		p := &cobra.Command{Use: g.name, Short: g.short, RunE: func(*cobra.Command, []string) error { return nil }}
		parents[g.name] = p
		root.AddCommand(p)
	}
	for _, c := range commands() {
		group, last, ok := strings.Cut(c.name, " ")
		if !ok {
			group, last = "", c.name
		}
		cmd := &cobra.Command{
			Use:                   strings.TrimSpace(last + " " + c.args),
			DisableFlagsInUseLine: true,
			Short:                 c.short,
			Long:                  c.long,
			Example:               c.example,
			RunE: func(cmd *cobra.Command, args []string) error {
				err := start(cmd.Context(), c, values, sys, args)
				if err != nil && c.data {
					return &besideError{err}
				}
				return err
			},
			ValidArgsFunction: completeWords(c, values, sys),
		}
		if only == nil || only.name == c.name {
			addFlags(cmd, &c, values)
			addCompletion(cmd, &c, values, sys)
		}
		parents[group].AddCommand(cmd)
	}
	root.AddCommand(manCommand(sys.out), completionCommand(sys.out))
	return root
}

// printHelp prints the page for the words of a command, or the general page.
//
// Differs from Bolt: it prints the general page for words that are no command.
func printHelp(ctx context.Context, words []string, sys system) error {
	if len(words) == 0 || words[0] == "help" {
		_, err := fmt.Fprint(sys.out, generalPage())
		return err
	}
	if len(words) == 1 {
		for _, g := range groups {
			if g.name == words[0] {
				_, err := fmt.Fprint(sys.out, groupPage(g.name, g.short))
				return err
			}
		}
	}
	if slices.Contains(cobraCommands, words[0]) {
		root := newRoot(flagValues{}, sys, nil)
		root.SetArgs(append(words, "--help"))
		return root.ExecuteContext(ctx)
	}
	c, _, err := findCommand(words)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(sys.out, helpPage(c))
	return err
}

// helpPage is the help of one command.
func helpPage(c *command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s [options]\n\n%s\n\nExamples\n%s\n\nExit codes\n%s", c.short,
		strings.TrimSpace("bolt "+c.name+" "+c.args), c.long, c.example, exitCodes(c.exit))
	b.WriteString(flagHelp(c))
	if c.note != "" {
		b.WriteString("\n" + wrap(c.note, helpWidth, "") + "\n")
	}
	return b.String()
}

// helpWidth is how wide the text of a help page is.
const helpWidth = 78

// exitCodes renders what exit codes mean.
func exitCodes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + exitMistake) {
		code, meaning, _ := strings.Cut(line, "  ")
		fmt.Fprintf(&b, "  %s  %s\n", code, wrap(meaning, helpWidth-5, "     "))
	}
	return b.String()
}

// groupPage is the help of a first word.
func groupPage(name, short string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  bolt %s <action> [options]\n\nActions\n", short, name)
	for _, c := range commands() {
		if g, action, _ := strings.Cut(c.name, " "); g == name {
			fmt.Fprintf(&b, "  %-12s %s\n", action, c.short)
		}
	}
	fmt.Fprintf(&b, "\nMore\n  bolt help %s <action>\n", name)
	return b.String()
}

// generalPage is the help of the program.
func generalPage() string {
	var b strings.Builder
	b.WriteString(wrap(description, helpWidth, "") + `

Usage
  bolt <command> <action> [options]

Commands
`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-18s %s\n", c.name, c.short)
	}
	fmt.Fprintf(&b, "  %-18s %s\n", "completion SHELL", "Print the completion script for a shell")
	b.WriteString(`
Examples
  bolt command run uptime -t web1.example.com,web2.example.com
  bolt command run 'systemctl restart nginx' -t web --run-as root
  bolt script run ./setup.sh -t all --fold
  bolt task run package name=nginx action=status -t web
  bolt inventory show
  bolt lookup ntp::servers -t web1.example.com --explain
  bolt puppet validate manifests/*.pp

Targets come from inventory.yaml of the project, or are named on the command
line. A project is a directory with a bolt-project.yaml; the nearest one at or
above the working directory counts.

Environment
  BOLT_PROJECT      the project's directory
  BOLT_INVENTORY    the inventory itself, as YAML
  BOLT_POOL         auto, off or required: as --pool
  BOLT_POOL_SOCKET  the pool daemon's socket

More
  bolt help <command> <action>
  bolt --version
`)
	return b.String()
}
