// Package sftp copies files in a session with an SFTP server, for machines
// without tar. The copies behave like the copies by the shell: a file is
// written under another name and then renamed.
//
// A Copier is for one copy. It holds the listings of directories in memory, within
// the Limits of a Budget that all copies share.
package sftp

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"

	"bolt/internal/safetext"
	"bolt/transport"
	"bolt/transport/archive"
)

// maxDepth limits a walk that follows links, which may form a cycle.
const maxDepth = 64

// A Session is a session with an SFTP server.
type Session interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Close() error
}

// A Copier copies files through one session with an SFTP server. It is for one
// copy.
type Copier struct {
	session Session
	client  *sftp.Client
	lists   *listings
	host    string // for messages
	log     *slog.Logger
}

// New starts the SFTP protocol in a session. The Copier then owns the session,
// and its operations end when the session is closed. host names the machine in
// messages.
func New(s Session, host string, budget *Budget, log *slog.Logger) (*Copier, error) {
	l := &listings{from: s.Stdout(), end: func() { s.Close() }, budget: budget}
	client, err := sftp.NewClientPipe(l, s.Stdin(), sftp.UseConcurrentWrites(true))
	if err != nil {
		l.release(0)
		return nil, fileError("COPY_ERROR", "Could not copy to or from %s by SFTP: %w", host, err)
	}
	return &Copier{s, client, l, host, log}, nil
}

// Close ends the session and releases the memory of the Copier.
func (c *Copier) Close() {
	// The server ends with its input, and the client with its output.
	c.session.Close()
	c.client.Close()
	c.lists.release(0)
}

// Lost reports whether an error means that the session has ended.
func Lost(err error) bool { return errors.Is(err, sftp.ErrSSHFxConnectionLost) }

// fileError returns the error of a failed copy.
func fileError(code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &transport.Error{Class: transport.ClassFile, Code: code, Msg: safetext.Message(err.Error()), Err: errors.Unwrap(err)}
	if _, ok := errors.AsType[*listingError](err); ok {
		e.Hint = "Install tar on the target. Copies by tar do not have this limit."
	}
	return e
}

// Archive writes the archive of transport.Archiver for the path src on the
// machine. base is the name of src in the archive.
func (c *Copier) Archive(src, base string, to io.Writer) error {
	a := archive.NewWriter(to, time.Now())
	err := download(c.client, c.lists, a, src, base, 0)
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return fileError("WRITE_ERROR", "Could not copy %s from %s: %w", src, c.host, err)
	}
	return nil
}

// Put copies a file or directory to the path dst on the machine, as
// transport.Conn's Put does.
func (c *Copier) Put(src transport.Tree, dst string) error {
	name, files, client, l := archive.Name(src), archive.Files(src), c.client, c.lists
	final := dst
	info, err := fs.Stat(files, src.Path)
	if err != nil {
		return fileError("COPY_ERROR", "Could not read: %w", err)
	}
	switch there, err := client.Stat(dst); {
	case err == nil && there.IsDir():
		final = path.Join(dst, name)
	case strings.HasSuffix(dst, "/") && !info.IsDir():
		return fileError("MV_ERROR", "Could not move the uploaded file to %s on %s: directory does not exist: %s", dst, c.host, dst)
	}
	// private is a directory that only we can search. It is the copy itself, if
	// that is a directory, or else the directory in which the file is written.
	private := path.Join(path.Dir(final), "."+name+"."+rand.Text())
	temporary := private
	err = func() error {
		if err := mkdirPrivate(client, private); err != nil {
			return err
		}
		if info.IsDir() {
			return uploadDir(client, files, src.Path, private, info.Mode().Perm(), 0)
		}
		temporary = path.Join(private, name)
		return upload(client, files, src.Path, temporary, 0)
	}()
	if err != nil {
		remove(client, l, private, 0)
		return fileError("WRITE_ERROR", "Could not copy %s to %s on %s: %w", archive.Describe(src), dst, c.host, err)
	}
	if err := client.PosixRename(temporary, final); err != nil {
		remove(client, l, private, 0)
		return fileError("MV_ERROR", "Could not move the uploaded file to %s on %s: %w", final, c.host, err)
	}
	if temporary != private {
		if err := client.RemoveDirectory(private); err != nil {
			c.log.Warn("private directory could not be removed", "target", c.host, "dir", private, "reason", safetext.Message(err.Error()))
		}
	}
	return nil
}

