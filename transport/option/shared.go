package option

import "bolt/format/schema"

// The following options have the same meaning in all transports. Package
// inventory converts them, so a Transport's Dest need not do it.

// Host returns the option for the name or address to connect to.
func Host() Option { return Text("host") }

// LoginPort returns the option for the port to connect to.
func LoginPort() Option { return Port("port") }

// User returns the option for the login user.
func User() Option { return Text("user") }

// Password returns the option for the login user's password.
func Password() Option { return Secret("password") }

// ConnectTimeout returns the option for the time limit of a connection attempt.
func ConnectTimeout() Option { return Seconds("connect-timeout") }

// RunAs returns the options for running as another user.
func RunAs() []Option {
	return []Option{Text("run-as"), List("run-as-command"), Text("sudo-executable"), Secret("sudo-password")}
}

// TTY returns the option that decides whether commands get a terminal.
func TTY() Option { return Flag("tty") }

// TmpDir returns the option for the parent of private directories on targets.
func TmpDir() Option { return Text("tmpdir") }

// ScriptDir returns the option for the name of private directories below
// TmpDir.
func ScriptDir() Option { return Text("script-dir") }

// Cleanup returns the option that decides whether private directories are
// removed.
func Cleanup() Option { return Flag("cleanup") }

// Interpreters returns the option for the commands that run files, by the
// files' extensions.
func Interpreters() Option {
	return Option{Name: "interpreters", Schema: &schema.Schema{Type: schema.Hash, Plugins: schema.PluginsAllowed,
		Additional: &schema.Schema{Type: schema.String | schema.Array, Plugins: schema.PluginsForbidden}}}
}

// Extensions returns the option for the extensions of files that can be run on
// machines with PowerShell.
func Extensions() Option { return Set("extensions") }
