package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/internal/safetext"
)

func safeMessage(text string) string { return safetext.Message(text) }

const (
	// defaultOutput bounds the output of one run. The helper stops sending diffs and messages long before.
	defaultOutput = 512 << 20
	// maxGenerated is the number of resources that an apply can add to a catalog.
	maxGenerated = 1 << 20
)

// results takes the frames of the helper.
type results struct {
	job   *Job // nil for a question
	label string
	// maxOutput is Target.MaxOutput.
	maxOutput int64
	expected  map[catalog.Ref]bool // resources of the catalog; false when their result has come
	answer    frame.Type           // of a question: TypeFate or TypeFacts; 0 for an apply

	hello     *frame.Hello
	need      *frame.Need
	done      *frame.Done
	fate      *frame.Fate
	facts     *frame.Facts
	states    *frame.States
	counts    frame.Counts
	generated map[catalog.Ref]bool
	used      atomic.Int64 // bytes of output; in a watch, of one check
	rounds    *rounds      // of a watch; nil for other runs
}

// complete reports whether the last frame has arrived.
func (r *results) complete() bool {
	return r.need != nil || r.done != nil || r.fate != nil || r.facts != nil || r.states != nil
}

// A reader takes the output of one run.
type reader struct {
	w       *io.PipeWriter
	wg      sync.WaitGroup
	size    *atomic.Int64
	max     int64
	greeted bool
	before  []byte
	err     error
}

// reader returns the standard output of a run; end must be called after it.
func (r *results) reader(run string) *reader {
	pr, pw := io.Pipe()
	r.used.Store(0)
	in := &reader{w: pw, size: &r.used, max: cmp.Or(r.maxOutput, defaultOutput)}
	r.hello = nil
	in.wg.Go(func() {
		in.err = r.read(in, frame.NewReader(pr), run)
		pr.CloseWithError(in.err) // nil: if more output follows the last frame, Write returns an error
	})
	return in
}

func (in *reader) Write(p []byte) (int, error) {
	if in.size.Add(int64(len(p))) > in.max {
		err := &longError{in.max}
		in.w.CloseWithError(err)
		return 0, err
	}
	return in.w.Write(p)
}

// A longError is the error for too much output.
type longError struct{ max int64 }

func (e *longError) Error() string { return fmt.Sprintf("its output is longer than %d bytes", e.max) }

// end ends the output. before is the output before the greeting.
func (in *reader) end() (greeted bool, before string, err error) {
	in.w.Close()
	in.wg.Wait()
	return in.greeted, string(in.before), in.err
}

// read reads all frames. It returns an error only for a wrong answer of the machine, and none for an output
// that ends early.
func (r *results) read(in *reader, frames *frame.Reader, run string) error {
	before, err := frames.Skip(run)
	in.before = before
	if err != nil {
		if errors.Is(err, frame.ErrNoGreeting) {
			return nil
		}
		return protocolError(r.label, "%v", err)
	}
	in.greeted = true
	for {
		t, body, err := frames.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return protocolError(r.label, "%v", err)
		}
		if err := r.take(t, body, run); err != nil {
			return protocolError(r.label, "%v", err)
		}
	}
}

// take takes one frame.
func (r *results) take(t frame.Type, body []byte, run string) error {
	if r.rounds != nil {
		r.rounds.mu.Lock()
		defer r.rounds.mu.Unlock()
	}
	switch {
	case r.hello == nil && t != frame.TypeHello:
		return fmt.Errorf("a frame of type %v came before its greeting", t)
	case r.hello != nil && t == frame.TypeHello, r.complete():
		return fmt.Errorf("a frame of type %v came too late", t)
	}
	switch t {
	case frame.TypeHello:
		h := new(frame.Hello)
		if err := frame.Decode(t, body, h); err != nil {
			return err
		}
		if h.Protocol != frame.Protocol || h.Run != run {
			return fmt.Errorf("it speaks version %d of the protocol, for run %q", h.Protocol, h.Run)
		}
		r.hello = h
		return nil
	case frame.TypeDone:
		d := new(frame.Done)
		if err := frame.Decode(t, body, d); err != nil {
			return err
		}
		r.done = d
		return r.check(d)
	}
	if r.answer != 0 {
		return r.answered(t, body)
	}
	switch t {
	case frame.TypeNeed:
		n := new(frame.Need)
		if err := frame.Decode(t, body, n); err != nil {
			return err
		}
		if r.rounds != nil {
			return r.rounds.needs(n, r.hello)
		}
		if r.counts != (frame.Counts{}) {
			return errors.New("it needs contents after it began")
		}
		r.need = n
		return nil
	case frame.TypeRound:
		if r.rounds != nil {
			return r.round(body)
		}
	case frame.TypeEvent:
		return r.event(body)
	case frame.TypeLog:
		l := new(report.Log)
		if err := frame.Decode(t, body, l); err != nil {
			return err
		}
		switch l.Level {
		case report.Debug, report.Info, report.Notice, report.Warning, report.Err:
		default:
			return fmt.Errorf("a message has the unknown level %q", l.Level)
		}
		if r.job.Log != nil {
			r.job.Log(l)
		}
		return nil
	}
	return fmt.Errorf("a frame of type %v is not an answer", t)
}

