package value

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mismatch describes why a value is not an instance of the expected type. The
// description begins with subject: "parameter 'port' expects an Integer value,
// got String". For arrays and hashes it contains the path to the wrong element:
// "parameter 'hosts' index 2 entry 'port' expects …". It does not show the
// content of a [Sensitive]. If the value has the type, it returns "".
func Mismatch(subject string, expected Type, actual Value) string {
	left := int64(maxLooked)
	c := mismatches{left: &left}
	c.value(expected, actual, trail{})
	return c.text(subject)
}

// maxLooked is the largest number of values that are examined to find the
// problem in a value.
const maxLooked = 4_000_000

// maxProblems is the largest number of problems of a value that are reported.
const maxProblems = 4

// A problem is the description of a wrong element, with its path in the value.
type problem struct {
	path []string // "index 2", "entry 'port'"
	msg  string   // description of the problem
}

// mismatches collects problems of a value.
type mismatches struct {
	path  []string
	found []problem
	more  bool   // there are more problems than are reported
	left  *int64 // number of values that can still be examined
}

// within reports whether the limit allows examining v.
func (c *mismatches) within(v Value) bool {
	nodes := shapeOf(v).nodes
	if nodes > *c.left {
		return false
	}
	*c.left -= nodes
	return true
}

func (c *mismatches) add(format string, args ...any) {
	if len(c.found) == maxProblems {
		c.more = true
		return
	}
	c.found = append(c.found, problem{append([]string(nil), c.path...), fmt.Sprintf(format, args...)})
}

// at collects the problems that f finds one step deeper.
func (c *mismatches) at(step string, f func()) {
	c.path = append(c.path, step)
	f()
	c.path = c.path[:len(c.path)-1]
}

func (c *mismatches) full() bool { return len(c.found) == maxProblems && c.more }

// text joins the problems to a message.
func (c *mismatches) text(subject string) string {
	lines := make([]string, 0, len(c.found)+1)
	for _, p := range c.found {
		words := make([]string, 0, len(p.path)+2)
		if subject != "" {
			words = append(words, subject)
		}
		words = append(words, p.path...)
		lines = append(lines, strings.Join(append(words, p.msg), " "))
	}
	if c.more {
		lines = append(lines, "and there is more")
	}
	return strings.Join(lines, "; ")
}

// value finds the problems of v.
func (c *mismatches) value(t Type, v Value, seen trail) {
	if c.full() || Instance(t, v) {
		return
	}
	if !c.within(v) {
		c.add("expects %s, got %s", expectation(t), actual(t, v))
		return
	}
	switch t := t.(type) {
	case *AliasType:
		c.alias(t, v, seen)
		return
	case *OptionalType:
		if t.Type != nil {
			c.optional(t, v, seen)
			return
		}
	case *NotUndefType:
		if _, undef := v.(Undef); !undef && t.Type != nil {
			c.value(t.Type, v, seen)
			return
		}
	case *VariantType:
		c.variant(t, v, seen)
		return
	case *StructType:
		if h, ok := v.(*Hash); ok {
			c.structure(t, h)
			return
		}
	case *TupleType:
		if a, ok := v.(*Array); ok {
			c.tuple(t, a)
			return
		}
	case *ArrayType:
		if a, ok := v.(*Array); ok {
			c.array(t, a)
			return
		}
	case *HashType:
		if h, ok := v.(*Hash); ok {
			c.hash(t, h)
			return
		}
	case *EnumType:
		if s, ok := v.(String); ok {
			c.add("expects %s, got %s", oneOf(t.Values), clipText(string(s)))
			return
		}
	case *PatternType:
		if s, ok := v.(String); ok {
			c.add("expects a match for %s, got %s", clipType(t), clipText(string(s)))
			return
		}
	}
	c.add("expects %s, got %s", expectation(t), actual(t, v))
}

func (c *mismatches) alias(t *AliasType, v Value, seen trail) {
	if t.resolved == nil {
		c.add("expects %s, which is not known yet", t.name)
		return
	}
	if seen.aliases.has(t) {
		c.add("expects %s, got %s", expectation(t), actual(t, v))
		return
	}
	seen.aliases = &aliasChain{t, seen.aliases}
	if t.builtin {
		c.add("expects a %s value, got %s", t.name, notWithin(t, v))
		return
	}
	inner := mismatches{path: c.path, left: c.left}
	inner.value(t.resolved, v, seen)
	for i, p := range inner.found {
		if len(p.path) == len(c.path) && i == 0 && strings.HasPrefix(p.msg, "expects ") && strings.Contains(p.msg, ", got ") {
			p.msg = "expects " + t.name + ", " + strings.TrimPrefix(p.msg, "expects ")
		}
		c.take(p)
	}
	c.more = c.more || inner.more
}

