// Package graphviz writes strings of the Graphviz language (DOT).
//
// Source: https://graphviz.org/doc/info/lang.html
package graphviz

import "strings"

// Quoted returns s as a quoted string of the language.
func Quoted(s string) string { return `"` + InQuotes(s) + `"` }

// InQuotes returns s escaped for use within a quoted string. An ampersand would begin an
// entity, and a backslash an escape, so both are escaped. Lines of s become lines of a
// label.
func InQuotes(s string) string { return escapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`)

// Shortened returns at most n characters of s. If characters are cut off, the last one is
// "…".
func Shortened(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}
