package regexp

import (
	"strings"
	"unicode"
)

// asciiRanges returns the classes within ASCII, by POSIX name.
func asciiRanges(name string) []rune {
	switch name {
	case "alnum":
		return []rune{'0', '9', 'A', 'Z', 'a', 'z'}
	case "alpha":
		return []rune{'A', 'Z', 'a', 'z'}
	case "ascii":
		return []rune{0, 0x7f}
	case "blank":
		return []rune{'\t', '\t', ' ', ' '}
	case "cntrl":
		return []rune{0, 0x1f, 0x7f, 0x7f}
	case "digit":
		return []rune{'0', '9'}
	case "graph":
		return []rune{'!', '~'}
	case "lower":
		return []rune{'a', 'z'}
	case "print":
		return []rune{' ', '~'}
	case "punct":
		return []rune{'!', '/', ':', '@', '[', '`', '{', '~'}
	case "space":
		return []rune{'\t', '\r', ' ', ' '}
	case "upper":
		return []rune{'A', 'Z'}
	case "word":
		return []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	case "xdigit":
		return []rune{'0', '9', 'A', 'F', 'a', 'f'}
	}
	return nil
}

// posixRanges returns the same classes over all of Unicode, nil for an unknown
// name. They are the derived properties of Unicode's annex on regular
// expressions (UTS #18, annex C).
func posixRanges(name string) []rune {
	switch name {
	case "alnum":
		return canonical(append(alphabetic(), fromTable(unicode.Nd)...))
	case "alpha":
		return alphabetic()
	case "ascii":
		return asciiRanges(name)
	case "blank":
		return canonical(append(fromTable(unicode.Zs), '\t', '\t'))
	case "cntrl":
		return fromTable(unicode.Cc)
	case "digit":
		return fromTable(unicode.Nd)
	case "graph":
		return complement(canonical(append(unassigned(),
			union(unicode.White_Space, unicode.Cc, unicode.Cs)...)))
	case "lower":
		return union(unicode.Ll, unicode.Other_Lowercase)
	case "print":
		return canonical(append(posixRanges("graph"), fromTable(unicode.Zs)...))
	case "punct":
		// The bracket expression includes the symbols of ASCII; \p{Punct} does
		// not.
		return canonical(append(fromTable(unicode.P), asciiRanges(name)...))
	case "space":
		return fromTable(unicode.White_Space)
	case "upper":
		return union(unicode.Lu, unicode.Other_Uppercase)
	case "word":
		return canonical(append(alphabetic(), union(unicode.M, unicode.Nd, unicode.Pc)...))
	case "xdigit":
		return asciiRanges(name)
	}
	return nil
}

func alphabetic() []rune {
	return union(unicode.L, unicode.Nl, unicode.Other_Alphabetic)
}

func unassigned() []rune {
	return complement(union(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C))
}

// bare reduces the name of a property to its significant characters.
func bare(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// property returns the characters of \p{name}, or nil if the name is unknown.
func property(name string) []rune {
	name = bare(name)
	switch name {
	case "any":
		return []rune{0, unicode.MaxRune}
	case "assigned":
		return complement(unassigned())
	case "unassigned", "cn":
		return unassigned()
	case "other", "c":
		return canonical(append(unassigned(), fromTable(unicode.C)...))
	case "lc", "casedletter":
		return union(unicode.Lu, unicode.Ll, unicode.Lt)
	case "punct":
		return fromTable(unicode.P)
	case "xposixpunct":
		return posixRanges("punct")
	case "alphabetic":
		return alphabetic()
	case "lowercase":
		return posixRanges("lower")
	case "uppercase":
		return posixRanges("upper")
	}
	if r := posixRanges(name); r != nil {
		return r
	}
	for alias, short := range unicode.CategoryAliases {
		if bare(alias) == name {
			return fromTable(unicode.Categories[short])
		}
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts, unicode.Properties} {
		for n, t := range tables {
			if bare(n) == name {
				return fromTable(t)
			}
		}
	}
	return nil
}
