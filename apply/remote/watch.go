package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/transport"
)

// aliveEvery is the time between two keepalives of a watch. The helper ends after several missing keepalives.
const aliveEvery = 20 * time.Second

// A Round is the end of one check of a watch.
type Round struct {
	Outcome
	// First is set for the first check of a catalog. Proposed is then its job, if it came from next.
	First    bool
	Proposed *Job
	// Refused is set if the machine refused the catalog, with the reason in Error. The catalog before it stays.
	Refused bool
}

// Watch applies a catalog as Apply does, and then lets the helper apply each resource again whose state may have changed. It
// calls round after each check that has results. A catalog from next replaces the previous catalog, and the helper applies the
// differences. Watch returns when ctx ends, with the context's cause, or when the watch has ended for another reason. It then returns the
// same errors as Apply: of ClassLost if the connection ended. Job.Result gets the results of unchanged resources only in the first check.
func Watch(ctx context.Context, conn transport.Conn, t *Target, job *Job, next <-chan *Job, round func(*Round)) error {
	run := cmp.Or(job.Run, transport.NewPrivateName())
	p, err := pack(job)
	if err != nil {
		return err
	}
	// The input ends when ctx does, and the helper ends then. The command itself is not cancelled, so that the helper can finish a resource.
	quiet, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &session{conn: conn, t: t, run: run}
	w := &watching{session: s, ctx: quiet, now: p, free: make(chan struct{}, 1)}
	r := &results{job: job, label: t.label(), maxOutput: t.MaxOutput, expected: p.expected}
	r.rounds = &rounds{took: w.took(round), needs: w.supply}
	args := append(p.arguments(job, run), "--watch")
	input, err := p.first()
	if err != nil {
		return err
	}
	s.feed = w.feed
	stop := context.AfterFunc(ctx, func() {
		w.close()
		time.AfterFunc(interruptGrace, cancel)
	})
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	over := make(chan struct{})
	defer close(over)
	wg.Go(func() {
		// One catalog is under way at a time, and none before the first check has ended. The newest of the others is held.
		busy := true
		var held *Job
		alive := time.NewTicker(aliveEvery)
		defer alive.Stop()
		for {
			select {
			case <-over:
				return
			case <-alive.C:
				w.send(frame.TypeAlive)
				if held != nil { // it can have come before the check
					w.send(frame.TypeNewer)
				}
			case <-w.free:
				busy = false
			case held = <-next:
				if busy {
					w.send(frame.TypeNewer)
				}
			}
			if held != nil && !busy {
				busy, held = w.replace(r, held), nil
			}
		}
	})
	err = s.start(quiet, args, input, p.whole, r)
	if ctx.Err() != nil && (err == nil || transport.ClassOf(err) == transport.ClassCancelled) {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	out, err := t.outcome(r, run)
	if err != nil {
		return err
	}
	return endedEarly(t, out)
}

// endedEarly returns the error of a watch that the machine has ended.
func endedEarly(t *Target, out *Outcome) error {
	why := map[frame.Stop]string{frame.StopSignal: "a signal ended its helper", frame.StopAsked: "its end was requested", frame.StopLost: "the helper lost its output"}[out.Stopped]
	return &transport.Error{Class: transport.ClassLost, Msg: t.label() + " is not watched any more: " + cmp.Or(out.Error, why, "the helper has ended")}
}

// watching is the side of bolt in a watch.
type watching struct {
	*session
	ctx  context.Context
	free chan struct{} // has one entry when another catalog can be sent

	mu    sync.Mutex // guards the following
	in    *io.PipeWriter
	ended bool
	now   *packed // the catalog that the helper has
	then  *packed // the catalog that was sent, and that the helper has not applied yet; nil for none
}

// feed returns the input of a helper, which begins with a pack.
func (w *watching) feed(first []byte) io.ReadCloser {
	pr, pw := io.Pipe()
	w.mu.Lock()
	w.in = pw
	if w.ended {
		pw.Close()
	}
	w.mu.Unlock()
	go w.send(frame.TypePack, first)
	return pr
}

// send sends a frame. If the input has ended, so has the helper, which is reported elsewhere.
func (w *watching) send(t frame.Type, body ...[]byte) {
	var b bytes.Buffer
	if frame.NewWriter(&b).Raw(t, body...) != nil {
		w.close() // longer than a frame can be
		return
	}
	w.mu.Lock()
	in := w.in
	w.mu.Unlock()
	if in != nil {
		_, _ = in.Write(b.Bytes())
	}
}

// close ends the input.
func (w *watching) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.in != nil {
		w.in.Close()
	}
}

