// Package remote applies a catalog on a machine that a transport.Conn reaches, and collects its facts.
//
// It starts the helper there, and copies it first if it is missing. The helper requests the data that
// it lacks. So an apply runs at most two commands. It runs only one command if the machine already has the
// catalog. The catalog and the contents of files travel on standard input; the results come as frames (package
// frame) on standard output.
//
// Nothing that the machine sends is trusted. The resources must be the resources of the catalog, each once, and
// the size of all output is bounded.
package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bolt/apply/bundle"
	"bolt/apply/frame"
	"bolt/apply/remote/embedded"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/internal/safetext"
	"bolt/transport"
)

// A Target describes where and how the helper runs.
type Target struct {
	Helpers *embedded.Set
	Label   string // names the machine in messages
	RunAs   transport.RunAs
	TmpDir  string // for copies on their way
	// Dir is the state directory; "" for /var/lib/bolt, or .cache/bolt in the home directory
	// of a user other than root. A relative path is below the directory in which sessions start. DirSetting is the name of the setting for it, for hints.
	Dir        string
	DirSetting string
	// MaxOutput is the number of bytes that one run can print; 0 for 512 MiB.
	MaxOutput int64
}

// A Job is a catalog to apply.
type Job struct {
	Catalog *catalog.Catalog
	Node    string // the name of the machine, which the catalog must have
	// Run is the ID of the run, which Asked takes; "" for a new run.
	Run string
	// Seq is the sequence number of the controller: the machine refuses a number that is lower than an earlier
	// number. 0 is always accepted.
	Seq            int64
	By             string // the user for whom it runs; other users see the name if the machine is busy
	Noop, Diffs    bool
	Tags, SkipTags []string
	Workers        int
	Sema           int // resources that are applied at a time; 0 for no limit
	// Puppet applies it with the Puppet that is installed on the machine, with these Plugins (package plugins); nil for none.
	Puppet   bool
	Plugins  []byte
	Continue bool // go on when the connection is lost
	// Release is the digest of the release to which the catalog belongs, "" for none. Expected is the release that the machine
	// must have, unless it has Release: otherwise it refuses the run. A run in noop mode only reports it. "" accepts each.
	Release, Expected string
	// Open opens a content; nil opens the file that the catalog names. The digest is checked in
	// any case.
	Open func(c bundle.Content) (io.ReadCloser, error)
	// Result takes the result of each resource, once; Log takes messages. They are called from one
	// goroutine at a time. nil discards.
	Result func(*report.Result)
	Log    func(*report.Log)
}

// An Outcome is the end of an apply. The results were passed to Job.Result.
type Outcome struct {
	Run     string
	Counts  frame.Counts
	Stopped frame.Stop // why the run ended early; "" if it did not
	Error   string     // of the helper itself, after it began
	Owed    []string   // resources that the next run refreshes
	Drift   string     // how the machine differs from Job.Expected, of a run in noop mode; "" if it does not
}

// OK reports whether all resources are as wanted.
func (o *Outcome) OK() bool { return o.Counts.Failed == 0 && o.Stopped == "" && o.Error == "" }

// A RefusedError is the error of Apply if the machine refused the run. Nothing was changed.
type RefusedError struct {
	Label string
	frame.Refusal
	Hint string
}

func (e *RefusedError) Error() string {
	text := strings.Join(e.Messages, "\n")
	switch e.Kind {
	case frame.KindBusy:
		text = fmt.Sprintf("%s is busy: %s. Nothing was changed. Try again when that run has ended.", e.Label, text)
	case frame.KindCatalog:
		text = fmt.Sprintf("The catalog of %s has mistakes, so nothing was changed:\n%s", e.Label, text)
	default:
		text = fmt.Sprintf("%s refused the run, and nothing was changed: %s", e.Label, text)
	}
	if e.Hint != "" {
		text += "\n" + e.Hint
	}
	return text
}

// interruptGrace is the time that a helper has to finish its present resource after the caller's context has ended.
const interruptGrace = 20 * time.Second

