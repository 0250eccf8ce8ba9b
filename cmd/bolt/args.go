package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/internal/spelling"
)

// usageError is a mistake on the command line. It is printed as text in every
// format, because the format is part of what could not be read.
type usageError struct{ msg, hint string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, a ...any) error { return &usageError{msg: fmt.Sprintf(format, a...)} }

// hinted adds to a usage error what to do about it. The message itself is
// compared with Bolt's by scripts, so the hint goes to standard error.
func hinted(err error, format string, a ...any) error {
	if e, ok := errors.AsType[*usageError](err); ok {
		return &usageError{e.msg, fmt.Sprintf(format, a...)}
	}
	return err
}

// arrange reads argv as Ruby's optparse does, on which Bolt's command line
// rests. It returns the words that are no flags and the flags with their full
// names.
//
// Flags may stand anywhere before a "--"; a long flag may be shortened as far
// as it stays unambiguous; its value follows after "=" or as the next word; a
// short flag's value may follow without a space.
func arrange(argv []string) (words, flags []string, err error) {
	table := flagTable()
	for i := 0; i < len(argv); i++ {
		a := argv[i]
		take := func(name string) (string, error) {
			if i+1 >= len(argv) {
				return "", usagef("Option '%s' needs a parameter", name)
			}
			i++
			return argv[i], nil
		}
		switch {
		case a == "--":
			words = append(words, argv[i+1:]...)
			return words, flags, nil
		case strings.HasPrefix(a, "--"):
			name, val, hasVal := strings.Cut(a[2:], "=")
			f, negative, err := findLong(table, name)
			if err != nil {
				return nil, nil, err
			}
			full := "--" + f.name
			if negative {
				full = "--no-" + f.name
			}
			switch {
			case f.arg == "" && hasVal:
				return nil, nil, usagef("Option '%s' does not take a parameter", full)
			case f.arg == "":
				flags = append(flags, full)
				continue
			case !hasVal:
				if val, err = take("--" + name); err != nil {
					return nil, nil, err
				}
			}
			if err := checkValue(f, full, val); err != nil {
				return nil, nil, err
			}
			flags = append(flags, full+"="+val)
		case len(a) > 1 && a[0] == '-':
			rest := a[1:]
			for rest != "" {
				short := rest[:1]
				rest = rest[1:]
				k := slices.IndexFunc(table, func(f flag) bool { return f.short == short })
				if k < 0 {
					return nil, nil, hinted(usagef("Unknown argument '-%s'", short), "a command with options of its own is one word in quotes; a script's options stand after --")
				}
				f := table[k]
				if f.arg == "" {
					flags = append(flags, "--"+f.name)
					continue
				}
				val := strings.TrimPrefix(rest, "=")
				if rest == "" {
					if val, err = take("-" + short); err != nil {
						return nil, nil, err
					}
				}
				rest = ""
				if err := checkValue(f, "--"+f.name, val); err != nil {
					return nil, nil, err
				}
				flags = append(flags, "--"+f.name+"="+val)
			}
		default:
			words = append(words, a)
		}
	}
	return words, flags, nil
}

// findLong finds the flag that name, perhaps shortened, stands for.
func findLong(table []flag, name string) (f flag, negative bool, err error) {
	type hit struct {
		f        flag
		negative bool
	}
	var hits []hit
	for _, f := range table {
		if f.name == name {
			return f, false, nil
		}
		if f.negatable && "no-"+f.name == name {
			return f, true, nil
		}
		if name != "" && strings.HasPrefix(f.name, name) {
			hits = append(hits, hit{f, false})
		}
		if f.negatable && name != "" && strings.HasPrefix("no-"+f.name, name) {
			hits = append(hits, hit{f, true})
		}
	}
	// Options that Puppet Bolt does not have must not make its abbreviations ambiguous.
	bolts := slices.DeleteFunc(slices.Clone(hits), func(h hit) bool { return h.f.strict })
	if len(bolts) == 1 {
		return bolts[0].f, bolts[0].negative, nil
	}
	switch len(hits) {
	case 1:
		return hits[0].f, hits[0].negative, nil
	case 0:
		err := usagef("Unknown argument '--%s'", name)
		if near := spelling.Near(name, longNames(table)); near != "" {
			err = hinted(err, "did you mean --%s?", near)
		}
		return flag{}, false, err
	}
	var names []string
	for _, h := range hits {
		n := "--" + h.f.name
		if h.negative {
			n = "--no-" + h.f.name
		}
		names = append(names, n)
	}
	return flag{}, false, usagef("Unknown argument '--%s': it could be %s", name, strings.Join(names, " or "))
}

// checkValue refuses what Bolt refuses while it reads the command line, and
// what is wrong with ours.
// Values of --format, --log-level and --rerun are judged later, with the
// configuration.
func checkValue(f flag, full, val string) error {
	if f.name == "transport" && !slices.Contains(f.values, val) {
		return usagef("Invalid parameter specified for option '%s': %s", full, val)
	}
	if (f.name == "as" || f.name == "from") && !slices.Contains(f.values, val) {
		return hinted(usagef("Invalid parameter specified for option '%s': %s", full, val), "it can be %s", spelling.Or(f.values))
	}
	if _, percent := percentOf(val); f.name == "concurrency" && percent {
		return nil
	}
	if f.name == "concurrency" || f.name == "connect-timeout" {
		if _, err := parseCount(val); err != nil {
			return usagef("Invalid parameter specified for option '%s': %s", full, val)
		}
	}
	return nil
}

// longNames lists what may stand after "--".
func longNames(table []flag) []string {
	var names []string
	for _, f := range table {
		names = append(names, f.name)
		if f.negatable {
			names = append(names, "no-"+f.name)
		}
	}
	return names
}
