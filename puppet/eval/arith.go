package eval

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An arithNode is +, -, *, /, %, << or >>.
type arithNode struct{ binary }

func (n *arithNode) eval(t *thread, s *Scope) (value.Value, error) {
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	y, err := n.y.eval(t, s)
	if err != nil {
		return nil, err
	}
	if a, is := x.(value.Int); is {
		if b, is := y.(value.Int); is {
			return n.ints(t, int64(a), int64(b))
		}
	}
	return n.calculate(t, x, y)
}

// small holds the values that number returns without an allocation.
var small = sync.OnceValue(func() *[1280]value.Value {
	var list [1280]value.Value
	for i := range list {
		list[i] = value.Int(i - 256)
	}
	return &list
})

// number returns i as a value.
func number(i int64) value.Value {
	if i >= -256 && i < 1024 {
		return small()[i+256]
	}
	return value.Int(i)
}

func (n *arithNode) ints(t *thread, a, b int64) (value.Value, error) {
	switch n.op {
	case syntax.Add:
		if c := a + b; (c > a) == (b > 0) {
			return number(c), nil
		}
	case syntax.Sub:
		if c := a - b; (c < a) == (b > 0) {
			return number(c), nil
		}
	case syntax.Mul:
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		if a < 0 {
			hi -= uint64(b)
		}
		if b < 0 {
			hi -= uint64(a)
		}
		if c := int64(lo); hi == uint64(c>>63) {
			return number(c), nil
		}
	case syntax.Div:
		if b == 0 {
			return nil, t.fail(n.yAt, "division-by-zero", "division by zero")
		}
		if b != -1 || a != math.MinInt64 {
			c := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				c-- // towards minus infinity
			}
			return number(c), nil
		}
	case syntax.Mod:
		if b == 0 {
			return nil, t.fail(n.yAt, "division-by-zero", "division by zero")
		}
		if b == -1 {
			return number(0), nil
		}
		c := a % b
		if c != 0 && (c < 0) != (b < 0) {
			c += b
		}
		return number(c), nil
	case syntax.Shl:
		return n.shift(t, a, b)
	case syntax.Shr:
		if b == math.MinInt64 {
			b++
		}
		return n.shift(t, a, -b)
	}
	return nil, t.fail(n.pos, "overflow", "%d %s %d does not fit in 64 bits", a, n.op, b)
}

// shift shifts a to the left by b. If b is negative, it shifts to the right by
// -b.
func (n *arithNode) shift(t *thread, a, b int64) (value.Value, error) {
	switch {
	case b <= -64:
		return number(a >> 63), nil
	case b < 0:
		return number(a >> -b), nil
	case a == 0:
		return number(0), nil
	case b < 64:
		if c := a << b; c>>b == a {
			return number(c), nil
		}
	}
	return nil, t.fail(n.pos, "overflow", "%d %s %d does not fit in 64 bits", a, n.op, b)
}

func (n *arithNode) calculate(t *thread, x, y value.Value) (value.Value, error) {
	switch a := x.(type) {
	case *value.Array:
		switch n.op {
		case syntax.Add:
			return n.concat(t, a, y)
		case syntax.Sub:
			return n.remove(t, a, y)
		case syntax.Shl:
			return n.append(t, a, []value.Value{y})
		}
	case *value.Hash:
		switch n.op {
		case syntax.Add:
			return n.merge(t, a, y)
		case syntax.Sub:
			return n.without(t, a, y)
		case syntax.Shl:
			return nil, n.inapplicable(t, x)
		}
	case *value.URI, *value.Binary:
		if n.op == syntax.Add {
			return n.join(t, x, y)
		}
	}
	x, err := t.numeric(n.xAt, x)
	if err != nil {
		return nil, err
	}
	y, err = t.numeric(n.yAt, y)
	if err != nil {
		return nil, err
	}
	return n.numbers(t, x, y)
}

func (n *arithNode) inapplicable(t *thread, x value.Value) error {
	return t.fail(n.xAt, "operator-not-applicable", "the operator %s cannot be applied to %s", n.op, t.kindOf(x))
}

