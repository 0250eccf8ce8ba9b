package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/project"
	"bolt/run"
)

// The words of each command that are no flags, checked before any file is
// read.

func wordsOfCommand(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("Must specify a command to run")
	}
	return hinted(noWords(args[1:]), "the command is one word: put it in quotes")
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

// noWordsButTargets is noWords for commands that people give names of targets.
func noWordsButTargets(args []string) error {
	return hinted(noWords(args), "name targets with --targets (-t)")
}

func noWords(args []string) error {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return usagef("Unknown argument %s", args[0])
	}
	return usagef("Unknown arguments %s", strings.Join(args, ", "))
}

// checkFlags looks for flags that contradict each other or the command.
//
// A flag that means nothing to the command is refused, unless it is one of
// Puppet Bolt's at one of Bolt's commands: Bolt accepts these everywhere, and
// scripts rest on that.
func checkFlags(c command, v flagValues, inventoryInEnv bool) error {
	for _, f := range flagTable() {
		if v.has(f.name) && !c.takes(f) && (f.strict || c.ours()) {
			return usagef("Option '--%s' can only be specified when %s", f.name, occasions[f.on])
		}
	}
	if v.has("older-than") {
		if _, err := project.ParseAge(v.last("older-than")); err != nil {
			return usagef("Invalid parameter specified for option '--older-than': %v", err)
		}
	}
	for _, kv := range v["env-var"] {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsAny(name, " \t\n\x00'\"$`;&|<>()") {
			return usagef("Environment variables must be specified using 'myenvvar=key' format")
		}
	}
	lookup := c.name == lookupCommand
	planned := lookup && v.on("plan-hierarchy", false)
	_, err := choiceOf(v)
	fold, folds := v.folds()
	n := 0
	for _, f := range []string{"targets", "query", "rerun"} {
		if v.has(f) {
			n++
		}
	}
	named := n > 0 || v.has("where")
	switch {
	case err != nil:
		return err
	case planned && (named || choosing(v)):
		return usagef("The 'lookup' command accepts either targeting option OR --plan-hierarchy.")
	case planned && folds:
		return usagef("Options '%s' and '--plan-hierarchy' contradict each other: a lookup without targets has a single result", fold)
	case n > 1:
		return usagef("Only one targeting option can be specified: '--targets', '--rerun', or '--query'")
	case !named && lookup && !planned:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --plan-hierarchy"),
			"--targets (-t) says for which targets the key is looked up; --plan-hierarchy looks it up once, as a plan does")
	case !named && c.targets && !planned:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'"),
			"--where suffices too: it chooses among all targets of the inventory")
	case !named && choosing(v) && c.name == planRun:
		return hinted(usagef("Options such as '--limit' need targets of which they leave some"), "name them with --targets (-t), or with --where among all of the inventory")
	case v.has("inventoryfile") && inventoryInEnv:
		return usagef("Cannot pass inventory file when BOLT_INVENTORY is set")
	case v.has("output-dir") && v.last("output-dir") == "":
		return usagef("Option '--output-dir' must name a directory")
	case folds && v.on("stream", false):
		return usagef("Options '%s' and '--stream' contradict each other: %[1]s prints when all targets have ended, --stream at once", fold)
	}
	if v.has("timeout") {
		if _, err := parseTimeout(v.last("timeout")); err != nil {
			return hinted(usagef("Invalid parameter specified for option '--timeout': %s", v.last("timeout")),
				"give seconds (30, 0.5) or a unit (90s, 5m, 1h)")
		}
	}
	if _, err := rollingOf(v); err != nil {
		return err
	}
	if _, percent := percentOf(v.last("concurrency")); percent && !slices.Contains(c.lists, onRolling) {
		return hinted(usagef("Invalid parameter specified for option '--concurrency': %s", v.last("concurrency")),
			"a percentage is possible only when %s: give a number of targets", occasions[onRolling])
	}
	if _, err := limitsOf(v); err != nil {
		return err
	}
	err = c.checkFormat(v)
	if err != nil && planned && v.last("format") == ndjson {
		return hinted(err, "with --plan-hierarchy there is one answer, and no stream of events: --format json prints it")
	}
	return err
}

// formatsWith are the values of --format that a command has with these flags.
func (c *command) formatsWith(v flagValues) []string {
	if c.name == lookupCommand && v.on("plan-hierarchy", false) {
		return listFormats // one value is no stream of events
	}
	return c.formats
}

// checkFormat refuses a format that a command does not have, in Bolt's words.
// The error lists only Bolt's formats. The hint names further formats, or another
// option of the command that has this value.
func (c *command) checkFormat(v flagValues) error {
	formats := c.formatsWith(v)
	f := v.last("format")
	if !v.has("format") || slices.Contains(formats, f) {
		return nil
	}
	bolts := slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == ndjson })
	err := usagef("Invalid configuration at command line:\n  Value at 'format' must be one of %s", strings.Join(bolts, ", "))
	for _, other := range flagTable() {
		if other.name != "format" && other.section == secDisplay && c.takes(other) && slices.Contains(other.values, f) {
			return hinted(err, "use --%s %s", other.name, f)
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

// readArg returns arg, or what it stands for: "@FILE" the text of a file, "-"
// that of standard input.
func (a *app) readArg(ctx context.Context, arg string) (string, error) {
	switch {
	case arg == "-":
		text, err := a.readInput(ctx, readfile.Payload)
		if _, usage := errors.AsType[*usageError](err); usage {
			return "", err
		}
		if errors.Is(err, run.ErrStopped) {
			return "", errPrinted // who stopped it knows
		}
		if err != nil {
			return "", &fault.Error{Kind: "bolt/file-error", Msg: fmt.Sprintf("Error attempting to read standard input: %v", err)}
		}
		return string(text), nil
	case strings.HasPrefix(arg, "@"):
		text, err := readfile.Read(ctx, arg[1:], readfile.Payload)
		if errors.Is(err, run.ErrStopped) {
			return "", errPrinted
		}
		if err != nil {
			return "", usagef("Error attempting to read %s: %v", arg[1:], fault.WithoutPath(err))
		}
		return string(text), nil
	}
	return arg, nil
}

// readInput reads standard input whole, which can be done once. It returns
// run.ErrStopped when ctx ends the wait.
func (a *app) readInput(ctx context.Context, limit int64) ([]byte, error) {
	if a.stdinRead {
		return nil, usagef("Standard input ('-') can be read only once")
	}
	a.stdinRead = true
	in, stop, err := readfile.Wakeable(ctx, a.sys.in)
	if err != nil {
		return nil, err
	}
	defer stop()
	return readfile.Whole(ctx, in, limit)
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
