// Package serve is the helper on a machine: it answers one request of bolt with frames.
//
// Apply applies a catalog. It holds the lock of the node while it works, and keeps a journal in
// the state directory. If the reader of its output is gone, or a signal or Asked stops it, it
// finishes the present resources, skips the rest, and records this in the journal.
//
// The caller gives it the streams, the environment, and channels for signals.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"

	"bolt/apply/facts"
	"bolt/apply/frame"
	"bolt/apply/resource"
	"bolt/apply/runlog"
	"bolt/internal/appendfile"
	"bolt/internal/ownfile"
)

// A Machine has the properties of the machine and of the helper.
type Machine struct {
	Dir   string                   // state directory
	Build string                   // of the helper
	Types map[string]resource.Type // that can be applied
	// Renew returns the Types for one check of a watch, because types remember the states that they have read. nil uses Types.
	Renew func() map[string]resource.Type
	Env   []string // of programs that types run
	// Guard are the first words of a command that calls Guard.Hold with the words behind them. nil:
	// programs that must not be interrupted run without a guard.
	Guard []string
	// Lost is closed when the reader of the output is gone, Signal when a signal asks the helper to end.
	Lost, Signal <-chan struct{}
	// Boot is the boot ID; "" for that of the kernel.
	Boot string
}

// Exit codes of the helper.
const (
	ExitOK      = 0
	ExitFailed  = 1 // resources failed, or the run was stopped
	ExitRefused = 2 // nothing was changed
	ExitNeed    = 3 // the helper lacks contents; nothing was changed
)

// types returns the types for one application of a catalog.
func (m *Machine) types() map[string]resource.Type {
	if m.Renew != nil {
		return m.Renew()
	}
	return m.Types
}

func (m *Machine) boot() string {
	if m.Boot != "" {
		return m.Boot
	}
	return appendfile.BootID()
}

// A Request is a run of Apply.
type Request struct {
	Run, Node string
	Catalog   string // SHA-256 of the catalog; "" if it has secrets
	Seq       int64
	By        string // the user for whom it runs; "" for the one of the helper
	Noop      bool
	Tags      []string
	SkipTags  []string
	Workers   int
	Sema      int // resources that are applied at a time; 0 for no limit
	Diffs     bool
	Engine    string // EnginePuppet, or "" for package apply
	Plugins   string // SHA-256 of the package of plugins (package plugins) for EnginePuppet; "" for none
	Continue  bool   // go on to the end without a reader, and after a signal, but not after Asked with a stop
	Release   string // digest of the release to which the catalog belongs; "" for none
	// Expected is the digest of the release that the node must have, unless it has Release; "" accepts each.
	// A run in noop mode only reports another one.
	Expected string
}

// EnginePuppet applies a catalog with the Puppet that is installed on the machine (package agent).
const EnginePuppet = "puppet"

// Apply applies a catalog, and returns the exit code of the helper. in has a bundle, or nothing.
func (m *Machine) Apply(ctx context.Context, q *Request, in io.Reader, out io.Writer) int {
	s := m.answer(out, q.Run, q.Node)
	defer s.close()
	code, err := m.apply(ctx, q, in, s)
	if err != nil {
		s.message(frame.TypeDone, &frame.Done{Refused: refusal(err)})
		return ExitRefused
	}
	return code
}

// answer begins the answer to a request.
func (m *Machine) answer(out io.Writer, run, node string) *sender {
	return newSender(out, m.Lost, &frame.Hello{Protocol: frame.Protocol, Build: m.Build, Run: run, Node: node, Boot: m.boot(), Dir: m.Dir})
}

// Asked writes the fate of a run. If stop is set, it requests the end of the run first.
func (m *Machine) Asked(run string, stop bool, out io.Writer) int {
	s := m.answer(out, run, "")
	defer s.close()
	var fate *frame.Fate
	dir, err := runlog.Open(m.Dir)
	if err == nil && stop {
		err = dir.Stop(run)
	}
	if err == nil {
		fate, err = dir.Fate(run, m.boot())
	}
	if err == nil && stop && (fate.State == frame.StateEnded || fate.State == frame.StateBroken) {
		dir.Stopped(run)
	}
	if err != nil {
		s.message(frame.TypeDone, &frame.Done{Refused: refusal(err)})
		return ExitRefused
	}
	if err := s.message(frame.TypeFate, fate); err != nil {
		s.message(frame.TypeDone, &frame.Done{Error: "the fate of the run: " + err.Error()})
		return ExitFailed
	}
	return ExitOK
}

