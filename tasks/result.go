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

// Keys of a result that mean something.
const (
	outputKey    = "_output"
	errorKey     = "_error"
	sensitiveKey = "_sensitive"
)

const (
	// maxResult is how much of what a task prints is read as its result.
	maxResult = 16 << 20
	// maxPartial is how much is shown of what a task printed that is no result.
	maxPartial = 1 << 20
	// maxStderr is how much of standard error is in a message.
	maxStderr = 64 << 10
	// largeResult is from which size on few results are read at once.
	largeResult = 1 << 20
)

// Kinds of errors, as Puppet Bolt has them.
const (
	kindTask    = "puppetlabs.tasks/task-error"
	kindUnnamed = "bolt/error"
	kindInvalid = "bolt/invalid-task-error"
	codeTask    = "TASK_ERROR"
)

// A buffer keeps the beginning of a stream.
type buffer struct {
	most int
	data []byte
	more bool // than was kept
}

func (b *buffer) Write(p []byte) (int, error) {
	n := min(len(p), b.most-len(b.data))
	b.data = append(b.data, p[:n]...)
	b.more = b.more || n < len(p)
	return len(p), nil
}

// isObject reports whether it begins as a result does, which may have secrets.
func (b *buffer) isObject() bool {
	return bytes.HasPrefix(bytes.TrimLeft(b.data, blanks), []byte("{"))
}

// blanks may stand before a result: white space, and the mark with which some
// programs begin a text in UTF-8.
const blanks = " \t\r\n\ufeff"

// shown is what can be shown of a stdout that is no result, and why it is
// none.
func (b *buffer) shown(why string) string {
	if b.isObject() || bytes.Contains(b.data, []byte(sensitiveKey)) {
		return fmt.Sprintf("[a result that cannot be read is not shown, as it may have secrets: %s; %d bytes were read]", why, len(b.data))
	}
	return strings.ToValidUTF8(string(b.data[:min(len(b.data), maxPartial)]), "\uFFFD")
}

// hidden is data that shows nothing of itself, and of which a plan can ask.
func hidden(v any) any {
	typed, err := valuedata.Of(v)
	if err != nil {
		return value.Redacted // no value of the language
	}
	return value.NewSensitive(typed)
}

// result fills in what a task came to by what it printed (Bolt::Result#for_task).
func (t *Task) result(res *event.Result, stdout, stderr *buffer, status transport.Status) {
	res.Status = status
	switch {
	case stdout.more:
		res.Value = ordered.Of(outputKey, stdout.shown("it is too large"))
		res.Err = taskError(fmt.Sprintf("The task printed more than the %d MiB that a result may have; the rest is lost. Let it write to a file, and download that.", maxResult>>20), status)
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

// judge takes the error and what is sensitive out of what a task returned.
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

// parse reads a result; it is one only if it is an object. The error says why
// what begins as one is none.
func parse(stdout *buffer) (*ordered.Map, error) {
	if !stdout.isObject() {
		return nil, nil
	}
	v, err := ordered.ParseJSON(bytes.TrimLeft(stdout.data, blanks))
	m, _ := v.(*ordered.Map)
	return m, err
}

// failure words the end of a task that says nothing of an error itself.
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

// taskError is the failure of a task by its end.
func taskError(msg string, status transport.Status) *event.Error {
	details := &ordered.Map{}
	if status.Signal == "" {
		details.Set("exit_code", int64(status.Code))
	}
	return &event.Error{Kind: kindTask, Code: codeTask, Msg: msg, Details: details, Class: event.ClassFailed, Command: true}
}

// given is the failure that a task tells of itself.
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
