package stdlib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// texts returns the functions for strings.
func texts() []*eval.Function {
	const textOrList = "a string or an array of strings"
	// each is for a string, or for the strings in an array. Other elements of
	// the array are not changed.
	each := func(change func(string) string) runOld {
		return func(c *eval.Call, args []value.Value) (value.Value, error) {
			switch v := args[0].(type) {
			case value.String:
				return value.String(change(string(v))), nil
			case *value.Array:
				out := make([]value.Value, v.Len())
				all := made{c: c}
				for i, e := range v.All() {
					if s, ok := e.(value.String); ok {
						var err error
						if e, err = all.text(change(string(s))); err != nil {
							return nil, err
						}
					}
					out[i] = e
				}
				return value.NewArray(out...), nil
			}
			return nil, wrong(c, args[0], textOrList)
		}
	}
	lines := func(change func(string) string) runOld {
		return func(c *eval.Call, args []value.Value) (value.Value, error) {
			s, ok := args[0].(value.String)
			if !ok {
				return nil, wrong(c, args[0], "a string")
			}
			return value.String(change(string(s))), nil
		}
	}
	return []*eval.Function{
		old("swapcase", "Any $text, Any *$ignored", "Returns a string with upper and lower case exchanged. For an array, it converts each string.", each(swapcase)),
		old("regexpescape", "Any $text, Any *$ignored", "Returns a string as a regular expression that matches it. For an array, it converts each string.", each(value.EscapeRegexp)),
		old("squeeze", "Any $text, Any $characters = ''", "Returns a string without repetitions of adjacent equal characters: all, or those of a set as in Ruby's String#count. For an array, it converts each string.", squeeze),
		old("dos2unix", "Any $text", "Returns a string with the line ends of Unix for those of DOS.", lines(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") })),
		old("unix2dos", "Any $text", "Returns a string with the line ends of DOS for those of Unix.", lines(unix2dos)),
		old("prefix", "Any $collection, Any $prefix = '', Any *$ignored", "Returns an array with a prefix before each element, or a hash with it before each key, all as strings.",
			affix(func(s, affix string) string { return affix + s })),
		old("suffix", "Any $collection, Any $suffix = '', Any *$ignored", "Returns an array with a suffix after each element, or a hash with it after each key, all as strings.",
			affix(func(s, affix string) string { return s + affix })),
		{Name: "stdlib::start_with", Doc: "Returns whether a string begins with one of several strings.", Signatures: ends(strings.HasPrefix)},
		{Name: "stdlib::end_with", Doc: "Returns whether a string ends with one of several strings.", Signatures: ends(strings.HasSuffix)},
		{Name: "stdlib::xml_encode", Doc: "Returns a string as the text of an XML document, or with 'attr' as the value of an attribute, in quotes.",
			Signatures: one("String $text, Enum['text', 'attr'] $place = 'text'", func(c *eval.Call) (value.Value, error) {
				s := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(string(c.Args[0].(value.String)))
				if c.Arg(1) == value.String("attr") {
					s = `"` + strings.NewReplacer(`"`, "&quot;", "'", "&apos;").Replace(s) + `"`
				}
				return value.String(s), nil
			})},
	}
}

// swapcase implements Ruby's String#swapcase.
func swapcase(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r):
			b.WriteString(value.Downcase(string(r)))
		case unicode.IsTitle(r):
			b.WriteString(swapTitle(r))
		default:
			b.WriteString(value.Upcase(string(r)))
		}
	}
	return b.String()
}

// swapTitle is for characters that consist of an upper case and a lower case
// letter. Like Ruby, it exchanges the two.
func swapTitle(r rune) string {
	switch r {
	case 0x1c5:
		return "d\u017d"
	case 0x1c8:
		return "lJ"
	case 0x1cb:
		return "nJ"
	case 0x1f2:
		return "dZ"
	}
	up := []rune(value.Upcase(string(r)))
	return value.Downcase(string(up[:1])) + string(up[1:])
}

