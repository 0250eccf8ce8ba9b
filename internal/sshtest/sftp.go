package sshtest

import (
	"context"
	"encoding/binary"
	"io"
	"os/exec"
)

// An SFTPListing is an SFTP server on which every path is a directory and only
// listings have content. For the nth request of a listing, the function returns
// the names of the response. The listing ends when more is false.
type SFTPListing func(n int) (names []string, more bool)

// Packets and codes of SFTP version 3 (draft-ietf-secsh-filexfer-02).
const (
	sftpInit     = 1
	sftpVersion  = 2
	sftpOpen     = 3
	sftpClose    = 4
	sftpRead     = 5
	sftpLstat    = 7
	sftpFstat    = 8
	sftpOpendir  = 11
	sftpReaddir  = 12
	sftpRealpath = 16
	sftpStat     = 17
	sftpStatus   = 101
	sftpHandle   = 102
	sftpData     = 103
	sftpName     = 104
	sftpAttrs    = 105

	sftpOK          = 0
	sftpEOF         = 1
	sftpUnsupported = 8

	sftpHasSize        = 1
	sftpHasPermissions = 4
	sftpDirectory      = 0o040755
)

// serve answers requests until the client ends.
func (l SFTPListing) serve(c Call) {
	for n := 0; ; {
		var head [4]byte
		if _, err := io.ReadFull(c.Stdin, head[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c.Stdin, request); err != nil || len(request) < 5 {
			return
		}
		kind, id := request[0], binary.BigEndian.Uint32(request[1:])
		var answer []byte
		switch kind {
		case sftpInit:
			answer = packet(sftpVersion, uint32(3))
		case sftpStat, sftpLstat:
			answer = packet(sftpAttrs, id, uint32(sftpHasPermissions), uint32(sftpDirectory))
		case sftpOpendir:
			answer = packet(sftpHandle, id, "handle")
		case sftpReaddir:
			answer = l.names(n, id)
			n++
		case sftpClose:
			answer = status(id, sftpOK)
		default:
			answer = status(id, sftpUnsupported)
		}
		if _, err := c.Stdout.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (l SFTPListing) names(n int, id uint32) []byte {
	names, more := l(n)
	if !more {
		return status(id, sftpEOF)
	}
	fields := []any{id, uint32(len(names))}
	for _, name := range names {
		fields = append(fields, name, "", uint32(0)) // no attributes
	}
	return packet(sftpName, fields...)
}

func status(id, code uint32) []byte { return packet(sftpStatus, id, code, "", "") }

// WithoutTar returns an Exec of a machine that serves SFTP and has a shell but
// no programs, such as tar.
func WithoutTar(listing SFTPListing) Exec {
	return func(ctx context.Context, c Call) int {
		if c.Subsystem != "" {
			listing.serve(c)
			return 0
		}
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", proof.ReplaceAllString(c.Line, ""))
		cmd.Env = []string{"PATH=/nonexistent"}
		cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil || cmd.Start() != nil {
			return 255
		}
		go func() { // ends with the channel
			_, _ = io.Copy(stdin, c.Stdin)
			stdin.Close()
		}()
		_ = cmd.Wait() // the status has the outcome
		return cmd.ProcessState.ExitCode()
	}
}