// remove deletes the files of a failed copy. It ignores errors, because the error of
// the copy is reported. It does not follow links.
func remove(client *sftp.Client, l *listings, name string, depth int) {
	info, err := client.Lstat(name)
	switch {
	case err != nil || depth > maxDepth:
		return
	case !info.IsDir():
		client.Remove(name)
		return
	}
	held := l.holding()
	defer func() { l.release(held) }()
	entries, err := l.list(client, name)
	if err != nil {
		return
	}
	for _, entry := range entries {
		remove(client, l, path.Join(name, entry), depth+1)
	}
	client.RemoveDirectory(name)
}

// mkdirPrivate creates a directory that only we can access. For a moment, while
// it is empty, it has the server's default mode.
func mkdirPrivate(client *sftp.Client, name string) error {
	if err := client.Mkdir(name); err != nil {
		return fmt.Errorf("make directory %s: %w", name, err)
	}
	return client.Chmod(name, 0o700)
}

// upload copies a file or directory, following links, to a private directory.
func upload(client *sftp.Client, files fs.FS, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep; check whether links form a cycle", from, maxDepth)
	}
	info, err := fs.Stat(files, from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		if err := mkdirPrivate(client, to); err != nil {
			return err
		}
		return uploadDir(client, files, from, to, info.Mode().Perm(), depth)
	case info.Mode().IsRegular():
		return uploadFile(client, files, from, to, info.Mode().Perm())
	}
	return fmt.Errorf("%s is neither a file nor a directory", from)
}

// uploadDir fills a directory and then sets its mode.
func uploadDir(client *sftp.Client, files fs.FS, from, to string, mode fs.FileMode, depth int) error {
	entries, err := fs.ReadDir(files, from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := upload(client, files, path.Join(from, entry.Name()), path.Join(to, entry.Name()), depth+1); err != nil {
			return err
		}
	}
	return client.Chmod(to, mode)
}

// uploadFile writes a file and then sets its mode. Until then, the directory
// keeps the file private: the server chooses the file's initial mode.
func uploadFile(client *sftp.Client, files fs.FS, from, to string, mode fs.FileMode) error {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := client.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("create %s: %w", to, err)
	}
	if _, err := out.ReadFrom(in); err != nil {
		out.Close()
		return fmt.Errorf("write %s: %w", to, err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	return client.Chmod(to, mode)
}

// download adds a file or directory of the machine to an archive, following the
// machine's links.
func download(client *sftp.Client, l *listings, a *archive.Writer, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep; check whether links form a cycle", from, maxDepth)
	}
	info, err := client.Stat(from)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", from)
		}
		return downloadFile(client, a, from, to)
	}
	if err := a.Dir(to, info.Mode()); err != nil {
		return err
	}
	held := l.holding()
	defer func() { l.release(held) }()
	names, err := l.list(client, from)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case len(name) > maxListedName:
			return fmt.Errorf("%s: the server lists a file name of %d bytes; the limit is %d", from, len(name), maxListedName)
		case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
			return fmt.Errorf("%s: the server lists a file with the name %q", from, name)
		}
		if err := download(client, l, a, path.Join(from, name), path.Join(to, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readAhead is the size of the data that is requested at once, in parallel
// requests of 32 KiB.
const readAhead = 1 << 20

func downloadFile(client *sftp.Client, a *archive.Writer, from, to string) error {
	in, err := client.Open(from)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	size := min(max(info.Size(), 1), readAhead)
	if err := a.File(to, info.Mode(), info.Size(), bufio.NewReaderSize(in, int(size))); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}
