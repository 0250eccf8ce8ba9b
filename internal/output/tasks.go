package output

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"bolt/internal/ordered"
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
		line := "  " + d.Name
		if d.Description != "" {
			line += strings.Repeat(" ", width-utf8.RuneCountInString(d.Name)+5) + truncated(d.Description)
		}
		_, _ = out.WriteString(strings.TrimRight(safetext.TerminalString(line), " ") + "\n")
	}
}

// maxDescription is how many characters of a description are in a list.
const maxDescription = 72

// truncated is the beginning of a text: its first line, whose last word goes if
// it is too long.
func truncated(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(line)
	if len(runes) <= maxDescription {
		return line
	}
	head := string(runes[:maxDescription])
	if i := strings.LastIndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	return head + "..."
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
	Name, Type, Description string
	Default                 string // as people write it; "" if there is none
	Usage                   string // on a command line: name=<value>
}

// usageWidth is where the usage line is broken.
const usageWidth = 80

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
	indented(out, 2, broken(usage, usageWidth))
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
		if d := strings.TrimSpace(p.Description); d != "" {
			indented(out, 4, d)
		}
		if p.Default != "" {
			indented(out, 4, "Default: "+p.Default)
		}
	}
}

// indented prints a text that may have several lines.
func indented(out *bufio.Writer, n int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		_, _ = out.WriteString(strings.TrimRight(strings.Repeat(" ", n)+safetext.TerminalString(line), " ") + "\n")
	}
}

// broken breaks a line between words so that none is wider, where that can be.
func broken(text string, width int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1+size > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += size
	}
	return b.String()
}
