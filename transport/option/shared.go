package option

import "bolt/format/schema"

// The following options have the same meaning in all transports. Package
// inventory converts them, so a Transport's Dest need not do it.

// Host is the name or address to connect to.
func Host() Option { return Text("host") }

// LoginPort is the port to connect to.
func LoginPort() Option { return Port("port") }

// User is the login user.
func User() Option { return Text("user") }

// Password is the login user's password.
func Password() Option { return Secret("password") }

// ConnectTimeout bounds the time until a target has been reached.
func ConnectTimeout() Option { return Seconds("connect-timeout") }

// RunAs are the options for running as another user.
func RunAs() []Option {
	return []Option{Text("run-as"), List("run-as-command"), Text("sudo-executable"), Secret("sudo-password")}
}

// TTY sets whether commands get a terminal.
func TTY() Option { return Flag("tty") }

// TmpDir is the parent of private directories on targets.
func TmpDir() Option { return Text("tmpdir") }

// ScriptDir is the name of private directories below TmpDir.
func ScriptDir() Option { return Text("script-dir") }

// Cleanup sets whether private directories are removed.
func Cleanup() Option { return Flag("cleanup") }

// Interpreters are the commands that run files, by the files' extensions.
func Interpreters() Option {
	return Option{Name: "interpreters", Schema: &schema.Schema{Type: schema.Hash, Plugins: schema.PluginsAllowed,
		Additional: &schema.Schema{Type: schema.String | schema.Array, Plugins: schema.PluginsForbidden}}}
}

// Extensions are the extensions of files that can be run on machines with
// PowerShell.
func Extensions() Option { return Set("extensions") }
