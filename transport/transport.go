// Package transport holds the words for reaching a machine: what a
// destination is, what dials it, what a connection can do, what a remote
// command is, and how each of these fails.
//
// It has no behaviour of its own. Implementations live in subpackages
// (transport/ssh, transport/local), which also say how they are configured
// (transport/option); transport/all lists them. They share the remote side's shell work in
// transport/shell, and are checked against one contract by
// transport/transporttest.
//
// A connection pool or a daemon is a Dialer around another Dialer, so nothing
// above this package knows whether one exists.
package transport

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A Dialer reaches machines. It is safe for concurrent use.
type Dialer interface {
	// Dial returns an open connection to a destination, or an *Error whose
	// Class says how far it got. It obeys ctx and to.ConnectTimeout,
	// whichever ends first.
	Dial(ctx context.Context, to Dest) (Conn, error)
}

// A DialCloser is a Dialer that holds resources until it is closed.
type DialCloser interface {
	Dialer
	io.Closer
}

// A Conn is one machine, reached. It is safe for concurrent use; Close ends
// all that still runs on it.
type Conn interface {
	// Run runs one command and returns when it has ended and its output has
	// been delivered. Status is the command's own fate; the error is ours
	// (an *Error: run-as refused, connection lost, cancelled, timeout …) and
	// then Status means nothing.
	//
	// When ctx ends, the remote process group is ended too: TERM, then KILL
	// after c.Grace. The error's Class is then ClassCancelled or ClassTimeout
	// (by the cause of ctx), and its text says if the process could not be ended.
	Run(ctx context.Context, c *Cmd) (Status, error)

	// Put copies src (a regular file or a directory) to the path dst on the
	// machine, as "mv" would place it: into dst if that is a directory.
	// Permission bits are kept. It goes through a private directory and a
	// rename, so that a reader never sees half a file.
	Put(ctx context.Context, src Tree, dst string, o FileOptions) error

	// Get copies the file or directory src of the machine to the local
	// directory dst (made if missing), as dst/<base of src>. Symbolic links
	// are followed on the machine; nothing is written outside dst, and no more
	// than o.Limits allow. If nothing arrives, a dst that it has made does not stay.
	Get(ctx context.Context, src, dst string, o FileOptions) error

	// Close gives the connection up. It is safe to call twice.
	Close() error
}

// A Router is a Dialer that can tell which connection a destination needs
// without opening it, for whoever keeps connections.
type Router interface {
	Dialer
	// Route decides everything about a destination that can be decided
	// without reaching it. Errors are as Dial's.
	Route(ctx context.Context, to Dest) (Route, error)
}

// A Route is a destination with everything decided.
type Route interface {
	// Key names the connection: two routes of equal keys may share one, because
	// the same peer would be reached in the same way as the same user with the
	// same credentials and the same rules for its host key. It holds no secret
	// in a form that can be read or guessed.
	Key() string
	// Dial opens a connection; it is as Dialer.Dial. That connection is a Link.
	Dial(ctx context.Context) (Conn, error)
}

// A Link is a Conn that can be kept.
type Link interface {
	Conn
	Archiver
	// Done is closed when the connection has ended, for whatever reason.
	Done() <-chan struct{}
	// Check reports whether the connection may be used now: nil, or why not
	// (an *Error). It asks the peer for a sign of life if none came lately,
	// which alone takes time; and it looks whether the peer's host key would
	// still be accepted.
	Check(ctx context.Context) error
	// Stats may be called at any time.
	Stats() LinkStats
}

// An Unqueued is a Link that can return a request instead of queuing it.
type Unqueued interface {
	// NoQueue makes a request for which the server has no session end with
	// ErrSessionsTaken. It is called before the first request.
	NoQueue()
}

// An Archiver hands over what Get would write as a tar stream (package
// transport/archive), unread and untrusted.
type Archiver interface {
	Archive(ctx context.Context, src string, to io.Writer, o FileOptions) error
}

// LinkStats say what a connection is and has done.
type LinkStats struct {
	Peer           string // user@address:port, and the jump hosts, for people
	Sessions       int    // commands that it can run at a time, as far as learned
	Sent, Received uint64 // bytes on the wire
}

