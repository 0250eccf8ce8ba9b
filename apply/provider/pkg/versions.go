package pkg

import (
	"cmp"
	"strconv"
	"strings"
)

// A term is one bound of a range of versions, such as ">=1.0".
type term struct{ operator, version string }

// A versionRange has one or two terms. All must hold.
type versionRange []term

// parseRange reads a range as Puppet does; nil if the text is a single version.
func parseRange(text string) versionRange {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 2 {
		return nil
	}
	var terms versionRange
	for _, w := range words {
		v := strings.TrimLeft(w, "<>=")
		t := term{w[:len(w)-len(v)], v}
		if v == "" || t.operator != "<" && t.operator != "<=" && t.operator != ">" && t.operator != ">=" {
			return nil
		}
		terms = append(terms, t)
	}
	return terms
}

func (r versionRange) include(v string, compare func(a, b string) int) bool {
	for _, t := range r {
		c := compare(v, t.version)
		if !(c < 0 && t.operator[0] == '<' || c > 0 && t.operator[0] == '>' || c == 0 && len(t.operator) == 2) {
			return false
		}
	}
	return true
}

// best returns the newest version in a range; "" if there is none.
func (r versionRange) best(versions []string, compare func(a, b string) int) (best string) {
	for _, v := range versions {
		if r.include(v, compare) && (best == "" || compare(v, best) > 0) {
			best = v
		}
	}
	return best
}

// compareDebian orders versions by deb-version(7).
func compareDebian(a, b string) int {
	epochA, a := cutEpoch(a)
	epochB, b := cutEpoch(b)
	upstreamA, revisionA := cutRevision(a)
	upstreamB, revisionB := cutRevision(b)
	return cmp.Or(compareNumbers(epochA, epochB), compareParts(upstreamA, upstreamB), compareParts(revisionA, revisionB))
}

func cutEpoch(v string) (epoch, rest string) {
	if epoch, rest, found := strings.Cut(v, ":"); found {
		return epoch, rest
	}
	return "0", v
}

func cutRevision(v string) (upstream, revision string) {
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		return v[:i], v[i+1:]
	}
	return v, ""
}

// compareParts compares the longest parts without digits, then the numbers that follow them, and so on.
func compareParts(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !isDigit(a[0]) || b != "" && !isDigit(b[0]) {
			if c := weight(a) - weight(b); c != 0 {
				return cmp.Compare(c, 0)
			}
			a, b = a[1:], b[1:]
		}
		var numberA, numberB string
		numberA, a = cutDigits(a)
		numberB, b = cutDigits(b)
		if c := compareNumbers(numberA, numberB); c != 0 {
			return c
		}
	}
	return 0
}

// weight is the rank of the first byte of a part: a tilde, the end or a digit, letters, others.
func weight(s string) int {
	switch {
	case s == "" || isDigit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case isLetter(s[0]):
		return int(s[0])
	}
	return int(s[0]) + 256
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func cutLetters(s string) (letters, rest string) {
	i := 0
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// compareRPM orders versions of the form EPOCH:VERSION-RELEASE.
func compareRPM(a, b string) int {
	epochA, a := cutEpoch(a)
	epochB, b := cutEpoch(b)
	versionA, releaseA, _ := strings.Cut(a, "-")
	versionB, releaseB, _ := strings.Cut(b, "-")
	return cmp.Or(compareNumbers(epochA, epochB), compareSegments(versionA, versionB), compareSegments(releaseA, releaseB))
}

// wantedRPM compares a wanted version with a present one. An epoch or a release that is not wanted counts as that
// of the present version.
func wantedRPM(want, is string) int {
	if !strings.Contains(want, ":") {
		_, is = cutEpoch(is)
	}
	if !strings.Contains(want, "-") {
		is, _, _ = strings.Cut(is, "-")
	}
	return compareRPM(want, is)
}

// compareSegments is rpmvercmp: runs of digits and of letters are compared in turn. A tilde sorts before the end,
// and a caret after it.
func compareSegments(a, b string) int {
	for {
		a, b = strings.TrimLeftFunc(a, separator), strings.TrimLeftFunc(b, separator)
		switch {
		case strings.HasPrefix(a, "~") || strings.HasPrefix(b, "~"):
			if !strings.HasPrefix(a, "~") {
				return 1
			}
			if !strings.HasPrefix(b, "~") {
				return -1
			}
			a, b = a[1:], b[1:]
			continue
		case strings.HasPrefix(a, "^") || strings.HasPrefix(b, "^"):
			switch {
			case a == "":
				return -1
			case b == "":
				return 1
			case a[0] != '^':
				return 1
			case b[0] != '^':
				return -1
			}
			a, b = a[1:], b[1:]
			continue
		case a == "" || b == "":
			return cmp.Compare(len(a), len(b))
		}
		cut, numbers := cutLetters, isDigit(a[0])
		if numbers {
			cut = cutDigits
		}
		var partA, partB string
		partA, a = cut(a)
		partB, b = cut(b)
		switch {
		case partB == "" && numbers:
			return 1
		case partB == "":
			return -1
		}
		c := strings.Compare(partA, partB)
		if numbers {
			c = compareNumbers(partA, partB)
		}
		if c != 0 {
			return c
		}
	}
}

func separator(r rune) bool {
	return r != '~' && r != '^' && (r > 127 || !isDigit(byte(r)) && !isLetter(byte(r)))
}

// compareDotted orders versions of Python and Ruby packages: numbers between dots, with words for pre-releases. A
// release of Python with "post" sorts after the one without.
func compareDotted(a, b string) int {
	partsA, partsB := dotted(a), dotted(b)
	for i := range max(len(partsA), len(partsB)) {
		if c := comparePart(partsA, partsB, i); c != 0 {
			return c
		}
	}
	return 0
}

// dotted returns the runs of digits and of letters of a version.
func dotted(v string) (parts []string) {
	v = strings.TrimPrefix(strings.ToLower(v), "v")
	for v != "" {
		var part string
		switch {
		case isDigit(v[0]):
			part, v = cutDigits(v)
		case isLetter(v[0]):
			part, v = cutLetters(v)
		default:
			v = v[1:]
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

func comparePart(a, b []string, i int) int {
	x, y := partAt(a, i), partAt(b, i)
	if isDigit(x[0]) && isDigit(y[0]) {
		return compareNumbers(x, y)
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(x, y))
}

func partAt(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return "0"
}

// rank orders the kinds of parts: words of pre-releases come before the end of a version.
func rank(part string) int {
	words := []string{"dev", "a", "alpha", "b", "beta", "c", "rc", "pre", "preview"}
	for i, w := range words {
		if part == w {
			return i - len(words)
		}
	}
	switch {
	case part == "post" || part == "r" || part == "rev":
		return 2
	case isDigit(part[0]):
		if n, err := strconv.Atoi(part); err == nil && n == 0 {
			return 1
		}
		return 3
	}
	return -len(words) - 1 // another word
}
