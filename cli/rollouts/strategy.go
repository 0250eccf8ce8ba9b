package rollouts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/output/layout"
	"bolt/rollout/ledger"
)

// strategyActions are what rollout strategy can do.
var strategyActions = []string{"check", "new"}

// StrategyOptions are those of rollout strategy.
type StrategyOptions struct{ action, file string }

// Bind reads the arguments.
func (o *StrategyOptions) Bind(b *cli.Binder) {
	b.Arg(&o.action)
	b.Second(&o.file)
}

// StrategyArguments is the Check of rollout strategy.
func StrategyArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Expected an action of the form 'bolt rollout strategy <action> FILE'"), "the action is new or check")
	case !slices.Contains(strategyActions, args[0]):
		return cli.Hinted(cli.Errorf("Expected action '%s' to be one of check, new", args[0]), "bolt rollout strategy new FILE writes a strategy, check reads one")
	case len(args) == 1:
		return cli.Errorf("Must specify a strategy file")
	case len(args) > 2:
		return cli.Errorf("Unknown argument '%s'", args[2])
	}
	return nil
}

// CompleteStrategy completes the actions of rollout strategy.
func CompleteStrategy(_ context.Context, q cli.Query) cli.Completions {
	return cli.Named([]cli.Word{{Text: "check", About: "check a strategy file"}, {Text: "new", About: "write a new strategy file"}}, q.Prefix)
}

// example is the file that "rollout strategy new" writes.
const example = `# A strategy: how a rollout brings a release to nodes. "bolt rollout strategy check" checks this file.
# kind: check                               # only report what would change
strategy:
  waves:
    - {name: canary, count: 1, soak: 10m}   # one node, then 10 minutes of observation
    - {percent: 25, soak: 10m}              # a quarter of all nodes
    - {rest: true}                          # all others
  concurrency: {max: 20}                    # at most 20 nodes at the same time
  failures: {percent: 5}                    # more than 5 % of failures stop the rollout
  node: {timeout: 20m, retries: 1, retry_on: [unreachable, lost]}
  on_failure: pause                         # or: abort, rollback
# A gate is a check. It must succeed after each wave.
# gates:
#   - {name: health, at: [wave], http: {url: 'http://{{host}}/health'}, count: 3, interval: 10s}
# windows:
#   - {days: mon-thu, from: '09:00', to: '16:00', tz: Europe/Berlin}
# approvals: {before: [rest], need: 1}
`

// Strategy carries out rollout strategy.
func (v *Invocation) Strategy(ctx context.Context, o *StrategyOptions) error {
	if o.action == "new" {
		f, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return fault.New(ledger.Kind, "The file '%s' exists already", o.file)
		}
		if err == nil {
			_, err = f.WriteString(example)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fault.File(o.file, err, "The strategy file '%s' could not be written: %v", o.file, fault.WithoutPath(err))
		}
		return v.done("Wrote the strategy file %s", o.file)
	}
	st, text, err := readStrategy(ctx, o.file)
	if err == nil && v.Found {
		err = v.checkUses(ctx, o.file, text, st, false)
	}
	if err != nil {
		return err
	}
	if v.Format.Data {
		return layout.WriteDocument(v.Out, map[string]any{"file": o.file, "digest": st.Digest(), "waves": len(st.Rules.Waves), "gates": len(st.Gates)})
	}
	return v.say("%s: %s, %s. Its digest is %s.", o.file, layout.Plural(len(st.Rules.Waves), "wave"), layout.Plural(len(st.Gates), "gate"), st.Digest())
}

// done prints a sentence about what was done.
func (v *Invocation) done(format string, args ...any) error {
	if v.Format.Data {
		_, err := fmt.Fprintf(v.Console, format+"\n", args...)
		return err
	}
	return v.say(format, args...)
}
