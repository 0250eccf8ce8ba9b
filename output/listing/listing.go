// Package listing prints all output other than actions and plans: tasks, plans,
// modules, plugins, inventories, facts, the pool, audit logs, projects, and
// evaluated programs of the Puppet language.
//
// Each file handles one subject. Its function Print… writes text in the layout
// of Puppet Bolt, or one line of JSON.
package listing

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/modules"
	"bolt/output/layout"
)

// Options select the layout. The zero value prints plain text.
type Options struct {
	Format layout.Format // JSON and NDJSON print one line of JSON, all others text
	Color  bool
}

func heading(out *bufio.Writer, color bool, s string) {
	_, _ = out.WriteString(layout.Paint(layout.Cyan, color, s) + "\n")
}

// Described is a name with a description in one sentence.
type Described struct {
	Name, Description string // "" if there is none
}

// pair returns the form in JSON: [name, description or null].
func (d Described) pair() []any { return []any{d.Name, textOrNull(d.Description)} }

// pairs returns a list of Described in its form in JSON.
func pairs(list []Described) []any {
	all := make([]any, len(list))
	for i, d := range list {
		all[i] = d.pair()
	}
	return all
}

// printListed prints the items of one kind in modules, such as tasks.
func printListed(w io.Writer, o Options, kind string, list []Described, modulepath []string) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of(kind+"s", pairs(list), "modulepath", modulepath))
	}
	out := bufio.NewWriter(w)
	heading(out, o.Color, strings.ToUpper(kind[:1])+kind[1:]+"s")
	if len(list) == 0 {
		_, _ = out.WriteString("  No available " + kind + "s\n")
	}
	columns(out, list)
	printModulepath(out, o.Color, modulepath)
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  Use 'bolt " + kind + " show <" + strings.ToUpper(kind) + " NAME>' to view details and parameters for a specific " + kind + ".\n")
	return out.Flush()
}

func printModulepath(out *bufio.Writer, color bool, dirs []string) {
	_ = out.WriteByte('\n')
	heading(out, color, "Modulepath")
	_, _ = out.WriteString("  " + safetext.String(strings.Join(dirs, ":")) + "\n")
}

// columns prints names and descriptions in the layout of Bolt's tables.
func columns(out *bufio.Writer, list []Described) {
	width := 0
	for _, d := range list {
		width = max(width, utf8.RuneCountInString(d.Name))
	}
	for _, d := range list {
		name := d.Name
		for line := range strings.SplitSeq(layout.Truncated(d.Description), "\n") {
			if line != "" {
				name += strings.Repeat(" ", width-utf8.RuneCountInString(name)+5)
			}
			_, _ = out.WriteString(strings.TrimRight(safetext.TerminalString("  "+name+line), " ") + "\n")
			name = ""
		}
	}
}

// textOrNull returns a string for JSON; nil if it is empty.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// table prints two columns with gap blanks between them, indented by two.
func table(out *bufio.Writer, rows [][2]string, gap int) {
	width := 0
	for i, r := range rows {
		rows[i] = [2]string{terminalLine(r[0]), terminalLine(r[1])}
		width = max(width, utf8.RuneCountInString(rows[i][0]))
	}
	for _, r := range rows {
		line := "  " + r[0]
		if r[1] != "" {
			line += strings.Repeat(" ", width-utf8.RuneCountInString(r[0])+gap) + r[1]
		}
		_, _ = out.WriteString(line + "\n")
	}
}

// terminalLine makes text of a module safe for one line of a terminal.
func terminalLine(s string) string {
	return strings.Join(strings.Fields(safetext.TerminalString(s)), " ")
}

// moduleWidth is the width of text about modules.
const moduleWidth = 76