// Dest is all that a transport needs to know to open a connection. Two
// requests may share a connection exactly when their Dests are equal; so it
// holds nothing about a single command, and it is comparable.
type Dest struct {
	Protocol string // the transport's name (package transport/all): "ssh", "local", …
	Host     string // a name or an address, IPv6 without brackets; "" only for local
	Port     int    // 0: from ssh_config, else the protocol's default
	User     string // "": from ssh_config, else the login name

	Password   Secret
	PrivateKey string // path of a key file, "" for the defaults
	KeyData    Secret // the text of a key, instead of a path

	ConnectTimeout    time.Duration // TCP, handshake and authentication together, but no waiting for a turn before; 0: no limit
	DisconnectTimeout time.Duration // for a polite end before the socket is closed
	Keepalive         time.Duration // interval; 0: the transport's default

	HostKeyCheck HostKeyCheck
	LoadConfig   bool // read ssh_config files and use the agent
	// ProxyJump is [user@]host[:port][,…] as in ssh -J; "" for ssh_config's. The
	// keys of these hosts are checked as ssh_config says, whatever
	// HostKeyCheck says of the destination.
	ProxyJump string
	// ProxyCommand is the command for sh that the connection goes through, with the
	// tokens of ssh_config; "" for the ProxyCommand of ssh_config. ProxyJump overrides it.
	ProxyCommand string

	// LoginShell names the login user's shell there, if it is not of the
	// POSIX family: csh, tcsh, fish, powershell.
	LoginShell string

	// Algorithm lists, comma-separated, "" for the defaults. "defaults" as
	// an element stands for them.
	Ciphers, Kex, MACs, HostKeyAlgorithms string

	// GSSAPI says whether to log in with a Kerberos ticket, GSSAPIDelegate
	// whether to hand a copy of it to the machine.
	GSSAPI, GSSAPIDelegate Choice

	// ForwardAgent says whether commands on the machine can use the caller's
	// ssh-agent. ChoiceByConfig is no, except for native-ssh.
	ForwardAgent Choice

	// Options are settings that only the destination's transport uses: a comparable
	// value of a type of that transport's package, or nil. They do not travel to
	// the pool daemon, which dials ssh alone.
	Options any
}

// Words are a program and its arguments as one comparable value.
type Words string

// NewWords returns Words. One that holds a NUL byte, which no program can be
// given, counts as two.
func NewWords(list []string) Words { return Words(strings.Join(list, "\x00")) }

// List returns them, nil if there are none.
func (w Words) List() []string {
	if w == "" {
		return nil
	}
	return strings.Split(string(w), "\x00")
}

// A Choice is a yes or no that may be left to the transport's own
// configuration.
type Choice uint8

const (
	ChoiceByConfig Choice = iota
	ChoiceYes
	ChoiceNo
)

// Of decides, with what the configuration says.
func (c Choice) Of(config bool) bool { return c == ChoiceYes || c == ChoiceByConfig && config }

// HostKeyCheck says what to do about a server's key.
type HostKeyCheck uint8

const (
	// CheckByConfig is strict unless ssh_config says StrictHostKeyChecking
	// no or accept-new: then unknown keys are accepted and recorded.
	CheckByConfig HostKeyCheck = iota
	// CheckStrict accepts only keys that known_hosts holds.
	CheckStrict
	// CheckNone accepts any key.
	CheckNone
)

