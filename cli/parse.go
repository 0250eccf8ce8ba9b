package cli

import (
	"slices"
	"strconv"
	"strings"

	"bolt/internal/spelling"
)

// Arrange reads argv as Ruby's optparse does. It returns the words that are not flags,
// and the values of the flags.
//
// Flags may come anywhere before a "--". A long flag may be shortened as long as it
// stays unambiguous; its value follows after "=" or as the next word. The value of a
// short flag may follow without a space.
func (p *Program) Arrange(argv []string) (words []string, given Values, err error) {
	given = Values{}
	for i := 0; i < len(argv); i++ {
		a := argv[i]
		take := func(name string) (string, error) {
			if i+1 >= len(argv) {
				return "", Errorf("Option '%s' needs a parameter", name)
			}
			i++
			return argv[i], nil
		}
		switch {
		case a == "--":
			words = append(words, argv[i+1:]...)
			return words, given, nil
		case strings.HasPrefix(a, "--"):
			name, val, hasVal := strings.Cut(a[2:], "=")
			f, negative, err := p.findLong(name)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case f.Arg == "" && hasVal && negative:
				return nil, nil, Errorf("Option '--no-%s' does not take a parameter", f.Name)
			case f.Arg == "" && hasVal:
				return nil, nil, Errorf("Option '--%s' does not take a parameter", f.Name)
			case f.Arg == "":
				given.add(f, strconv.FormatBool(!negative))
				continue
			case !hasVal:
				if val, err = take("--" + name); err != nil {
					return nil, nil, err
				}
			}
			if err := given.check(f, val); err != nil {
				return nil, nil, err
			}
		case len(a) > 1 && a[0] == '-':
			rest := a[1:]
			for rest != "" {
				short := rest[:1]
				rest = rest[1:]
				k := slices.IndexFunc(p.Flags, func(f Flag) bool { return f.Short == short })
				if k < 0 {
					return nil, nil, Hinted(Errorf("Unknown argument '-%s'", short), "%s", p.Hint)
				}
				f := &p.Flags[k]
				if f.Arg == "" {
					given.add(f, "true")
					continue
				}
				val := strings.TrimPrefix(rest, "=")
				if rest == "" {
					if val, err = take("-" + short); err != nil {
						return nil, nil, err
					}
				}
				rest = ""
				if err := given.check(f, val); err != nil {
					return nil, nil, err
				}
			}
		default:
			words = append(words, a)
		}
	}
	return words, given, nil
}

// findLong returns the flag for a name, which may be shortened.
func (p *Program) findLong(name string) (f *Flag, negative bool, err error) {
	type hit struct {
		f        *Flag
		negative bool
	}
	var hits []hit
	for i := range p.Flags {
		f := &p.Flags[i]
		if f.Name == name {
			return f, false, nil
		}
		if f.Negatable && "no-"+f.Name == name {
			return f, true, nil
		}
		if name != "" && strings.HasPrefix(f.Name, name) {
			hits = append(hits, hit{f, false})
		}
		if f.Negatable && name != "" && strings.HasPrefix("no-"+f.Name, name) {
			hits = append(hits, hit{f, true})
		}
	}
	// Options that Puppet Bolt does not have must not make its abbreviations ambiguous.
	bolts := slices.DeleteFunc(slices.Clone(hits), func(h hit) bool { return h.f.Strict })
	if len(bolts) == 1 {
		return bolts[0].f, bolts[0].negative, nil
	}
	switch len(hits) {
	case 1:
		return hits[0].f, hits[0].negative, nil
	case 0:
		err := Errorf("Unknown argument '--%s'", name)
		if near := spelling.Near(name, p.longNames()); near != "" {
			err = Hinted(err, "did you mean --%s?", near)
		}
		return nil, false, err
	}
	var names []string
	for _, h := range hits {
		n := "--" + h.f.Name
		if h.negative {
			n = "--no-" + h.f.Name
		}
		names = append(names, n)
	}
	return nil, false, Errorf("Unknown argument '--%s': it could be %s", name, strings.Join(names, " or "))
}

// longNames lists the names that are valid after "--".
func (p *Program) longNames() []string {
	var names []string
	for _, f := range p.Flags {
		names = append(names, f.Name)
		if f.Negatable {
			names = append(names, "no-"+f.Name)
		}
	}
	return names
}

func (v Values) add(f *Flag, text string) { v[f.Name] = append(v[f.Name], text) }

// check adds a value that the flag accepts.
func (v Values) check(f *Flag, text string) error {
	if f.Check != nil {
		if err := f.Check(f, text); err != nil {
			return err
		}
	}
	v.add(f, text)
	return nil
}
