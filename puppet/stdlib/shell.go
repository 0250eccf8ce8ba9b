package stdlib

import (
	"strings"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// shells returns the functions for command lines.
func shells() []*eval.Function {
	escape := func(how func(string) string) []eval.Signature {
		return one("Any $value", func(c *eval.Call) (value.Value, error) {
			text, err := builtin.Text(c, c.Args[0])
			return value.String(how(text)), err
		})
	}
	return []*eval.Function{
		{Name: "stdlib::shell_escape", Doc: "Returns the text of a value, quoted as one word for a POSIX shell.", Signatures: escape(shellEscape)},
		{Name: "stdlib::batch_escape", Doc: "Returns a value as a word for the cmd shell of Windows, in quotes.", Signatures: escape(batchEscape)},
		{Name: "stdlib::powershell_escape", Doc: "Returns a value as a word for PowerShell.", Signatures: escape(powershellEscape)},
		old("shell_join", "Any $words", "Returns the elements of an array as one command line for a POSIX shell.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				list, ok := args[0].(*value.Array)
				if !ok {
					return nil, wrong(c, args[0], "an array")
				}
				var b strings.Builder
				for i, v := range list.All() {
					if i > 0 {
						b.WriteByte(' ')
					}
					word, err := builtin.Text(c, v)
					if err != nil {
						return nil, err
					}
					b.WriteString(shellEscape(word))
					if err := c.Size(b.Len()); err != nil {
						return nil, err
					}
				}
				return value.String(b.String()), nil
			}),
		old("shell_split", "Any $line", "Returns the words of a command line, as a POSIX shell splits it.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				line, err := builtin.Text(c, args[0])
				if err != nil {
					return nil, err
				}
				words, ok := ShellSplit(line)
				if !ok {
					return nil, invalid(c, "a quote is not closed in %s", inspect(args[0]))
				}
				return stringsOf(words), nil
			}),
	}
}

func shellEscape(s string) string {
	if s == "" {
		return "''"
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s) // a byte that is not UTF-8 needs a backslash
		switch {
		case r == '\n':
			b.WriteString("'\n'")
			s = s[n:]
			continue
		case !isWord(r) && (r >= utf8.RuneSelf || strings.IndexByte("-.,:+/@", byte(r)) < 0):
			b.WriteByte('\\')
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// isWord reports whether r is an ASCII letter, a digit or an underscore.
func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
}

func notWord(r rune) bool { return !isWord(r) }

func batchEscape(s string) string {
	return `"` + strings.NewReplacer(`"`, `""`, `$`, `\$`, `\`, `\\`).Replace(s) + `"`
}

func powershellEscape(s string) string {
	return strings.NewReplacer(" ", "` ", "'", "`'", "`", "``", "|", "`|", "\n", "`\n", "$", "`$", `"`, "\\`\"").Replace(s)
}

const shellSpace = " \t\n\v\f\r"

// ShellSplit implements Ruby's Shellwords.split. If a quote is not closed, ok
// is false.
func ShellSplit(line string) (words []string, ok bool) {
	var field strings.Builder
	for {
		if line = strings.TrimLeft(line, shellSpace); line == "" {
			return words, true
		}
		end := strings.IndexAny(line, shellSpace+`\'"`)
		switch {
		case end != 0:
			if end < 0 {
				end = len(line)
			}
			field.WriteString(line[:end])
		case line[0] == '\'':
			n := strings.IndexByte(line[1:], '\'')
			if n < 0 {
				return nil, false
			}
			field.WriteString(line[1 : 1+n])
			end = n + 2
		case line[0] == '"':
			n := doubleQuoted(&field, line[1:])
			if n < 0 {
				return nil, false
			}
			end = n + 1
		default: // a backslash, and the character after it
			_, n := utf8.DecodeRuneInString(line[1:])
			if n == 0 || line[1] == '\n' {
				field.WriteByte('\\')
			}
			field.WriteString(line[1 : 1+n])
			end = 1 + n
		}
		if line = line[end:]; line == "" || strings.IndexByte(shellSpace, line[0]) >= 0 {
			words = append(words, field.String())
			field.Reset()
		}
	}
}

// doubleQuoted writes the text before the next double quote. It returns the
// length of the text, including the quote. Without a quote, it returns a value
// < 0.
func doubleQuoted(b *strings.Builder, s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			if i+1 == len(s) {
				return -1
			}
			i++
			if strings.IndexByte("$`\"\\\n", s[i]) < 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s[i])
	}
	return -1
}
