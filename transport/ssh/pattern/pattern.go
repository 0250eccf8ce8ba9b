// Package pattern matches names as OpenSSH does (ssh_config(5), PATTERNS;
// sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
package pattern

import "strings"

// MatchAny is the rule of Host lines: at least one pattern matches, and no
// negated pattern matches.
func MatchAny(patterns []string, s string) bool {
	found := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if Match(p, s) {
			if negated {
				return false
			}
			found = true
		}
	}
	return found
}

// MatchList is MatchAny for a comma-separated list.
func MatchList(list, s string) bool { return MatchAny(strings.Split(list, ","), s) }

// Match matches s with * and ?, in time O(len(pattern)·len(s)).
func Match(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0 // the last * so far, and the end of its current match
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Lower converts only A-Z to lower case. As in OpenSSH, other characters are
// not changed.
func Lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