// Facts answers with the facts of the machine.
func (m *Machine) Facts(ctx context.Context, run string, out io.Writer) int {
	s := m.answer(out, run, "")
	defer s.close()
	answer := &frame.Facts{}
	answer.Facts = facts.Collect(ctx, facts.Options{Env: m.Env, Note: func(fact string, err error) {
		answer.Notes = append(answer.Notes, frame.Note{Fact: fact, Reason: err.Error()})
	}})
	if err := s.message(frame.TypeFacts, answer); err != nil {
		s.message(frame.TypeDone, &frame.Done{Error: "facts: " + err.Error()})
		return ExitFailed
	}
	return ExitOK
}

// State answers with the states of resources of a type: the one of a name, or all for "".
func (m *Machine) State(ctx context.Context, run, typ, name string, out io.Writer) int {
	s := m.answer(out, run, "")
	defer s.close()
	h := resource.NewHost()
	h.Env = m.Env
	answer := &frame.States{}
	t := m.Types[typ]
	err := fmt.Errorf("bolt does not have the type %s", strings.ToLower(typ))
	if t != nil {
		var list []*resource.Resource
		list, err = resource.Show(ctx, t, h, typ, name)
		for _, r := range list {
			answer.Resources = append(answer.Resources, frame.Shown{Title: r.Title, Params: r.Params})
		}
	}
	if err == nil {
		err = s.message(frame.TypeState, answer)
	}
	if err != nil {
		s.message(frame.TypeDone, &frame.Done{Error: err.Error()})
		return ExitFailed
	}
	return ExitOK
}

// refused is an error that ends a run before it begins.
type refused struct {
	kind frame.Kind
	err  error
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

// refusal returns an error as the controller gets it.
func refusal(err error) *frame.Refusal {
	r := &frame.Refusal{Kind: frame.KindState}
	if e, is := errors.AsType[*refused](err); is {
		r.Kind = e.kind
	}
	if e, is := errors.AsType[*runlog.BusyError](err); is {
		r.Kind, r.Holder = frame.KindBusy, e.Holder
	}
	if e, is := errors.AsType[*runlog.StaleError](err); is {
		r.Kind, r.Seq = frame.KindStale, e.Highest
	}
	if _, is := errors.AsType[*runlog.DriftError](err); is {
		r.Kind = frame.KindDrifted
	}
	switch {
	case errors.Is(err, runlog.ErrTwice):
		r.Kind = frame.KindTwice
	case errors.Is(err, ownfile.ErrLink), errors.Is(err, ownfile.ErrDirectory), errors.Is(err, ownfile.ErrNotRegular):
		r.Kind = frame.KindFile
	}
	size := 0
	for _, e := range parts(err) {
		text := e.Error()
		if size += len(text); size > maxMessages {
			r.Messages = append(r.Messages, "There are more mistakes.")
			break
		}
		r.Messages = append(r.Messages, text)
	}
	return r
}

// maxMessages bounds the text of a refusal. JSON can write each byte of it as six, and all of them fit in a frame.
const maxMessages = 128 << 10

// parts takes joined errors apart.
func parts(err error) []error {
	if r, is := err.(*refused); is {
		err = r.err
	}
	if j, is := err.(interface{ Unwrap() []error }); is {
		var list []error
		for _, e := range j.Unwrap() {
			list = append(list, parts(e)...)
		}
		return list
	}
	return []error{err}
}

// maxBy is the length that the name of a user can have.
const maxBy = 256

// by returns the user for whom a run works.
func (q *Request) by() string {
	if q.By != "" {
		return q.By[:min(len(q.By), maxBy)]
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