// supply sends the data that the helper requests.
func (w *watching) supply(need *frame.Need, hello *frame.Hello) error {
	w.mu.Lock()
	list := []*packed{w.now}
	if w.then != nil {
		list = []*packed{w.then, w.now}
	}
	w.mu.Unlock()
	var err error
	for _, p := range list {
		var input []byte
		if input, err = w.session.supply(w.ctx, p, need, hello, false); err == nil {
			w.send(frame.TypePack, input)
			return nil
		}
	}
	return err
}

// replace sends another catalog. It reports whether the helper will answer.
func (w *watching) replace(r *results, job *Job) bool {
	p, err := pack(job)
	var input []byte
	if err == nil {
		input, err = p.whole()
	}
	if err != nil {
		if job.Log != nil {
			r.log(&report.Log{Level: report.Err, Message: "The new catalog cannot be sent: " + err.Error(), Time: time.Now()})
		}
		return false
	}
	w.mu.Lock()
	same := w.then == nil && w.now.sum == p.sum
	if !same {
		w.then = p
	}
	w.mu.Unlock()
	if same {
		return false
	}
	r.propose(job, p.expected)
	w.send(frame.TypePack, input)
	return true
}

// took returns the function that takes the end of each check.
func (w *watching) took(round func(*Round)) func(*Round) {
	return func(r *Round) {
		if r.First {
			w.mu.Lock()
			if w.then != nil && !r.Refused {
				w.now = w.then
			}
			w.then = nil
			w.mu.Unlock()
			select {
			case w.free <- struct{}{}:
			default:
			}
		}
		round(r)
	}
}

// rounds are the parts of results that only a watch has.
type rounds struct {
	took  func(*Round)
	needs func(*frame.Need, *frame.Hello) error
	first bool // the first check has ended

	mu sync.Mutex // held while a frame is handled
	// job and expected describe a catalog that was sent, and that the helper has not applied yet.
	job      *Job
	expected map[catalog.Ref]bool
	// seen are the resources with a result in this check.
	seen map[catalog.Ref]bool
}

// propose notes a catalog that was sent.
func (r *results) propose(job *Job, expected map[catalog.Ref]bool) {
	r.rounds.mu.Lock()
	defer r.rounds.mu.Unlock()
	r.rounds.job, r.rounds.expected = job, expected
}

// log passes a message on that is not from the helper.
func (r *results) log(l *report.Log) {
	r.rounds.mu.Lock()
	defer r.rounds.mu.Unlock()
	if r.job.Log != nil {
		r.job.Log(l)
	}
}

// again takes the result of a resource after the first check.
func (w *rounds) again(r *results, res *report.Result) error {
	_, ours := r.expected[res.Ref]
	if !ours && w.expected != nil {
		_, ours = w.expected[res.Ref]
	}
	switch {
	case w.seen[res.Ref]:
		return errors.New(res.Ref.String() + " has two results")
	case res.Generated:
		_, known := r.expected[res.Parent]
		if !known && w.expected != nil {
			_, known = w.expected[res.Parent]
		}
		if ours || !known && !w.seen[res.Parent] {
			return fmt.Errorf("%s cannot come from %s", res.Ref, res.Parent)
		}
		if len(w.seen) == maxGenerated {
			return errTooMany
		}
	case !ours:
		return errors.New(res.Ref.String() + " is not a resource of the catalog")
	default:
		*r.counts.Of(res.Status)++
	}
	if w.seen == nil {
		w.seen = make(map[catalog.Ref]bool)
	}
	w.seen[res.Ref] = true
	return nil
}

// round takes the end of a check.
func (r *results) round(body []byte) error {
	w := r.rounds
	in := new(frame.Round)
	if err := frame.Decode(frame.TypeRound, body, in); err != nil {
		return err
	}
	if !w.first {
		w.first = true
		if err := r.check(&in.Done); err != nil {
			return err
		}
	} else if in.Refused == nil {
		n := r.counts
		if n.Unchanged = in.Counts.Unchanged; n != in.Counts || n.Unchanged < 0 {
			return errors.New("its counts differ from its results")
		}
		r.counts = in.Counts
	}
	var proposed *Job
	if in.First && w.job != nil {
		proposed = w.job
		if in.Refused == nil {
			r.job, r.expected = w.job, w.expected
		}
		w.job, w.expected = nil, nil
	}
	if in.Refused != nil {
		refused := &RefusedError{Label: r.label, Refusal: *in.Refused}
		for i, m := range refused.Messages {
			refused.Messages[i] = safeMessage(m)
		}
		in.Error = refused.Error()
	}
	out := &Round{First: in.First, Proposed: proposed, Refused: in.Refused != nil, Outcome: Outcome{Counts: r.counts, Stopped: in.Stopped, Error: safeMessage(in.Error), Owed: in.Owed}}
	r.counts, r.generated, w.seen = frame.Counts{}, nil, nil
	r.used.Store(0)
	w.took(out)
	return nil
}
