package eval

import (
	"strconv"
	"strings"

	"bolt/puppet/value"
)

// appendText appends "${v}".
func (t *thread) appendText(at pos, buf []byte, v value.Value) ([]byte, error) {
	switch v := v.(type) {
	case value.String:
		buf = append(buf, v...)
	case value.Int:
		buf = strconv.AppendInt(buf, int64(v), 10)
	case value.Bool:
		buf = strconv.AppendBool(buf, bool(v))
	case value.Undef:
	default:
		if err := t.printable(at, v); err != nil {
			return nil, err
		}
		buf = append(buf, value.ToString(v)...)
	}
	if len(buf) > t.wide {
		return nil, t.size(at, len(buf))
	}
	return buf, nil
}

// printable returns an error if the text of a value would be too large. It
// counts the strings in the value only up to the limit.
func (t *thread) printable(at pos, v value.Value) error {
	_, nodes := value.Measure(v)
	if nodes > t.wide {
		return t.size(at, nodes)
	}
	size := textSize(v, t.wide)
	if size > t.wide {
		return t.size(at, size)
	}
	return t.step(at, nodes+size/bytesPerStep)
}

// textSize returns the approximate number of bytes of the text of a value. It
// stops when the number exceeds limit.
func textSize(v value.Value, limit int) int {
	size := 0
	switch v := v.(type) {
	case value.String:
		return len(v)
	case *value.Array:
		for _, e := range v.Elems() {
			if size += 2 + textSize(e, limit-size); size > limit {
				return size
			}
		}
	case *value.Hash:
		for k, e := range v.All() {
			if size += 6 + textSize(k, limit-size); size > limit {
				return size
			}
			if size += textSize(e, limit-size); size > limit {
				return size
			}
		}
	}
	return size
}

// shown is the number of bytes of a value that messages show.
const shown = 80

// inspect returns a value in the syntax of the language, shortened for a
// message.
func (t *thread) inspect(v value.Value) string {
	switch x := v.(type) {
	case *value.Array, *value.Hash:
		if _, nodes := value.Measure(v); nodes > 200 || textSize(v, 4*shown) > 4*shown {
			return t.kindOf(v)
		}
	case value.String:
		if len(x) > 4*shown {
			v = x[:4*shown]
		}
	case *value.Iterator:
		return t.kindOf(v)
	}
	s := value.Inspect(v)
	if len(s) > shown {
		i := shown
		for i > 0 && s[i]&0xc0 == 0x80 {
			i--
		}
		s = s[:i] + "…"
	}
	return s
}

// kindOf describes the type of a value without its parameters, such as "an
// Integer".
func (t *thread) kindOf(v value.Value) string {
	switch v.(type) {
	case value.Undef:
		return "undef"
	case value.Default:
		return "default"
	}
	return article(value.DescribeValue(v))
}

func article(name string) string {
	if name != "" && strings.IndexByte("AEIOU", name[0]) >= 0 && !strings.HasPrefix(name, "UR") {
		return "an " + name
	}
	return "a " + name
}

// joinURI resolves a reference, which is a string or a URI, against a base URI.
func joinURI(base *value.URI, ref value.Value) (value.Value, error) {
	r, is := ref.(*value.URI)
	if !is {
		var err error
		if r, err = value.ParseURI(value.ToString(ref)); err != nil {
			return nil, err
		}
	}
	u, err := base.Join(r)
	if err != nil {
		return nil, err
	}
	return u, nil
}
