package stdlib

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// The output is the same as that of Ruby's Psych 4 with libyaml 0.2.5: its
// choice of quotes (yamltext.go) and of lines. Therefore files do not change
// when this program renders them.

// toYAML writes v as a document.
func toYAML(c *eval.Call, rules *yamlRules, v value.Value) (string, error) {
	w := &yamlWriter{c: c, rules: rules, indent: -1, best: 2, width: 80, line: true}
	if h, ok := c.Arg(1).(*value.Hash); ok {
		if err := w.options(h); err != nil {
			return "", err
		}
	}
	w.indicator("---", true, false, false)
	if err := w.node(v, place0); err != nil {
		return "", err
	}
	w.newLine()
	if w.open {
		w.indicator("...", true, false, false)
		w.newLine()
	}
	return string(w.b), nil
}

// A yamlPlace is the position of a node.
type yamlPlace uint8

const (
	place0 yamlPlace = iota // the root
	inList                  // an element of a sequence
	inMap                   // a value or a key of a mapping
	asKey                   // a key on the same line as its value
)

// A yamlWriter writes a document and tracks the position in it.
type yamlWriter struct {
	c      *eval.Call
	rules  *yamlRules
	b      []byte
	column int  // characters since the beginning of the line
	indent int  // indentation of the current block; -1 outside
	best   int  // indentation of one level
	width  int  // length after which lines are folded
	fold   int  // strings longer than this are folded blocks; 0: none
	all    bool // with fold 0: all strings that are not empty are folded
	blank  bool // the last character was white space or an indicator that needs none after it
	line   bool // the line contains only indentation and indicators
	open   bool // the end of the document must be marked
}

func (w *yamlWriter) options(h *value.Hash) error {
	for k := range h.All() {
		switch k.(type) {
		case value.String, value.Default:
		default:
			return wrong(w.c, k, "names of options as strings")
		}
	}
	number := func(name string, use func(n value.Int)) error {
		switch v, _ := h.GetString(name); v := v.(type) {
		case nil:
		case value.Int:
			use(v)
		default:
			return invalid(w.c, "the option %s is %s: it can be a whole number", name, inspect(v))
		}
		return nil
	}
	if err := number("indentation", func(n value.Int) {
		if 1 < n && n < 10 {
			w.best = int(n)
		}
	}); err != nil {
		return err
	}
	if err := number("line_width", func(n value.Int) {
		w.width = int(min(n, math.MaxInt32))
		switch {
		case n < 0:
			w.width = math.MaxInt
		case w.width <= 2*w.best:
			w.width = 80
		}
		if n >= 0 {
			w.fold, w.all = int(min(n, math.MaxInt32)), n == 0
		}
	}); err != nil {
		return err
	}
	if v, ok := h.GetString("canonical"); ok && value.Truthy(v) {
		return eval.Errorf("not-available", "%s(): the option canonical is not supported", bare(w.c))
	}
	version, _ := h.GetString("version")
	header, _ := h.GetString("header")
	text := ""
	switch v := version.(type) {
	case nil, value.Undef:
		if header != nil && value.Truthy(header) {
			text = "1.1"
		}
	case *value.Array:
		if v.Len() == 2 {
			text = value.RubyShown(v.At(0)) + "." + value.RubyShown(v.At(1))
		}
	default:
		text = value.RubyShown(v)
	}
	switch text {
	case "":
	case "1.1", "1.2":
		w.b = append(w.b, "%YAML "+text+"\n"...)
	default:
		return invalid(w.c, "the version is %s: it can be '1.1' or '1.2'", inspect(version))
	}
	return nil
}

// node writes a value.
func (w *yamlWriter) node(v value.Value, at yamlPlace) error {
	if err := w.c.Size(len(w.b)); err != nil {
		return err
	}
	if err := w.c.Step(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case *value.Array:
		return w.list(v, at)
	case *value.Hash:
		return w.mapping(v)
	}
	s, err := w.scalar(v, at == asKey)
	if err != nil {
		return err
	}
	if err := w.c.Step(len(s.text)); err != nil { // the text is read several times
		return err
	}
	w.inside(false, func() error {
		w.text(s, at == asKey)
		return nil
	}, true)
	return nil
}

// inside calls f with one more level of indentation. If same is set, the level
// is not increased, as for lists, which begin in the column of their key.
func (w *yamlWriter) inside(same bool, f func() error, flow bool) error {
	was := w.indent
	switch {
	case w.indent < 0 && flow:
		w.indent = w.best
	case w.indent < 0:
		w.indent = 0
	case !same:
		w.indent += w.best
	}
	err := f()
	w.indent = was
	return err
}

func (w *yamlWriter) list(v *value.Array, at yamlPlace) error {
	if v.Len() == 0 {
		w.indicator("[", true, true, false)
		w.indicator("]", false, false, false)
		return nil
	}
	return w.inside(at == inMap && !w.line, func() error {
		for _, e := range v.All() {
			w.newLine()
			w.indicator("-", true, false, true)
			if err := w.node(e, inList); err != nil {
				return err
			}
		}
		return nil
	}, false)
}

