package listing

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/output/layout"
)

// TaskList is what "task show" shows.
type TaskList struct {
	Tasks      []Described // sorted
	Modulepath []string
}

// PrintTaskList prints the names and descriptions of tasks, and where they were
// looked for.
func PrintTaskList(w io.Writer, o Options, l *TaskList) error {
	return printListed(w, o, "task", l.Tasks, l.Modulepath)
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
func PrintTask(w io.Writer, o Options, t *Task) error {
	out := bufio.NewWriter(w)
	dir := moduleDir(t.Dir, t.BuiltIn)
	if o.Format.IsJSON() {
		files := make([]any, len(t.Files))
		for i, f := range t.Files {
			files[i] = f
		}
		return layout.WriteDocument(w, ordered.Of("name", t.Name, "files", files, "metadata", t.Metadata, "module_dir", dir))
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