// Apply applies a catalog. The error is a *RefusedError, or a *transport.Error: ClassBootstrap if the helper
// cannot run there, ClassProtocol if the machine breaks the protocol, or a class of the connection. After an
// error of ClassLost or ClassCancelled, Asked returns the fate of the run.
func Apply(ctx context.Context, conn transport.Conn, t *Target, job *Job) (*Outcome, error) {
	run := cmp.Or(job.Run, transport.NewPrivateName())
	p, err := pack(job)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, t: t, run: run}
	if job.Continue { // the helper goes on in any case
		s.grace = time.Second
	}
	r := &results{job: job, label: t.label(), maxOutput: t.MaxOutput, expected: p.expected}
	args := p.arguments(job, run)
	input, err := p.first()
	if err != nil {
		return nil, err
	}
	placing := func() ([]byte, error) { return p.whole() }
	for range 2 {
		err := s.start(ctx, args, input, placing, r)
		if err != nil {
			return nil, err
		}
		if r.need == nil {
			return t.outcome(r, run)
		}
		need := r.need
		r.need = nil
		if input, err = s.supply(ctx, p, need, r.hello, true); err != nil {
			return nil, err
		}
	}
	return nil, t.protocol("it requests contents that it already has, or its contents have changed meanwhile. Apply the catalog again")
}

// arguments returns the arguments of the helper.
func (p *packed) arguments(job *Job, run string) []string {
	args := []string{"apply", "--run", run, "--node", job.Node}
	add := func(given bool, words ...string) {
		if given {
			args = append(args, words...)
		}
	}
	add(!p.secret, "--catalog", p.sum)
	add(job.Seq != 0, "--seq", strconv.FormatInt(job.Seq, 10))
	add(job.By != "", "--by", job.By)
	add(job.Noop, "--noop")
	add(job.Diffs, "--diffs")
	add(job.Continue, "--continue")
	add(job.Puppet, "--engine", "puppet")
	add(job.Puppet && p.plugins != "", "--plugins", p.plugins)
	add(job.Release != "", "--release", job.Release)
	add(job.Expected != "", "--expected", job.Expected)
	add(job.Workers != 0, "--workers", strconv.Itoa(job.Workers))
	add(job.Sema != 0, "--sema", strconv.Itoa(job.Sema))
	for _, tag := range job.Tags {
		add(true, "--tag", tag)
	}
	for _, tag := range job.SkipTags {
		add(true, "--skip-tag", tag)
	}
	return args
}

// Asked returns the fate of a run. It copies a missing helper: a helper of another version can have carried out the run.
func Asked(ctx context.Context, conn transport.Conn, t *Target, run string) (*frame.Fate, error) {
	return asked(ctx, conn, t, run)
}

// Stop requests the end of a run, and returns its present fate. The run finishes the resources in work, and skips the rest, also if
// Job.Continue is set. A run that has not begun yet skips all resources.
func Stop(ctx context.Context, conn transport.Conn, t *Target, run string) (*frame.Fate, error) {
	return asked(ctx, conn, t, run, "--stop")
}

func asked(ctx context.Context, conn transport.Conn, t *Target, run string, more ...string) (*frame.Fate, error) {
	s := &session{conn: conn, t: t, run: run}
	r := &results{label: t.label(), maxOutput: t.MaxOutput, answer: frame.TypeFate}
	if err := s.start(ctx, append([]string{"asked", "--run", run}, more...), nil, nothing, r); err != nil {
		return nil, err
	}
	if r.fate == nil {
		if r.done.Refused == nil {
			return nil, t.protocol("it does not know the fate of the run: %s", r.done.Error)
		}
		_, err := t.outcome(r, run)
		return nil, err
	}
	return r.fate, t.check(r.fate)
}