func (w *yamlWriter) mapping(v *value.Hash) error {
	if v.Len() == 0 {
		w.indicator("{", true, true, false)
		w.indicator("}", false, false, false)
		return nil
	}
	return w.inside(false, func() error {
		for i := range v.Len() {
			e := v.At(i)
			w.newLine()
			simple := w.isSimple(e.Key)
			if simple {
				if err := w.node(e.Key, asKey); err != nil {
					return err
				}
				w.indicator(":", false, false, false)
			} else {
				w.indicator("?", true, false, true)
				if err := w.node(e.Key, inMap); err != nil {
					return err
				}
				w.newLine()
				w.indicator(":", true, false, true)
			}
			if err := w.node(e.Value, inMap); err != nil {
				return err
			}
		}
		return nil
	}, false)
}

// isSimple reports whether a key is on the same line as its value.
func (w *yamlWriter) isSimple(k value.Value) bool {
	switch k := k.(type) {
	case *value.Array:
		return k.Len() == 0
	case *value.Hash:
		return k.Len() == 0
	}
	s, err := w.scalar(k, true)
	return err == nil && len(s.tag)+len(s.text) <= 128 && !s.lines
}

func (w *yamlWriter) put(s string) {
	w.b = append(w.b, s...)
	w.column += utf8.RuneCountInString(s)
}

func (w *yamlWriter) endLine() {
	w.b = append(w.b, '\n')
	w.column = 0
}

// newLine moves to the column of the block, on a new line if necessary.
func (w *yamlWriter) newLine() {
	indent := max(w.indent, 0)
	if !w.line || w.column > indent || w.column == indent && !w.blank {
		w.endLine()
	}
	for w.column < indent {
		w.put(" ")
	}
	w.blank, w.line = true, true
}

// indicator writes an indicator, with a space before it if necessary.
func (w *yamlWriter) indicator(s string, spaced, blank, line bool) {
	if spaced && !w.blank && len(w.b) > 0 && w.column > 0 {
		w.put(" ")
	}
	w.put(s)
	w.blank = blank
	w.line = w.line && line
}

// A yamlScalar is a text and its style.
type yamlScalar struct {
	yamlForm
	text  string
	tag   string
	style yamlStyle
}

// scalar selects the style of a value that is not a list or a mapping.
func (w *yamlWriter) scalar(v value.Value, key bool) (yamlScalar, error) {
	switch v := v.(type) {
	case value.Undef:
		if key { // an empty key must differ from a missing one
			return yamlScalar{tag: "!", style: yamlSingle}, nil
		}
		return yamlScalar{}, nil
	case value.Bool, value.Int, *value.BigInt:
		return yamlScalar{text: value.ToString(v)}, nil
	case value.Float:
		switch x := float64(v); {
		case math.IsNaN(x):
			return yamlScalar{text: ".nan"}, nil
		case math.IsInf(x, 0):
			return yamlScalar{text: strings.Replace("+.inf", "+", map[bool]string{true: "-"}[x < 0], 1)}, nil
		}
		return yamlScalar{text: value.ToString(v)}, nil
	case value.Default:
		return yamlScalar{text: ":default"}, nil
	case *value.Regexp:
		s := yamlScalar{text: value.Inspect(v), tag: "!ruby/regexp"}
		s.yamlForm = formOf(s.text)
		s.style = s.inPlace(key)
		return s, nil
	}
	// Differs from Puppet: types, versions, times and bytes are written as
	// text. Psych writes the fields of the Ruby objects.
	text, err := value.RubyText(v, w.c.Size)
	if err != nil {
		return yamlScalar{}, err
	}
	s := yamlScalar{text: text}
	if utf8.ValidString(text) {
		s.style = w.rules.style(text)
		if text == "<<" {
			s.tag = "!!str"
		} else if s.style != yamlLiteral && text != "y" && text != "n" && (w.all || w.fold > 0) && utf8.RuneCountInString(text) > w.fold {
			s.style = yamlFolded
		}
	} else {
		s.tag, s.text, s.style = "!binary", base64.StdEncoding.EncodeToString([]byte(text)), yamlLiteral
	}
	s.yamlForm = formOf(s.text)
	s.style = s.inPlace(key)
	return s, nil
}

// inPlace returns the style, or another one if the text cannot be written in
// that style at this position.
func (s yamlScalar) inPlace(key bool) yamlStyle {
	style := s.style
	if key && s.lines {
		style = yamlDouble
	}
	if style == yamlPlain && (!s.plain || s.text == "") {
		style = yamlSingle
	}
	if style == yamlSingle && !s.single {
		style = yamlDouble
	}
	if (style == yamlLiteral || style == yamlFolded) && (!s.block || key) {
		style = yamlDouble
	}
	return style
}

// text writes a scalar.
func (w *yamlWriter) text(s yamlScalar, key bool) {
	if s.tag != "" {
		w.indicator(s.tag, true, false, false)
	}
	switch s.style {
	case yamlPlain:
		if !w.blank && s.text != "" {
			w.put(" ")
		}
		w.flowing(s.text, !key, false)
		w.blank = w.blank && s.text == ""
	case yamlSingle:
		w.indicator("'", true, false, false)
		w.flowing(s.text, !key, true)
		w.indicator("'", false, false, false)
		w.blank = false
	case yamlDouble:
		w.quoted(s.text, !key)
	case yamlLiteral:
		w.literal(s.text)
	case yamlFolded:
		w.folded(s.text)
	}
	w.line = w.line && (s.style == yamlLiteral || s.style == yamlFolded)
}