// wrapped breaks text into lines of at most moduleWidth characters.
func wrapped(s string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(safetext.TerminalString(s)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > moduleWidth {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func described(list []Described) [][2]string {
	longest := 0
	for _, d := range list {
		longest = max(longest, utf8.RuneCountInString(d.Name))
	}
	var rows [][2]string
	for _, d := range list {
		rows = append(rows, [2]string{d.Name, shortened(d.Description, moduleWidth-longest)})
	}
	return rows
}

// shortened returns the first line of a text, without its last words if it has
// more than most characters.
func shortened(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(line)
	if len(runes) <= most {
		return line
	}
	head := string(runes[:max(most, 0)])
	if i := strings.LastIndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	return head + "..."
}

// titled prints a name and its description.
func titled(out *bufio.Writer, color bool, name, description string) {
	heading(out, color, name)
	description = strings.TrimSpace(description)
	if description == "" {
		description = "No description available."
	}
	indented(out, 2, description)
}

// inModule prints the module of a task or plan.
func inModule(out *bufio.Writer, color bool, dir string) {
	_ = out.WriteByte('\n')
	heading(out, color, "Module")
	indented(out, 2, dir)
}

// moduleDir returns the text that is shown for a module's directory.
func moduleDir(m modules.Module) string {
	if m.BuiltIn() {
		return "built-in module"
	}
	return m.Dir
}

// A parameter is one of a task or plan, or an output of a task, for people.
type parameter struct {
	name, kind  string
	description string
	described   bool
	standard    string // its default
	hasStandard bool
	usage       string // on a command line: name=<value>
}

// printUsage prints the command line that runs a task or plan, with the
// parameters sorted by name.
func printUsage(out *bufio.Writer, color bool, usage string, list []parameter) {
	slices.SortFunc(list, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	for _, p := range list {
		usage += " " + p.usage
	}
	_ = out.WriteByte('\n')
	heading(out, color, "Usage")
	indented(out, 2, strings.TrimSuffix(wrappedLines(usage), "\n"))
	parameters(out, color, "Parameters", list)
}

// parameters prints parameters with their types and descriptions.
func parameters(out *bufio.Writer, color bool, title string, list []parameter) {
	if len(list) == 0 {
		return
	}
	_ = out.WriteByte('\n')
	heading(out, color, title)
	for i, p := range list {
		if i > 0 {
			_ = out.WriteByte('\n')
		}
		_, _ = out.WriteString("  " + layout.Paint(layout.Yellow, color, safetext.TerminalString(p.name)) + "  " + safetext.TerminalString(p.kind) + "\n")
		if p.described {
			indented(out, 4, strings.TrimSuffix(wrappedLines(p.description), "\n"))
		}
		if p.hasStandard {
			indented(out, 4, strings.TrimSuffix("Default: "+p.standard, "\n"))
		}
	}
}

// indented prints a text that may have several lines.
func indented(out *bufio.Writer, n int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		_, _ = out.WriteString(strings.TrimRight(strings.Repeat(" ", n)+safetext.TerminalString(line), " ") + "\n")
	}
}

// wrapWidth is the length of the longest line of wrapped text.
const wrapWidth = 80

// wrappedLines returns text in lines of at most wrapWidth characters, each with
// a newline, as Bolt prints usage and descriptions. White space at the end of a
// line, with the blank lines and the indentation that follow it, becomes one
// newline. Words are not broken.
func wrappedLines(text string) string {
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); {
		n, space := lineEnd(runes[i:])
		if n == 0 {
			b.WriteRune(runes[i])
			i++
			continue
		}
		b.WriteString(string(runes[i : i+n]))
		b.WriteByte('\n')
		i += n + space
	}
	return b.String()
}

// lineEnd returns the length of the longest line at the beginning of a text, and
// of the white space after it. 0: the text begins with a newline, or with a word
// that is too long.
func lineEnd(text []rune) (n, space int) {
	limit := min(len(text), wrapWidth)
	if i := slices.Index(text[:limit], '\n'); i >= 0 {
		limit = i
	}
	for n := limit; n > 0; n-- {
		rest := text[n:]
		space := 0
		for space < len(rest) && strings.ContainsRune(" \t\n\v\f\r", rest[space]) {
			space++
		}
		if space > 0 || len(rest) == 0 {
			return n, space
		}
	}
	return 0, 0
}