// notWithin describes the part of v that is not plain data.
func notWithin(t *AliasType, v Value) string {
	for depth := 0; depth < 100 && shapeOf(v).nodes < maxLooked; depth++ {
		var inner Value
		switch v := v.(type) {
		case *Array:
			for _, e := range v.elems {
				if !Instance(t, e) {
					inner = e
					break
				}
			}
		case *Hash:
			for _, e := range v.entries {
				if !Instance(t, e.Value) {
					inner = e.Value
					break
				}
				if _, ok := e.Key.(String); !ok && inner == nil {
					inner = e.Key
				}
			}
		}
		if inner == nil {
			if depth > 0 {
				return DescribeValue(v) + " within"
			}
			break
		}
		v = inner
	}
	return DescribeValue(v)
}

func (c *mismatches) take(p problem) {
	if len(c.found) == maxProblems {
		c.more = true
		return
	}
	c.found = append(c.found, p)
}

// optional adds "or undef" to the expected types if the value itself is wrong,
// and not an element of it.
func (c *mismatches) optional(t *OptionalType, v Value, seen trail) {
	inner := mismatches{path: c.path, left: c.left}
	inner.value(t.Type, v, seen)
	for _, p := range inner.found {
		if len(p.path) == len(c.path) && strings.HasPrefix(p.msg, "expects a") && strings.Contains(p.msg, " value, got ") {
			p.msg = strings.Replace(p.msg, " value, got ", " value or undef, got ", 1)
		}
		c.take(p)
	}
	c.more = c.more || inner.more
}

// variant describes the problem within the value if the value can be meant for
// only one option. Otherwise it lists all options.
func (c *mismatches) variant(t *VariantType, v Value, seen trail) {
	var meant []Type
	for _, option := range t.Types {
		if sameShape(option, v, nil) {
			meant = append(meant, option)
		}
	}
	if len(meant) == 1 {
		inner := mismatches{path: c.path, left: c.left}
		inner.value(meant[0], v, seen)
		if len(inner.found) > 0 && len(inner.found[0].path) > len(c.path) || len(t.Types) == 1 {
			for _, p := range inner.found {
				c.take(p)
			}
			c.more = c.more || inner.more
			return
		}
	}
	names := make([]string, 0, len(t.Types))
	for _, option := range t.Types {
		names = append(names, clipType(option))
	}
	c.add("expects a value of type %s, got %s", orList(names), actualShort(v, len(meant) > 0))
}

// sameShape reports whether the kind of v matches the kind of t.
func sameShape(t Type, v Value, seen *aliasChain) bool {
	switch t := t.(type) {
	case *AliasType:
		return t.resolved != nil && !seen.has(t) && sameShape(t.resolved, v, &aliasChain{t, seen})
	case *OptionalType:
		return t.Type != nil && sameShape(t.Type, v, seen)
	case *NotUndefType:
		return t.Type != nil && sameShape(t.Type, v, seen)
	case *VariantType:
		for _, o := range t.Types {
			if sameShape(o, v, seen) {
				return true
			}
		}
		return false
	case *StructType, *HashType:
		_, ok := v.(*Hash)
		return ok
	case *ArrayType, *TupleType:
		_, ok := v.(*Array)
		return ok
	case *StringType, *EnumType, *PatternType:
		_, ok := v.(String)
		return ok
	case *IntegerType:
		switch v.(type) {
		case Int, *BigInt:
			return true
		}
		return false
	case *FloatType:
		_, ok := v.(Float)
		return ok
	case *SensitiveType:
		_, ok := v.(*Sensitive)
		return ok
	}
	return false
}

func (c *mismatches) structure(t *StructType, h *Hash) {
	for _, e := range t.Elements {
		v, ok := h.GetString(e.Name)
		switch {
		case !ok && !e.Optional:
			c.add("expects a value for key %s", quoteString(e.Name))
		case ok:
			c.at("entry "+quoteString(e.Name), func() { c.value(e.Elem, v, trail{}) })
		}
		if c.full() {
			return
		}
	}
	for k := range h.All() {
		if s, ok := k.(String); !ok || t.find(string(s)) < 0 {
			c.add("has no use for the key %s", clipText(keyText(k))+nearKey(t, k))
		}
		if c.full() {
			return
		}
	}
}

func keyText(k Value) string {
	if s, ok := k.(String); ok {
		return string(s)
	}
	return Inspect(k)
}

