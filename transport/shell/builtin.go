package shell

import "strings"

// What a resident shell may run in its own place: lines of builtin commands
// that neither change the shell nor look at what a session has for its own
// (its descriptors, its process), that start no process, that cannot fail with
// a message of the shell, and that all shells read in the same way. They have
// no effects, so running one twice does no harm.
//
//	line    = command { ( ";" | "&&" | "||" ) command } [ ";" ]
//	command = "true" | "false" | ":" | "pwd"
//	        | "echo" { word }
//	        | "printf" format { word }
//	        | "test" check | "[" check "]"
//	check   = ( "-n" | "-z" ) text | text ( "=" | "!=" ) text
//	        | number ( "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" ) number
//	        | ( "-e" | "-f" | "-d" | "-L" | "-h" | "-r" | "-w" | "-x" | "-s" ) path
//
// The arguments of true, false, ":" and pwd are left out because some shells
// read options there; printf's conversions but %s and %% because they can
// fail or print without bound.

const (
	// maxBuiltin bounds such a line: a shell reads it byte by byte.
	maxBuiltin = 4 << 10
	// maxPrinted bounds what it may print, which is held in memory: printf
	// goes through its format again for each argument.
	maxPrinted = 16 << 10
	// maxHome is what pwd is taken to print at most.
	maxHome = 1 << 10
)

// A word is a shell word without its quotes.
type word struct {
	text   string
	quoted bool
}

// isBuiltin reports whether line is what a resident shell may run.
func isBuiltin(line string) bool {
	if len(line) > maxBuiltin {
		return false
	}
	more := true // a command must or, behind ";", may follow
	optional := false
	room := maxPrinted
	for {
		words, op, rest, ok := splitCommand(line)
		switch {
		case !ok:
			return false
		case len(words) == 0:
			return op == "" && optional
		case !more || !builtinCommand(words):
			return false
		}
		if room -= prints(words); room < 0 {
			return false
		}
		more, optional = op != "", op == ";"
		if op == "" {
			return true
		}
		line = rest
	}
}

// splitCommand reads words up to an operator or the end.
func splitCommand(line string) (words []word, op, rest string, ok bool) {
	for {
		line = strings.TrimLeft(line, " ")
		switch {
		case line == "":
			return words, "", "", true
		case strings.HasPrefix(line, ";;"):
			return nil, "", "", false
		case line[0] == ';':
			return words, ";", line[1:], true
		case strings.HasPrefix(line, "&&"), strings.HasPrefix(line, "||"):
			return words, line[:2], line[2:], true
		}
		var w word
		if w, line, ok = splitWord(line); !ok {
			return nil, "", "", false
		}
		words = append(words, w)
	}
}

// splitWord reads one word, which must end at a blank, an operator or the end.
func splitWord(line string) (w word, rest string, ok bool) {
	var text strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\'' || c == '"':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 || !quotable(line[i+1:i+1+n], c) {
				return w, "", false
			}
			text.WriteString(line[i+1 : i+1+n])
			w.quoted = true
			i += n + 2
		case plainByte(c), c == '=' && i > 0:
			text.WriteByte(c)
			i++
		case i == 0 && (c == '[' || c == ']' || c == '=') && ends(line[1:]):
			return word{text: line[:1]}, line[1:], true
		case i == 0 && strings.HasPrefix(line, "!=") && ends(line[2:]):
			return word{text: "!="}, line[2:], true
		case ends(line[i:]) && i > 0:
			w.text = text.String()
			return w, line[i:], true
		default:
			return w, "", false
		}
	}
	w.text = text.String()
	return w, "", true
}

// ends reports whether a word ends before rest.
func ends(rest string) bool {
	return rest == "" || rest[0] == ' ' || rest[0] == ';' || strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||")
}

// plainByte reports whether a byte outside quotes stands for itself anywhere.
func plainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("_./:,+@%-", c) >= 0
}

// quotable reports whether all of text stands for itself in quotes. A
// backslash does in single ones, which is needed for printf; "!" does not
// where history is on.
func quotable(text string, quote byte) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~' || c == '!':
			return false
		case c == '\\' && quote == '"', quote == '"' && (c == '$' || c == '`'):
			return false
		}
	}
	return true
}

func builtinCommand(words []word) bool {
	name, args := words[0], words[1:]
	if name.quoted {
		return false
	}
	switch name.text {
	case "true", "false", ":", "pwd":
		return len(args) == 0
	case "echo":
		return !anyHas(args, `\`)
	case "printf":
		return len(args) > 0 && plainFormat(args[0].text) && !anyHas(args[1:], `\`)
	case "test":
		return plainCheck(args)
	case "[":
		n := len(args) - 1
		return n >= 0 && args[n] == word{text: "]"} && plainCheck(args[:n])
	}
	return false
}

// prints is no less than what a builtin command prints.
func prints(words []word) int {
	args := words[1:]
	n := 0
	for _, w := range args {
		n += len(w.text) + 1
	}
	switch words[0].text {
	case "pwd":
		return maxHome
	case "echo":
		return n + 1
	case "printf":
		return n + len(args)*len(args[0].text)
	}
	return 0
}

func anyHas(words []word, part string) bool {
	for _, w := range words {
		if strings.Contains(w.text, part) {
			return true
		}
	}
	return false
}

// plainFormat reports whether a format has nothing but text, %s, %% and the
// escapes for a line end and a tab.
func plainFormat(format string) bool {
	if format == "" || format[0] == '-' {
		return false
	}
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c != '%' && c != '\\' {
			continue
		}
		if i++; i == len(format) {
			return false
		}
		known := "s%"
		if c == '\\' {
			known = `nt\`
		}
		if strings.IndexByte(known, format[i]) < 0 {
			return false
		}
	}
	return true
}

func plainCheck(args []word) bool {
	switch len(args) {
	case 2:
		if args[0].quoted {
			return false
		}
		switch args[0].text {
		case "-n", "-z":
			return plainText(args[1].text)
		case "-e", "-f", "-d", "-L", "-h", "-r", "-w", "-x", "-s":
			return plainPath(args[1].text)
		}
	case 3:
		if args[1].quoted {
			return false
		}
		switch args[1].text {
		case "=", "!=":
			return plainText(args[0].text) && plainText(args[2].text)
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			return plainNumber(args[0].text) && plainNumber(args[2].text)
		}
	}
	return false
}

// plainText reports whether test(1) cannot take a word for an operator.
func plainText(s string) bool {
	return s == "" || strings.IndexByte(`-!()<>=[]\`, s[0]) < 0
}

// plainNumber: without a leading zero, which some shells take for octal.
func plainNumber(s string) bool {
	return len(s) > 0 && len(s) < 10 && (s == "0" || s[0] != '0') && strings.Trim(s, "0123456789") == ""
}

// plainPath keeps away from the files that are others for each process.
func plainPath(s string) bool {
	if s == "" || s[0] != '/' || strings.Contains(s, `\`) {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "proc" || part == "dev" || part == ".." {
			return false
		}
	}
	return true
}