// Cmd is one command on one machine. A Cmd is not changed by Run and may be
// used for many machines at once.
//
// Exactly one of Line and Argv is set.
type Cmd struct {
	// Label names the machine in messages, "" for the name that was dialed.
	Label string

	// Line is given to the login shell as it is (with RunAs, or with Env:
	// to sh).
	Line string

	// Argv is run without a shell's expansion. When Files are staged, an
	// Argv[0] of "./name" is the staged file of that name.
	Argv []string

	// Interpreter runs Argv instead of the system: its words go in front.
	Interpreter []string

	Env []string // "NAME=value", in order

	// Stdin is all that the command reads, from a file or a pipe; then it sees
	// the end of file. It travels to the machine before the command starts.
	Stdin []byte

	// Input is a stream that the command reads as its standard input, in Stdin's
	// place: a Cmd that has both is refused. Run reads it from one goroutine, only
	// as fast as the command takes it, and closes the command's standard input at
	// io.EOF. The command may go on after that. Any other error of Read ends the
	// command; the error of Run wraps it, with ClassCancelled. If the command closes
	// its standard input or ends, the rest is not needed: Run may read more of it, or
	// none. Run may return while a Read is blocked; the caller ends that Read by closing
	// its reader. A Cmd with Input is for one machine only, and must not have TTY.
	// nil: no stream.
	Input io.Reader

	// Files exist in a fresh private directory for as long as the command
	// runs, with the permission bits that they carry and u+x on the one that
	// Argv[0] names if no Interpreter runs it.
	Files []File

	// Output sinks; nil discards. They are called from one goroutine at a
	// time, in the order of arrival as far as it is known. A slow sink slows
	// the command.
	Stdout, Stderr io.Writer

	Dir   string // working directory, "" for the home directory (remote) or ours (local)
	RunAs RunAs
	TTY   bool // a terminal on stdin, stdout and stderr: stderr arrives as stdout

	TmpDir    string // parent of the private directory, "" for /tmp
	ScriptDir string // name for it below TmpDir, instead of a random one (PrivateDir tells the path)
	KeepFiles bool   // leave the private directory behind (cleanup: false)

	Grace time.Duration // between TERM and KILL on cancel; 0: DefaultGrace

	// What follows is for machines with PowerShell, and does nothing on others.

	// Named: Stdin is a JSON object, whose members a PowerShell script gets as its
	// named parameters, as far as it declares them. It then reads nothing.
	Named bool
	// TellDir tells the command its private directory (ScriptDir must be set): as
	// PT__installdir if it has Env, and as the member _installdir of the object
	// in Stdin if it has that.
	TellDir bool
	// Extensions (".sh") are of files that may be run beside those that always are.
	Extensions []string
}

// DefaultGrace is how long a cancelled command has between TERM and KILL.
const DefaultGrace = 2 * time.Second

// A File is a staged file: its name below the private directory
// ("x.sh", "mod/files/lib.sh"), its bytes, its permission bits.
type File struct {
	Name string
	Mode fs.FileMode
	Data []byte
	// Sum is the SHA-256 of Data in hexadecimal digits, by whoever knows it
	// for certain; "" lets it be computed where it is needed.
	Sum string
}

// RunAs says as whom a command runs. The zero value is the login user.
type RunAs struct {
	User       string   // "" or the login user: no escalation
	Password   Secret   // for Method's program, written to its standard input after its prompt and nowhere else
	Executable string   // instead of "sudo"; its base name determines Method
	Command    []string // instead of sudo altogether: Command… User sh -c …; no password is sent
}

// A Method is the kind of program that changes the user.
type Method string

// The methods. MethodSu asks for the password of RunAs.User, the others for that
// of the login user; MethodDoas asks only on a terminal.
const (
	MethodSudo    Method = "sudo"
	MethodSu      Method = "su"
	MethodDoas    Method = "doas"
	MethodCommand Method = "command" // RunAs.Command
)

// Method returns the method that RunAs asks for. A program named neither su nor
// doas takes the arguments of sudo.
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

// FileOptions are what Put and Get share with Cmd; the fields mean the same.
type FileOptions struct {
	Label     string
	RunAs     RunAs
	TmpDir    string
	ScriptDir string
	KeepFiles bool
	Limits    Limits // of Get
}

// Limits bound what Get writes, because the machine may send anything. The zero
// value stands for package archive's defaults.
type Limits struct {
	Files int   // files and directories
	Bytes int64 // in all files; 0: what leaves room on the disk
	Depth int   // of directories

	// Used counts what Get writes, so that several copies can have limits together.
	// nil: the limits are those of one copy.
	Used *Usage
}

// Usage is what copies with the same Limits have written.
type Usage struct {
	Files int
	Bytes int64
}

// Status is how a command ended: by itself with Code, or by Signal.
type Status struct {
	Code   int
	Signal string // "TERM", "KILL" …, "" if it exited by itself; Code is -1 then
}

// OK reports whether the command exited with 0.
func (s Status) OK() bool { return s.Signal == "" && s.Code == 0 }

// Tree is a local file or directory to copy. Opened files are read once per
// machine; nothing is held in memory but small files.
type Tree struct {
	Path string // of the file or directory on this machine
	Name string // the base name that it has on the way; "" for Path's
	// FS holds Path instead of this machine's file system, if it is not nil.
	// Path is then as fs.ValidPath has it.
	FS fs.FS
}
