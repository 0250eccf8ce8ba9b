package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/internal/ordered"
	"bolt/internal/safetext"
	"bolt/internal/valuedata"
	"bolt/puppet/value"
	"bolt/run"
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
	// maxPartial is how much is kept of what a task printed that did not end.
	maxPartial = 1 << 20
	// maxStderr is how much of standard error is in a message.
	maxStderr = 64 << 10
)

// kinds of errors.
const (
	kindTask    = "puppetlabs.tasks/task-error"
	kindUnnamed = "bolt/error"
	kindInvalid = "bolt/invalid-task-error"
	codeTask    = "TASK_ERROR"
)

// result fills in what a task came to by what it printed (Bolt::Result#for_task).
func (t *Task) result(res *run.Result, out *run.Capture, status transport.Status) error {
	res.Status = status
	stdout, more, err := text(out, run.Stdout, maxResult)
	if err != nil {
		return err
	}
	dropped, derr := out.Dropped()
	switch {
	case more || dropped > 0:
		reason := fmt.Sprintf("The task printed more than the %d MiB that a result may have; the rest is lost. Let it write to a file, and download that.", maxResult>>20)
		if derr != nil {
			reason = fmt.Sprintf("What the task printed could not be kept: %v", derr)
		}
		res.Value = ordered.Of(outputKey, strings.ToValidUTF8(stdout[:min(len(stdout), maxPartial)], "\uFFFD"))
		res.Err = taskError(reason, status)
		return nil
	case !utf8.ValidString(stdout):
		res.Value = &ordered.Map{}
		res.Err = taskError("The task result contained invalid UTF-8 on stdout", status)
		res.Err.Details = &ordered.Map{}
		return nil
	}
	object, isObject := parse(stdout)
	if !isObject {
		object = ordered.Of(outputKey, stdout)
	}
	if _, has := object.Get(errorKey); !status.OK() && !has {
		msg, err := failure(object, isObject, out, status)
		if err != nil {
			return err
		}
		res.Err = taskError(msg, status)
	}
	t.judge(res, object)
	return nil
}

// judge takes the error and what is sensitive out of what a task returned.
func (t *Task) judge(res *run.Result, object *ordered.Map) {
	if v, has := object.Get(sensitiveKey); has {
		var hidden strings.Builder
		if safetext.WriteJSON(&hidden, v) == nil { // which was read as JSON
			res.Sensitive = transport.NewSecret(hidden.String())
		}
		object.Set(sensitiveKey, value.Redacted)
	}
	if v, has := object.Get(errorKey); has {
		object.Delete(errorKey)
		res.Err = t.given(v)
	}
	res.Value = object
	if res.Err == nil {
		res.Err = t.broken(object)
	}
}

// parse reads a result; it is one only if it is an object.
func parse(stdout string) (*ordered.Map, bool) {
	if !strings.HasPrefix(strings.TrimLeft(stdout, " \t\r\n"), "{") {
		return nil, false
	}
	v, err := ordered.ParseJSON([]byte(stdout))
	if err != nil {
		return nil, false
	}
	m, ok := v.(*ordered.Map)
	return m, ok
}

// failure words the end of a task that says nothing of an error itself.
func failure(object *ordered.Map, isObject bool, out *run.Capture, status transport.Status) (string, error) {
	end := fmt.Sprintf("The task failed with exit code %d", status.Code)
	if status.Signal != "" {
		end = fmt.Sprintf("The task was ended by signal %s", status.Signal)
	}
	if s, _ := object.Value(outputKey).(string); isObject || strings.TrimSpace(s) != "" {
		return end, nil
	}
	stderr, more, err := text(out, run.Stderr, maxStderr)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(stderr) == "" {
		return end + " and no output", nil
	}
	if more {
		stderr += "…"
	}
	return end + " and no stdout, but stderr contained:\n" + strings.ToValidUTF8(stderr, "\uFFFD"), nil
}

// taskError is the failure of a task by its end.
func taskError(msg string, status transport.Status) *run.Error {
	details := &ordered.Map{}
	if status.Signal == "" {
		details.Set("exit_code", int64(status.Code))
	}
	return &run.Error{Kind: kindTask, Code: codeTask, Msg: msg, Details: details, Class: run.ClassFailed, Command: true}
}

// given is the failure that a task tells of itself.
func (t *Task) given(v any) *run.Error {
	m, ok := v.(*ordered.Map)
	msg, has := m.Value("msg").(string)
	if !ok || !has {
		return &run.Error{Kind: kindInvalid, Class: run.ClassFailed, Command: true,
			Msg:     fmt.Sprintf("Invalid error returned from task %s: %s. Error must be an object with a msg key.", t.Name, shown(v)),
			Details: ordered.Of("original_error", v)}
	}
	m = m.Clone()
	kind, ok := m.Value("kind").(string)
	if !ok {
		kind = kindUnnamed
		m.Set("kind", kind)
	}
	details, ok := m.Value("details").(*ordered.Map)
	if !ok {
		details = &ordered.Map{}
		m.Set("details", details)
	}
	return &run.Error{Kind: kind, Msg: msg, Details: details, Class: run.ClassFailed, Command: true, Given: m}
}

// shown is data as Ruby's inspect shows it.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return strconv.Quote(text)
	}
	data, err := valuedata.Of(v)
	if err != nil {
		return "?"
	}
	return value.RubyShown(data)
}

// text returns what was printed on a stream, up to a limit, and whether there
// was more.
func text(out *run.Capture, s run.Stream, most int) (string, bool, error) {
	var b bytes.Buffer
	err := out.WriteStream(&limited{w: &b, left: most}, s)
	if errors.Is(err, errLimit) {
		return b.String(), true, nil
	}
	return b.String(), false, err
}

// errLimit ends the reading of what is too long.
var errLimit = errors.New("limit reached")

// limited passes on so many bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n, err := l.w.Write(p[:l.left])
		l.left -= n
		if err == nil {
			err = errLimit
		}
		return n, err
	}
	l.left -= len(p)
	return l.w.Write(p)
}
