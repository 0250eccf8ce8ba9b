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

// A pos is an offset in a file. It is converted to a line and a column only for
// errors.
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
	of    any  // see Site.CallFor
	flow  any  // see Site.Flow
	reads bool // Env.Read is set
	spare *trace
	poll  int // calls until the next check of ctx and the step limit
	steps int64
	depth int
	deep  int // largest depth
	tall  int // height of the stack: see climb
	wide  int // largest size

	most  int64             // largest number of live bytes of the heap; < 0: no limit
	looks int               // number of checks since the last check of the heap
	fresh int               // bytes that were made since then
	heap  [2]metrics.Sample // see light

	frames     []frame
	calls      []*Call                    // by nesting, for reuse
	free       []*Scope                   // unused local scopes, for reuse
	nested     int                        // number of calls in use
	resolving  map[*Definition]value.Type // types that are being resolved, and the types that they need
	private    bool                       // a type in resolving was used; what was made with it must not be shared
	sets       []*value.TypeSetType       // the sets whose types are being resolved
	rendering  *rendering                 // the innermost template
	lastRegexp *value.Regexp              // the last one that was compiled from a string
	patterned  map[value.Type][]*value.Regexp
	matching   value.Budget // see budget
	matchAt    pos          // position of its use
	matchSteps int          // its steps that are not counted yet
}

// A frame is a call in progress.
type frame struct {
	name string
	call pos // where the call is written
	// begun is set while the body is evaluated. Before and after that, an error
	// at the call belongs to the caller, not to a position inside the call.
	begun bool
}

// pollEvery is the number of calls between two checks of the context. They take
// a few microseconds.
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

// fork returns a thread that continues from here, in another goroutine, or in
// this one with another context. It counts the present stack. It does not know
// the types that are being resolved here, because they belong to this
// goroutine. If it needs such a type, it resolves the type again for itself.
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
	if t.tall += callHeight + c.height; t.tall > maxHeight { // as in climb
		return t.tooTall(at, c.height)
	}
	t.depth++
	t.frames = append(t.frames, frame{name: name, call: at})
	return nil
}

// begin and end mark the time in which the body of the innermost call is
// evaluated.
func (t *thread) begin() { t.frames[len(t.frames)-1].begun = true }
func (t *thread) end()   { t.frames[len(t.frames)-1].begun = false }

// leave ends a call of c.
func (t *thread) leave(c *code) {
	t.depth--
	t.descend(c.height)
	t.frames = t.frames[:len(t.frames)-1]
}

// Go ends the process if a stack exceeds 512 MiB (128 MiB on 32-bit systems).
// The stack contains calls, and also the nested expressions between one call
// and the next. The height of a code is the largest number of these.
const (
	// callHeight is the number of expressions that one call counts as,
	// including the Go function that it may call.
	callHeight = 8
	// maxHeight is a third of the number that fits if each expression takes the
	// most stack, 700 bytes.
	maxHeight = 1 << (16 + 2*(^uint(0)>>63))
)

// climb reserves stack for nested expressions of the given height.
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

// look returns an error if the context is done or the step limit is reached.
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

// step counts work that is worth n calls.
func (t *thread) step(at pos, n int) error {
	if t.poll -= n; t.poll <= 0 {
		return t.look(at)
	}
	return nil
}

// size returns an error if a string of n bytes is too large.
func (t *thread) size(at pos, n int) error {
	if n > t.wide {
		return t.fail(at, "too-large", "a string of %d bytes is larger than the limit of %d", n, t.wide)
	}
	return nil
}

// elements returns an error if a collection of n elements is too large.
func (t *thread) elements(at pos, n int) error {
	if n > t.wide/16 {
		return t.fail(at, "too-large", "a collection of %d elements is larger than the limit of %d", n, t.wide/16)
	}
	return nil
}

// fail returns an error at a position.
func (t *thread) fail(at pos, kind, format string, args ...any) *Error {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{Kind: kind, Msg: msg, Pos: at.position(), Stack: t.stack(at)}
}

// stackDepth is the largest number of frames in an error: the innermost half
// and the outermost half.
const stackDepth = 100

// stack returns the calls around a position.
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

// wrap adds a position and a stack to an error from Go code.
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
		// The error of a file that was loaded here has the position in that
		// file.
		e.Kind, e.Msg, e.Pos = parse[0].Kind, parse[0].Msg, parse[0].Position()
	}
	if kind := kindOfCause(err); kind != "" {
		e.Kind = kind
	}
	return e
}

// strict applies the setting strict to an error.
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

// recover is deferred in the exported functions. It converts a jump or a panic
// that reaches them to an error.
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

// An internalError is a panic in this program. Its text is for the developers.
type internalError struct {
	reason any
	stack  []byte
}

func (e *internalError) Error() string { return fmt.Sprintf("%v\n%s", e.reason, e.stack) }

// escaped converts a jump that nothing caught to an error.
func (t *thread) escaped(err error) error {
	j, ok := err.(*jump)
	if !ok {
		return err
	}
	return &Error{
		Kind:  "illegal-" + jumpNames[j.kind],
		Msg:   jumpNames[j.kind] + "() is used outside of a block that it can end",
		Pos:   j.pos,
		Stack: []Frame{{File: j.pos.File, Line: j.pos.Line}},
	}
}

// lower returns a qualified name in the form that is used for lookups.
func lower(name string) string {
	return strings.ToLower(strings.TrimPrefix(name, "::"))
}
