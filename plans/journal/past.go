package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/internal/appendfile"
)

// past is the content of a journal.
type past struct {
	plans   map[string]string // digests of texts
	steps   map[string]*pastStep
	effects map[string]*pastEffect
	times   map[string][]time.Time // the times that each branch has read
	boot    string                 // of the lines that follow
	began   time.Time
	last    time.Time
	over    bool
	failure string
	failed  []string // places of the steps that failed
}

// A pastStep is a recorded step.
type pastStep struct {
	action  *Action
	done    bool
	raised  bool
	gone    map[string]string // boot ID when a target was allowed to begin
	times   map[string]int    // how many times it was allowed
	began   map[string]bool
	results map[string]span
	failed  map[string]bool
}

// A pastEffect is a recorded effect.
type pastEffect struct {
	function, digest string
	done             bool
	value            any
}

// A span is the position of a line.
type span struct {
	offset int64
	length int
}

func newPast() past {
	return past{plans: make(map[string]string), steps: make(map[string]*pastStep), effects: make(map[string]*pastEffect), times: make(map[string][]time.Time)}
}

// mayHaveBegun reports whether the step may have begun on a target without a result.
// boot is the current boot ID.
func (s *pastStep) mayHaveBegun(target, boot string) bool {
	at, gone := s.gone[target]
	return gone && (s.began[target] || at == "" || at != boot)
}

// again removes the records of the targets on which the step failed.
func (s *pastStep) again() {
	for t := range s.failed {
		delete(s.results, t)
		delete(s.gone, t)
		delete(s.began, t)
	}
	clear(s.failed)
	s.done, s.raised = false, false
}

// read reads a journal. whole is its length without an incomplete last line.
func read(in io.Reader) (p *past, h *Header, whole int64, err error) {
	seen := newPast()
	lines := appendfile.NewReader(in, 0)
	for n := 1; ; n++ {
		text, err := lines.Next()
		if errors.Is(err, io.EOF) || text.Open {
			break
		}
		if err != nil {
			return nil, nil, 0, err
		}
		var l line
		if err := json.Unmarshal(text.Text, &l); err != nil {
			return nil, nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			if h, err = header(&l); err != nil {
				return nil, nil, 0, err
			}
			seen.began = l.At
		}
		if err := seen.add(&l, span{text.Offset, len(text.Text)}); err != nil {
			return nil, nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		whole = lines.Offset()
	}
	if h == nil {
		return nil, nil, 0, errors.New("it is empty")
	}
	return &seen, h, whole, nil
}

func header(l *line) (*Header, error) {
	switch {
	case l.Kind != lineRun || l.Run == nil:
		return nil, errors.New("its first line is not that of a journal of a plan")
	case l.Format != format:
		return nil, fmt.Errorf("it has format %d, and this version of bolt reads format %d", l.Format, format)
	}
	return l.Run, nil
}

// add adds one line.
func (p *past) add(l *line, at span) error {
	p.last = l.At
	step := p.steps[l.Place]
	switch l.Kind {
	case lineGo, lineBegan, lineResult, lineEnd, lineAgain:
		if step == nil {
			return fmt.Errorf("the step %q has no earlier line that begins it", l.Place)
		}
	}
	switch l.Kind {
	case lineRun, lineResumed:
		p.boot = l.Boot
	case linePlan:
		p.plans[l.Plan] = l.Digest
	case lineStep:
		if l.Action == nil {
			return errors.New("a step without an action")
		}
		p.steps[l.Place] = &pastStep{action: l.Action, gone: map[string]string{}, times: map[string]int{}, began: map[string]bool{}, results: map[string]span{}, failed: map[string]bool{}}
	case lineGo:
		for _, t := range l.Targets {
			step.gone[t] = p.boot
			step.times[t]++
			delete(step.began, t)
		}
	case lineBegan:
		step.began[l.Target] = true
	case lineResult:
		step.results[l.Target] = at
		if delete(step.failed, l.Target); !l.OK {
			step.failed[l.Target] = true
		}
	case lineEnd:
		step.done, step.raised = true, !l.OK
	case lineAgain:
		step.again()
		p.over, p.failure, p.failed = false, "", nil
	case lineEffect:
		p.effects[l.Place] = &pastEffect{function: l.Plan, digest: l.Digest}
	case lineValue:
		p.effects[l.Place] = &pastEffect{function: l.Plan, digest: l.Digest, done: true}
		v, err := ordered.ParseJSON(l.Value)
		if err != nil {
			return err
		}
		p.effects[l.Place].value = v
	case lineClock:
		p.times[l.Place] = append(p.times[l.Place], l.Clock)
	case lineOver:
		p.over, p.failure, p.failed = true, l.Error, l.Failed
	default:
		return fmt.Errorf("a line of kind %q, which this version does not know", l.Kind)
	}
	return nil
}

// failedSteps returns the places of the steps whose failure ended the run. If the
// run recorded the places, it returns these, because the steps may have failed in
// concurrent branches. Otherwise it returns those of failedLast.
func (p *past) failedSteps() []string {
	said := slices.DeleteFunc(slices.Clone(p.failed), func(place string) bool { return p.steps[place] == nil || !p.steps[place].raised })
	if len(said) > 0 {
		return said
	}
	return p.failedLast()
}

// failedLast returns the places of the steps that raised a failure and were not
// followed by another step. The plan ended after such a failure.
func (p *past) failedLast() []string {
	var places []string
	for place, s := range p.steps {
		if !s.raised {
			continue
		}
		last := true
		for other := range p.steps {
			last = last && !follows(other, place)
		}
		for other := range p.effects {
			last = last && !follows(other, place)
		}
		if last {
			places = append(places, place)
		}
	}
	return places
}

// follows reports whether place a comes after place b in the same branch or in an
// enclosing branch.
func follows(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		an, abranch, _ := strings.Cut(as[i], "/")
		bn, bbranch, _ := strings.Cut(bs[i], "/")
		if an != bn {
			x, _ := strconv.Atoi(an)
			y, _ := strconv.Atoi(bn)
			return x > y
		}
		if abranch != bbranch {
			return false // concurrent branches
		}
	}
	return false
}
