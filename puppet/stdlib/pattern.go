package stdlib

import (
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// patterns returns the functions with regular expressions as strings.
func patterns() []*eval.Function {
	grep := func(keep bool) runOld {
		return func(c *eval.Call, args []value.Value) (value.Value, error) {
			re, err := patternOf(c, args[1])
			if err != nil {
				return nil, err
			}
			var out []value.Value
			switch v := args[0].(type) {
			case *value.Array, *value.Hash:
				for _, e := range itemsOf(v) {
					yes, err := matches(re, e)
					if err != nil {
						return nil, err
					}
					if yes == keep {
						out = append(out, e)
					}
				}
				return value.NewArray(out...), nil
			}
			return nil, wrong(c, args[0], "an array")
		}
	}
	return []*eval.Function{
		old("grep", "Any $list, Any $pattern", "Returns the strings of an array that match a regular expression.", grep(true)),
		old("reject", "Any $list, Any $pattern", "Returns the elements of an array, except for the strings that match a regular expression.", grep(false)),
		old("delete_regex", "Any $collection, Any $patterns", "Returns an array without the strings, or a hash without the keys, that one of several regular expressions matches as whole words.", deleteRegex),
	}
}

func patternOf(c *eval.Call, v value.Value) (*value.Regexp, error) {
	s, ok := v.(value.String)
	if !ok {
		return nil, wrong(c, v, "a regular expression as a string")
	}
	return value.NewRegexp(string(s))
}

// matches reports whether a value is a string that matches. The value default
// is treated as the string "default".
func matches(re *value.Regexp, v value.Value) (bool, error) {
	switch v := v.(type) {
	case value.String:
		return re.MatchString(string(v))
	case value.Default:
		return re.MatchString("default")
	}
	return false, nil
}

func deleteRegex(c *eval.Call, args []value.Value) (value.Value, error) {
	out := args[0]
	for _, p := range itemsOf(args[1]) {
		switch out.(type) {
		case *value.Array, *value.Hash:
		default:
			return nil, wrong(c, out, "an array or a hash")
		}
		size := sizeOfCollection(out)
		if size == 0 {
			continue // the pattern can be invalid
		}
		if err := c.Step(size); err != nil {
			return nil, err
		}
		src, err := builtin.Text(c, p)
		if err != nil {
			return nil, err
		}
		if n := len(src) - len(strings.TrimRight(src, `\`)); n%2 != 0 {
			return nil, invalid(c, "the regular expression %s ends in an incomplete escape", inspect(value.String(src)))
		}
		re, err := value.NewRegexp(`\b` + src + `\b`)
		if err != nil {
			return nil, err
		}
		var failure error
		out, _ = without(out, func(k, _ value.Value) bool {
			yes, err := matches(re, k)
			if err != nil {
				failure = err
			}
			return yes
		})
		if failure != nil {
			return nil, failure
		}
	}
	return out, nil
}
