package hiera

import (
	"strconv"
	"strings"

	"bolt/puppet/value"
)

// A lookupKey is a parsed key. The root is looked up, and the segments select a
// part of the value.
type lookupKey struct {
	text     string
	module   string // the part before the first :: of root, or ""
	root     string
	segments []value.Value // each a String or an Int
}

// optionsName is the key whose value configures the lookups of other keys.
const optionsName = "lookup_options"

func parseKey(text string) (*lookupKey, error) {
	k := &lookupKey{text: text, root: text}
	if strings.ContainsAny(text, `'".`) {
		segments, ok := splitKey(text)
		if !ok {
			return nil, errorf("key", "'%s' is not a key: segments are separated by single periods, and quotes must be closed", text)
		}
		k.root = value.ToString(segments[0])
		k.segments = segments[1:]
	}
	if i := strings.Index(k.root, "::"); i > 0 {
		k.module = k.root[:i]
	} else if i == 0 {
		k.module = k.root // of no module, so it is not found in any module
	}
	return k, nil
}

// splitKey splits a key at its periods. A segment in quotes is used literally.
// White space around segments is removed. A segment of digits is an index.
func splitKey(text string) ([]value.Value, bool) {
	var out []value.Value
	for rest := text; ; {
		segment, n, quoted := cutSegment(rest)
		if n == 0 {
			return nil, false
		}
		if i, ok := index(segment); ok && !quoted {
			out = append(out, value.Int(i))
		} else {
			out = append(out, value.String(segment))
		}
		rest = rest[n:]
		if rest == "" {
			return out, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		rest = rest[1:]
	}
}

// cutSegment returns the segment at the beginning of s and the number of its
// bytes, or 0 if there is none.
func cutSegment(s string) (segment string, n int, quoted bool) {
	start := len(s) - len(strings.TrimLeft(s, " \t\r\n\f\v"))
	if start < len(s) && (s[start] == '"' || s[start] == '\'') {
		end := strings.IndexByte(s[start+1:], s[start])
		if end <= 0 {
			return "", 0, false
		}
		end += start + 1
		after := len(s) - len(strings.TrimLeft(s[end+1:], " \t\r\n\f\v"))
		return s[start+1 : end], after, true
	}
	n = strings.IndexAny(s, `'".`)
	if n < 0 {
		n = len(s)
	}
	return strings.TrimSpace(s[:n]), n, false
}

// index reports whether a segment is a number.
func index(s string) (int64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || len(s)-len(digits) > 1 {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 10, 64)
	return n, err == nil
}

// all returns the root and the segments as arguments of a data_dig function.
func (k *lookupKey) all() *value.Array {
	return value.NewArray(append([]value.Value{value.String(k.root)}, k.segments...)...)
}

// undig returns a value that contains v at the segments of k.
func (k *lookupKey) undig(v value.Value) value.Value {
	for i := len(k.segments) - 1; i >= 0; i-- {
		if n, ok := k.segments[i].(value.Int); ok && n >= 0 && n < 1<<16 {
			elems := make([]value.Value, n+1)
			for j := range elems {
				elems[j] = value.Undef{}
			}
			elems[n] = v
			v = value.NewArray(elems...)
		} else {
			v = value.NewHash(value.Entry{Key: k.segments[i], Value: v})
		}
	}
	return v
}

// dig follows the segments of k into v.
func (l *lookup) dig(k *lookupKey, v value.Value) (value.Value, bool, error) {
	if len(k.segments) == 0 {
		return v, true, nil
	}
	return l.digInto(k.text, k.segments, v)
}

func (l *lookup) digInto(key string, segments []value.Value, v value.Value) (value.Value, bool, error) {
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeSubKey, Name: joinSegments(segments)})()
	}
	for _, s := range segments {
		next, found, err := l.digOne(key, s, v)
		if err != nil || !found {
			return nil, false, err
		}
		v = next
	}
	return v, true, nil
}

func (l *lookup) digOne(key string, segment, v value.Value) (value.Value, bool, error) {
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeSegment, Name: value.ToString(segment)})()
	}
	var found value.Value
	switch v := v.(type) {
	case value.Undef:
	case *value.Array:
		n, ok := segment.(value.Int)
		if !ok {
			return nil, false, errorf("key", "the key '%s' goes into an array with '%s', which is not an index", key, value.ToString(segment))
		}
		if n >= 0 && int(n) < v.Len() {
			found = v.At(int(n))
		}
	case *value.Hash:
		found, _ = v.Get(segment)
	default:
		return nil, false, errorf("dig", "the key '%s' continues with '%s', but the data has a value of type %s there, which does not contain other values", key, value.ToString(segment), typeName(v))
	}
	if found == nil {
		l.ex.notFound(value.ToString(segment))
		return nil, false, nil
	}
	l.ex.found(value.ToString(segment), found)
	return found, true, nil
}

func joinSegments(segments []value.Value) string {
	parts := make([]string, len(segments))
	for i, s := range segments {
		parts[i] = value.ToString(s)
	}
	return strings.Join(parts, ".")
}

// typeName returns the kind of a value for messages.
func typeName(v value.Value) string { return value.Generalize(value.Infer(v)).Name() }
