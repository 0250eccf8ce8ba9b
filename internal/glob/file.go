package glob

import (
	"path"
	"strings"
)

// File reports whether the name of a file matches a pattern of Ruby's File.fnmatch: "*", "?", "[a-z]", "[!a-z]", "[^a-z]"
// and "\x". Braces are ordinary characters, and case matters. Unless dots is set, a dot at the start of a name must be in
// the pattern. A malformed pattern matches nothing.
func File(pattern, name string, dots bool) bool {
	if !dots && strings.HasPrefix(name, ".") && !strings.HasPrefix(strings.TrimPrefix(pattern, `\`), ".") {
		return false
	}
	match, err := path.Match(Classes(pattern), name)
	return match && err == nil
}

// Classes replaces the negated classes of a shell, "[!a-z]", by the syntax of the packages path and filepath,
// "[^a-z]".
func Classes(pattern string) string {
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
	return b.String()
}
