package listing

import (
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/output/layout"
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
	task := &Task{Name: "m::x", Description: "Does x\nin two lines\n", Noop: true, BuiltIn: true, Metadata: ordered.Of("a", int64(1)),
		Files: []*ordered.Map{ordered.Of("name", "x.sh", "path", "/x.sh")},
		Parameters: []Parameter{{Name: "a", Type: "String[1]", Usage: "a=<value>", Description: "An a", HasDescription: true},
			{Name: "b", Type: "Any", Usage: "[b=<value>]", Default: "3", HasDefault: true}},
		Outputs: []Parameter{{Name: "v", Type: "String (summary)"}}}
	if err := PrintTask(&b, Options{}, task); err != nil {
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
	if err := PrintTask(&b, Options{Format: layout.JSON}, task); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"m::x","files":[{"name":"x.sh","path":"/x.sh"}],"metadata":{"a":1},"module_dir":"built-in module"}` + "\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}
