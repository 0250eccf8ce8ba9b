package powershell

import (
	"strings"

	"bolt/transport"
)

// quoteWord writes a word as programs read it that are made with Microsoft's C
// library ("Parsing C command-line arguments"): backslashes count twice before a
// quotation mark, and only there.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\v\"") {
		return word
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(word) {
		switch c := word[i]; c {
		case '\\':
			slashes++
			b.WriteByte(c)
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		slashes = 0
		b.WriteByte(word[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
	return b.String()
}

// quoteBatch writes a word for a batch file, between whose quotation marks
// cmd.exe takes nothing for an operator but the percent sign. A substring of
// nothing of a variable that is always there keeps that from being the
// beginning of a variable. What cannot be in a line is refused.
func quoteBatch(word string) (string, error) {
	if strings.ContainsAny(word, "\r\n\x00") {
		return "", &transport.Error{Class: transport.ClassUnsupported,
			Msg: "An argument has a line end, which no batch file can be given"}
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, r := range word {
		switch r {
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes) + `"`)
		case '%':
			b.WriteString("%%cd:~,")
		}
		b.WriteRune(r)
		slashes++
		if r != '\\' {
			slashes = 0
		}
	}
	// A backslash before the last mark would make that a part of the word for a
	// program that the batch file starts.
	return b.String() + strings.Repeat(`\`, slashes) + `"`, nil
}

// isBatch reports whether cmd.exe runs a file.
func isBatch(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd")
}