func (n *arithNode) numbers(t *thread, x, y value.Value) (value.Value, error) {
	if a, is := x.(value.Int); is {
		if b, is := y.(value.Int); is {
			return n.ints(t, int64(a), int64(b))
		}
	}
	if timed(x) || timed(y) && !version(x) {
		return n.times(t, x, y)
	}
	if version(x) || version(y) {
		return nil, n.versions(t, x, y)
	}
	for _, v := range [...]value.Value{x, y} {
		if b, is := v.(*value.BigInt); is {
			return nil, t.fail(n.pos, "overflow", "the operator %s cannot be applied to %.80s, which does not fit in 64 bits", n.op, b)
		}
	}
	if _, is := x.(value.Float); is && (n.op == syntax.Mod || n.op == syntax.Shl || n.op == syntax.Shr) {
		return nil, n.inapplicable(t, x)
	}
	a, b := float(x), float(y)
	var c float64
	switch n.op {
	case syntax.Add:
		c = a + b
	case syntax.Sub:
		c = a - b
	case syntax.Mul:
		c = a * b
	case syntax.Div:
		c = a / b
	case syntax.Mod:
		return nil, t.fail(n.xAt, "operator-not-applicable", "the operator %s cannot be applied to an Integer and a Float", n.op)
	case syntax.Shl, syntax.Shr:
		// As in Ruby, the shift count is truncated to an integer.
		if b != b || math.Abs(b) > 1<<40 {
			return nil, t.fail(n.pos, "overflow", "%v %s %v does not fit in 64 bits", a, n.op, b)
		}
		return n.ints(t, int64(x.(value.Int)), int64(b))
	}
	if math.IsInf(c, 0) {
		return nil, t.fail(n.xAt, "overflow", "the result of %s is infinite", n.op)
	}
	return value.Float(c), nil
}

func float(v value.Value) float64 {
	switch v := v.(type) {
	case value.Int:
		return float64(v)
	case value.Float:
		return float64(v)
	}
	return 0
}

// numeric returns a number as it is. It converts a numeric string to a number
// if the setting strict allows that.
func (t *thread) numeric(at pos, v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case value.Int, *value.BigInt, value.Float, value.Timespan, value.Timestamp, *value.SemVer:
		return v, nil // rejected later, when both operands are known
	case value.String:
		n := parseNumber(string(v))
		if n == nil {
			break
		}
		if err := t.strict(at, "numeric-coercion", "the string "+value.Inspect(v)+" is used as a number"); err != nil {
			return nil, err
		}
		return n, nil
	}
	return nil, t.fail(at, "not-numeric", "%s is not a number", t.inspect(v))
}

