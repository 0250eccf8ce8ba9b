package tasks

import (
	"fmt"
	"os"
	"path"
	"slices"

	"bolt/format/fault"
)

// localProtocol is the protocol of targets that are this machine.
const localProtocol = "local"

// These are the Rubies in the packages of Puppet and of Bolt. The first line of Ruby
// tasks can contain their paths.
const (
	puppetRuby = "/opt/puppetlabs/puppet/bin/ruby"
	boltRuby   = "/opt/puppetlabs/bolt/bin/ruby"
)

// ruby returns the interpreter of a task's file on this machine. Puppet Bolt runs Ruby
// tasks there with its own Ruby. This program has no Ruby. So if the interpreter is a
// packaged Ruby that is not installed, or the file does not name an interpreter, the
// ruby on PATH runs the file. Other interpreters are returned unchanged.
func (l *Library) ruby(t *Task, file string, interpreter []string) ([]string, error) {
	missing, arguments := "", []string(nil)
	switch {
	case len(interpreter) == 0 && path.Ext(file) == ".rb":
		missing = l.boltRuby
	case len(interpreter) > 0 && (interpreter[0] == l.puppetRuby || interpreter[0] == l.boltRuby):
		missing, arguments = interpreter[0], interpreter[1:]
	default:
		return interpreter, nil
	}
	if _, err := os.Stat(missing); err == nil {
		return slices.Concat([]string{missing}, arguments), nil
	}
	found, err := l.o.LookPath("ruby")
	if err != nil {
		return nil, &fault.Error{
			Kind: "puppetlabs.tasks/task-error", Err: err,
			Msg:  fmt.Sprintf("The task %s cannot run on this machine: %s does not exist, and ruby is not in PATH.", t.Name, missing),
			Hint: "Install Ruby, or set interpreters for the extension .rb in the configuration of the transport local.",
		}
	}
	l.rubyTold.Do(func() {
		l.o.Warn("local_ruby", fmt.Sprintf("%[2]s runs the task %[1]s, because %[3]s does not exist. bolt also runs other Ruby tasks on this machine with this ruby.", t.Name, found, missing))
	})
	return slices.Concat([]string{found}, arguments), nil
}
