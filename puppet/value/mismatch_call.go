package value

import (
	"fmt"
	"strconv"
	"strings"
)

// A Candidate is a signature that a call may be meant for.
type Candidate struct {
	Names []string // of parameters, as far as they have some
	Type  *CallableType
}

// Fits reports whether a call with args, and a block of type block or nil if
// there is none, is one that the candidate takes.
func (c Candidate) Fits(args []Value, block Type) bool {
	t := c.Type
	if t.Params == nil {
		return true
	}
	if !t.Params.holds(NewArray(args...), trail{}) {
		return false
	}
	if t.Block == nil {
		return block == nil
	}
	return Assignable(t.Block, blockOrUndef(block))
}

// MismatchCall says why a call of a name fits none of the candidates. If the
// number of arguments, or the presence of a block, leaves one candidate only,
// it says what that one expects.
func MismatchCall(name string, candidates []Candidate, args []Value, block Type) string {
	meant := candidates
	if len(candidates) > 1 {
		var close []Candidate
		for _, c := range candidates {
			if c.arity(args) == "" && c.block(block) == "" {
				close = append(close, c)
			}
		}
		if len(close) > 0 {
			meant = close
		}
	}
	if len(meant) == 1 {
		return name + ": " + meant[0].explain(args, block)
	}
	if text := sameArity(meant, args); text != "" {
		return name + ": " + text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the arguments fit none of its %d signatures", name, len(meant))
	for _, c := range meant {
		fmt.Fprintf(&b, "\n  %s: %s", c.signature(), c.explain(args, block))
	}
	return b.String()
}

// sameArity is for candidates that all take another number of arguments: what
// they take together.
func sameArity(candidates []Candidate, args []Value) string {
	lo, hi, open := int64(1<<62), int64(0), false
	for _, c := range candidates {
		if c.arity(args) == "" || c.Type.Params == nil {
			return ""
		}
		size := c.Type.Params.size()
		lo, hi, open = min(lo, size.Min), max(hi, size.Max), open || !size.HasMax
	}
	size := &IntegerType{Min: lo, Max: hi, HasMin: true, HasMax: !open}
	return fmt.Sprintf("expects %s, got %s", countText(size, "argument"), countOr(len(args)))
}

func countOr(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// explain says why a call does not fit.
func (c Candidate) explain(args []Value, block Type) string {
	if text := c.arity(args); text != "" {
		return text
	}
	var problems mismatches
	if p := c.Type.Params; p != nil && len(p.Types) > 0 {
		for i, v := range args {
			var one mismatches
			one.value(p.at(i), v, trail{})
			for _, o := range one.found {
				o.path = append([]string{c.parameter(i)}, o.path...)
				problems.take(o)
			}
		}
	}
	if text := problems.text(""); text != "" {
		return text
	}
	return c.block(block)
}

// parameter names parameter i. The last name stands for all from there on.
func (c Candidate) parameter(i int) string {
	if len(c.Names) == 0 {
		return "argument " + strconv.Itoa(i+1)
	}
	return "parameter '" + c.Names[min(i, len(c.Names)-1)] + "'"
}

func (c Candidate) arity(args []Value) string {
	if c.Type.Params == nil {
		return ""
	}
	size := c.Type.Params.size()
	if size.holds(int64(len(args))) {
		return ""
	}
	return fmt.Sprintf("expects %s, got %s", countText(size, "argument"), countOr(len(args)))
}

func (c Candidate) block(block Type) string {
	t := c.Type
	switch {
	case t.Params == nil && t.Block == nil:
		return ""
	case t.Block == nil && block != nil:
		return "does not take a block"
	case t.Block == nil || Assignable(t.Block, blockOrUndef(block)):
		return ""
	case block == nil:
		return "expects a block"
	}
	want, ok1 := callableOf(t.Block)
	got, ok2 := block.(*CallableType)
	if ok1 && ok2 && want.Params != nil && got.Params != nil {
		w, g := want.Params.size(), got.Params.size()
		if !g.covers(w) {
			return fmt.Sprintf("the block has to take %s, it takes %s", countText(w, "argument"), countText(g, "argument"))
		}
	}
	return fmt.Sprintf("expects a block of type %s, got %s", clipType(t.Block), clipType(block))
}

// callableOf returns the callable in the type of a block.
func callableOf(t Type) (*CallableType, bool) {
	if o, ok := t.(*OptionalType); ok {
		t = o.Type
	}
	c, ok := t.(*CallableType)
	return c, ok
}

// signature writes the candidate's parameters as they are declared.
func (c Candidate) signature() string {
	p := c.Type.Params
	if p == nil {
		return "(Any *$args)"
	}
	var parts []string
	size := p.size()
	for i, t := range p.Types {
		if _, ok := t.(UnitType); ok {
			t = AnyType{}
		}
		text := clipType(t)
		if int64(i) >= size.Min {
			text = "Optional " + text
		}
		if i == len(p.Types)-1 && !size.HasMax {
			text = "*" + clipType(t)
		}
		if i < len(c.Names) {
			text += " $" + c.Names[i]
		}
		parts = append(parts, text)
	}
	if c.Type.Block != nil {
		parts = append(parts, clipType(c.Type.Block)+" &$block")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
