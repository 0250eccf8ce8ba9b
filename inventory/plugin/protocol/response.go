package protocol

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/transport"
)

// ReadResponse decodes the response to a request of this kind. Error texts
// begin with "it", which stands for the response. They do not quote the
// response.
func ReadResponse(data []byte, request string) (*Response, error) {
	m, err := checked(data)
	if err != nil {
		return nil, err
	}
	known := []string{keyProtocol, keyWarnings}
	_, failed := m.Get(keyError)
	switch {
	case failed:
		known = append(known, keyError)
	case request == Describe:
		known = append(known, keyDescription, keyCapabilities)
	default:
		known = append(known, keyValue, keySensitive, keyMarks)
	}
	for key := range m.All() {
		// If 'sensitive' is misspelled, the secret must not be printed.
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("it has a key other than %s", strings.Join(known, ", "))
		}
	}
	r := &Response{}
	if r.Warnings, err = warnings(m); err != nil {
		return nil, err
	}
	switch {
	case failed:
		r.Err, err = problem(m.Value(keyError))
	case request == Describe:
		err = describe(r, m)
	default:
		r.Value, err = value(m)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// value reads the value of a reference with its secrets.
func value(m *ordered.Map) (any, error) {
	v, ok := m.Get(keyValue)
	if !ok {
		return nil, fmt.Errorf("it has neither '%s' nor '%s'", keyValue, keyError)
	}
	sensitive, err := flag(m, keySensitive, false)
	if err != nil {
		return nil, err
	}
	marks, err := flag(m, keyMarks, true)
	if err != nil {
		return nil, err
	}
	if marks {
		if v, err = unmarked(v); err != nil {
			return nil, err
		}
	}
	if sensitive {
		v = inventory.Hide(v)
	}
	return v, nil
}

func flag(m *ordered.Map, key string, otherwise bool) (bool, error) {
	v, set := m.Get(key)
	if !set {
		return otherwise, nil
	}
	on, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("its '%s' is not true or false", key)
	}
	return on, nil
}

// unmarked replaces each marked map by its data, with all strings as secrets.
// References have a key of the same name.
func unmarked(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			var err error
			if v[i], err = unmarked(e); err != nil {
				return nil, err
			}
		}
	case *ordered.Map:
		secret, marked := v.Get(mark)
		_, reference := v.Get("_plugin")
		switch {
		case marked && v.Len() == 1:
			return inventory.Hide(secret), nil
		case marked && !reference:
			return nil, fmt.Errorf("a map with the key '%s' has other keys", mark)
		}
		for k, e := range v.All() {
			changed, err := unmarked(e)
			if err != nil {
				return nil, err
			}
			v.Set(k, changed)
		}
	}
	return v, nil
}

func describe(r *Response, m *ordered.Map) error {
	if v, set := m.Get(keyDescription); set {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("its '%s' is not a string", keyDescription)
		}
		r.Description = line(s)
	}
	list, _ := m.Value(keyCapabilities).([]any)
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			list = nil
			break
		}
		r.Capabilities = append(r.Capabilities, s)
	}
	if len(list) == 0 {
		return fmt.Errorf("its '%s' is not a list of strings", keyCapabilities)
	}
	return nil
}

func warnings(m *ordered.Map) ([]Warning, error) {
	v, set := m.Get(keyWarnings)
	if !set {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("its '%s' is not a list", keyWarnings)
	}
	if len(list) > maxWarnings {
		return nil, fmt.Errorf("it has more than %d warnings", maxWarnings)
	}
	var all []Warning
	for _, e := range list {
		w, ok := e.(*ordered.Map)
		id, named := w.Value(keyID).(string)
		text, told := w.Value(keyMessage).(string)
		if !ok || !named || !told || w.Len() != 2 || !idPattern().MatchString(id) {
			return nil, fmt.Errorf("a warning is not an object of '%s', a name in lower case, and '%s', a string", keyID, keyMessage)
		}
		all = append(all, Warning{ID: id, Text: line(text)})
	}
	return all, nil
}

func problem(v any) (*Error, error) {
	m, ok := v.(*ordered.Map)
	if !ok {
		return nil, fmt.Errorf("its '%s' is not an object", keyError)
	}
	e := &Error{Kind: KindPlugin}
	for key, v := range m.All() {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("a key of its '%s' is not a string", keyError)
		}
		switch key {
		case keyKind:
			e.Kind = s
		case keyMessage:
			e.Text = shown(s)
		case keyHint:
			e.Hint = shown(s)
		default:
			return nil, fmt.Errorf("its '%s' has a key other than %s, %s, %s", keyError, keyKind, keyMessage, keyHint)
		}
	}
	switch {
	case e.Text == "":
		return nil, fmt.Errorf("its '%s' has no '%s'", keyError, keyMessage)
	case !kindPattern().MatchString(e.Kind):
		return nil, fmt.Errorf("the '%s' of its '%s' is not two words with a slash between them", keyKind, keyError)
	}
	return e, nil
}

var (
	idPattern   = lazyregexp.New(`^[a-z][a-z0-9_]{0,99}$`)
	kindPattern = lazyregexp.New(`^[a-z][a-z0-9._-]{0,49}/[a-z][a-z0-9._-]{0,49}$`)
)

// shown makes a string of a program safe to print.
func shown(s string) string {
	const more = "…"
	if len(s) > maxText {
		end := maxText - len(more)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + more
	}
	return strings.TrimSpace(safetext.TerminalString(s))
}

// line returns a string of a program on one line, for lists and logs.
func line(s string) string { return strings.Join(strings.Fields(shown(s)), " ") }

// WriteResponse writes the response to a request of this kind.
func WriteResponse(w io.Writer, request string, r *Response) error {
	m := ordered.Of(keyProtocol, int64(Version))
	if r.Warnings != nil {
		list := make([]any, len(r.Warnings))
		for i, warning := range r.Warnings {
			list[i] = ordered.Of(keyID, warning.ID, keyMessage, warning.Text)
		}
		m.Set(keyWarnings, list)
	}
	switch {
	case r.Err != nil:
		e := ordered.Of(keyKind, r.Err.Kind, keyMessage, r.Err.Text)
		if r.Err.Hint != "" {
			e.Set(keyHint, r.Err.Hint)
		}
		m.Set(keyError, e)
	case request == Describe:
		m.Set(keyDescription, r.Description)
		m.Set(keyCapabilities, r.Capabilities)
	default:
		// If there are no marks, a map that looks like a mark is data.
		var f finding
		f.look(r.Value)
		if f.secrets && f.alike {
			return errors.New("the value has a secret, and a map that looks like the mark of a secret")
		}
		m.Set(keyValue, marked(r.Value))
		if !f.secrets {
			m.Set(keyMarks, false)
		}
	}
	if err := safejson.Write(w, m); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// A finding records whether a value contains secrets, and maps that look like
// marks.
type finding struct{ secrets, alike bool }

func (f *finding) look(v any) {
	switch v := v.(type) {
	case transport.Secret:
		f.secrets = true
	case []any:
		for _, e := range v {
			f.look(e)
		}
	case *ordered.Map:
		_, alike := v.Get(mark)
		_, reference := v.Get("_plugin")
		f.alike = f.alike || alike && !reference
		for _, e := range v.All() {
			f.look(e)
		}
	}
}

// marked returns data with each secret replaced by a mark.
func marked(v any) any {
	switch v := v.(type) {
	case transport.Secret:
		return ordered.Of(mark, v.Reveal())
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = marked(e)
		}
		return list
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(k, marked(e))
		}
		return m
	}
	return v
}
