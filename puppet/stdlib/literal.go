package stdlib

import (
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// literalOf writes the argument as an expression of a language. Hashes in this
// language have arrow between keys and values. word returns the form of a value
// in the language, or "" if it is the same as in Ruby.
//
// Differs from Puppet: the text is sensitive if a part of the value is
// sensitive.
func literalOf(c *eval.Call, arrow string, word func(value.Value) string) (value.Value, error) {
	if err := c.Size(textSize(c.Args...)); err != nil {
		return nil, err
	}
	data, err := value.MarshalRich(c.Args[0])
	if err != nil {
		return nil, err
	}
	v, err := value.FromJSON(data)
	if err != nil {
		return nil, err
	}
	w := literalWriter{c: c, arrow: arrow, word: word}
	if err := w.write(v); err != nil {
		return nil, err
	}
	if w.secret {
		return value.NewSensitive(value.String(w.b.String())), nil
	}
	return value.String(w.b.String()), nil
}

type literalWriter struct {
	c     *eval.Call
	b     strings.Builder
	arrow string
	word  func(value.Value) string
	// secret is set if a Sensitive was written.
	secret bool
}

func (w *literalWriter) write(v value.Value) error {
	switch v := v.(type) {
	case *value.Array:
		w.b.WriteByte('[')
		for i, e := range v.All() {
			if i > 0 {
				w.b.WriteString(", ")
			}
			if err := w.write(e); err != nil {
				return err
			}
		}
		w.b.WriteByte(']')
		return w.c.Size(w.b.Len())
	case *value.Hash:
		if t, ok := v.GetString("__ptype"); ok && t == value.Value(value.String("Sensitive")) {
			w.secret = true
		}
		w.b.WriteByte('{')
		for i := range v.Len() {
			if i > 0 {
				w.b.WriteString(", ")
			}
			e := v.At(i)
			if err := w.write(e.Key); err != nil {
				return err
			}
			w.b.WriteString(w.arrow)
			if err := w.write(e.Value); err != nil {
				return err
			}
		}
		w.b.WriteByte('}')
		return w.c.Size(w.b.Len())
	}
	if w.word != nil {
		if s := w.word(v); s != "" {
			w.b.WriteString(s)
			return nil
		}
	}
	s, err := rubyInspect(v, w.c.Size)
	if err != nil {
		return err
	}
	w.b.WriteString(s)
	return w.c.Size(w.b.Len())
}
