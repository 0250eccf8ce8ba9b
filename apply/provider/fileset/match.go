package fileset

import (
	"path"
	"strings"
)

// Match reports whether a file name matches a pattern of Ruby's File.fnmatch: "*", "?", "[a-z]", "[!a-z]", "[^a-z]"
// and "\x". Unless dots is set, a dot at the start of a name must be in the pattern. A malformed pattern
// matches nothing.
func Match(pattern, name string, dots bool) bool {
	if !dots && strings.HasPrefix(name, ".") && !strings.HasPrefix(strings.TrimPrefix(pattern, `\`), ".") {
		return false
	}
	// path.Match knows no other negation than "[^".
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		b.WriteByte(pattern[i])
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			b.WriteByte(pattern[i])
		case pattern[i] == '[' && i+1 < len(pattern) && pattern[i+1] == '!':
			i++
			b.WriteByte('^')
		}
	}
	match, err := path.Match(b.String(), name)
	return match && err == nil
}
