package tasks

import (
	"context"
	"fmt"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/puppet/value"
)

// An Output is a value that the metadata of a task promises for its result.
//
// Differs from Puppet, where tasks promise no values.
type Output struct {
	Name        string
	TypeText    string
	Type        value.Type
	Description string
	Aggregate   Aggregate
}

// Aggregate is the way in which the values of all targets are combined.
type Aggregate string

// These are the aggregates.
const (
	Summarize Aggregate = "summary"  // each value with its targets
	Average   Aggregate = "average"  // of numbers
	Min       Aggregate = "min"      // of numbers
	Max       Aggregate = "max"      // of numbers
	CountBy   Aggregate = "count-by" // how many targets have each value
)

// outputs reads the promised outputs from the metadata.
func (r *reader) outputs(ctx context.Context, l *Library) ([]Output, error) {
	m := r.child("outputs")
	if m == nil {
		return nil, nil
	}
	list := []Output{}
	for name, v := range m.All() {
		o := Output{Name: name}
		r.within("outputs."+name, v, []string{"type", "description", "aggregate"}, func(in *reader) {
			o.TypeText, o.Description = in.text("type"), in.text("description")
			o.Aggregate = Aggregate(in.text("aggregate"))
			switch o.Aggregate {
			case "":
				o.Aggregate = Summarize
			case Summarize, Average, Min, Max, CountBy:
			default:
				in.wrong("aggregate", "one of summary, average, min, max, count-by")
			}
		})
		if o.TypeText == "" {
			o.TypeText = "Data"
		}
		var err error
		if o.Type, err = l.o.Type(ctx, o.TypeText); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// kindOutput is the kind of the error if a result does not match the promised
// outputs.
const kindOutput = "bolt/invalid-task-output"

// broken returns the failure of a task that succeeded but whose result does not
// match the promised outputs.
func (t *Task) broken(object *ordered.Map) *event.Error {
	var problems []string
	for i := range t.Outputs {
		o := &t.Outputs[i]
		v, has := object.Get(o.Name)
		data, err := valuedata.Of(v)
		switch {
		case !has && !value.Instance(o.Type, value.Undef{}):
			problems = append(problems, fmt.Sprintf("'%s' is missing", o.Name))
		case err != nil:
			problems = append(problems, fmt.Sprintf("'%s': %v", o.Name, err))
		default:
			if msg := value.Mismatch("'"+o.Name+"'", o.Type, data); msg != "" {
				problems = append(problems, msg)
			}
		}
	}
	if problems == nil {
		return nil
	}
	return &event.Error{Kind: kindOutput, Code: codeTask, Class: event.ClassFailed, Command: true, Details: &ordered.Map{},
		Msg: fmt.Sprintf("The result of task %s does not match the outputs in its metadata: %s", t.Name, strings.Join(problems, "; "))}
}
