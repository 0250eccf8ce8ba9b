package listing

import (
	"bufio"
	"io"

	"bolt/format/ordered"
	"bolt/output/layout"
	"bolt/tasks"
)

// TaskList is the data of "task show".
type TaskList struct {
	Tasks      []Described // sorted
	Modulepath []string
}

// PublicTasks returns the tasks of a list that are not private.
func PublicTasks(list []tasks.Summary) (public []Described) {
	for _, t := range list {
		if !t.Private {
			public = append(public, Described{Name: t.Name, Description: t.Description})
		}
	}
	return public
}

// PrintTaskList prints the names and descriptions of tasks, and the module
// path.
func PrintTaskList(w io.Writer, o Options, l *TaskList) error {
	return printListed(w, o, "task", l.Tasks, l.Modulepath)
}

// PrintTask prints the description and the parameters of a task and, in JSON,
// its files.
func PrintTask(w io.Writer, o Options, t *tasks.Task, files []tasks.File) error {
	dir := moduleDir(t.Module)
	if o.Format.Data {
		list := make([]any, len(files))
		for i, f := range files {
			list[i] = ordered.Of("name", f.Name, "path", f.Path())
		}
		return layout.WriteDocument(w, ordered.Of("name", t.Name, "files", list, "metadata", t.Metadata, "module_dir", dir))
	}
	out := bufio.NewWriter(w)
	titled(out, o.Color, t.Name, t.Description)
	usage := "bolt task run " + t.Name + " --targets <targets>"
	if t.SupportsNoop {
		usage += " [--noop]"
	}
	taken := make([]parameter, len(t.Parameters))
	for i := range t.Parameters {
		p := &t.Parameters[i]
		taken[i] = parameter{
			name: p.Name, kind: p.Shown(), description: p.Description, described: p.HasDescription,
			standard: p.ShownDefault(), hasStandard: p.HasDefault, usage: p.Usage(),
		}
	}
	given := make([]parameter, len(t.Outputs))
	for i := range t.Outputs {
		o := &t.Outputs[i]
		given[i] = parameter{name: o.Name, kind: o.TypeText + " (" + string(o.Aggregate) + ")", description: o.Description, described: o.Description != ""}
	}
	printUsage(out, o.Color, usage, taken)
	parameters(out, o.Color, "Outputs", given)
	inModule(out, o.Color, dir)
	return out.Flush()
}
