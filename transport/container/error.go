package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/transport"
	"bolt/transport/shell"
)

// connectError returns the error for a container that could not be reached.
func connectError(class transport.Class, host string, cause error, why, hint string) *transport.Error {
	return &transport.Error{Class: class, Code: "CONNECT_ERROR", Err: cause, Hint: hint,
		Msg: fmt.Sprintf("Failed to connect to %s: %s", host, why)}
}

// quoted returns remote text for a message.
func quoted(s string) string { return strconv.Quote(shell.FirstLines(s)) }

// gaveUp returns the error for a program that was stopped before it answered.
func (s *starter) gaveUp(ctx context.Context) *transport.Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeout):
		return connectError(transport.ClassTimeout, s.to.Host, cause, fmt.Sprintf("%s did not answer within %v", s.tool.program, s.to.ConnectTimeout), s.tool.down)
	case errors.Is(cause, context.DeadlineExceeded):
		return connectError(transport.ClassTimeout, s.to.Host, cause, s.tool.program+" did not answer in time", s.tool.down)
	}
	return connectError(transport.ClassCancelled, s.to.Host, cause, "it was cancelled", "")
}

func (s *starter) missing(cause error) *transport.Error {
	return connectError(transport.ClassConnect, s.to.Host, cause,
		fmt.Sprintf("Could not find a container with name or ID matching '%s'", s.to.Host), s.tool.list+" lists the running containers.")
}

// A complaint is an error of the programs. It is recognized by one of these
// texts, in lower case.
type complaint struct {
	texts []string
	class transport.Class
	why   string // replaces the program's own text
	hint  string
}

// complaints returns the known errors, in the order in which they are searched.
func (s *starter) complaints() []complaint {
	t := s.tool
	return []complaint{
		{texts: []string{`exec: "sh"`, "executable file `sh` not found", "stat sh: no such file"}, class: transport.ClassBootstrap,
			why: "the container has no sh", hint: "Commands, scripts, tasks and copies need a shell and the usual programs in the container."},
		{texts: []string{"permission denied while trying to connect", "connect: permission denied", "socket: permission denied"}, class: transport.ClassConnect,
			hint: fmt.Sprintf("Run bolt as a user with access to %s: root, or a member of the group %s.", t.program, t.group)},
		{texts: []string{"cannot connect to", "is the docker daemon running", "connection refused", "unable to connect", "error during connect",
			"daemon doesn't appear to be started", "no such host", "i/o timeout"}, class: transport.ClassConnect, hint: t.down},
		{texts: []string{"multiple ids found", "more than one", "ambiguous"}, class: transport.ClassConnect,
			hint: fmt.Sprintf("Use a longer part of the ID, or the name: %s lists the running containers.", t.list)},
		{texts: []string{"is not running", "not running", "container state improper", "is paused"}, class: transport.ClassConnect,
			hint: fmt.Sprintf("Start it: %s %s", t.start, s.to.Host)},
		{texts: []string{"unable to find user", "no matching entries in passwd"}, class: transport.ClassAuth},
	}
}

// absences are the texts with which programs report that a container does not
// exist.
var absences = [...]string{"no such container", "no container with name", "no such object", "instance not found"}

// refused returns the error for a program that failed before it did its work.
func (s *starter) refused(cause error, said string) *transport.Error {
	text := shell.FirstLines(said)
	low := strings.ToLower(text)
	has := func(t string) bool { return strings.Contains(low, t) }
	if slices.ContainsFunc(absences[:], has) {
		return s.missing(cause)
	}
	for _, c := range s.complaints() {
		if slices.ContainsFunc(c.texts, has) {
			return connectError(c.class, s.to.Host, cause, cmp.Or(c.why, text), c.hint)
		}
	}
	if text == "" {
		text = fmt.Sprintf("%s printed no reason (%v)", s.tool.program, cause)
	}
	return connectError(transport.ClassConnect, s.to.Host, cause, text, "")
}