// answered takes the answer to a query.
func (r *results) answered(t frame.Type, body []byte) error {
	if t != r.answer {
		return fmt.Errorf("a frame of type %v is not an answer", t)
	}
	if t == frame.TypeFate {
		r.fate = new(frame.Fate)
		return frame.Decode(t, body, r.fate)
	}
	if t == frame.TypeState {
		r.states = new(frame.States)
		return frame.Decode(t, body, r.states)
	}
	r.facts = new(frame.Facts)
	return frame.Decode(t, body, r.facts)
}

// errTooMany is the error for more generated resources than there can be.
var errTooMany = fmt.Errorf("more than %d resources were generated", maxGenerated)

// event takes the result of a resource.
func (r *results) event(body []byte) error {
	var in frame.Result
	if err := frame.Decode(frame.TypeEvent, body, &in); err != nil {
		return err
	}
	res, err := in.Report()
	if err != nil {
		return err
	}
	open, ours := r.expected[res.Ref]
	switch {
	case r.rounds != nil && r.rounds.first:
		if err := r.rounds.again(r, res); err != nil {
			return err
		}
	case res.Generated:
		_, parent := r.expected[res.Parent]
		if ours || r.generated[res.Ref] || !parent && !r.generated[res.Parent] {
			return fmt.Errorf("%s cannot come from %s", res.Ref, res.Parent)
		}
		if len(r.generated) == maxGenerated {
			return errTooMany
		}
		if r.generated == nil {
			r.generated = make(map[catalog.Ref]bool)
		}
		r.generated[res.Ref] = true
	case !ours:
		return fmt.Errorf("%s is not a resource of the catalog", res.Ref)
	case !open:
		return fmt.Errorf("%s has two results", res.Ref)
	default:
		r.expected[res.Ref] = false
		*r.counts.Of(res.Status)++
	}
	if r.job.Result != nil {
		r.job.Result(res)
	}
	return nil
}

// check compares the counts of the helper with the results that came. Resources without a
// result are unchanged.
func (r *results) check(d *frame.Done) error {
	if r.answer != 0 || r.rounds != nil && r.rounds.first && d == r.done { // the end of a watch has no counts
		return nil
	}
	if d.Refused != nil {
		if r.counts != (frame.Counts{}) {
			return errors.New("it refused the catalog after it began")
		}
		return nil
	}
	var silent []catalog.Ref
	for _, res := range r.job.Catalog.Resources() {
		if r.expected[res.Ref] {
			silent = append(silent, res.Ref)
		}
	}
	got := r.counts
	got.Unchanged += len(silent)
	if got != d.Counts {
		return fmt.Errorf("it counts %+v, and sent the results of %+v", d.Counts, got)
	}
	r.counts = got
	for _, ref := range silent {
		r.expected[ref] = false
		if r.job.Result != nil {
			r.job.Result(&report.Result{Ref: ref, Status: report.Unchanged})
		}
	}
	return nil
}

// outcome returns the outcome of a complete run.
func (t *Target) outcome(r *results, run string) (*Outcome, error) {
	d := r.done
	if d.Refused != nil {
		e := &RefusedError{Label: r.label, Refusal: *d.Refused}
		e.Messages = e.Messages[:min(len(e.Messages), maxShown)]
		for i, m := range e.Messages {
			e.Messages[i] = safeMessage(m)
		}
		switch e.Kind {
		case frame.KindDrifted:
			if r.job == nil || r.job.Expected == "" {
				return nil, protocolError(r.label, "it reports another release than the expected one, and none is expected")
			}
		case frame.KindState:
			e.Hint = t.hint()
		case frame.KindEngine:
			e.Hint = "Install Puppet there, or let bolt apply the catalog: use --engine bolt, or remove the feature puppet-engine from the inventory."
		case frame.KindFile:
			e.Hint = "Remove it on that machine. The helper creates the file again."
		}
		return nil, e
	}
	switch d.Stopped {
	case "", frame.StopLost, frame.StopSignal, frame.StopAsked:
	default:
		return nil, protocolError(r.label, "it stopped because of %q", d.Stopped)
	}
	return &Outcome{Run: run, Counts: r.counts, Stopped: d.Stopped, Error: safeMessage(d.Error), Drift: safeMessage(d.Drift), Owed: slices.Clip(d.Owed)}, nil
}

// maxShown is the number of messages that a refusal can have.
const maxShown = 1000
