package event

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
)

// Data returns the result as data, equal to the output of WriteJSON after
// ordered.ParseJSON. It returns an error if Output cannot be read.
func (r *Result) Data() (*ordered.Map, error) {
	members, err := r.Members()
	if err != nil {
		return nil, err
	}
	status := "success"
	if !r.OK() {
		status = "failure"
	}
	var object any
	if r.Object != "" {
		object = valid(r.Object)
	}
	return ordered.Of("target", valid(r.Target.Name), "action", r.Action, "object", object, "status", status, "value", members), nil
}

// Members returns the map under the key "value" of Data.
func (r *Result) Members() (*ordered.Map, error) {
	m := &ordered.Map{}
	for k, v := range r.members() {
		// If only one stream has output, its text is used for both.
		if printed, ok := v.(outputText); ok && printed.same != "" {
			m.Set(k, m.Value(printed.same))
			continue
		}
		d, err := plain(v)
		if err != nil {
			return nil, err
		}
		m.Set(valid(k), d)
	}
	return m, nil
}

// Member returns one of the Members without converting the others.
func (r *Result) Member(key string) (v any, ok bool, err error) {
	for k, member := range r.members() {
		if valid(k) == key {
			v, ok = member, true // the last member of a name takes effect
		}
	}
	if !ok {
		return nil, false, nil
	}
	v, err = plain(v)
	return v, err == nil, err
}

// An outputText is a member whose text is in Output.
type outputText struct {
	write func(io.Writer) error
	size  int64  // approximate size in bytes
	same  string // an earlier member with the same text; "" if none is known
}

func (t outputText) String() (string, error) {
	var b strings.Builder
	b.Grow(int(t.size))
	u := safetext.NewUTF8(&b)
	if err := t.write(u); err != nil {
		return "", err
	}
	err := u.Flush()
	return b.String(), err
}

// members yields the members of value; a member whose text is in Output is an
// outputText.
func (r *Result) members() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if r.ShowsOutput() && !r.outputs(yield) {
			return
		}
		for k, v := range r.Value.All() {
			if !yield(k, v) {
				return
			}
		}
		if r.Err != nil {
			yield("_error", r.Err.Map())
		}
	}
}

// truncatedKey is a member only if output was cut. Puppet Bolt does not have
// it.
const truncatedKey = "truncated"

// Truncated returns a warning if output was cut, else "". ways contains the
// options with which the user gets the whole output.
func (r *Result) Truncated(ways string) string {
	if !r.ShowsOutput() || !r.Output.Cut() {
		return ""
	}
	name := r.Target.SafeName()
	n, reason := r.Output.Dropped()
	hint := "To see all of it, use " + ways + "."
	switch {
	case reason != nil:
		return fmt.Sprintf("The output of %s was cut: %d bytes are missing because it could not be stored: %v. %s", name, n, reason, hint)
	case n > 0:
		return fmt.Sprintf("The output of %s was cut at the limit of %d bytes: %d bytes are missing. %s", name, r.Output.Limit(), n, hint)
	}
	return fmt.Sprintf("The output of %s was cut when it was recorded.", name)
}

// outputs yields the members of a command's result.
func (r *Result) outputs(yield func(string, any) bool) bool {
	o := r.Output
	stream := func(s capture.Stream) outputText {
		return outputText{write: func(w io.Writer) error { return o.WriteStream(w, s) }, size: o.Len(s)}
	}
	merged := outputText{write: o.WriteMerged, size: o.Len(capture.Stdout) + o.Len(capture.Stderr)}
	switch {
	case o.Silent(capture.Stderr):
		merged.same = "stdout"
	case o.Silent(capture.Stdout):
		merged.same = "stderr"
	}
	var code any
	if r.Status.Signal == "" && (r.OK() || r.Err.Command) {
		code = r.Status.Code
	}
	return yield("stdout", stream(capture.Stdout)) && yield("stderr", stream(capture.Stderr)) && yield("merged_output", merged) && yield("exit_code", code) &&
		(!o.Cut() || yield(truncatedKey, true))
}

// plain returns v in the form that it has after it was written as JSON and read
// again.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case string:
		return valid(v), nil
	case outputText:
		return v.String()
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			d, err := plain(e)
			if err != nil {
				return nil, err
			}
			m.Set(valid(k), d)
		}
		return m, nil
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = plain(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	// Other values are written and read: types with their own form in JSON, and
	// numbers that change their notation there.
	var b strings.Builder
	if err := safejson.Write(&b, v); err != nil {
		return nil, err
	}
	return ordered.ParseJSON([]byte(b.String()))
}

// valid returns s with \xHH for each byte that is not UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	u := safetext.NewUTF8(&b)
	_, _ = io.WriteString(u, s) // a Builder returns no errors
	_ = u.Flush()
	return b.String()
}
