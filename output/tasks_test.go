package output

import (
	"strings"
	"testing"
	"time"

	"bolt/event"
	"bolt/format/ordered"
)

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
			"many, counted of 60 targets\n  0   1\n", "  49  1\nand 10 values more; --format json prints them all\n",
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
