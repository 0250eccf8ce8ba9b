package tasks

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/puppet/value"
	"bolt/transport"
)

// These keys of a result have a special meaning.
const (
	outputKey    = "_output"
	errorKey     = "_error"
	sensitiveKey = "_sensitive"
)

const (
	// maxResult is the maximum size of a task's output that is read as its
	// result.
	maxResult = 16 << 20
	// maxPartial is the maximum size of output that is shown if it is not a
	// result.
	maxPartial = 1 << 20
	// maxStderr is the maximum size of standard error in a message.
	maxStderr = 64 << 10
	// largeResult is the size from which only few results are read at once.
	largeResult = 1 << 20
)

// These are Puppet Bolt's kinds of errors.
const (
	kindTask    = "puppetlabs.tasks/task-error"
	kindUnnamed = "bolt/error"
	kindInvalid = "bolt/invalid-task-error"
	codeTask    = "TASK_ERROR"
)

// A buffer stores the beginning of a stream.
type buffer struct {
	most int
	data []byte
	more bool // the stream was longer than data
}

func (b *buffer) Write(p []byte) (int, error) {
	n := min(len(p), b.most-len(b.data))
	b.data = append(b.data, p[:n]...)
	b.more = b.more || n < len(p)
	return len(p), nil
}

// isObject reports whether the output begins like a result, which may contain
// secrets.
func (b *buffer) isObject() bool {
	return bytes.HasPrefix(bytes.TrimLeft(b.data, blanks), []byte("{"))
}

// blanks may precede a result: white space, and the byte order mark that some
// programs write before UTF-8 text.
const blanks = " \t\r\n\ufeff"

// shown returns the part of a stdout that can be shown if it is not a result. why
// is the reason why it is not a result.
func (b *buffer) shown(why string) string {
	if b.isObject() || bytes.Contains(b.data, []byte(sensitiveKey)) {
		return fmt.Sprintf("[an unreadable result is not shown because it may contain secrets: %s; %d bytes were read]", why, len(b.data))
	}
	return strings.ToValidUTF8(string(b.data[:min(len(b.data), maxPartial)]), "\uFFFD")
}

// hidden returns data that is not shown but that a plan can read.
func hidden(v any) any {
	typed, err := valuedata.Of(v)
	if err != nil {
		return value.Redacted // not a value of the language
	}
	return value.NewSensitive(typed)
}

// result sets the result from the output of a task (Bolt::Result#for_task).
func (t *Task) result(res *event.Result, stdout, stderr *buffer, status transport.Status) {
	res.Status = status
	switch {
	case stdout.more:
		res.Value = ordered.Of(outputKey, stdout.shown("it is too large"))
		res.Err = taskError(fmt.Sprintf("The task printed more than the limit of %d MiB for a result; the rest is lost. Let the task write to a file, then download the file.", maxResult>>20), status)
		return
	case !utf8.Valid(stdout.data):
		res.Value = &ordered.Map{}
		res.Err = taskError("The task result contained invalid UTF-8 on stdout", status)
		res.Err.Details = &ordered.Map{}
		return
	}
	object, err := parse(stdout)
	if object == nil {
		text := string(stdout.data)
		if strings.Contains(text, sensitiveKey) || err != nil && strings.Contains(text, `\u`) {
			why := "it is not a JSON object"
			if err != nil {
				why += ", " + err.Error()
			}
			text = stdout.shown(why)
		}
		object = ordered.Of(outputKey, text)
	}
	if !status.OK() && object.Value(errorKey) == nil {
		object.Delete(errorKey)
		res.Err = taskError(failure(object, stderr, status), status)
	}
	t.judge(res, object)
}

// judge moves the error and the sensitive part out of the object that a task
// returned.
func (t *Task) judge(res *event.Result, object *ordered.Map) {
	if v, has := object.Get(sensitiveKey); has {
		object.Set(sensitiveKey, hidden(v))
	}
	if v := object.Value(errorKey); v != nil {
		res.Err = t.given(v)
	}
	object.Delete(errorKey)
	res.Value = object
	if res.Err == nil {
		res.Err = t.broken(object)
	}
}

// parse reads a result, which must be an object. The error is the reason why
// output that begins like an object is invalid.
func parse(stdout *buffer) (*ordered.Map, error) {
	if !stdout.isObject() {
		return nil, nil
	}
	v, err := ordered.ParseJSON(bytes.TrimLeft(stdout.data, blanks))
	m, _ := v.(*ordered.Map)
	return m, err
}

// failure returns the message for the failure of a task that returned no error
// itself.
func failure(object *ordered.Map, stderr *buffer, status transport.Status) string {
	end := fmt.Sprintf("The task failed with exit code %d", status.Code)
	if status.Signal != "" {
		end = fmt.Sprintf("The task was ended by signal %s", status.Signal)
	}
	output, isText := object.Value(outputKey).(string)
	if !isText || object.Len() > 1 || strings.TrimSpace(output) != "" {
		return end
	}
	said := strings.ToValidUTF8(string(stderr.data), "\uFFFD")
	if strings.TrimSpace(said) == "" {
		return end + " and no output"
	}
	if stderr.more {
		said += "…"
	}
	return end + " and no stdout, but stderr contained:\n" + said
}

// taskError returns the failure of a task that ended with status.
func taskError(msg string, status transport.Status) *event.Error {
	details := &ordered.Map{}
	if status.Signal == "" {
		details.Set("exit_code", int64(status.Code))
	}
	return &event.Error{Kind: kindTask, Code: codeTask, Msg: msg, Details: details, Class: event.ClassFailed, Command: true}
}

// given returns the failure that a task has returned.
func (t *Task) given(v any) *event.Error {
	m, _ := v.(*ordered.Map)
	msg, has := m.Get("msg")
	if !has {
		return &event.Error{Kind: kindInvalid, Class: event.ClassFailed, Command: true,
			Msg:     fmt.Sprintf("Invalid error returned from task %s: %s. Error must be an object with a msg key.", t.Name, valuedata.Shown(v)),
			Details: ordered.Of("original_error", v)}
	}
	m = m.Clone()
	bare := m.Value("details") == nil
	if _, has := m.Get(sensitiveKey); has {
		m.Set(sensitiveKey, value.Redacted)
	}
	for _, missing := range []struct {
		key   string
		value any
	}{{"kind", kindUnnamed}, {"details", &ordered.Map{}}} {
		if m.Value(missing.key) == nil {
			m.Set(missing.key, missing.value)
		}
	}
	e := &event.Error{Class: event.ClassFailed, Command: true, Given: m, Bare: bare}
	e.Kind, _ = m.Value("kind").(string)
	e.Details, _ = m.Value("details").(*ordered.Map)
	text, ok := msg.(string)
	if !ok {
		text = valuedata.Shown(msg)
	}
	e.Msg = text
	return e
}
