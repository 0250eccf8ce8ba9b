package builtin

import (
	"strings"
	"unicode/utf8"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// texts returns the functions for strings without regular expressions.
func texts() []*eval.Function {
	return []*eval.Function{
		{Name: "upcase", Doc: "Returns a string in upper case; in arrays and hashes, each string.", Signatures: deep(value.Upcase)},
		{Name: "downcase", Doc: "Returns a string in lower case; in arrays and hashes, each string.", Signatures: deep(value.Downcase)},
		{Name: "capitalize", Doc: "Returns a string with its first character in upper case and the others in lower case. For an array, it converts each string.", Signatures: flat(value.Capitalize)},
		{Name: "camelcase", Doc: "Returns a string in which words that are separated by underscores are capitalized and joined. For an array, it converts each string.", Signatures: flat(camelcase)},
		{Name: "chomp", Doc: "Returns a string without the line end at its end. For an array, it converts each string.", Signatures: flat(chomp)},
		{Name: "chop", Doc: "Returns a string without its last character, or line end. For an array, it converts each string.", Signatures: flat(chop)},
		{Name: "strip", Doc: "Returns a string without the white space at its ends. For an array, it converts each string.", Signatures: flat(func(s string) string { return rstrip(lstrip(s)) })},
		{Name: "lstrip", Doc: "Returns a string without the white space before it. For an array, it converts each string.", Signatures: flat(lstrip)},
		{Name: "rstrip", Doc: "Returns a string without the white space after it. For an array, it converts each string.", Signatures: flat(rstrip)},
		{Name: "sprintf", Doc: "Returns a format filled with values: %s, %d, %05.1f and the others of C, %<name>d and %{name} from a hash.",
			Signatures: old("Any $format, Any *$values", func(c *eval.Call, args []value.Value) (value.Value, error) {
				format, err := oldText(c, args, 0)
				if err != nil {
					return nil, err
				}
				s, err := value.Sprintf(format, args[1:], c.Size)
				return value.String(s), err
			})},
		{Name: "shellquote", Doc: "Returns the arguments, and the elements of arrays, as words for a shell, quoted if necessary.",
			Signatures: old("Any *$words", shellquote)},
	}
}

// flat returns the signatures of a function for a string or a list of strings.
// Numbers are not changed.
func flat(change func(string) string) []eval.Signature {
	return []eval.Signature{
		{Params: "Numeric $number", Run: func(c *eval.Call) (value.Value, error) { return c.Args[0], nil }},
		{Params: "String $text", Run: func(c *eval.Call) (value.Value, error) {
			return value.String(change(string(c.Args[0].(value.String)))), nil
		}},
		{Params: "Iterable[Variant[String, Numeric]] $list", Run: func(c *eval.Call) (value.Value, error) {
			seq, err := items(c.Args[0])
			if err != nil {
				return nil, err
			}
			var out []value.Value
			bytes := 0
			for i := range seq {
				v := i.value()
				if err := c.Elements(len(out)); err != nil {
					return nil, err
				}
				if s, ok := v.(value.String); ok {
					made := change(string(s))
					if bytes += len(made); c.Size(bytes) != nil {
						return nil, c.Size(bytes)
					}
					v = value.String(made)
				}
				out = append(out, v)
			}
			return value.NewArray(out...), nil
		}},
	}
}

// deep returns the signatures of a function for all strings in a value.
func deep(change func(string) string) []eval.Signature {
	var walk func(c *eval.Call, bytes *int, v value.Value) (value.Value, error)
	walk = func(c *eval.Call, bytes *int, v value.Value) (value.Value, error) {
		switch v := v.(type) {
		case value.String:
			*bytes += len(v)
			if err := c.Size(*bytes); err != nil {
				return nil, err
			}
			return value.String(change(string(v))), nil
		case value.Int, *value.BigInt, value.Float:
			return v, nil
		case *value.Array:
			out := make([]value.Value, v.Len())
			for i, e := range v.All() {
				var err error
				if out[i], err = walk(c, bytes, e); err != nil {
					return nil, err
				}
			}
			return value.NewArray(out...), nil
		case *value.Hash:
			var out value.HashBuilder
			for k, e := range v.All() {
				k, err := walk(c, bytes, k)
				if err != nil {
					return nil, err
				}
				if e, err = walk(c, bytes, e); err != nil {
					return nil, err
				}
				out.Put(k, e)
			}
			return out.Build(), nil
		}
		return nil, eval.Errorf("type-mismatch", "the value holds %s: it can hold strings, numbers, and arrays and hashes of them", value.DescribeValue(v))
	}
	return one("Variant[String, Numeric, Array, Hash] $value", func(c *eval.Call) (value.Value, error) {
		if err := measured(c, c.Args[0]); err != nil {
			return nil, err
		}
		return walk(c, new(int), c.Args[0])
	})
}

func camelcase(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "_") {
		b.WriteString(value.Capitalize(word))
	}
	return b.String()
}

func chomp(s string) string {
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(t, "\r")
	}
	return strings.TrimSuffix(s, "\r")
}

func chop(s string) string {
	if t, ok := strings.CutSuffix(s, "\r\n"); ok {
		return t
	}
	_, n := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-n]
}

// spaces are the characters that Ruby's strip removes.
const spaces = "\x00\t\n\v\f\r "

func lstrip(s string) string { return strings.TrimLeft(s, spaces) }
func rstrip(s string) string { return strings.TrimRight(s, spaces) }

func shellquote(c *eval.Call, args []value.Value) (value.Value, error) {
	words, err := flatten(c, args)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, w := range words {
		s, ok := w.(value.String)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "argument %d is %s: shellquote() takes strings and arrays of them", i+1, value.DescribeValue(w))
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(string(s)))
		if err := c.Size(b.Len()); err != nil {
			return nil, err
		}
	}
	return value.String(b.String()), nil
}

func quote(s string) string {
	const dangerous = "!\"`$\\" // inside double quotes
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		plain = plain && (isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("@%_+=:,./-", c) >= 0)
	}
	switch {
	case plain:
		return s
	case !strings.ContainsAny(s, dangerous):
		return `"` + s + `"`
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if strings.IndexByte(dangerous, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}
