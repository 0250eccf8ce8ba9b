// Package builtin holds the modules that are part of the program: tasks in
// POSIX sh, plans in the Puppet language, and the metadata of tasks that the
// program does itself.
//
// Each top directory of Files is a module. Names, parameters and results of
// tasks and plans are those of the modules that ship with Puppet Bolt; what is
// in them was written for this program. Shell tasks need nothing on a target
// but a POSIX shell and what busybox has of awk, sed and the like. Those that
// are implementations of a task are private tasks of their own, too, under the
// names that they have with Puppet Bolt ("package::linux").
//
// Three modules are there for the tasks of other modules: ruby_task_helper,
// python_task_helper and bash_task_helper have one file each, which tasks name
// in their metadata. sh_task_helper is for the tasks here. A task here needs only
// files of its own module and of these: a project can replace any other module.
//
// A task whose metadata has {"extensions": {"bolt": {"native": NAME}}} has no
// file to run: the program does it, on the controller. With {"helper": NAME}, the
// helper does it on targets where it can run, and the file elsewhere.
package builtin

import (
	"embed"
	"io/fs"
)

//go:embed aggregate apply_helpers bash_task_helper canary facts http_request openvox_bootstrap package pkcs7 puppet_agent puppet_conf puppetdb_fact
//go:embed python_task_helper reboot ruby_task_helper secure_env_vars service sh_task_helper terraform
var files embed.FS

// Files returns the modules; each directory at its top is one.
func Files() fs.FS { return files }
