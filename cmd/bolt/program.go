package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/term"

	"bolt/cli"
	"bolt/cli/complete"
)

// A command is one action of the command line, with its implementation.
type command struct {
	cli.Command
	run     action
	targets bool // needs --targets or --rerun
	voice   voice
	data    bool // standard output is input for other programs: in text formats, errors are printed on standard error
}

// An action reads the options of a command and returns the command with them.
type action func(given cli.Values, args []string) *bound

// bound is a command with its options.
type bound struct {
	options any      // a checker, a targeter or a narrower, if it is one
	names   []string // of the bound flags
	err     error    // the error in one of them
	run     func(ctx context.Context, a *app) error
}

// A checker is options that can contradict each other.
type checker interface{ Check() error }

// A targeter is options that can have an error about targets, which is checked before.
type targeter interface{ CheckTargets() error }

// A narrower is options that reduce the values of --format of a command. It returns a hint for the
// other values.
type narrower interface {
	Formats(all []string) (some []string, hint string)
}

// A besider is options with which errors are on standard error in every format, because
// standard output is for other data.
type besider interface{ Beside() bool }

// with returns the action of a command that has options of type O.
func with[O any, P interface {
	*O
	Bind(b *cli.Binder)
}](run func(ctx context.Context, a *app, o P) error) action {
	return func(given cli.Values, args []string) *bound {
		o := P(new(O))
		b := cli.NewBinder(given, args)
		o.Bind(b)
		return &bound{options: o, names: b.Names(), err: b.Err(), run: func(ctx context.Context, a *app) error { return run(ctx, a, o) }}
	}
}

// by returns the action of a command that the package of its subject carries out: run is a method of v, which has
// the parts of the invocation that the package uses.
func by[V, O any, P interface {
	*O
	Bind(b *cli.Binder)
}](parts func(a *app) V, run func(v V, ctx context.Context, o P) error) action {
	return with(func(ctx context.Context, a *app, o P) error { return run(parts(a), ctx, o) })
}

// execute carries out one command line.
func execute(ctx context.Context, argv []string, sys system) error {
	commands := sys.commands()
	p := sys.program(commands)
	p.Width = columns(sys.out)
	shell := complete.Shell{Program: p, Out: results{sys.out}, Err: sys.err, Home: home(sys)}
	if len(argv) > 0 && complete.Has(argv[0]) {
		return shell.Run(ctx, argv)
	}
	words, given, err := p.Arrange(argv)
	if err != nil {
		return err
	}
	if given.Has("version") {
		_, err := fmt.Fprintln(sys.out, version)
		return err
	}
	help := given.Has("help")
	if len(words) > 0 && words[0] == "help" {
		help, words = true, words[1:]
	}
	switch {
	case help && len(words) > 0 && complete.Has(words[0]):
		return shell.Run(ctx, append(words, "--help"))
	case help || len(words) == 0:
		page, err := p.Help(words)
		if err != nil {
			return err
		}
		_, err = io.WriteString(sys.out, page)
		return err
	}
	if err := p.Refuse(words); err != nil {
		return err
	}
	found, args, err := p.Find(words)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.Name == found.Name })
	c := &commands[i]
	err = start(ctx, p, c, given, sys, args)
	if err != nil && c.data {
		return &besideError{err}
	}
	return err
}

// results is standard output. Its errors mean that nothing more can be printed.
type results struct{ w io.Writer }

func (r results) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	return n, written(err)
}

// program returns the command line of bolt.
func (s system) program(commands []command) *cli.Program {
	texts, err := fs.Sub(helpTexts, "help")
	if err != nil {
		panic(err) // the name is valid
	}
	p := &cli.Program{
		Name: "bolt",
		Purpose: "run commands, scripts and tasks, copy files, install modules, look up data with Hiera, " +
			"and check and evaluate programs of the Puppet language",
		Description: "bolt runs commands, scripts, tasks and plans and copies files on many machines at once, over SSH, with nothing installed on them. " +
			"It applies Puppet manifests without an agent, and brings changes to many machines in waves. " +
			"It looks up data with Hiera and evaluates programs of the Puppet language, without Ruby.",
		Texts:    texts,
		Groups:   groups(),
		Flags:    s.flags(),
		Sections: sections(),
		Chapters: chapters(),
		Extra: map[string]string{
			"help":       "Show the help of a command or a group of commands",
			"man":        "Print the manual page, for \"bolt man | man -l -\"",
			"completion": "Print the completion script for a shell",
		},
		Missing: elsewhere(),
		Mistake: "the command line, a file or the configuration is wrong",
		Hint:    "a command with options of its own is one word in quotes; a script's options stand after --",
	}
	p.Commands = make([]cli.Command, len(commands))
	for i := range commands {
		p.Commands[i] = commands[i].Command
	}
	return p
}

