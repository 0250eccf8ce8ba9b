// Package graphviz writes strings of the language of Graphviz (DOT).
//
// Source: https://graphviz.org/doc/info/lang.html
package graphviz

import "strings"

// Quoted returns a string of the language that stands for a text.
func Quoted(s string) string { return `"` + InQuotes(s) + `"` }

// InQuotes returns text within a string of the language. An ampersand would begin an
// entity, and a backslash an escape, so both are written in another way. Lines of a text
// are lines of a label.
func InQuotes(s string) string { return escapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`)

// Shortened returns at most n characters of a text. The last one is … if some are missing.
func Shortened(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}
