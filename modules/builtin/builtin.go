// Package builtin holds the modules that are part of the program: tasks in POSIX sh,
// plans in the Puppet language, and the metadata of tasks that are implemented in Go.
//
// Each top directory of Files is a module. Names, parameters and results of tasks and
// plans are those of the modules of Puppet Bolt; the code was written for this program.
// On a target, shell tasks need only a POSIX shell and the features of awk, sed and
// other programs that busybox has. An implementation of a task is also a private task
// with its name in Puppet Bolt, such as package::linux.
//
// The modules ruby_task_helper, python_task_helper and bash_task_helper are for tasks
// of other modules. Each has one file, which tasks list in their metadata.
// sh_task_helper is for the tasks of this package. These tasks use only files of their
// own module and of the four helper modules, because a project can replace any other module.
//
// If the metadata of a task has {"extensions": {"bolt": {"native": NAME}}}, the program
// runs the task itself, on the controller, and the task does not have a file. With
// {"helper": NAME}, the helper runs the task on targets where the helper can run, and
// the file runs on other targets.
package builtin

import (
	"embed"
	"io/fs"
)

//go:embed aggregate apply_helpers bash_task_helper canary facts http_request openvox_bootstrap package pkcs7 puppet_agent puppet_conf puppetdb_fact
//go:embed python_task_helper reboot ruby_task_helper secure_env_vars service sh_task_helper terraform
var files embed.FS

// Files returns the modules. Each top directory is a module.
func Files() fs.FS { return files }
