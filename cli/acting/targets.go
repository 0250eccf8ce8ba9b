package acting

import (
	"context"
	"io"
	"strconv"
	"strings"

	"bolt/cli"
	"bolt/inventory"
	"bolt/inventory/choose"
	"bolt/inventory/match"
)

// The values of --when-empty.
const (
	EmptyOK   = "ok"
	EmptyFail = "fail"
)

// Targets are the options that name targets, and select from them.
type Targets struct {
	Names               []string // nil without --targets
	Query, Rerun, Where cli.Optional

	limit, limitSeed, atLeast, ifEmpty cli.Optional
}

// Bind reads the flags.
func (o *Targets) Bind(b *cli.Binder) {
	b.Texts("targets", &o.Names)
	b.Optional("query", &o.Query)
	b.Optional("rerun", &o.Rerun)
	b.Optional("where", &o.Where)
	b.Optional("limit", &o.limit)
	b.Optional("limit-seed", &o.limitSeed)
	b.Optional("at-least", &o.atLeast)
	b.Optional("when-empty", &o.ifEmpty)
}

// Named reports whether the options name targets. With --where alone, these are all
// targets, from which --where selects.
func (o *Targets) Named() bool { return o.Ways() > 0 || o.Where.Given }

// Ways returns the number of given options that name targets. Only one of them is
// allowed.
func (o *Targets) Ways() int {
	n := 0
	for _, given := range []bool{o.Names != nil, o.Query.Given, o.Rerun.Given} {
		if given {
			n++
		}
	}
	return n
}

// Choosing reports whether the options select from the named targets.
func (o *Targets) Choosing() bool {
	return o.Where.Given || o.limit.Given || o.limitSeed.Given || o.atLeast.Given || o.ifEmpty.Given
}

// Words returns the values of --targets. read returns the text of a value, which can be
// the text of a file; comments are removed from the text of a file.
func (o *Targets) Words(ctx context.Context, read func(ctx context.Context, arg string) (string, error)) ([]string, error) {
	var words []string
	for _, t := range o.Names {
		text, err := read(ctx, t)
		if err != nil {
			return nil, err
		}
		if text != t {
			text = withoutComments(text)
		}
		words = append(words, text)
	}
	return words, nil
}

// withoutComments removes comments from a list of targets: from a "#" at the
// beginning of a word to the end of the line.
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

// Choose returns the targets that the options select. It passes warnings to warn and
// writes messages to say.
func (o *Targets) Choose(ctx context.Context, inv *inventory.Inventory, targets []*inventory.Target, warn func(id, text string), say io.Writer) ([]*inventory.Target, error) {
	c, err := o.choice()
	if err != nil {
		return nil, err
	}
	return c.From(ctx, inv, targets, choose.Options{Warn: warn, Say: say})
}

// Check rejects invalid values.
func (o *Targets) Check() error {
	_, err := o.choice()
	return err
}

// choice returns the selection of the options.
func (o *Targets) choice() (*choose.Choice, error) {
	c := &choose.Choice{Seed: o.limitSeed.Text}
	var err error
	if o.Where.Given {
		if c.Where, err = match.Parse(o.Where.Text); err != nil {
			return nil, cli.Errorf("Invalid parameter specified for option '--where': %v", err)
		}
	}
	if o.limit.Given {
		var ok bool
		if c.Limit, ok = choose.ParseLimit(o.limit.Text); !ok {
			return nil, cli.Hinted(cli.Invalid("limit", o.limit.Text), "give a number of targets from 1, or percents from 1%% to 100%%")
		}
	}
	switch {
	case !o.limitSeed.Given:
	case !o.limit.Given:
		return nil, cli.Errorf("Option '--limit-seed' can only be specified with '--limit'")
	case c.Seed == "":
		return nil, cli.Hinted(cli.Invalid("limit-seed", ""), "give any text; without the option the choice is random")
	}
	if o.atLeast.Given {
		if c.AtLeast, err = strconv.Atoi(o.atLeast.Text); err != nil || c.AtLeast < 1 {
			return nil, cli.Hinted(cli.Invalid("at-least", o.atLeast.Text), "give a number of targets from 1")
		}
	}
	if o.ifEmpty.Given {
		c.FailEmpty = o.ifEmpty.Text == EmptyFail
		if !c.FailEmpty && o.ifEmpty.Text != EmptyOK {
			return nil, cli.Hinted(cli.Invalid("when-empty", o.ifEmpty.Text), "it can be %s or %s", EmptyFail, EmptyOK)
		}
	}
	return c, nil
}

// CompleteWhere completes the end of the expression of --where.
func CompleteWhere(_ context.Context, q cli.Query) cli.Completions {
	c := cli.Texts(match.Continuations(q.Prefix)...)
	c.NoSpace = true
	return c
}
