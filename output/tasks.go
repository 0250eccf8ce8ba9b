package output

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

// Described is a name with a sentence about what it names.
type Described struct {
	Name, Description string // "" if there is none
}

// pair is how JSON has it: [name, description or null].
func (d Described) pair() []any { return []any{d.Name, textOrNull(d.Description)} }

// pairs are lists of Described as JSON has them.
func pairs(list []Described) []any {
	all := make([]any, len(list))
	for i, d := range list {
		all[i] = d.pair()
	}
	return all
}

// TaskList is what "task show" shows.
type TaskList struct {
	Tasks      []Described // sorted
	Modulepath []string
}

// PrintTaskList prints the names and descriptions of tasks, and where they were
// looked for.
func PrintTaskList(w io.Writer, o ListOptions, l *TaskList) error {
	return printListed(w, o, "task", l.Tasks, l.Modulepath)
}

// printListed prints what there is of a kind of things in modules.
func printListed(w io.Writer, o ListOptions, kind string, list []Described, modulepath []string) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		if err := writeLine(out, ordered.Of(kind+"s", pairs(list), "modulepath", modulepath)); err != nil {
			return err
		}
		return out.Flush()
	}
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

// columns prints names and what is said of them, as Bolt's tables.
func columns(out *bufio.Writer, list []Described) {
	width := 0
	for _, d := range list {
		width = max(width, utf8.RuneCountInString(d.Name))
	}
	for _, d := range list {
		name := d.Name
		for line := range strings.SplitSeq(truncated(d.Description), "\n") {
			if line != "" {
				name += strings.Repeat(" ", width-utf8.RuneCountInString(name)+5)
			}
			_, _ = out.WriteString(strings.TrimRight(safetext.TerminalString("  "+name+line), " ") + "\n")
			name = ""
		}
	}
}

// maxDescription is how many characters of a description are in a list.
const maxDescription = 72

var lastWord = lazyregexp.New(`(?m)\s\w+\s*$`)

// truncated is a description for a list, as Bolt shortens it: a longer text is
// cut to its first line, and the last word, which may be cut, becomes dots.
func truncated(text string) string {
	if utf8.RuneCountInString(text) > maxDescription {
		text, _, _ = strings.Cut(text, "\n")
		if runes := []rune(text); len(runes) > maxDescription {
			text = string(runes[:maxDescription])
		}
		text = lastWord().ReplaceAllString(text, "...")
	}
	return strings.TrimRight(text, "\n")
}

// Task is what "task show TASK" shows.
type Task struct {
	Name, Description string
	Noop              bool           // it supports --noop
	Parameters        []Parameter    // sorted by name
	Outputs           []Parameter    // what it promises to return
	Files             []*ordered.Map // name and path of each, for JSON
	Metadata          *ordered.Map   // as written, for JSON
	Dir               string         // of its module
	BuiltIn           bool           // its module is
}

// Parameter is one of a task or plan, or an output of a task.
type Parameter struct {
	Name, Type     string
	Description    string
	HasDescription bool
	Default        string // as people write it
	HasDefault     bool
	Usage          string // on a command line: name=<value>
}

// PrintTask prints what a task does and takes.
func PrintTask(w io.Writer, o ListOptions, t *Task) error {
	out := bufio.NewWriter(w)
	dir := moduleDir(t.Dir, t.BuiltIn)
	if o.Format.IsJSON() {
		files := make([]any, len(t.Files))
		for i, f := range t.Files {
			files[i] = f
		}
		if err := writeLine(out, ordered.Of("name", t.Name, "files", files, "metadata", t.Metadata, "module_dir", dir)); err != nil {
			return err
		}
		return out.Flush()
	}
	titled(out, o.Color, t.Name, t.Description)
	usage := "bolt task run " + t.Name + " --targets <targets>"
	if t.Noop {
		usage += " [--noop]"
	}
	for _, p := range t.Parameters {
		usage += " " + p.Usage
	}
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Usage")
	indented(out, 2, strings.TrimSuffix(wrappedLines(usage), "\n"))
	parameters(out, o.Color, "Parameters", t.Parameters)
	parameters(out, o.Color, "Outputs", t.Outputs)
	inModule(out, o.Color, dir)
	return out.Flush()
}

// titled prints a name and what is said of it.
func titled(out *bufio.Writer, color bool, name, description string) {
	heading(out, color, name)
	description = strings.TrimSpace(description)
	if description == "" {
		description = "No description available."
	}
	indented(out, 2, description)
}

// inModule prints which module something is of.
func inModule(out *bufio.Writer, color bool, dir string) {
	_ = out.WriteByte('\n')
	heading(out, color, "Module")
	indented(out, 2, dir)
}

// moduleDir is what is shown for a module's directory.
func moduleDir(dir string, builtIn bool) string {
	if builtIn {
		return "built-in module"
	}
	return dir
}

// parameters prints a list with types and what they are for.
func parameters(out *bufio.Writer, color bool, title string, list []Parameter) {
	if len(list) == 0 {
		return
	}
	_ = out.WriteByte('\n')
	heading(out, color, title)
	for i, p := range list {
		if i > 0 {
			_ = out.WriteByte('\n')
		}
		_, _ = out.WriteString("  " + paint(yellow, color, safetext.TerminalString(p.Name)) + "  " + safetext.TerminalString(p.Type) + "\n")
		if p.HasDescription {
			indented(out, 4, strings.TrimSuffix(wrappedLines(p.Description), "\n"))
		}
		if p.HasDefault {
			indented(out, 4, strings.TrimSuffix("Default: "+p.Default, "\n"))
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

// wrappedLines is text in lines of at most wrapWidth characters, each with a newline,
// as Bolt prints usage and descriptions. White space at the end of a line, with
// the blank lines and the indentation that follow it, becomes one newline. Words
// are not broken.
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
