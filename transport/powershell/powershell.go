// Package powershell translates a transport.Cmd, a Put or a Get into one run of
// PowerShell on a machine. It handles staging of files, environment,
// interpreters and cleanup.
//
// It does not know how a program is started: a Starter (a WinRM connection)
// starts the program and returns its streams.
//
// The program is always the same (program.ps1), so nothing must be quoted for
// PowerShell. The request is sent as data on its standard input, in frames
// (frame.go), and is not visible in the process list. The command line contains
// only the loader (bootstrap.ps1), because cmd.exe allows at most 8191
// characters. Arguments for other programs are quoted by the rules of these
// programs (quote.go).
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
	// Exec runs a command line with stdin as its complete input and writes its
	// output to stdout and stderr, from one goroutine at a time, in the order
	// of arrival. It returns when the command has ended. After that it no
	// longer reads stdin, which may not have been read to its end.
	//
	// An error of stdout or stderr ends the command and is returned unchanged.
	// When ctx ends, the command is ended; the error is then the same as that
	// of a Conn's Run. All other errors are *transport.Error, too.
	Exec(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error)
}

// Options describe the machine.
type Options struct {
	// Host names the machine in messages.
	Host string
	// User is the login user, for which a RunAs changes nothing.
	User string
	// Temp caches the directory for temporary files on the machine. If it is
	// nil, the machine is queried each time.
	Temp *Temp
}

//go:embed bootstrap.ps1
var bootstrap string

//go:embed program.ps1
var program string

// Bootstrap returns the loader that runs on the machine. It reads Program from
// standard input.
func Bootstrap() string { return bootstrap }

// Program returns the program that Bootstrap reads.
func Program() string { return program }

// CommandLine returns the line that starts Bootstrap. -InputFormat None
// prevents PowerShell itself from reading standard input
// (about_PowerShell_exe).
func CommandLine() string {
	return "powershell.exe -NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -InputFormat None -OutputFormat Text -EncodedCommand " + encode(bootstrap)
}

// encode returns a text in the format of -EncodedCommand: UTF-16LE in base64.
func encode(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// checkRunAs returns an error if PowerShell would have to switch the user.
func checkRunAs(as transport.RunAs, o *Options) error {
	if as.User == "" || strings.EqualFold(as.User, o.User) {
		return nil
	}
	return &transport.Error{Class: transport.ClassUnsupported, Msg: "run-as is not supported with PowerShell, on " + o.Host,
		Hint: "Log in as that user instead."}
}
