// Package transport defines the types for access to machines: destinations,
// dialers, connections, commands, and the errors of each.
//
// It has no behaviour of its own. Subpackages such as transport/ssh and
// transport/local implement it and define their own options (transport/option);
// transport/all lists them. They share the shell code for the remote side
// (transport/shell). The conformance suite in transport/transporttest checks
// them all.
//
// A connection pool or a daemon is a Dialer around another Dialer. So no code
// above this package depends on whether one exists.
package transport

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A Dialer opens connections to machines. It is safe for concurrent use.
type Dialer interface {
	// Dial returns an open connection to a destination. If it fails, it returns
	// an *Error whose Class names the step that failed. It ends when ctx ends
	// or to.ConnectTimeout expires, whichever is first.
	Dial(ctx context.Context, to Dest) (Conn, error)
}

// A DialCloser is a Dialer that holds resources until it is closed.
type DialCloser interface {
	Dialer
	io.Closer
}

// A Conn is an open connection to one machine. It is safe for concurrent use.
// Close ends all commands that still run on it.
type Conn interface {
	// Run runs one command. It returns when the command has ended and its
	// output has been delivered. Status is the result of the command. If Run
	// itself fails, it returns an *Error (run-as refused, connection lost,
	// cancelled, timeout …) and Status has no meaning.
	//
	// If ctx ends, Run also ends the remote process group: with TERM, then with
	// KILL after c.Grace. The error's Class is then ClassCancelled or
	// ClassTimeout (by the cause of ctx). If the process could not be ended,
	// the error's text mentions it.
	Run(ctx context.Context, c *Cmd) (Status, error)

	// Put copies src (a regular file or a directory) to the path dst on the
	// machine. If dst is a directory, it places src in it, as mv(1) does. It
	// preserves permission bits. It writes to a private directory and then
	// renames, so that readers never see a partial file.
	Put(ctx context.Context, src Tree, dst string, o FileOptions) error

	// Get copies the file or directory src from the machine to the local
	// directory dst, as dst/<base of src>. It creates dst if it is missing. The
	// machine follows symbolic links. Get writes nothing outside dst, and no
	// more than o.Limits allow. If nothing arrives, Get removes a dst that it
	// has created.
	Get(ctx context.Context, src, dst string, o FileOptions) error

	// Close closes the connection. It is safe to call it twice.
	Close() error
}

// A Router is a Dialer that can name the connection that a destination needs
// without opening it. Code that caches connections uses it.
type Router interface {
	Dialer
	// Route decides everything about a destination that can be decided without
	// a connection. It returns the same errors as Dial.
	Route(ctx context.Context, to Dest) (Route, error)
}

// A Route is a destination with all its settings decided.
type Route interface {
	// Key identifies the connection. Two routes with equal keys may share one
	// connection: both would reach the same peer in the same way, as the same
	// user, with the same credentials and the same rules for its host key. It
	// holds no secret in a form that can be read or guessed.
	Key() string
	// Dial opens a connection as Dialer.Dial does. The connection is a Link.
	Dial(ctx context.Context) (Conn, error)
}

// A Link is a Conn that can be cached.
type Link interface {
	Conn
	Archiver
	// Done returns a channel that is closed when the connection has ended, for
	// any reason.
	Done() <-chan struct{}
	// Check returns nil if the connection can be used now, and else an *Error
	// with the reason. If nothing has arrived from the peer lately, it sends a
	// keepalive and waits for the answer; no other part of it takes time. It
	// also checks that the peer's host key would still be accepted.
	Check(ctx context.Context) error
	// Stats returns the connection's LinkStats. It can be called at any time.
	Stats() LinkStats
}

// An Unqueued is a Link that can refuse a request instead of queuing it.
type Unqueued interface {
	// NoQueue changes requests for which the server has no free session: they
	// end with ErrSessionsTaken instead of waiting. It must be called before
	// the first request.
	NoQueue()
}

// An Archiver sends the files that Get would write as a tar stream (package
// transport/archive). The stream is not parsed and must not be trusted.
type Archiver interface {
	Archive(ctx context.Context, src string, to io.Writer, o FileOptions) error
}

// LinkStats describe a connection and its use.
type LinkStats struct {
	Peer           string // user@address:port and the jump hosts, for display
	Sessions       int    // number of commands that it can run at a time, as far as known
	Sent, Received uint64 // bytes on the wire
}

