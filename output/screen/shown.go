package screen

import (
	"context"
	"io"
	"sync"

	"bolt/event"
	"bolt/event/capture"
	"bolt/output"
)

// progressFrom is the number of targets from which a line of progress is shown.
const progressFrom = 4

// Shown is the sink that shows an action or a plan to the user. On a terminal it can keep a line of
// progress, which is erased before other output to standard error. The caller must call Close.
type Shown struct {
	hold     *hold            // nil for an action
	progress *output.Progress // nil without one

	mu   sync.Mutex // around calls of next
	next event.Sink
}

// ForAction returns the sink that shows an action on a number of targets. o has no
// writers.
func (s *Screen) ForAction(o output.Options, targets int) (*Shown, error) {
	sink, err := s.sink(o, s.out)
	if err != nil {
		return nil, err
	}
	return s.Around(sink, targets), nil
}

// Around returns a sink that passes the events of an action on a number of targets to another sink, and shows
// its progress.
func (s *Screen) Around(sink event.Sink, targets int) *Shown {
	shown := &Shown{next: sink}
	if targets >= progressFrom && s.progress() {
		shown.progress = output.NewProgress(sink, s.err, s.errWidth)
		s.Console.set(shown.progress.Writer())
		s.Ask.Pause = shown.progress.Pause
		shown.next = shown.progress
	}
	return shown
}

// ForPlan returns the sink that shows a plan. While a question is open on the terminal,
// the plan goes on, and its output is held. o has no writers.
func (s *Screen) ForPlan(o output.Options) (*Shown, error) {
	out, err := io.Writer(s.out), io.Writer(s.err)
	shown := &Shown{hold: newHold(out, err)}
	if s.Terminal() {
		out = shown.hold.before(capture.Stdout)
	}
	if s.ErrTerminal() {
		err = shown.hold.before(capture.Stderr)
	}
	sink, oerr := s.sink(o, out)
	if oerr != nil {
		return nil, oerr
	}
	if s.progress() {
		shown.progress = output.NewProgress(sink, err, s.errWidth)
		sink, err = shown.progress, shown.progress.Writer()
	}
	shown.next = sink
	s.Console.set(err)
	s.Ask.Out, s.Ask.Pause = s.err, shown.quiet // a question is not held
	return shown, nil
}

func (s *Screen) sink(o output.Options, out io.Writer) (event.Sink, error) {
	o.Out, o.Err, o.Apart = out, s.Console, Apart(s.out, s.err)
	o.Color, o.Terminal, o.Width = s.Color(), s.Terminal(), Width(s.out)
	return output.New(o)
}

// Event shows an event.
func (s *Shown) Event(ctx context.Context, e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.Event(ctx, e)
}

// Close removes the line of progress from the terminal.
func (s *Shown) Close() {
	if s.progress != nil {
		s.progress.Close()
	}
}

// quiet keeps all output except a question off the terminal until resume is called.
func (s *Shown) quiet() (resume func()) {
	s.mu.Lock() // between two events
	defer s.mu.Unlock()
	again := func() {}
	if s.progress != nil {
		again = s.progress.Pause()
	}
	release := s.hold.begin()
	return func() {
		release()
		again()
	}
}