// check checks a fate, and makes its texts safe for a terminal.
func (t *Target) check(f *frame.Fate) error {
	switch f.State {
	case frame.StateUnknown, frame.StateRunning, frame.StateBroken:
	case frame.StateEnded:
		if f.Done == nil {
			return t.protocol("the run has ended without a result")
		}
		if n := f.Done.Counts; min(n.Unchanged, n.Changed, n.Noop, n.Failed, n.Skipped) < 0 {
			return t.protocol("it counts %+v", n)
		}
		f.Done.Error, f.Done.Drift = safeMessage(f.Done.Error), safeMessage(f.Done.Drift)
	default:
		return t.protocol("the run has the unknown state %q", f.State)
	}
	for _, e := range f.Ended {
		if new(frame.Counts).Of(e.Status) == nil {
			return t.protocol("%s has the unknown status %q", e.Ref, e.Status)
		}
	}
	for i, text := range f.Progress {
		f.Progress[i] = safeMessage(text)
	}
	return nil
}

// Facts returns the facts of a machine. The error is like that of Apply. Facts changes nothing on the machine,
// except that it copies a missing helper.
func Facts(ctx context.Context, conn transport.Conn, t *Target) (*frame.Facts, error) {
	s := &session{conn: conn, t: t, run: transport.NewPrivateName()}
	r := &results{label: t.label(), maxOutput: t.MaxOutput, answer: frame.TypeFacts}
	if err := s.start(ctx, []string{"facts", "--run", s.run}, nil, nothing, r); err != nil {
		return nil, err
	}
	if r.facts == nil || r.facts.Facts == nil {
		if r.done != nil {
			return nil, t.protocol("it has no facts: %s", r.done.Error)
		}
		return nil, t.protocol("it has no facts")
	}
	for i := range r.facts.Notes {
		n := &r.facts.Notes[i]
		n.Fact, n.Reason = safeMessage(n.Fact), safeMessage(n.Reason)
	}
	return r.facts, nil
}

// A FailedError is the error of State if the machine cannot find the state.
type FailedError struct{ Label, Problem string }

func (e *FailedError) Error() string {
	return fmt.Sprintf("The state of the resources on %s is not known: %s", e.Label, e.Problem)
}

// State returns the states of resources of a type (capitalized): the resource with the name, or all resources
// if name is "". The error is a *FailedError, or like that of Facts.
func State(ctx context.Context, conn transport.Conn, t *Target, typ, name string) ([]frame.Shown, error) {
	s := &session{conn: conn, t: t, run: transport.NewPrivateName()}
	r := &results{label: t.label(), maxOutput: t.MaxOutput, answer: frame.TypeState}
	args := []string{"state", "--run", s.run, "--type", typ}
	if name != "" {
		args = append(args, "--name", name)
	}
	if err := s.start(ctx, args, nil, nothing, r); err != nil {
		return nil, err
	}
	if r.states == nil {
		if r.done != nil && r.done.Error != "" {
			return nil, &FailedError{t.label(), safeMessage(r.done.Error)}
		}
		return nil, t.protocol("it has no states")
	}
	for _, x := range r.states.Resources {
		if x.Title == "" || x.Params == nil || name != "" && x.Title != name && strings.TrimRight(name, "/") != x.Title {
			return nil, t.protocol("it sent the state of %q", x.Title)
		}
	}
	return r.states.Resources, nil
}

func (t *Target) label() string { return cmp.Or(t.Label, "The target") }

// protocol returns the error for a machine that breaks the protocol.
func (t *Target) protocol(format string, a ...any) error {
	return protocolError(t.label(), format, a...)
}

func protocolError(label, format string, a ...any) error {
	return &transport.Error{Class: transport.ClassProtocol,
		Msg: fmt.Sprintf("The helper on %s does not answer as it should: %s", label, safetext.Message(fmt.Sprintf(format, a...)))}
}

// hint returns the hint to choose another state directory.
func (t *Target) hint() string {
	if t.DirSetting == "" {
		return ""
	}
	return fmt.Sprintf("Set %s to another directory on that machine, in which programs can run.", t.DirSetting)
}

// unusable returns the error for a state directory in which no helper can run.
func (t *Target) unusable(format string, a ...any) error {
	return &transport.Error{Class: transport.ClassBootstrap, Hint: t.hint(),
		Msg: fmt.Sprintf("Cannot apply the catalog on %s: %s", t.label(), safetext.Message(fmt.Sprintf(format, a...)))}
}
