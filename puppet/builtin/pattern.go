package builtin

import (
	"strings"

	"bolt/internal/regexp"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// patterns returns the functions for regular expressions.
func patterns() []*eval.Function {
	const target = "Variant[String, Sensitive[String], Array[Variant[String, Sensitive[String]]], Sensitive[Array[Variant[String, Sensitive[String]]]]] $target"
	return []*eval.Function{
		{Name: "split", Doc: "Returns the parts of a string that a pattern separates; groups of the pattern are parts, too, and empty parts at the end are removed. If an argument is sensitive, the result is sensitive.",
			Signatures: one("Variant[String, Sensitive[String]] $text, Variant[String, Regexp, Type[Regexp]] $pattern", split)},
		{Name: "match", Doc: "Returns the text that a pattern matches and the texts of its groups, or undef. For an array of strings, it returns an array of these results.",
			Signatures: []eval.Signature{
				{Params: "String $text, Any $pattern", Run: func(c *eval.Call) (value.Value, error) {
					return match(c, c.Args[0].(value.String), c.Args[1])
				}},
				{Params: "Array[String] $texts, Any $pattern", Run: func(c *eval.Call) (value.Value, error) {
					list := c.Args[0].(*value.Array)
					out := make([]value.Value, list.Len())
					for i, s := range list.All() {
						var err error
						if out[i], err = match(c, s.(value.String), c.Args[1]); err != nil {
							return nil, err
						}
					}
					return value.NewArray(out...), nil
				}},
			}},
		{Name: "regsubst", Doc: "Replaces the matches of a pattern in a string: with a string, in which \\1 and \\k<name> are groups, or with the value in a hash. " +
			"Flags: G replaces all matches, I ignores case, M lets a dot match line ends, E allows white space in the pattern.",
			Signatures: []eval.Signature{
				{Params: target + ", String $pattern, Variant[String, Hash[String, String]] $replacement, Optional[Pattern[/^[GEIM]*$/]] $flags = undef, Enum['N', 'E', 'S', 'U'] $encoding = 'N'", Run: regsubst},
				{Params: target + ", Variant[Regexp, Type[Regexp]] $pattern, Variant[String, Hash[String, String]] $replacement, Pattern[/^G?$/] $flags = ''", Run: regsubst},
			}},
	}
}

// regexpOf makes a pattern from a string, a Regexp or a Regexp type.
func regexpOf(v value.Value, options string) (*value.Regexp, error) {
	src := ""
	switch v := v.(type) {
	case *value.Regexp:
		return v, nil
	case value.String:
		src = string(v)
	case *value.RegexpType:
		if v.Pattern != nil {
			return v.Pattern, nil
		}
	}
	if options != "" {
		// The line end closes a comment at the end of the pattern.
		src = "(?" + options + ":" + src + ")"
		if strings.Contains(options, "x") {
			src = src[:len(src)-1] + "\n)"
		}
	}
	return value.NewRegexp(src)
}

func split(c *eval.Call) (value.Value, error) {
	re, err := regexpOf(c.Args[1], "")
	if err != nil {
		return nil, err
	}
	v, secret := c.Args[0], false
	if s, ok := v.(*value.Sensitive); ok {
		v, secret = s.Unwrap(), true
	}
	text := string(v.(value.String))
	if c.Elements(len(text)+1) != nil { // so long that there can be too many parts
		n := 0
		for groups, err := range re.Within(c.Budget()).All(text) {
			if err != nil {
				return nil, err
			}
			n += len(groups) / 2
			if err := c.Elements(n); err != nil {
				return nil, err
			}
		}
	}
	parts, err := re.Within(c.Budget()).Split(text, 0)
	if err != nil {
		return nil, err
	}
	out := make([]value.Value, len(parts))
	for i, p := range parts {
		out[i] = value.String(p)
	}
	if secret {
		return value.NewSensitive(value.NewArray(out...)), nil
	}
	return value.NewArray(out...), nil
}

func match(c *eval.Call, s value.String, pattern value.Value) (value.Value, error) {
	any := func(list []value.Value) (value.Value, error) {
		for _, p := range list {
			if v, err := match(c, s, p); err != nil || !value.IsUndef(v) {
				return v, err
			}
		}
		return value.Undef{}, nil
	}
	switch p := pattern.(type) {
	case value.String, *value.Regexp:
		re, err := regexpOf(p, "")
		if err != nil {
			return nil, err
		}
		loc, err := re.Within(c.Budget()).FindIndex(string(s), 0)
		if err != nil || loc == nil {
			return value.Undef{}, err
		}
		return value.NewArray(value.Groups(string(s), loc)...), nil
	case *value.RegexpType:
		if p.Pattern == nil {
			return nil, eval.Errorf("type-mismatch", "the type Regexp has no pattern to match")
		}
		return match(c, s, p.Pattern)
	case *value.PatternType:
		for _, re := range p.Patterns {
			if v, err := match(c, s, re); err != nil || !value.IsUndef(v) {
				return v, err
			}
		}
		return value.Undef{}, nil
	case *value.VariantType:
		for _, t := range p.Types {
			if v, err := match(c, s, t); err != nil || !value.IsUndef(v) {
				return v, err
			}
		}
		return value.Undef{}, nil
	case *value.AliasType:
		return match(c, s, p.Resolved())
	case *value.Array:
		return any(p.Elems())
	}
	return nil, eval.Errorf("type-mismatch", "match() takes a string, a Regexp, a Regexp or Pattern type, or an array of these as the pattern, and not %s", value.DescribeValue(pattern))
}

func regsubst(c *eval.Call) (value.Value, error) {
	if c.Arg(4) != nil {
		c.Deprecated("the encoding that is given to regsubst() does nothing, and is deprecated")
	}
	all, options := false, ""
	if flags, ok := c.Arg(3).(value.String); ok {
		for _, f := range string(flags) {
			switch f {
			case 'G':
				all = true
			case 'E':
				options += "x"
			case 'I':
				options += "i"
			case 'M':
				options += "m"
			}
		}
	}
	pattern := c.Args[1]
	if t, ok := pattern.(*value.RegexpType); ok { // as in Puppet, its source is matched literally
		source := ""
		if t.Pattern != nil {
			source = t.Pattern.Source()
		}
		pattern = value.String(regexp.QuoteMeta(source))
	}
	re, err := regexpOf(pattern, options)
	if err != nil {
		return nil, err
	}
	replace := func(s string) (string, error) {
		switch r := c.Args[2].(type) {
		case *value.Hash:
			return replaceFrom(c, re, s, r, all)
		default:
			return re.Within(c.Budget()).Replace(s, string(r.(value.String)), all)
		}
	}
	bytes := 0 // of all resulting strings
	var change func(v value.Value) (value.Value, error)
	change = func(v value.Value) (value.Value, error) {
		switch v := v.(type) {
		case *value.Array:
			out := make([]value.Value, v.Len())
			for i, e := range v.All() {
				var err error
				if out[i], err = change(e); err != nil {
					return nil, err
				}
			}
			return value.NewArray(out...), nil
		case *value.Sensitive:
			r, err := change(v.Unwrap())
			if err != nil {
				return nil, err
			}
			// Differs from Puppet: the result for a sensitive array is
			// sensitive, too.
			return value.NewSensitive(r), nil
		default:
			s, err := replace(string(v.(value.String)))
			if err != nil {
				return nil, err
			}
			bytes += len(s)
			return value.String(s), c.Size(bytes)
		}
	}
	return change(c.Args[0])
}

// replaceFrom replaces matches with their values in a hash. A match that is not
// in the hash is removed.
func replaceFrom(c *eval.Call, re *value.Regexp, s string, by *value.Hash, all bool) (string, error) {
	var b strings.Builder
	at := 0
	for loc, err := range re.Within(c.Budget()).All(s) {
		if err != nil {
			return "", err
		}
		if err := c.Size(b.Len()); err != nil {
			return "", err
		}
		b.WriteString(s[at:loc[0]])
		if v, ok := by.GetString(s[loc[0]:loc[1]]); ok {
			b.WriteString(string(v.(value.String)))
		}
		at = loc[1]
		if !all {
			break
		}
	}
	b.WriteString(s[at:])
	return b.String(), nil
}
