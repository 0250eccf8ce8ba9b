// Package powershell turns a transport.Cmd, a Put or a Get into one run of
// PowerShell on a machine: staging of files, environment, interpreters,
// clean-up.
//
// It knows nothing of how a program is started: a Starter (a WinRM connection)
// starts one and hands over its streams.
//
// The program is always the same (program.ps1), so nothing has to be quoted for
// PowerShell: what is asked for travels as data on its standard input, in
// frames (frame.go), and is not in the list of processes. The command line has
// only what reads it (bootstrap.ps1), because cmd.exe takes no more than 8191
// characters. Words for other programs are quoted as these read them (quote.go).
//
// The machine must have Windows PowerShell 3 or later, without Constrained
// Language Mode.
package powershell

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"

	"bolt/transport"
)

// A Starter runs programs on one machine. It is safe for concurrent use.
type Starter interface {
	// Exec runs a command line with stdin as all that it reads and hands its
	// output to the sinks, from one goroutine at a time, in the order of arrival.
	// It returns when the command has ended, and has then given stdin up, which
	// need not have been read to its end.
	//
	// An error of a sink ends the command and is returned as it is. When ctx
	// ends, the command is ended; the error is then that of a Conn's Run.
	// All other errors are *transport.Error, too.
	Exec(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error)
}

// Options say what is known of the machine.
type Options struct {
	// Host names the machine in messages.
	Host string
	// User is the login user: a RunAs of that name is none.
	User string
	// Temp remembers the directory of temporary files there; nil: it is asked
	// for each time that it is needed.
	Temp *Temp
}

//go:embed bootstrap.ps1
var bootstrap string

//go:embed program.ps1
var program string

// Bootstrap and Program are what runs on the machine: the first reads the
// second from standard input.
func Bootstrap() string { return bootstrap }

// Program is what Bootstrap reads.
func Program() string { return program }

// CommandLine is the line that starts Bootstrap. -InputFormat None keeps
// PowerShell itself from reading standard input (about_PowerShell_exe).
func CommandLine() string {
	return "powershell.exe -NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -InputFormat None -OutputFormat Text -EncodedCommand " + encode(bootstrap)
}

// encode is a text as -EncodedCommand takes it: UTF-16LE in base64.
func encode(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// checkRunAs refuses what PowerShell has no way to.
func checkRunAs(as transport.RunAs, o *Options) error {
	if as.User == "" || strings.EqualFold(as.User, o.User) {
		return nil
	}
	return &transport.Error{Class: transport.ClassUnsupported, Msg: "run-as is not supported with PowerShell, on " + o.Host,
		Hint: "Log in as that user."}
}
