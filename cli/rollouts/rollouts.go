// Package rollouts carries out the commands that plan, start, drive, steer and show rollouts, and reads their
// options. Each command has a struct of options and a method of Invocation.
//
// Mistakes of the user are *cli.UsageError. If the user stops bolt, the error is run.ErrStopped, unless the
// command drives a rollout: then the rollout is paused, and the error is cli.ErrWaits.
package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"bolt/apply/fleet"
	"bolt/catalog/seal"
	"bolt/cli"
	"bolt/cli/planning"
	"bolt/cli/running"
	"bolt/cli/tasking"
	"bolt/format/fault"
	"bolt/internal/logging"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/release"
	"bolt/release/signature"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/rollout/webhook"
	"bolt/run"
	"bolt/store"
	"bolt/store/files"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out     io.Writer
	Console io.Writer
	Format  layout.Format
	Color   bool
	Logs    *logging.Log
	Version string
	Project string // the directory
	Found   bool   // the project is the user's choice, not the default for a directory without one
	State   string // the directory of releases and rollouts, if --state is not given
	User    string // for approvals and other commands
	Host    string
	Vault   seal.Vault
	Signers string // a file of allowed signers; "" if releases need no signature

	Running *running.Invocation // with the project's configuration and inventory
	Tasks   *tasking.Invocation
	Plans   *planning.Invocation
	// Delivery has the settings of all helpers: Dir, Setting, and By.
	Delivery fleet.Delivery
	// Fullscreen opens the whole terminal; nil if standard output is not a terminal that can show it.
	Fullscreen func(ctx context.Context) (*fullscreen.Screen, error)
	// Keeper returns the keeper of reports in a state directory; nil if none are kept.
	Keeper func(state string) *fleet.Keeper
}

// StateOptions is the option of all commands of rollouts.
type StateOptions struct{ state string }

// Bind reads the flag.
func (o *StateOptions) Bind(b *cli.Binder) { b.Text("state", &o.state) }

// book is an open store.
type book struct {
	store    *files.Store
	ledger   *ledger.Ledger
	releases *release.Archive
	webhooks *webhook.Deliverer // nil if no webhook gets events
}

func (v *Invocation) open(ctx context.Context, o *StateOptions) (*book, error) {
	s, err := files.Open(ctx, cmp.Or(o.state, v.State))
	if err != nil {
		return nil, failed(err)
	}
	return &book{store: s, ledger: v.ledger(s), releases: release.In(s)}, nil
}

// ledger returns the rollouts of a store. It warns once about each damaged log.
func (v *Invocation) ledger(s *files.Store) *ledger.Ledger {
	l := ledger.In(s)
	l.Warn = func(id string, damage error) {
		v.Logs.WarnEach("rollout_log", fmt.Sprintf("The rollout %s is left out, because its log cannot be read: %v. Hint: %s", id, damage, restoreHint))
	}
	return l
}

// restoreHint is the next step after damage of a log.
const restoreHint = "restore the file from a backup. If its rollout has ended, you can move the file away. bolt then does not know the releases that this rollout has left on its nodes"

// failed is an error for the user.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*fault.Error](err); is || errors.Is(err, run.ErrStopped) {
		return err
	}
	if _, is := errors.AsType[*cli.UsageError](err); is {
		return err
	}
	if held, is := errors.AsType[*store.HeldError](err); is {
		return &fault.Error{
			Kind: ledger.Kind, Err: err, Msg: fmt.Sprintf("The rollout is driven by another process: %s", held.Holder),
			Hint: "'bolt rollout watch' shows it. 'bolt rollout pause' lets it end",
		}
	}
	e := &fault.Error{Kind: ledger.Kind, Msg: fmt.Sprintf("The rollout: %v", err), Err: err}
	if damaged, is := errors.AsType[*store.DamagedError](err); is && damaged.Line > 0 {
		e.Hint = restoreHint
	}
	return e
}

// RolloutOptions are those of commands on one rollout.
type RolloutOptions struct {
	StateOptions
	rollout string
}

// Bind reads the flags and arguments.
func (o *RolloutOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Arg(&o.rollout)
}

// CommandOptions are those of commands that change a rollout.
type CommandOptions struct {
	RolloutOptions
	reason string
}

// Bind reads the flags and arguments.
func (o *CommandOptions) Bind(b *cli.Binder) {
	o.RolloutOptions.Bind(b)
	b.Text("reason", &o.reason)
}

// Complete completes the names of rollouts.
func (v *Invocation) Complete(ctx context.Context, q cli.Query) cli.Completions {
	var o StateOptions
	o.Bind(cli.NewBinder(q.Given, nil))
	b, err := v.open(ctx, &o)
	if err != nil {
		return cli.Completions{}
	}
	ids, err := b.ledger.IDs(ctx)
	if err != nil {
		return cli.Completions{}
	}
	slices.Reverse(ids)
	var words []cli.Word
	for _, id := range ids {
		words = append(words, cli.Word{Text: id})
	}
	return cli.Named(words, q.Prefix)
}

// holder names this process for people.
func (v *Invocation) holder() string {
	return fmt.Sprintf("%s@%s (process %d)", v.User, v.Host, os.Getpid())
}

// signers reads the allowed signers; nil if releases need no signature.
func (v *Invocation) signers(ctx context.Context) (*signature.Signers, error) {
	if v.Signers == "" {
		return nil, nil
	}
	s, err := signature.ReadSigners(ctx, v.Signers)
	if err != nil {
		return nil, fault.File(v.Signers, err, "The allowed signers could not be read: %v", err)
	}
	return s, nil
}

// readStrategy reads a strategy file, and also returns its text. Without a file, all nodes are one wave.
func readStrategy(ctx context.Context, path string) (*strategy.Strategy, []byte, error) {
	if path == "" {
		s := strategy.Default()
		return &s, nil, nil
	}
	text, err := readfile.Read(ctx, path, readfile.Config)
	if err != nil {
		return nil, nil, fault.File(path, err, "The strategy file '%s' could not be read: %v", path, fault.WithoutPath(err))
	}
	s, err := strategy.Read(text, filepath.Base(path))
	if err != nil {
		return nil, nil, fault.File(path, err, "The strategy file '%s' has mistakes:\n%v", path, err)
	}
	return s, text, checkConditions(path, text, s)
}

// say prints a line for people.
func (v *Invocation) say(format string, args ...any) error {
	_, err := fmt.Fprintln(v.Out, safetext.TerminalString(fmt.Sprintf(format, args...)))
	return err
}
