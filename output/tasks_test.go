package output

import (
	"strings"
	"testing"
	"time"

	"bolt/event"
	"bolt/format/ordered"
)

func TestPrintTasks(t *testing.T) {
	list := &TaskList{Modulepath: []string{"/a", "/b"}, Tasks: []Described{{"m", ""}, {"m::long", "First line\nsecond"},
		{"m::x", strings.Repeat("word ", 20)}}}
	var b strings.Builder
	if err := PrintTaskList(&b, ListOptions{}, list); err != nil {
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
	if err := PrintTaskList(&b, ListOptions{Format: JSON}, &TaskList{Modulepath: []string{"/a"}, Tasks: list.Tasks[:1]}); err != nil {
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
	if err := PrintTask(&b, ListOptions{}, task); err != nil {
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
	if err := PrintTask(&b, ListOptions{Format: JSON}, task); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"m::x","files":[{"name":"x.sh","path":"/x.sh"}],"metadata":{"a":1},"module_dir":"built-in module"}` + "\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

func TestOutputs(t *testing.T) {
	outputs := []event.Output{
		{Name: "version", Description: "Which\nit is", Aggregate: "summary", Count: 3, Values: []event.OutputValue{
			{Value: "1.2", Count: 2, Targets: []string{"web1", "web2"}}, {Value: ordered.Of("a", "x\x1b[31m"), Count: 1, Targets: []string{"db1"}}}},
		{Name: "load", Aggregate: "average", Count: 3, Values: []event.OutputValue{{Value: 1.0 / 3, Count: 3}}},
		{Name: "most", Aggregate: "max", Count: 2, Values: []event.OutputValue{{Value: int64(7), Count: 1, Targets: []string{"db1"}}}},
		{Name: "os", Aggregate: "count-by", Count: 3, Values: []event.OutputValue{{Value: "Debian", Count: 3}}},
		{Name: "none", Aggregate: "min"},
	}
	for i := range 60 {
		if i == 0 {
			outputs = append(outputs, event.Output{Name: "many", Aggregate: "count-by", Count: 60})
		}
		last := &outputs[len(outputs)-1]
		last.Values = append(last.Values, event.OutputValue{Value: int64(i), Count: 1})
	}
	end := func(f Format) string {
		var b strings.Builder
		r := newShown(t, Options{Format: f, Out: &b, Verbose: true, Now: func() time.Time { return time.Unix(0, 0) }})
		if err := r.Start(event.ActionBegin{Action: "task"}); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if err := r.End(time.Second, outputs...); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := end(Human)
	for _, want := range []string{
		"version, 2 values of 3 targets: Which\n  1.2 ", "  web[1-2] (2 targets)\n", "[31m\"}  db1\nload, average of 3 targets\n  0.3333333333333333\n" +
			"most, maximum of 2 targets\n  7  db1\nos, counted of 3 targets\n  Debian  3\nnone, minimum of 0 targets\n  (no values)\n" +
			"many, counted of 60 targets\n  0   1\n", "  49  1\nand 10 values more; --format json has them all\n",
	} {
		if !strings.Contains(text, strings.ReplaceAll(want, "\nand", "\n  and")) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("control characters in %q", text)
	}
	data := end(JSON)
	if !strings.Contains(data, `"outputs": {"version":{"aggregate":"summary","count":3,"values":[{"value":"1.2","count":2,"targets":["web1","web2"]},`) ||
		!strings.Contains(data, `"load":{"aggregate":"average","count":3,"value":0.3333333333333333},"most":{"aggregate":"max","count":2,"value":7,"targets":["db1"]}`) ||
		!strings.Contains(data, `"os":{"aggregate":"count-by","count":3,"values":[{"value":"Debian","count":3}]},"none":{"aggregate":"min","count":0,"value":null}`) {
		t.Errorf("got\n%s", data)
	}
	if lines := end(NDJSON); !strings.Contains(lines, `"event":"end"`) || !strings.Contains(lines, `"outputs":{"version"`) {
		t.Errorf("got\n%s", lines)
	}
}
