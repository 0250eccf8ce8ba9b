package listing

import (
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/internal/glob"
)

// Offered returns the items of a list whose names contain a text and match one
// of the globs of a setting. Without globs, all names match.
func Offered(list []Described, contain, setting string, globs []string) ([]Described, error) {
	listed, err := offers(setting, globs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(d Described) bool {
		return !strings.Contains(d.Name, contain) || !listed(d.Name)
	}), nil
}

// offers returns a function that reports whether a name matches one of the
// globs of a setting. It returns nil if every name is listed.
func offers(setting string, globs []string) (func(name string) bool, error) {
	if globs == nil {
		return func(string) bool { return true }, nil
	}
	var compiled []glob.Glob
	for _, text := range globs {
		g, err := glob.Compile(text)
		if err != nil {
			return nil, fault.New("bolt/validation-error", "The pattern '%s' of the setting %s cannot be used: %v", text, setting, err)
		}
		compiled = append(compiled, g)
	}
	return func(name string) bool {
		return slices.ContainsFunc(compiled, func(g glob.Glob) bool { return g.Match(name) })
	}, nil
}
