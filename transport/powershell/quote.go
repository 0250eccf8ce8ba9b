package powershell

import (
	"strings"

	"bolt/transport"
)

// quoteWord quotes a word for programs that use Microsoft's C library ("Parsing
// C command-line arguments"). A backslash must be doubled before a quotation
// mark, and only there.
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

// quoteBatch quotes a word for a batch file. Between quotation marks, cmd.exe
// treats only the percent sign as an operator. An empty substring of a variable
// that always exists prevents the percent sign from beginning a variable. A
// word that cannot be in a line is refused.
func quoteBatch(word string) (string, error) {
	if strings.ContainsAny(word, "\r\n\x00") {
		return "", &transport.Error{Class: transport.ClassUnsupported,
			Msg: "An argument has a line end, but the arguments of a batch file cannot have line ends"}
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
	// A backslash before the last quotation mark would make the mark a part of
	// the word for a program that the batch file starts.
	return b.String() + strings.Repeat(`\`, slashes) + `"`, nil
}

// isBatch reports whether cmd.exe runs a file.
func isBatch(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd")
}
