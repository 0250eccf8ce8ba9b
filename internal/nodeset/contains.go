package nodeset

import "strings"

// Contains reports whether a name is among the names that Fold has folded. Names
// that contain brackets, commas or blanks are not found.
func Contains(folded, name string) bool {
	if name == "" {
		return false
	}
	for rest := folded; rest != ""; {
		var w string
		if w, rest = nextWord(rest); holds(w, name) {
			return true
		}
	}
	return false
}

// nextWord cuts off the first word: a comma in brackets is part of it.
func nextWord(s string) (word, rest string) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// holds reports whether the names of a folded word include name.
func holds(word, name string) bool {
	before, rest, ranged := strings.Cut(word, "[")
	list, after, closed := strings.Cut(rest, "]")
	if !ranged || !closed {
		return word == name
	}
	digits, begins := strings.CutPrefix(name, before)
	digits, ends := strings.CutSuffix(digits, after)
	if !begins || !ends || digits == "" || len(digits) > maxDigits {
		return false
	}
	for i := range len(digits) {
		if !digit(digits[i]) {
			return false
		}
	}
	n := parseNumber(digits).value
	for part := range strings.SplitSeq(list, ",") {
		// A number is written with the padding of its range.
		if r, err := parseSpan(part); err == nil && r.has(n) && (number{n, r.width}).String() == digits {
			return true
		}
	}
	return false
}
