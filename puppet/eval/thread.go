package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A pos is a place in a file, unresolved: positions are worked out for errors
// only.
type pos struct {
	file *syntax.File
	off  uint32
}

func (p pos) position() syntax.Position {
	if p.file == nil {
		return syntax.Position{}
	}
	return p.file.Position(p.off)
}

// A thread is one flow of evaluation. It belongs to one goroutine.
type thread struct {
	in    *Interp
	w     *world
	ctx   context.Context
	log   func(Log)
	of    any  // what it works on behalf of: see Site.CallFor
	flow  any  // see Site.Flow
	reads bool // there is an Env.Read
	spare *trace
	poll  int // calls until the next look at ctx and the budget
	steps int64
	depth int
	deep  int // depth that is too much
	tall  int // how high the stack is: see climb
	wide  int // size that is too much

	most  int64             // of the heap, that may be live; < 0: all
	looks int               // since the last look at the heap
	fresh int               // bytes that were made since then
	heap  [2]metrics.Sample // see light

	frames     []frame
	calls      []*Call                    // by nesting, to be used again
	free       []*Scope                   // local scopes that nothing refers to any more
	nested     int                        // how many of calls are in use
	resolving  map[*Definition]value.Type // types in work, and what they need
	private    bool                       // one of these has been used: what was made with it is not for others
	sets       []*value.TypeSetType       // whose types are in work
	rendering  *rendering                 // of the innermost template
	lastRegexp *value.Regexp              // the last one that was made of a string
	patterned  map[value.Type][]*value.Regexp
	matching   value.Budget // see budget
	matchAt    pos          // where it is used
	matchSteps int          // of it that are not counted yet
}

// A frame is a call in progress.
type frame struct {
	name string
	call pos // where the call is written
	// begun: the body is in work. Before and after that, an error at the call is
	// one of the caller, not of a place inside.
	begun bool
}

// pollEvery is how many calls are made between looks at the context: a few
// microseconds' worth.
const pollEvery = 256

func newThread(ctx context.Context, in *Interp) *thread {
	t := &thread{in: in, w: in.world.Load(), ctx: ctx, log: in.env.Log, reads: in.env.Read != nil, poll: pollEvery}
	t.steps, t.deep, t.wide = in.env.Limits.Steps, in.env.Limits.Depth, in.env.Limits.Size
	if t.steps == 0 {
		t.steps = DefaultSteps
	}
	if t.deep == 0 {
		t.deep = defaultDepth
	}
	if t.wide == 0 {
		t.wide = DefaultSize
	}
	if t.most = in.env.Limits.Memory; t.most == 0 {
		t.most = defaultMemory
	}
	return t
}

// fork returns a thread that goes on from here, in another goroutine or with
// another context in this one: so it counts the stack that there is. Types
// that are in work here are not known to it: they belong to this goroutine.
// Should it need one of them, it resolves that anew, for itself.
func (t *thread) fork(ctx context.Context, flow any) *thread {
	f := newThread(ctx, t.in)
	f.flow = flow
	f.of, f.depth, f.tall = t.of, t.depth, t.tall
	f.frames = append(f.frames, t.frames...)
	return f
}

// enter begins a call of c.
func (t *thread) enter(name string, at pos, c *code) error {
	if t.depth >= t.deep {
		return t.fail(at, "too-deep", "calls are nested deeper than %d", t.deep)
	}
	if t.poll--; t.poll <= 0 {
		if err := t.look(at); err != nil {
			return err
		}
	}
	if t.tall += callHeight + c.height; t.tall > maxHeight { // as climb
		return t.tooTall(at, c.height)
	}
	t.depth++
	t.frames = append(t.frames, frame{name: name, call: at})
	return nil
}

// begin and end tell that the body of the innermost call is in work.
func (t *thread) begin() { t.frames[len(t.frames)-1].begun = true }
func (t *thread) end()   { t.frames[len(t.frames)-1].begun = false }

// leave ends a call of c.
func (t *thread) leave(c *code) {
	t.depth--
	t.descend(c.height)
	t.frames = t.frames[:len(t.frames)-1]
}

// Go ends the process when a stack would have more than 512 MiB (128 with 32
// bits), and calls are not all that makes it high: so do expressions that stand
// in each other between one call and the next. What is begun tells how many
// these are at most.
const (
	// callHeight is what a call counts, with the function of Go that it may be
	// of, in expressions.
	callHeight = 8
	// maxHeight is a third of what fits where each expression takes most, 700
	// bytes.
	maxHeight = 1 << (16 + 2*(^uint(0)>>63))
)

// climb begins what has expressions of a height inside each other.
func (t *thread) climb(at pos, height int) error {
	if t.tall += callHeight + height; t.tall <= maxHeight {
		return nil
	}
	return t.tooTall(at, height)
}

func (t *thread) tooTall(at pos, height int) error {
	t.descend(height)
	return t.fail(at, "too-deep", "calls and expressions are nested too deep")
}

func (t *thread) descend(height int) { t.tall -= callHeight + height }