// parseNumber converts a string to a number. It returns nil if s is not a
// number. Spaces and tabs are allowed around the number and after its sign. The
// prefix 0x means hexadecimal, a leading 0 octal.
func parseNumber(s string) value.Value {
	s = strings.TrimPrefix(s, "::")
	s = strings.Trim(s, " \t")
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = strings.TrimLeft(s[1:], " \t")
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return nil
	}
	digits := s
	base := 10
	switch {
	case len(s) > 2 && (s[1] == 'x' || s[1] == 'X') && s[0] == '0':
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	if strings.IndexByte(digits, '_') >= 0 {
		return nil
	}
	if !strings.ContainsAny(digits, ".eE") || base == 16 {
		if neg {
			digits = "-" + digits
		}
		if i, err := strconv.ParseInt(digits, base, 64); err == nil {
			return value.Int(i)
		}
		return nil
	}
	whole := strings.TrimRight(s, "0123456789")
	if whole == "" || strings.HasSuffix(whole, "+") {
		return nil
	}
	if last := s[len(s)-1]; last < '0' || last > '9' {
		return nil
	}
	if i := strings.IndexByte(s, '.'); i >= 0 && (i+1 >= len(s) || s[i+1] < '0' || s[i+1] > '9') {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	if neg {
		f = -f
	}
	return value.Float(f)
}

type negNode struct {
	pos
	x node
}

func (n *negNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	if v, err = t.numeric(n.pos, v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case value.Int:
		if v == math.MinInt64 {
			return nil, t.fail(n.pos, "overflow", "-(%d) does not fit in 64 bits", v)
		}
		return number(-int64(v)), nil
	case *value.BigInt:
		return nil, t.fail(n.pos, "overflow", "the operator - cannot be applied to %.80s, which does not fit in 64 bits", v)
	case value.Float:
		return -v, nil
	case value.Timespan:
		return -v, nil
	}
	return nil, t.fail(n.pos, "operator-not-applicable", "the operator - cannot be applied to %s", t.kindOf(v))
}

// elements returns the elements that + and - use for v: the elements of an
// array, the entries of a hash, or v itself.
func elements(v value.Value) []value.Value {
	switch v := v.(type) {
	case *value.Array:
		return v.Elems()
	case *value.Hash:
		return pairs(v)
	}
	return []value.Value{v}
}

func (n *arithNode) concat(t *thread, a *value.Array, y value.Value) (value.Value, error) {
	return n.append(t, a, elements(y))
}

func (n *arithNode) append(t *thread, a *value.Array, more []value.Value) (value.Value, error) {
	size := a.Len() + len(more)
	if err := t.elements(n.pos, size); err != nil {
		return nil, err
	}
	if err := t.step(n.pos, size/copyPerStep); err != nil {
		return nil, err
	}
	list := make([]value.Value, 0, size)
	list = append(append(list, a.Elems()...), more...)
	return t.array(n.pos, list)
}

// remove returns the elements of a that are not in y.
func (n *arithNode) remove(t *thread, a *value.Array, y value.Value) (value.Value, error) {
	gone := elements(y)
	if err := t.step(n.pos, a.Len()*len(gone)>>6); err != nil {
		return nil, err
	}
	if err := t.walk(n.pos, a); err != nil {
		return nil, err
	}
	if err := t.walk(n.pos, y); err != nil {
		return nil, err
	}
	var in value.HashBuilder
	for _, g := range gone {
		in.Put(g, value.Undef{})
	}
	list := make([]value.Value, 0, a.Len())
	for _, v := range a.Elems() {
		if _, is := in.Get(v); !is && !(loose(v) && hasLoosely(gone, v)) {
			list = append(list, v)
		}
	}
	left := value.NewArray(list...)
	return left, t.given(n.pos, left)
}

// loose reports whether a value can be == to a value that is a different key of
// a hash, as 1 and 1.0 are.
func loose(v value.Value) bool {
	switch v.(type) {
	case value.Int, *value.BigInt, value.Float, *value.Array, *value.Hash:
		return true
	}
	return false
}

// hasLoosely reports whether v is == to an element of list.
func hasLoosely(list []value.Value, v value.Value) bool {
	for _, x := range list {
		if rubyEqual(x, v) {
			return true
		}
	}
	return false
}

// rubyEqual is ==, but compares strings exactly.
func rubyEqual(x, y value.Value) bool {
	switch a := x.(type) {
	case value.Int, *value.BigInt, value.Float:
		switch y.(type) {
		case value.Int, *value.BigInt, value.Float:
			return value.Equal(x, y)
		}
		return false
	case *value.Array:
		b, is := y.(*value.Array)
		if !is || a.Len() != b.Len() {
			return false
		}
		for i, v := range a.All() {
			if !rubyEqual(v, b.At(i)) {
				return false
			}
		}
		return true
	case *value.Hash:
		b, is := y.(*value.Hash)
		if !is || a.Len() != b.Len() {
			return false
		}
		for k, v := range a.All() {
			w, is := b.Get(k)
			if !is || !rubyEqual(v, w) {
				return false
			}
		}
		return true
	}
	return value.Same(x, y)
}

func (n *arithNode) merge(t *thread, h *value.Hash, y value.Value) (value.Value, error) {
	var o *value.Hash
	switch y := y.(type) {
	case *value.Hash:
		o = y
	case *value.Array:
		var err error
		if o, err = n.hashOf(t, y); err != nil {
			return nil, err
		}
	default:
		return nil, t.fail(n.pos, "operator-not-applicable", "only an array or a hash can be added to a hash, not %s", t.inspect(y))
	}
	if err := t.elements(n.pos, h.Len()+o.Len()); err != nil {
		return nil, err
	}
	if err := t.step(n.pos, h.Len()/entriesPerStep+o.Len()/putPerStep); err != nil {
		return nil, err
	}
	sum := h.Merge(o)
	return sum, t.measure(n.pos, sum)
}

// hashOf converts an array to a hash. The array holds pairs, or keys and values
// in turn, or only a hash.
func (n *arithNode) hashOf(t *thread, a *value.Array) (*value.Hash, error) {
	if err := t.walk(n.pos, a); err != nil {
		return nil, err
	}
	if a.Len() == 1 {
		if h, is := a.At(0).(*value.Hash); is {
			return h, nil
		}
	}
	var b value.HashBuilder
	arrays := a.Len() > 0
	for _, v := range a.Elems() {
		if _, is := v.(*value.Array); !is {
			arrays = false
		}
	}
	if arrays {
		for _, v := range a.Elems() {
			p := v.(*value.Array)
			if p.Len() != 2 {
				return nil, t.fail(n.pos, "operator-not-applicable", "an array that is added to a hash must be of pairs, not of %d elements", p.Len())
			}
			b.Put(p.At(0), p.At(1))
		}
		return b.Build(), nil
	}
	if a.Len()%2 != 0 {
		return nil, t.fail(n.pos, "operator-not-applicable", "an array that is added to a hash must have a value for each key, not %d elements", a.Len())
	}
	for i := 0; i < a.Len(); i += 2 {
		b.Put(a.At(i), a.At(i+1))
	}
	return b.Build(), nil
}

// without returns the entries of h whose keys are not in y.
func (n *arithNode) without(t *thread, h *value.Hash, y value.Value) (value.Value, error) {
	if err := t.walk(n.pos, y); err != nil {
		return nil, err
	}
	if err := t.step(n.pos, h.Len()/putPerStep); err != nil {
		return nil, err
	}
	var in value.HashBuilder
	switch y := y.(type) {
	case *value.Hash:
		for k := range y.All() {
			in.Put(k, value.Undef{})
		}
	case *value.Array:
		for _, k := range y.All() {
			in.Put(k, value.Undef{})
		}
	default:
		in.Put(y, value.Undef{})
	}
	var b value.HashBuilder
	for k, v := range h.All() {
		if _, is := in.Get(k); !is {
			b.Put(k, v)
		}
	}
	left := b.Build()
	return left, t.given(n.pos, left)
}

// join adds to a URI or to a Binary.
func (n *arithNode) join(t *thread, x, y value.Value) (value.Value, error) {
	switch a := x.(type) {
	case *value.Binary:
		if b, is := y.(*value.Binary); is {
			size := len(a.Bytes()) + len(b.Bytes())
			if err := t.size(n.pos, size); err != nil {
				return nil, err
			}
			return value.NewBinary(append(append(make([]byte, 0, size), a.Bytes()...), b.Bytes()...)), nil
		}
		return nil, t.fail(n.pos, "operator-not-applicable", "only a Binary can be added to a Binary, not %s", t.inspect(y))
	case *value.URI:
		switch y.(type) {
		case value.String, *value.URI:
			u, err := joinURI(a, y)
			if err != nil {
				return nil, t.wrap(n.pos, err)
			}
			return u, nil
		}
	}
	return nil, t.fail(n.pos, "operator-not-applicable", "only a URI or a String can be added to a URI, not %s", t.inspect(y))
}

func version(v value.Value) bool {
	_, is := v.(*value.SemVer)
	return is
}

// versions returns the error of arithmetic with a version.
func (n *arithNode) versions(t *thread, x, y value.Value) error {
	_, f := x.(value.Float)
	_, span := y.(value.Timespan)
	switch {
	case y == value.Int(0) && n.op == syntax.Mod: // Puppet checks this for versions, too
		return t.fail(n.yAt, "division-by-zero", "division by zero")
	case version(x) && !(timed(y) && n.op == syntax.Add || span && n.op == syntax.Mul),
		n.op == syntax.Shl, n.op == syntax.Shr, f && n.op == syntax.Mod:
		return n.inapplicable(t, x)
	}
	return t.fail(n.pos, "operator-not-applicable", "the operator %s cannot be applied to %s and %s", n.op, t.kindOf(x), t.kindOf(y))
}

func timed(v value.Value) bool {
	switch v.(type) {
	case value.Timespan, value.Timestamp:
		return true
	}
	return false
}

// nanos converts seconds to nanoseconds and truncates. If v is infinite or NaN,
// the result is larger than any Timespan.
func nanos(v value.Value) *big.Int {
	if i, is := v.(value.Int); is {
		return new(big.Int).Mul(big.NewInt(int64(i)), big.NewInt(1e9))
	}
	f := float(v) * 1e9
	if f != f || math.IsInf(f, 0) {
		return new(big.Int).Lsh(big.NewInt(1), 100)
	}
	n, _ := big.NewFloat(f).Int(nil)
	return n
}
