package stdlib

import (
	"slices"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A tomlWriter writes hashes as TOML.
type tomlWriter struct {
	c *eval.Call
	b strings.Builder
}

// A tomlTable is a hash in the order of the output.
type tomlTable struct {
	simple, tables, arrays []value.Entry // arrays of tables
}

func (w *tomlWriter) sorted(h *value.Hash) (t tomlTable, err error) {
	keys := slices.Clone(h.Keys().Elems())
	slices.SortFunc(keys, func(a, b value.Value) int {
		n, failure := natural(a, b)
		if failure != nil {
			err = failure
		}
		return n
	})
	for _, k := range keys {
		v, _ := h.Get(k)
		e := value.Entry{Key: k, Value: v}
		switch v := v.(type) {
		case *value.Hash:
			t.tables = append(t.tables, e)
			continue
		case *value.Array:
			if v.Len() > 0 {
				if _, ok := v.At(0).(*value.Hash); ok {
					t.arrays = append(t.arrays, e)
					continue
				}
			}
		}
		t.simple = append(t.simple, e)
	}
	return t, err
}

// table writes the hash at a path.
func (w *tomlWriter) table(h *value.Hash, path []string) error {
	t, err := w.sorted(h)
	if err != nil {
		return err
	}
	if len(path) > 0 && (len(t.simple) > 0 || h.Len() == 0) {
		w.b.WriteString("[" + strings.Join(path, ".") + "]\n")
	}
	return w.content(t, path)
}

func (w *tomlWriter) content(t tomlTable, path []string) error {
	if err := w.c.Size(w.b.Len()); err != nil {
		return err
	}
	for _, e := range t.simple {
		key, err := w.key(e.Key)
		if err != nil {
			return err
		}
		text, err := w.value(e.Value)
		if err != nil {
			return err
		}
		w.b.WriteString(key + " = " + text + "\n")
		if err := w.c.Size(w.b.Len()); err != nil {
			return err
		}
	}
	for _, e := range t.tables {
		key, err := w.key(e.Key)
		if err != nil {
			return err
		}
		if err := w.table(e.Value.(*value.Hash), append(slices.Clone(path), key)); err != nil {
			return err
		}
	}
	for _, e := range t.arrays {
		key, err := w.key(e.Key)
		if err != nil {
			return err
		}
		at := append(slices.Clone(path), key)
		for _, v := range e.Value.(*value.Array).All() {
			w.b.WriteString("[[" + strings.Join(at, ".") + "]]\n")
			h, ok := v.(*value.Hash)
			if !ok {
				return eval.Errorf("type-mismatch", "%s(): the array %s has hashes, and %s: it can have one or the other", bare(w.c), strings.Join(at, "."), value.DescribeValue(v))
			}
			inner, err := w.sorted(h)
			if err != nil {
				return err
			}
			if err := w.content(inner, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// key returns a key without quotes if a line of it needs none, otherwise in
// quotes.
func (w *tomlWriter) key(k value.Value) (string, error) {
	text, err := builtin.Text(w.c, k)
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.IndexFunc(line, func(r rune) bool { return !isWord(r) && r != '-' }) < 0 {
			return text, nil
		}
	}
	if _, ok := k.(value.String); !ok {
		return "", eval.Errorf("type-mismatch", "%s(): %s cannot be a key; only strings can", bare(w.c), inspect(k))
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`, nil
}

func (w *tomlWriter) value(v value.Value) (string, error) {
	fits := func(bytes int) error { return w.c.Size(w.b.Len() + bytes) }
	switch v := v.(type) {
	case value.String:
		s, err := rubyInspect(v, fits)
		return strings.NewReplacer(`\\`, `\\`, `\#`, `#`).Replace(s), err
	case *value.Regexp:
		return rubyInspect(value.String(value.Inspect(v)), fits)
	case value.Timestamp:
		return v.UTC().Format("2006-01-02T15:04:05Z"), nil
	}
	return rubyInspect(v, fits)
}
