package main

import (
	"errors"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/project"
)

// The checks of each command's arguments. They run before any file is read.

// noWordsButTargets is cli.NoArguments for commands to which users often pass names of
// targets.
func noWordsButTargets(args []string) error {
	return hinted(cli.NoArguments(args), "name targets with --targets (-t)")
}

// checkFlags rejects flags that contradict each other or the command.
func checkFlags(p *cli.Program, c *command, bound *bound, given cli.Values, inventoryInEnv bool) error {
	if err := p.CheckFlags(&c.Command, given); err != nil {
		return err
	}
	if bound.err != nil {
		return bound.err
	}
	b := cli.NewBinder(given, nil)
	var global globalOptions
	var targets acting.Targets
	global.Bind(b)
	targets.Bind(b)
	if err := targets.Check(); err != nil {
		return err
	}
	if o, ok := bound.options.(targeter); ok {
		if err := o.CheckTargets(); err != nil {
			return err
		}
	}
	switch {
	case targets.Ways() > 1:
		err := usagef("Only one targeting option can be specified: '--targets', '--rerun', or '--query'")
		if filter := targets.Rerun; filter.Given && !slices.Contains(project.RerunFilters(), filter.Text) {
			return hinted(err, "%v", project.RerunError(filter.Text))
		}
		return err
	case c.targets && !targets.Named():
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'"),
			"--where suffices too: it chooses among all targets of the inventory")
	case global.inventoryFile.Given && inventoryInEnv:
		return usagef("Cannot pass inventory file when BOLT_INVENTORY is set")
	}
	if o, ok := bound.options.(checker); ok {
		if err := o.Check(); err != nil {
			return err
		}
	}
	if global.timeout.Given {
		if _, err := cli.ParseTimeout(global.timeout.Text); err != nil {
			return hinted(cli.Invalid("timeout", global.timeout.Text), "give seconds (30, 0.5) or a unit (90s, 5m, 1h)")
		}
	}
	if _, percent := acting.Percentage(global.concurrency); percent && !slices.Contains(c.Lists, onRolling) {
		return hinted(cli.Invalid("concurrency", global.concurrency), "a percentage is possible only when %s: give a number of targets", p.Occasion(onRolling))
	}
	return checkFormat(p, c, bound.options, given)
}

// formatsOf returns the values of --format that a command has with its options, and a
// hint for values that the options exclude.
func formatsOf(c *command, options any) (formats []string, hint string) {
	if o, ok := options.(narrower); ok {
		return o.Formats(c.Formats)
	}
	return c.Formats, ""
}

// checkFormat refuses a format that a command does not have, in Bolt's words.
// The hint names another option of the command that has this value.
func checkFormat(p *cli.Program, c *command, options any, given cli.Values) error {
	formats, hint := formatsOf(c, options)
	f := given.Last("format")
	if !given.Has("format") || slices.Contains(formats, f) {
		return nil
	}
	err := usagef("Invalid configuration at command line:\n  Value at 'format' must be one of %s", strings.Join(slices.Sorted(slices.Values(formats)), ", "))
	if hint != "" && slices.Contains(c.Formats, f) {
		return hinted(err, "%s", hint)
	}
	for i := range p.Flags {
		other := &p.Flags[i]
		if other.Name != "format" && other.Section == secDisplay && c.Takes(other) && slices.Contains(other.Values, f) {
			return hinted(err, "use --%s %s", other.Name, f)
		}
	}
	return err
}

// withUsage adds the usage line to the error of a command without arguments.
func withUsage(p *cli.Program, c *command, args []string, err error) error {
	if e, ok := errors.AsType[*cli.UsageError](err); !ok || e.Hint != "" || len(args) > 0 {
		return err
	}
	usage := p.Name + " " + c.Name + " " + c.Args
	if c.targets {
		usage += " --targets TARGETS"
	}
	return hinted(err, "The usage is: %s [options]. \"%s help %s\" describes it.", usage, p.Name, c.Name)
}
