package value

import "strings"

// A formatSpec is a format such as %-8.3f. The format of an array or a hash has
// more parts.
type formatSpec struct {
	orig             string
	verb             byte
	alt, left, space bool
	delim            byte // [ { ( < | or 0
	width, prec      int  // -1: not set
	sep, sep2        *string
	inner            formatMap // nil: the default
}

// A formatMap has formats for types. The first one that fits is used.
type formatMap []formatEntry

type formatEntry struct {
	t Type
	f *formatSpec
}

// find returns the format for v: the first one whose type accepts the type of
// v.
func (m formatMap) find(v Value) *formatSpec {
	t := formatType(v)
	for _, e := range m {
		if t == nil && Instance(e.t, v) || t != nil && acceptsFormat(e.t, t) {
			return e.f
		}
	}
	return plainFormat('s')
}

// formatType returns the type that selects a format. It returns nil if the
// value itself selects the same format.
func formatType(v Value) Type {
	switch v := v.(type) {
	case Float:
		if v != v {
			return InferDetailed(v)
		}
	case *Object:
		return v.Type() // without parameters, even if the format has some
	case Type:
		return newTypeType(v)
	}
	return nil
}

func acceptsFormat(t, of Type) bool {
	switch of.(type) {
	case *FloatType:
		// NaN is not in any range, also not in a range without bounds.
		switch t.(type) {
		case *FloatType, NumericType:
			return false
		}
	}
	return Assignable(t, of)
}

func plainFormat(verb byte) *formatSpec {
	return &formatSpec{orig: "%" + string(rune(verb)), verb: verb, width: -1, prec: -1}
}

func programFormat() *formatSpec { return plainFormat('p') }

// usualFormats returns the default formats.
func usualFormats() formatMap {
	comma, arrow := ", ", " => "
	inner := formatMap{{AnyType{}, programFormat()}}
	array, hash := plainFormat('a'), plainFormat('h')
	array.sep, array.sep2, array.inner = &comma, &comma, inner
	hash.sep, hash.sep2, hash.inner = &comma, &arrow, inner
	return formatMap{
		{anyObject, programFormat()},
		{anyFloat, plainFormat('f')},
		{NumericType{}, plainFormat('d')},
		{anyArray, array},
		{anyHash, hash},
		{BinaryType{}, plainFormat('B')},
		{AnyType{}, plainFormat('s')},
	}
}

// parseFormat parses a format. One line of s must be a format.
func parseFormat(s string) (*formatSpec, error) {
	for at := 0; ; {
		if f, ok, err := parseFormatLine(s, at); ok || err != nil {
			return f, err
		}
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return nil, convErr(KindFormat, "%q is not a format, such as %%8.3f or %%-10s", clip(s))
}

// parseFormatLine parses the format that begins at byte at of s.
func parseFormatLine(s string, at int) (f *formatSpec, ok bool, err error) {
	if at >= len(s) || s[at] != '%' {
		return nil, false, nil
	}
	f = &formatSpec{orig: s, width: -1, prec: -1}
	i := at + 1
	start := i
	for i < len(s) && (isSpace(s[i]) || strings.IndexByte("[+#0{<(|-", s[i]) >= 0) {
		i++
	}
	flags := s[start:i]
	if n := digitsAt(s, i); n > i {
		f.width = widthOf(s[i:n])
		i = n
	}
	if i < len(s) && s[i] == '.' {
		n := digitsAt(s, i+1)
		if n == i+1 {
			return nil, false, nil
		}
		f.prec = widthOf(s[i+1 : n])
		i = n
	}
	if i >= len(s) || s[i]|0x20 < 'a' || s[i]|0x20 > 'z' || i+1 < len(s) && s[i+1] != '\n' {
		return nil, false, nil
	}
	f.verb = s[i]
	if f.width > maxWidth || f.prec > maxWidth {
		return nil, false, convErr(KindLimit, "a number in the format %q is larger than %d", clip(s), maxWidth)
	}
	return f, true, f.setFlags(flags)
}

// widthOf converts digits to a number. If the number is too large, it returns
// maxWidth + 1.
func widthOf(digits string) int {
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 9 {
		return maxWidth + 1
	}
	return atoi(digits)
}

func (f *formatSpec) setFlags(flags string) error {
	for i := range len(flags) {
		c := flags[i]
		if strings.IndexByte(flags[:i], c) >= 0 {
			return convErr(KindFormat, "the format %q has the flag %q twice", clip(f.orig), c)
		}
		switch c {
		case '-':
			f.left = true
		case '#':
			f.alt = true
		case ' ':
			f.space = true
		case '[', '{', '(', '<', '|':
			if f.delim != 0 {
				return convErr(KindFormat, "the format %q has two delimiters", clip(f.orig))
			}
			f.delim = c
		}
	}
	return nil
}

// merge returns f with missing parts from lower.
func (f *formatSpec) merge(lower *formatSpec) *formatSpec {
	if lower == nil {
		return f
	}
	m := *f
	if m.sep == nil {
		m.sep = lower.sep
	}
	if m.sep2 == nil {
		m.sep2 = lower.sep2
	}
	m.inner = mergeFormats(lower.inner, f.inner)
	return &m
}

// mergeFormats merges formats. The formats of higher override those of lower.
// If higher has a format for a wider type, the format of lower is dropped.
func mergeFormats(lower, higher formatMap) formatMap {
	if lower == nil || higher == nil {
		if higher == nil {
			return lower
		}
		return higher
	}
	merged := make(formatMap, 0, len(lower)+len(higher))
	for _, l := range lower {
		if !covered(l.t, higher) {
			merged = append(merged, l)
		}
	}
next:
	for _, h := range higher {
		for i := range merged {
			if Same(merged[i].t, h.t) {
				merged[i].f = h.f.merge(merged[i].f)
				continue next
			}
		}
		merged = append(merged, h)
	}
	scratch := make(formatMap, len(merged))
	sortFormats(merged, scratch)
	return merged
}

// covered reports whether m has a format for a type that is wider than t.
func covered(t Type, m formatMap) bool {
	for _, e := range m {
		if Assignable(e.t, t) && !Same(e.t, t) {
			return true
		}
	}
	return false
}

// sortFormats sorts narrow types before wide types. The order of unrelated
// types is not transitive, so the algorithm affects the result: a merge sort of
// two halves.
func sortFormats(m, scratch formatMap) {
	if len(m) < 2 {
		return
	}
	half := len(m) / 2
	a, b := m[:half], m[half:]
	sortFormats(a, scratch)
	sortFormats(b, scratch)
	merged := scratch[:0]
	for len(a) > 0 && len(b) > 0 {
		if compareFormats(a[0].t, b[0].t) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	merged = append(append(merged, a...), b...)
	copy(m, merged)
}

func compareFormats(a, b Type) int {
	narrower, wider := Assignable(b, a), Assignable(a, b)
	switch {
	case narrower && !wider:
		return -1
	case wider && !narrower:
		return 1
	case Same(a, b):
		return 0
	}
	ra, rb := formatRank(a), formatRank(b)
	if ra == 0 || rb == 0 {
		return strings.Compare(TypeString(a), TypeString(b))
	}
	return ra - rb
}

// formatRank orders types of the same kind of values.
func formatRank(t Type) int {
	switch t.(type) {
	case *StructType:
		return 1
	case *HashType:
		return 2
	case *TupleType:
		return 3
	case *ArrayType:
		return 4
	case *PatternType:
		return 10
	case *EnumType:
		return 11
	case *StringType:
		return 12
	}
	return 0
}