// look ends the evaluation when the context is done or the budget used up.
func (t *thread) look(at pos) error {
	used := int64(pollEvery - t.poll)
	t.poll = pollEvery
	if err := t.ctx.Err(); err != nil {
		e := t.fail(at, "canceled", "the evaluation was ended: %v", context.Cause(t.ctx))
		e.Err = err
		return e
	}
	if t.in.used.Add(used) > t.steps {
		return t.fail(at, "too-long", "the evaluation took more than %d calls", t.steps)
	}
	if t.looks++; t.looks >= looksBetween {
		return t.weigh(at)
	}
	return nil
}

// step counts n calls' worth of work.
func (t *thread) step(at pos, n int) error {
	if t.poll -= n; t.poll <= 0 {
		return t.look(at)
	}
	return nil
}

// size refuses what is too large.
func (t *thread) size(at pos, n int) error {
	if n > t.wide {
		return t.fail(at, "too-large", "a string of %d bytes is larger than the limit of %d", n, t.wide)
	}
	return nil
}

// elements refuses collections that are too large.
func (t *thread) elements(at pos, n int) error {
	if n > t.wide/16 {
		return t.fail(at, "too-large", "a collection of %d elements is larger than the limit of %d", n, t.wide/16)
	}
	return nil
}

// fail returns an error at a place.
func (t *thread) fail(at pos, kind, format string, args ...any) *Error {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{Kind: kind, Msg: msg, Pos: at.position(), Stack: t.stack(at)}
}

// stackDepth is how many frames of a stack are told: the innermost half and
// the outermost half.
const stackDepth = 100

// stack returns the calls around a place.
func (t *thread) stack(at pos) []Frame {
	p := at.position()
	frames := t.frames
	if n := len(frames); n > 0 && !frames[n-1].begun && frames[n-1].call == at {
		frames = frames[:n-1]
	}
	stack := make([]Frame, 0, min(len(frames), stackDepth)+1)
	for i := len(frames) - 1; i >= 0; i-- {
		f := &frames[i]
		if n := len(frames) - i; n > stackDepth/2 && i >= stackDepth/2 {
			p = f.call.position()
			continue
		}
		stack = append(stack, Frame{f.name, p.File, p.Line})
		p = f.call.position()
	}
	return append(stack, Frame{"", p.File, p.Line})
}

// wrap gives an error that came out of Go code a place and a stack.
func (t *thread) wrap(at pos, err error) error {
	switch e := err.(type) {
	case *jump:
		return e
	case *Error:
		if e.Pos.Line != 0 {
			return e
		}
		c := *e
		c.Pos = at.position()
		if c.Stack == nil {
			c.Stack = t.stack(at)
		}
		return &c
	}
	var in *Error
	if errors.As(err, &in) && in.Pos.Line != 0 {
		return in.within(err)
	}
	e := t.fail(at, "call", "")
	e.Msg, e.Err = err.Error(), err
	var parse syntax.Errors
	if errors.As(err, &parse) && len(parse) > 0 {
		// A file that was loaded here is told where it is wrong.
		e.Kind, e.Msg, e.Pos = parse[0].Kind, parse[0].Msg, parse[0].Position()
	}
	if kind := kindOfCause(err); kind != "" {
		e.Kind = kind
	}
	return e
}

// strict is for what the setting strict decides about.
func (t *thread) strict(at pos, kind, msg string) error {
	switch t.in.env.Strict {
	case StrictError:
		return t.fail(at, kind, "%s", msg)
	case StrictWarning:
		t.warn(at, kind, msg)
	}
	return nil
}

func (t *thread) warn(at pos, kind, msg string) {
	if t.log != nil {
		t.log(Log{Level: Warning, Kind: kind, Msg: msg, Pos: at.position()})
	}
}

// recover is deferred at the package's entries: it makes errors of what
// escaped, be it a jump or a panic.
func (t *thread) recover(err *error) {
	if r := recover(); r != nil {
		at := pos{}
		if n := len(t.frames); n > 0 {
			at = t.frames[n-1].call
		}
		e := t.fail(at, "internal", "internal error: %v", r)
		e.Err = &internalError{r, debug.Stack()}
		*err = e
		return
	}
	*err = t.escaped(*err)
}

// An internalError is a panic of ours; its text is for us.
type internalError struct {
	reason any
	stack  []byte
}

func (e *internalError) Error() string { return fmt.Sprintf("%v\n%s", e.reason, e.stack) }

// escaped makes an error of a jump that nothing took.
func (t *thread) escaped(err error) error {
	j, ok := err.(*jump)
	if !ok {
		return err
	}
	return &Error{
		Kind:  "illegal-" + jumpNames[j.kind],
		Msg:   jumpNames[j.kind] + "() is used where there is nothing that it could end",
		Pos:   j.pos,
		Stack: []Frame{{File: j.pos.File, Line: j.pos.Line}},
	}
}

// lower returns a qualified name as it is looked up.
func lower(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "::"))
}