func unix2dos(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(strings.TrimRight(s[:i], "\r"))
		b.WriteString("\r\n")
		s = s[i+1:]
	}
}

func affix(join func(s, affix string) string) runOld {
	return func(c *eval.Call, args []value.Value) (value.Value, error) {
		text := ""
		switch v := arg(args, 1).(type) {
		case nil:
		case value.String:
			text = string(v)
		default:
			if value.Truthy(v) {
				return nil, wrong(c, v, "a string as its second argument")
			}
		}
		all := made{c: c}
		switch v := args[0].(type) {
		case *value.Array:
			out := make([]value.Value, v.Len())
			for i, e := range v.All() {
				s, err := builtin.Text(c, e)
				if err != nil {
					return nil, err
				}
				if out[i], err = all.text(join(s, text)); err != nil {
					return nil, err
				}
			}
			return value.NewArray(out...), nil
		case *value.Hash:
			var out value.HashBuilder
			for k, e := range v.All() {
				s, err := builtin.Text(c, k)
				if err != nil {
					return nil, err
				}
				key, err := all.text(join(s, text))
				if err != nil {
					return nil, err
				}
				out.Put(key, e)
			}
			return out.Build(), nil
		}
		return nil, wrong(c, args[0], "an array or a hash")
	}
}

func ends(has func(s, end string) bool) []eval.Signature {
	return one("String $text, Variant[String[1], Array[String[1], 1]] $ends", func(c *eval.Call) (value.Value, error) {
		s := string(c.Args[0].(value.String))
		for _, e := range value.Flatten(c.Args[1:]) {
			if has(s, string(e.(value.String))) {
				return value.Bool(true), nil
			}
		}
		return value.Bool(false), nil
	})
}

func squeeze(c *eval.Call, args []value.Value) (value.Value, error) {
	in := func(rune) bool { return true }
	if v := arg(args, 1); v != nil && value.Truthy(v) {
		s, ok := v.(value.String)
		if !ok {
			return nil, wrong(c, v, "a string as its second argument")
		}
		set, err := parseCharset(string(s))
		if err != nil {
			return nil, err
		}
		in = set.has
	}
	all := made{c: c}
	squeezed := func(v value.Value) (value.Value, error) {
		s, ok := v.(value.String)
		if !ok {
			return nil, wrong(c, v, "a string or an array of strings")
		}
		var b strings.Builder
		last := rune(-1)
		for i, r := range string(s) {
			if r != last || !in(r) {
				_, n := utf8.DecodeRuneInString(string(s)[i:])
				b.WriteString(string(s)[i : i+n])
			}
			last = r
		}
		return all.text(b.String())
	}
	list, ok := args[0].(*value.Array)
	if !ok {
		return squeezed(args[0])
	}
	out := make([]value.Value, list.Len())
	for i, e := range list.All() {
		var err error
		if out[i], err = squeezed(e); err != nil {
			return nil, err
		}
	}
	return value.NewArray(out...), nil
}

// A charset is a set of characters in the syntax of Ruby's String#count:
// "a-z_", or its complement "^a-z_".
type charset struct {
	not  bool
	from []rune // ranges
	to   []rune
}

func parseCharset(s string) (*charset, error) {
	set := &charset{}
	chars := []rune(s)
	if len(chars) > 1 && chars[0] == '^' {
		set.not, chars = true, chars[1:]
	}
	for i := 0; i < len(chars); {
		if chars[i] == '\\' && i+1 < len(chars) {
			i++
		}
		from := chars[i]
		to := from
		i++
		if i+1 < len(chars) && chars[i] == '-' {
			to = chars[i+1] // can be a backslash
			i += 2
			if to < from {
				return nil, eval.Errorf("invalid-argument", "in the set of characters %q, %q comes after %q", s, from, to)
			}
		}
		set.from, set.to = append(set.from, from), append(set.to, to)
	}
	return set, nil
}

func (s *charset) has(r rune) bool {
	for i, from := range s.from {
		if from <= r && r <= s.to[i] {
			return !s.not
		}
	}
	return s.not
}
