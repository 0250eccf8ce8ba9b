package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/cli"
	"bolt/project"
)

// The words of each command that are no flags, checked before any file is
// read.

func wordsOfCommand(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("Must specify a command to run")
	}
	return hinted(cli.NoArguments(args[1:]), "the command is one word: put it in quotes")
}

func wordsOfScript(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("Must specify a script to run")
	}
	return nil
}

func wordsOfFile(args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return usagef("Must specify a source")
	case len(args) == 1 || args[1] == "":
		return usagef("Must specify a destination")
	case len(args) > 2:
		return hinted(usagef("Unknown arguments %s", strings.Join(args[2:], ", ")), "put a pattern such as '*.conf' in quotes, so that your shell does not expand it")
	}
	return nil
}

// noWordsButTargets is cli.NoArguments for commands that people give names of targets.
func noWordsButTargets(args []string) error {
	return hinted(cli.NoArguments(args), "name targets with --targets (-t)")
}

// checkFlags looks for flags that contradict each other or the command.
func checkFlags(p *cli.Program, c *command, bound *bound, v flagValues, inventoryInEnv bool) error {
	if err := p.CheckFlags(&c.Command, cli.Values(v)); err != nil {
		return err
	}
	if bound.err != nil {
		return bound.err
	}
	if v.has("older-than") {
		if _, err := project.ParseAge(v.last("older-than")); err != nil {
			return usagef("Invalid parameter specified for option '--older-than': %v", err)
		}
	}
	if _, err := choiceOf(v); err != nil {
		return err
	}
	if o, ok := bound.options.(targeter); ok {
		if err := o.checkTargets(); err != nil {
			return err
		}
	}
	n := 0
	for _, f := range targeting {
		if v.has(f) {
			n++
		}
	}
	switch {
	case n > 1:
		return usagef("Only one targeting option can be specified: '--targets', '--rerun', or '--query'")
	case c.targets && !v.named():
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'"),
			"--where suffices too: it chooses among all targets of the inventory")
	case v.has("inventoryfile") && inventoryInEnv:
		return usagef("Cannot pass inventory file when BOLT_INVENTORY is set")
	}
	if o, ok := bound.options.(checker); ok {
		if err := o.check(); err != nil {
			return err
		}
	}
	if v.has("timeout") {
		if _, err := parseTimeout(v.last("timeout")); err != nil {
			return hinted(usagef("Invalid parameter specified for option '--timeout': %s", v.last("timeout")),
				"give seconds (30, 0.5) or a unit (90s, 5m, 1h)")
		}
	}
	if _, percent := percentOf(v.last("concurrency")); percent && !slices.Contains(c.Lists, onRolling) {
		return hinted(usagef("Invalid parameter specified for option '--concurrency': %s", v.last("concurrency")),
			"a percentage is possible only when %s: give a number of targets", occasions()[onRolling])
	}
	if _, err := limitsOf(v); err != nil {
		return err
	}
	return checkFormat(p, c, bound.options, v)
}

// targeting are the flags of which one names targets.
var targeting = []string{"targets", "query", "rerun"}

// named reports whether the flags name targets.
func (v flagValues) named() bool { return slices.ContainsFunc(targeting, v.has) || v.has("where") }

// lookupOptions are those of lookup.
type lookupOptions struct {
	key             string
	variables       []string // NAME=VALUE
	planned         bool     // as a plan does, for no target
	explain         bool
	explainOptions  bool
	named, choosing bool
	results         resultOptions
}

func (o *lookupOptions) bind(b *cli.Binder) {
	b.Arg(&o.key)
	b.Rest(1, &o.variables)
	b.Switch("plan-hierarchy", &o.planned)
	b.Switch("explain", &o.explain)
	b.Switch("explain-options", &o.explainOptions)
	v := flagValues(b.Given())
	o.named, o.choosing = v.named(), choosing(v)
	o.results.verbose = true
	o.results.bind(b)
}

func (o *lookupOptions) check() error { return o.results.check() }

func (o *lookupOptions) checkTargets() error {
	switch {
	case o.planned && (o.named || o.choosing):
		return usagef("The 'lookup' command accepts either targeting option OR --plan-hierarchy.")
	case o.planned && o.results.folds() != "":
		return usagef("Options '%s' and '--plan-hierarchy' contradict each other: a lookup without targets has a single result", o.results.folds())
	case !o.named && !o.planned:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --plan-hierarchy"),
			"--targets (-t) says for which targets the key is looked up; --plan-hierarchy looks it up once, as a plan does")
	}
	return nil
}

// formats are those of a list with --plan-hierarchy: one value is no stream of events.
func (o *lookupOptions) formats(all []string) ([]string, string) {
	if o.planned {
		return listFormats, "with --plan-hierarchy there is one answer, and no stream of events: --format json prints it"
	}
	return all, ""
}

// formatsOf are the values of --format that a command has with its options, and a
// hint for those that it does not have because of them.
func formatsOf(c *command, options any) (formats []string, hint string) {
	if o, ok := options.(narrower); ok {
		return o.formats(c.Formats)
	}
	return c.Formats, ""
}

// checkFormat refuses a format that a command does not have, in Bolt's words.
// The error lists only Bolt's formats. The hint names further formats, or another
// option of the command that has this value.
func checkFormat(p *cli.Program, c *command, options any, v flagValues) error {
	formats, hint := formatsOf(c, options)
	f := v.last("format")
	if !v.has("format") || slices.Contains(formats, f) {
		return nil
	}
	bolts := slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == ndjson })
	err := usagef("Invalid configuration at command line:\n  Value at 'format' must be one of %s", strings.Join(bolts, ", "))
	if hint != "" && slices.Contains(c.Formats, f) {
		return hinted(err, "%s", hint)
	}
	for i := range p.Flags {
		other := &p.Flags[i]
		if other.Name != "format" && other.Section == secDisplay && c.Takes(other) && slices.Contains(other.Values, f) {
			return hinted(err, "use --%s %s", other.Name, f)
		}
	}
	if len(bolts) < len(formats) {
		return hinted(err, "another one is %s: one event a line, as it happens", ndjson)
	}
	return err
}

// parseCount reads a whole number as Ruby's optparse does: decimal, 0x…, 0….
func parseCount(s string) (int, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 32)
	return int(n), err
}

// parseTimeout reads a number of seconds, or a duration with units.
func parseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseFloat(s, 64); nerr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not positive", s)
	}
	return d, err
}

// withoutComments takes comments out of a list of targets: what follows a "#"
// at the beginning of a word, to the end of the line.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for i := range line {
			if line[i] == '#' && (i == 0 || strings.ContainsRune(" \t,", rune(line[i-1]))) {
				line = line[:i] + "\n"
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
