package check

import "strings"

// isWord reports whether a character is a letter, a digit or _, as in Ruby's
// \w.
func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func word(s string, first func(c byte) bool) bool {
	if s == "" || !first(s[0]) {
		return false
	}
	for _, r := range s {
		if !isWord(r) {
			return false
		}
	}
	return true
}

func isSmall(c byte) bool   { return 'a' <= c && c <= 'z' }
func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }
func isParam(s string) bool { return word(s, func(c byte) bool { return isSmall(c) || c == '_' }) }

// isDefinition reports whether s can be the name of a definition: words joined
// by ::.
func isDefinition(s string) bool {
	for part := range strings.SplitSeq(s, "::") {
		if !word(part, isSmall) {
			return false
		}
	}
	return true
}

// isTypeName reports whether s can be the name of a type. Its parts begin with
// capitals. If absolute is set, a leading :: is allowed.
func isTypeName(s string, absolute bool) bool {
	if absolute {
		s = strings.TrimPrefix(s, "::")
	}
	for part := range strings.SplitSeq(s, "::") {
		if !word(part, isCapital) {
			return false
		}
	}
	return true
}

func isQualified(s string) bool { return strings.Contains(s, "::") }

// isVariable reports whether s can be the name of a variable. The parts of a
// qualified name begin with lower case letters, and the last part is the name
// of a parameter.
func isVariable(s string) bool {
	s = strings.TrimPrefix(s, "::")
	if i := strings.LastIndex(s, "::"); i >= 0 {
		return isDefinition(s[:i]) && isParam(s[i+2:])
	}
	return isParam(s)
}

// isNumber reports whether s consists of digits without a leading zero.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || s != "" && s[0] != '0'
}

func isHexOrDecimal(s string) bool {
	s = strings.TrimPrefix(s, "0x")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
