package value

import (
	"bytes"
	"strconv"
	"strings"
)

// A type that contains itself is written as in Puppet. At the second
// occurrence, a reference contains the path to the type in the data, such as
// $['a'][0]['resolved_type'].

// An openType is a type that is being written, and the offset where it begins.
type openType struct {
	t  Type
	at int
}

// open begins a type. If the type is being written already, open writes a
// reference to it and returns false.
func (w *richWriter) open(t Type) bool {
	for _, o := range w.types {
		if o.t != t {
			continue
		}
		path, ok := w.places.path(w.b, o.at)
		if !ok {
			w.fail(convErr(KindUnsupported, "%s contains itself, and is under a key that references cannot contain", clip(TypeString(t))))
			return false
		}
		w.text("LocalRef", path)
		return false
	}
	w.types = append(w.types, openType{t, len(w.b)})
	return true
}

// close ends the type that was opened last.
func (w *richWriter) close() { w.types = w.types[:len(w.types)-1] }

// A placeScanner follows the JSON that is being written and knows the path to
// its end. It reads each byte once.
type placeScanner struct {
	at    int
	stack []place
}

// A place is an array or an object that has not ended.
type place struct {
	start  int // of the bracket
	list   bool
	index  int    // of the element, in a list
	from   int    // where the element begins
	before []byte // the element before it
	key    []byte // in an object, quoted
	value  bool   // after the key
	ptype  string // the value of the key __ptype
}

// path returns the path to the collection that begins at start. The collection
// must be around the end of b. If references cannot contain the path, it
// returns false.
func (s *placeScanner) path(b []byte, start int) (string, bool) {
	s.scan(b)
	var path strings.Builder
	path.WriteByte('$')
	for i, p := range s.stack {
		if p.start == start {
			return path.String(), true
		}
		switch {
		case !p.list && p.ptype == "Sensitive", !p.list && p.ptype == "Hash":
			// Paths go through these.
		case !p.list:
			if !step(&path, p.key) {
				return "", false
			}
		case i > 0 && !s.stack[i-1].list && s.stack[i-1].ptype == "Hash": // keys and values alternate
			if p.index%2 == 0 || !step(&path, p.before) {
				return "", false
			}
		default:
			path.WriteString("[" + strconv.Itoa(p.index) + "]")
		}
	}
	return "", false
}

// step writes the step to a key, which is in JSON. If the key is neither a
// string nor an integer, it returns false.
func step(path *strings.Builder, key []byte) bool {
	v, err := FromJSON(key)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case String:
		path.WriteString("['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(string(v)) + "']")
	case Int:
		path.WriteString("[" + strconv.FormatInt(int64(v), 10) + "]")
	default:
		return false
	}
	return true
}

func (s *placeScanner) scan(b []byte) {
	for s.at < len(b) {
		c := b[s.at]
		var in *place
		if len(s.stack) > 0 {
			in = &s.stack[len(s.stack)-1]
		}
		switch c {
		case '{', '[':
			s.stack = append(s.stack, place{start: s.at, list: c == '[', from: s.at + 1})
		case '}', ']':
			s.stack = s.stack[:len(s.stack)-1]
		case ',':
			if in.list {
				in.index, in.before, in.from = in.index+1, b[in.from:s.at], s.at+1
			}
			in.value = false
		case ':':
			in.value = true
		case '"':
			end := s.at + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			text := b[s.at : end+1]
			switch {
			case in == nil || in.list:
			case !in.value:
				in.key = text
			case bytes.Equal(in.key, []byte(`"`+richType+`"`)):
				in.ptype = string(text[1 : len(text)-1])
			}
			s.at = end
		}
		s.at++
	}
}