// nearKey suggests a name that is similar to k.
func nearKey(t *StructType, k Value) string {
	s, ok := k.(String)
	if !ok || len(t.Elements) > 100 || len(s) > 100 {
		return ""
	}
	best, name := 3, ""
	for _, e := range t.Elements {
		if d := editDistance(string(s), e.Name); d < best && d < len(e.Name) {
			best, name = d, e.Name
		}
	}
	if name == "" {
		return ""
	}
	return " (is it " + quoteString(name) + "?)"
}

// editDistance returns the smallest number of bytes to change, insert or delete
// to turn a into b.
func editDistance(a, b string) int {
	if len(b) > 100 {
		return len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if lower(a[i]) != lower(b[j]) {
				next = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func (c *mismatches) size(size *IntegerType, got int, what string) bool {
	if size == nil || size.holds(int64(got)) {
		return true
	}
	c.add("expects %s, got %d", countText(size, what), got)
	return false
}

// countText describes a size: "1 element", "2 to 3 elements", "at least 1
// element".
func countText(size *IntegerType, what string) string {
	lo, hi := int64(0), size.Max
	if size.HasMin {
		lo = size.Min
	}
	plural := func(n int64) string {
		if n == 1 {
			return what
		}
		if what == "entry" {
			return "entries"
		}
		return what + "s"
	}
	switch {
	case !size.HasMax:
		return fmt.Sprintf("at least %d %s", lo, plural(lo))
	case lo == hi:
		return fmt.Sprintf("%d %s", lo, plural(lo))
	case lo == 0:
		return fmt.Sprintf("at most %d %s", hi, plural(hi))
	}
	return fmt.Sprintf("%d to %d %s", lo, hi, plural(hi))
}

func (c *mismatches) tuple(t *TupleType, a *Array) {
	if !c.size(t.size(), len(a.elems), "element") || len(t.Types) == 0 {
		return
	}
	for i, v := range a.elems {
		c.at("index "+strconv.Itoa(i), func() { c.value(t.at(i), v, trail{}) })
		if c.full() {
			return
		}
	}
}

func (c *mismatches) array(t *ArrayType, a *Array) {
	if a.tooBig() {
		c.add("is nested too deep, or too big")
		return
	}
	if !c.size(t.Size, len(a.elems), "element") {
		return
	}
	for i, v := range a.elems {
		c.at("index "+strconv.Itoa(i), func() { c.value(t.Elem, v, trail{}) })
		if c.full() {
			return
		}
	}
}

func (c *mismatches) hash(t *HashType, h *Hash) {
	if h.tooBig() {
		c.add("is nested too deep, or too big")
		return
	}
	if !c.size(t.Size, len(h.entries), "entry") {
		return
	}
	for k, v := range h.All() {
		name := clipText(keyText(k))
		c.at("key of entry "+name, func() { c.value(t.Key, k, trail{}) })
		c.at("entry "+name, func() { c.value(t.Elem, v, trail{}) })
		if c.full() {
			return
		}
	}
}

// expectation describes the expected value: "an Integer[1, 5] value".
func expectation(t Type) string {
	switch t := t.(type) {
	case UndefType:
		return "undef"
	case *EnumType:
		if len(t.Values) > 0 {
			return oneOf(t.Values)
		}
	case *StringType:
		if t.Literal {
			return quoteString(t.Value)
		}
	case *TypeType:
		if t.Type != nil {
			return "a type that is " + withArticle(clipType(t.Type))
		}
	}
	return withArticle(clipType(t)) + " value"
}

func withArticle(s string) string {
	if s != "" && strings.ContainsRune("AEIOaeio", rune(s[0])) || strings.HasPrefix(s, "Un") {
		return "an " + s
	}
	return "a " + s
}

// oneOf lists the alternatives of an Enum.
func oneOf(values []string) string {
	if len(values) == 0 {
		return "a String value"
	}
	names := make([]string, 0, len(values))
	for i, s := range values {
		if i == 10 {
			names = append(names, fmt.Sprintf("%d more", len(values)-i))
			break
		}
		names = append(names, clipText(s))
	}
	return orList(names)
}

func orList(names []string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
}

// actual describes the actual value: the value itself if its kind matches and
// only a bound does not, otherwise its type.
func actual(t Type, v Value) string { return actualShort(v, sameShape(t, v, nil)) }

func actualShort(v Value, shown bool) string {
	switch v := v.(type) {
	case Undef:
		return "undef"
	case String:
		if shown {
			return clipText(string(v))
		}
	case Int, *BigInt, Float:
		if shown {
			return Inspect(v)
		}
	case Type:
		return "the type " + clipType(v)
	}
	return clipLong(DescribeValue(v))
}

// clipType returns a type as text, truncated if it is very long.
func clipType(t Type) string { return clipLong(TypeString(t)) }

func clipLong(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
