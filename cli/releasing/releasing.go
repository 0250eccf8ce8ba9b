// Package releasing carries out the commands that create, show, preview, sign, move and remove releases, and
// reads their options. Each command has a struct of options and a method of Invocation.
//
// Mistakes of the user are *cli.UsageError. If the user stops bolt, the error is
// run.ErrStopped.
package releasing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bolt/apply/fleet"
	"bolt/catalog/seal"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/catalogs"
	"bolt/event"
	"bolt/format/fault"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/release"
	"bolt/release/signature"
	"bolt/run"
	"bolt/store/files"
)

// Dir is the directory of a project in which releases and rollouts are stored.
const Dir = ".bolt-state"

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out     io.Writer
	How     listing.Options
	Logs    *logging.Log
	Project string   // the directory
	State   string   // the directory of releases, if --state is not given
	Author  string   // USER@HOST
	Environ []string // of git
	Vault   seal.Vault
	// Signers is the file of the setting releases.allowed-signers; "" if it is not set.
	Signers  string
	Agent    string // the socket of the ssh-agent; "" for none
	Ask      func(ctx context.Context, question string) (string, error)
	Catalogs *catalogs.Invocation

	// The other parts are for release preview only. Targets finds the targets that options name.
	Targets func(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error)
	Version string // of bolt
	// Delivery has the settings of all helpers: Dir, Setting, Diffs and By.
	Delivery fleet.Delivery
	Redact   func(text string) string // without the secrets of the configuration
	// Act performs an action on targets, at most concurrency at a time, with a line of progress. sink gets the events one
	// at a time, and prints.
	Act func(ctx context.Context, concurrency string, targets []*inventory.Target, action run.Action, sink event.Sink) error
}

// StateOptions is the option of all commands of releases.
type StateOptions struct{ state string }

// Bind reads the flag.
func (o *StateOptions) Bind(b *cli.Binder) { b.Text("state", &o.state) }

// dir returns the directory of releases.
func (v *Invocation) dir(o *StateOptions) string { return cmp.Or(o.state, v.State) }

func (v *Invocation) archive(ctx context.Context, o *StateOptions) (*release.Archive, error) {
	s, err := files.Open(ctx, v.dir(o))
	if err != nil {
		return nil, failed(err)
	}
	return release.In(s), nil
}

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
	return &fault.Error{Kind: release.Kind, Msg: fmt.Sprintf("The releases: %v", err), Err: err}
}

// find returns the release that an argument names; the last one without an argument.
func (v *Invocation) find(ctx context.Context, o *StateOptions, name string) (*release.Archive, release.Entry, *release.Release, error) {
	a, err := v.archive(ctx, o)
	if err != nil {
		return nil, release.Entry{}, nil, err
	}
	e, err := a.Find(ctx, cmp.Or(name, release.Last))
	if err != nil {
		return nil, e, nil, failed(err)
	}
	r, err := a.Get(ctx, e.ID)
	return a, e, r, failed(err)
}

// signers reads the allowed signers of an option or of the setting; nil for none.
func (v *Invocation) signers(ctx context.Context, option string) (*signature.Signers, error) {
	file := cmp.Or(option, v.Signers)
	if file == "" {
		return nil, nil
	}
	s, err := signature.ReadSigners(ctx, file)
	if err != nil {
		return nil, fault.File(file, err, "The allowed signers could not be read: %v", err)
	}
	return s, nil
}

// described returns a release with its signatures. s can be nil.
func described(e release.Entry, r *release.Release, s *signature.Signers) *listing.Release {
	d := &listing.Release{Release: r, Imported: e.Imported}
	for _, text := range e.Signatures {
		var signer listing.Signer
		var err error
		if signer.Key, err = signature.Check(text, r.Text, release.Namespace); err != nil {
			signer.Problem = err.Error()
		} else if s != nil {
			if signer.Principals, err = s.Verify(text, r.Text, release.Namespace, time.Now()); err != nil {
				signer.Problem = err.Error()
			}
		}
		d.Signers = append(d.Signers, signer)
	}
	return d
}

// Complete completes the names of releases.
func (v *Invocation) Complete(ctx context.Context, q cli.Query) cli.Completions {
	var o StateOptions
	o.Bind(cli.NewBinder(q.Given, nil))
	a, err := v.archive(ctx, &o)
	if err != nil {
		return cli.Completions{}
	}
	list, err := a.List(ctx)
	if err != nil {
		return cli.Completions{}
	}
	words := []cli.Word{{Text: release.Last, About: "the newest release"}}
	for _, e := range list {
		words = append(words, cli.Word{Text: fmt.Sprint(e.Sequence), About: release.Short(e.ID)})
	}
	return cli.Named(words, q.Prefix)
}