// Dest is everything that a transport needs to open a connection. Two requests
// may share a connection only if their Dests are equal. So a Dest holds nothing
// about a single command, and it is comparable.
type Dest struct {
	Protocol string // the transport's name (package transport/all): "ssh", "local", …
	Host     string // a name or an address, IPv6 without brackets; "" only for local
	Port     int    // 0: from ssh_config, else the protocol's default
	User     string // "": from ssh_config, else the login name

	Password   Secret
	PrivateKey string // path of a key file; "" for the defaults
	KeyData    Secret // the content of a key file, instead of a path

	ConnectTimeout    time.Duration // of TCP, handshake and authentication together, without the wait for a turn before; 0: no limit
	DisconnectTimeout time.Duration // maximum time for an orderly end before the socket is closed
	Keepalive         time.Duration // interval; 0: the transport's default

	HostKeyCheck HostKeyCheck
	LoadConfig   bool // read ssh_config files and use the agent
	// ProxyJump is [user@]host[:port][,…] as in ssh -J; "" for the ProxyJump of
	// ssh_config. ssh_config decides how the keys of these hosts are checked;
	// HostKeyCheck applies to the destination only.
	ProxyJump string
	// ProxyCommand is the shell command that carries the connection, with the
	// tokens of ssh_config; "" for the ProxyCommand of ssh_config. ProxyJump
	// overrides it.
	ProxyCommand string

	// LoginShell names the user's login shell on the machine if it is not a
	// POSIX shell: csh, tcsh, fish, powershell.
	LoginShell string

	// Ciphers, Kex, MACs and HostKeyAlgorithms are comma-separated lists of
	// algorithms; "" for the defaults. The element "defaults" stands for the
	// default list.
	Ciphers, Kex, MACs, HostKeyAlgorithms string

	// GSSAPI decides whether to log in with a Kerberos ticket. GSSAPIDelegate
	// decides whether to forward the ticket to the machine.
	GSSAPI, GSSAPIDelegate Choice

	// ForwardAgent decides whether commands on the machine can use the caller's
	// ssh-agent. ChoiceByConfig means no, except for native-ssh.
	ForwardAgent Choice

	// Options holds the settings that only the destination's transport uses:
	// nil, or a comparable value of a type of that transport's package. Options
	// are not sent to the pool daemon, which dials only ssh.
	Options any
}

// Words holds a program and its arguments as one comparable value.
type Words string

// NewWords returns list as Words. An element with a NUL byte becomes two
// elements; no program accepts such an argument anyway.
func NewWords(list []string) Words { return Words(strings.Join(list, "\x00")) }

// List returns the elements, or nil if there are none.
func (w Words) List() []string {
	if w == "" {
		return nil
	}
	return strings.Split(string(w), "\x00")
}

// A Choice is a yes or no, or left to the transport's own configuration.
type Choice uint8

const (
	ChoiceByConfig Choice = iota
	ChoiceYes
	ChoiceNo
)

// Of returns the decision; config is the value in the transport's
// configuration.
func (c Choice) Of(config bool) bool { return c == ChoiceYes || c == ChoiceByConfig && config }

// HostKeyCheck is the rule for checking a server's key.
type HostKeyCheck uint8

const (
	// CheckByConfig accepts only known keys, unless StrictHostKeyChecking in
	// ssh_config is no or accept-new. Then it also accepts unknown keys and
	// records them.
	CheckByConfig HostKeyCheck = iota
	// CheckStrict accepts only keys that known_hosts holds.
	CheckStrict
	// CheckNone accepts any key.
	CheckNone
)