// helpTexts are the texts of the help and of the manual page.
//
//go:embed help
var helpTexts embed.FS

// groups returns the groups of commands with two words, with a sentence for each. Puppet Bolt
// lists the actions of task and secret in the same order as here, and sorts the actions of the
// others.
func groups() []cli.Group {
	return []cli.Group{
		{Name: "command", Short: "Run a command on targets"},
		{Name: "script", Short: "Run a local script on targets"},
		{Name: "file", Short: "Copy files and directories to and from targets"},
		{Name: "task", Short: "Run tasks of modules on targets, and show them", AsListed: true},
		{Name: "module", Short: "Install modules into a project, and show them"},
		{Name: "inventory", Short: "Show the targets of the inventory"},
		{Name: "group", Short: "Show the groups of the inventory"},
		{Name: "facts", Short: "Collect facts of targets, and show stored facts", Own: true},
		{Name: "secret", Short: "Keep secrets encrypted in files of a project", AsListed: true},
		{Name: "plugin", Short: "Show plugins, which look up values"},
		{Name: "project", Short: "Create projects"},
		{Name: "plan", Short: "Run, show, write, draw and resume plans"},
		{Name: "policy", Short: "Apply, write and show policies, classes of a project"},
		{Name: "audit", Short: "Show and verify the audit log", Own: true},
		{Name: "pool", Short: "Control the daemon that keeps connections open", Own: true},
		{Name: "catalog", Short: "Compile, show and compare catalogs", Own: true},
		{Name: "report", Short: "Show the reports of the last runs on nodes", Own: true},
		{Name: "release", Short: "Create, show, sign and move releases: the catalogs of all nodes", Own: true},
		{Name: "rollout", Short: "Bring releases to nodes in waves", Own: true, AsListed: true},
		{Name: "puppet", Short: "Check and evaluate programs of the Puppet language, show resources", Own: true, Advise: adviseForPuppet},
	}
}

// chapters returns the parts of the general help.
func chapters() []cli.Chapter {
	return []cli.Chapter{
		{Title: "Act on targets", Names: []string{"command", "script", "file", "task", "plan"}},
		{Title: "Desired state of machines", Names: []string{"apply", "policy", "catalog", "release", "rollout", "report"}},
		{Title: "Targets, data and modules", Names: []string{"inventory", "group", "facts", "lookup", "module", "plugin", "secret"}},
		{Title: "Puppet code", Names: []string{"puppet"}},
		{Title: "Projects, connections and records", Names: []string{"project", "pool", "audit"}},
		{Title: "Help", Names: []string{"help", "guide", "man", "completion"}},
	}
}

// columns returns the width of the terminal that shows standard output, 0 if it is not a terminal.
func columns(out io.Writer) int {
	if f, is := out.(*os.File); is {
		width, _, _ := term.GetSize(int(f.Fd()))
		return width
	}
	return 0
}

// adviseForPuppet returns the hint for subcommands of the program puppet.
func adviseForPuppet(words, actions []string) string {
	switch {
	case words[1] == "lookup":
		return "bolt lookup looks up data"
	case words[1] == "parser" && len(words) > 2 && slices.Contains(actions, words[2]):
		return fmt.Sprintf("bolt puppet %s is what puppet parser %s is", words[2], words[2])
	case words[1] == "parser", words[1] == "epp":
		return "bolt puppet validate checks programs and templates, dump prints their trees, eval evaluates and renders them, resource prints the state of resources of targets"
	}
	return ""
}

// elsewhere returns Puppet Bolt's commands that this program does not have.
func elsewhere() []cli.Missing {
	return []cli.Missing{
		{Name: "project migrate", Refuse: func([]string) error {
			return hinted(usagef("This version has no 'bolt project migrate'"), "the formats before Puppet Bolt 3 (bolt.yaml, version 1 of inventory.yaml) have to be rewritten by hand")
		}},
	}
}
