package run

import (
	"errors"
	"fmt"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/transport"
)

const kindCommand = "puppetlabs.tasks/command-error"

// kinds are the kinds that Puppet Bolt prints for the errors of a transport.
// The kinds of the last three classes do not exist in Puppet Bolt.
var kinds = map[transport.Class]struct{ kind, code string }{
	transport.ClassResolve:        {"puppetlabs.tasks/connect-error", "CONNECT_ERROR"},
	transport.ClassConnect:        {"puppetlabs.tasks/connect-error", "CONNECT_ERROR"},
	transport.ClassThrottled:      {"puppetlabs.tasks/connect-error", "CONNECT_ERROR"},
	transport.ClassHostKeyUnknown: {"puppetlabs.tasks/connect-error", "HOST_KEY_ERROR"},
	transport.ClassHostKeyChanged: {"puppetlabs.tasks/connect-error", "HOST_KEY_ERROR"},
	transport.ClassAuth:           {"puppetlabs.tasks/connect-error", "AUTH_ERROR"},
	transport.ClassProtocol:       {"puppetlabs.tasks/connect-error", "CONNECT_ERROR"},
	transport.ClassBootstrap:      {"puppetlabs.tasks/task_file_error", "WRITE_ERROR"},
	transport.ClassFile:           {"puppetlabs.tasks/task_file_error", "WRITE_ERROR"},
	transport.ClassRunAs:          {"puppetlabs.tasks/escalate-error", "SUDO_ERROR"},
	transport.ClassUnsupported:    {"puppetlabs.tasks/exception-error", "EXCEPTION"},
	transport.ClassTimeout:        {"puppetlabs.tasks/timeout-error", "TIMEOUT"},
	transport.ClassLost:           {"puppetlabs.tasks/lost-error", "LOST"},
	transport.ClassCancelled:      {"puppetlabs.tasks/cancelled-error", "CANCELLED"},
}

// newError converts err, which prevented an action on a target.
func newError(err error) *event.Error {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		k := kinds[e.Class]
		out := &event.Error{Kind: k.kind, Code: k.code, Msg: e.Error(), Details: &ordered.Map{}, Class: e.Class}
		if e.Code != "" {
			out.Code = e.Code
		}
		// Programs compare these messages with Bolt's, so the hint is a
		// separate field.
		if e.Msg != "" && (e.Class == transport.ClassAuth || e.Class == transport.ClassRunAs) {
			out.Msg, out.Hint = e.Msg, e.Hint
		}
		// For Bolt's users, a connection that timed out is a connect-error,
		// whichever timeout expired.
		if e.Class == transport.ClassTimeout && e.Code == "CONNECT_ERROR" {
			out.Kind = kinds[transport.ClassConnect].kind
		}
		return out
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		d := f.Details
		if d == nil {
			d = &ordered.Map{}
		}
		return &event.Error{Kind: f.Kind, Code: f.Code, Msg: f.Msg, Hint: f.Hint, Details: d, Class: transport.ClassUnsupported}
	}
	return &event.Error{Kind: "puppetlabs.tasks/exception-error", Code: "EXCEPTION", Msg: err.Error(), Details: &ordered.Map{}, Class: transport.ClassProtocol}
}

// commandError returns the failure of a command or script that ran and failed.
func commandError(s transport.Status) *event.Error {
	details := &ordered.Map{}
	msg := fmt.Sprintf("The command failed with exit code %d", s.Code)
	if s.Signal != "" {
		details.Set("exit_code", nil)
		msg = fmt.Sprintf("The command was ended by signal %s", s.Signal)
	} else {
		details.Set("exit_code", int64(s.Code))
	}
	return &event.Error{Kind: kindCommand, Code: "COMMAND_ERROR", Msg: msg, Details: details, Class: event.ClassFailed, Command: true}
}