// Cmd is one command on one machine. Run does not change a Cmd, so one Cmd can
// be used for many machines at once.
//
// Exactly one of Line and Argv is set.
type Cmd struct {
	// Label names the machine in messages; "" for the name that was dialed.
	Label string

	// Line is passed to the login shell unchanged. With RunAs or Env, it is
	// passed to sh instead.
	Line string

	// Argv is run without expansion by a shell. If Files are staged, an Argv[0]
	// of "./name" is the staged file with that name.
	Argv []string

	// Interpreter is a program with arguments that runs Argv: it is put in
	// front of Argv.
	Interpreter []string

	Env []string // "NAME=value", in order

	// Stdin is the command's whole standard input, from a file or a pipe; end
	// of file follows it. It is sent to the machine before the command starts.
	Stdin []byte

	// Input is a stream for the command's standard input. A Cmd with both Stdin
	// and Input is refused. nil: no stream.
	//
	// Run reads Input from one goroutine, only as fast as the command reads,
	// and closes the command's standard input at io.EOF. The command may go on
	// after that. Any other error of Read ends the command; the error of Run
	// wraps it, with ClassCancelled.
	//
	// If the command closes its standard input or ends, Run may or may not read
	// the rest of Input. Run may return while a Read is blocked; the caller
	// must then end that Read by closing its reader. A Cmd with Input can be
	// used for one machine only, and must not have TTY.
	Input io.Reader

	// Files are the files that exist in a new private directory as long as the
	// command runs. They have their own permission bits. If no Interpreter runs
	// Argv, the file that Argv[0] names also has u+x.
	Files []File

	// Stdout and Stderr receive the output; nil discards it. They are called
	// from one goroutine at a time, in the order of arrival as far as it is
	// known. A slow writer slows the command.
	Stdout, Stderr io.Writer

	Dir   string // working directory; "" for the home directory (remote) or this process's directory (local)
	RunAs RunAs
	TTY   bool // a terminal for stdin, stdout and stderr: stderr arrives as stdout

	TmpDir    string // parent of the private directory; "" for /tmp
	ScriptDir string // its name below TmpDir, instead of a random one (PrivateDir returns the path)
	KeepFiles bool   // do not remove the private directory (cleanup: false)

	Grace time.Duration // between TERM and KILL on cancel; 0: DefaultGrace

	// The following fields are for machines with PowerShell, and have no effect
	// on others.

	// If Named is set, Stdin is a JSON object. A PowerShell script gets those
	// of its members as named parameters that it declares, and nothing on its
	// standard input.
	Named bool
	// TellDir passes the path of the private directory to the command;
	// ScriptDir must be set. If the command has Env, the path is in the
	// variable PT__installdir. If Stdin holds an object, the path is its member
	// _installdir.
	TellDir bool
	// Extensions (".sh") are file extensions that may be run in addition to the
	// default ones.
	Extensions []string
}

// DefaultGrace is the time between TERM and KILL for a cancelled command.
const DefaultGrace = 2 * time.Second

// A File is a staged file: its name below the private directory ("x.sh",
// "mod/files/lib.sh"), its content and its permission bits.
type File struct {
	Name string
	Mode fs.FileMode
	Data []byte
	// Sum is the SHA-256 of Data in hexadecimal digits. Only a caller that
	// knows it for certain may set it; if it is "", it is computed where it is
	// needed.
	Sum string
}

// RunAs is the user that runs a command, and the way to become that user. The
// zero value is the login user.
type RunAs struct {
	User       string   // "" or the login user: no escalation
	Password   Secret   // for the program of Method; written only to its standard input, after its prompt
	Executable string   // instead of "sudo"; its base name determines Method
	Command    []string // replaces sudo and its arguments: Command… User sh -c …; no password is sent
}

// A Method is the kind of program that switches the user.
type Method string

// The methods. MethodSu asks for the password of RunAs.User, the others for the
// password of the login user. MethodDoas can ask only on a terminal.
const (
	MethodSudo    Method = "sudo"
	MethodSu      Method = "su"
	MethodDoas    Method = "doas"
	MethodCommand Method = "command" // RunAs.Command
)

// Method returns the method for Command and Executable. A program whose name is
// neither su nor doas is called with the arguments of sudo.
func (r *RunAs) Method() Method {
	if len(r.Command) > 0 {
		return MethodCommand
	}
	switch m := Method(path.Base(r.Executable)); m {
	case MethodSu, MethodDoas:
		return m
	}
	return MethodSudo
}

// FileOptions are the options of Put and Get. Fields with the same name mean
// the same as in Cmd.
type FileOptions struct {
	Label     string
	RunAs     RunAs
	TmpDir    string
	ScriptDir string
	KeepFiles bool
	Limits    Limits // of Get
}

// Limits bound the data that Get writes, because a machine may send anything.
// The zero value stands for the defaults of package archive.
type Limits struct {
	Files int   // maximum number of files and directories
	Bytes int64 // maximum size of all files together; 0: as much as leaves room on the disk
	Depth int   // maximum depth of directories

	// Used counts the data that Get writes, so that several copies can share
	// limits. If it is nil, the limits apply to one copy.
	Used *Usage
}

// Usage counts the data that copies with shared Limits have written.
type Usage struct {
	Files int
	Bytes int64
}

// Status is the way a command ended: by itself with Code, or by Signal.
type Status struct {
	Code   int
	Signal string // "TERM", "KILL" …; then Code is -1. "" if it exited by itself
}

// OK reports whether the command exited with 0.
func (s Status) OK() bool { return s.Signal == "" && s.Code == 0 }

// Tree is a local file or directory to copy. Its files are opened and read once
// per machine. Only small files are held in memory.
type Tree struct {
	Path string // of the file or directory on this machine
	Name string // the base name for the copy; "" for the base name of Path
	// FS is the file system that holds Path; nil for this machine's. With an
	// FS, Path must be valid by fs.ValidPath.
	FS fs.FS
}
