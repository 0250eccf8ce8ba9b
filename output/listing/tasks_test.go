package listing

import (
	"strings"
	"testing"
	"testing/fstest"

	"bolt/format/ordered"
	"bolt/modules"
	"bolt/output/layout"
	"bolt/tasks"
)

func TestPrintTasks(t *testing.T) {
	list := &TaskList{Modulepath: []string{"/a", "/b"}, Tasks: []Described{{"m", ""}, {"m::long", "First line\nsecond"},
		{"m::x", strings.Repeat("word ", 20)}}}
	var b strings.Builder
	if err := PrintTaskList(&b, Options{}, list); err != nil {
		t.Fatal(err)
	}
	want := `Tasks
  m
  m::long     First line
              second
  m::x        word word word word word word word word word word word word word word...

Modulepath
  /a:/b

Additional information
  Use 'bolt task show <TASK NAME>' to view details and parameters for a specific task.
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := PrintTaskList(&b, Options{Format: layout.JSON}, &TaskList{Modulepath: []string{"/a"}, Tasks: list.Tasks[:1]}); err != nil {
		t.Fatal(err)
	}
	if want := `{"tasks":[["m",null]],"modulepath":["/a"]}` + "\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
	b.Reset()
	task := &tasks.Task{Name: "m::x", Description: "Does x\nin two lines\n", SupportsNoop: true, Module: builtIn(t, "m"), Metadata: ordered.Of("a", int64(1)),
		Parameters: []tasks.Parameter{{Name: "b", TypeText: "", Default: int64(3), HasDefault: true},
			{Name: "a", TypeText: "String[1]", Description: "An a", HasDescription: true}},
		Outputs: []tasks.Output{{Name: "v", TypeText: "String", Aggregate: tasks.Summarize}}}
	files := []tasks.File{{Name: "x.sh", Module: modules.Module{Dir: "/"}, Local: "x.sh"}}
	if err := PrintTask(&b, Options{}, task, nil); err != nil {
		t.Fatal(err)
	}
	want = `m::x
  Does x
  in two lines

Usage
  bolt task run m::x --targets <targets> [--noop] a=<value> [b=<value>]

Parameters
  a  String[1]
    An a

  b  Any
    Default: 3

Outputs
  v  String (summary)

Module
  built-in module
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := PrintTask(&b, Options{Format: layout.JSON}, task, files); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"m::x","files":[{"name":"x.sh","path":"/x.sh"}],"metadata":{"a":1},"module_dir":"built-in module"}` + "\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

// builtIn is a module that is part of the program.
func builtIn(t *testing.T, name string) modules.Module {
	t.Helper()
	m, ok := modules.NewPath(modules.Module{}).With(fstest.MapFS{name + "/tasks/x.sh": {}}).Module(name)
	if !ok {
		t.Fatal("there is no module " + name)
	}
	return m
}
