package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bolt/transport"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Copies by SFTP, for machines without tar. They behave as those by the
// shell: a file arrives under another name and is then moved.

// maxDepth bounds a walk that follows links, which may form a circle.
const maxDepth = 64

// withSFTP runs f with an SFTP client. When ctx ends, the session does, and
// with it what f does.
func (c *Conn) withSFTP(ctx context.Context, f func(*sftp.Client) error) error {
	s, err := c.start(ctx, "subsystem", ssh.Marshal(&struct{ Name string }{"sftp"}), false)
	if err != nil {
		if transport.ClassOf(err) == transport.ClassUnsupported {
			return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err,
				Msg: fmt.Sprintf("Could not copy to or from %s: it has neither tar nor SFTP", c.e.to.Host), Hint: "Install tar there."}
		}
		return err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if !c.work.start(func() { io.Copy(io.Discard, s.Stderr()) }) {
		return c.lostError("")
	}
	client, err := sftp.NewClientPipe(s.Stdout(), s.Stdin(), sftp.UseConcurrentWrites(true))
	if err == nil {
		err = f(client)
		// The server ends with its input, and the client with its output.
		s.Close()
		client.Close()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return c.interrupted(ctx, "copying files")
	case errors.Is(err, sftp.ErrSSHFxConnectionLost) || c.isOver():
		return c.lostError("copying files")
	}
	return err
}

// isOver reports whether the connection has ended, without waiting.
func (c *Conn) isOver() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// fileError is a failed copy.
func fileError(code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &transport.Error{Class: transport.ClassFile, Code: code, Msg: farText(err.Error()), Err: errors.Unwrap(err)}
}

func (c *Conn) putBySFTP(ctx context.Context, src transport.Tree, dst string) error {
	name := src.Name
	if name == "" {
		name = filepath.Base(src.Path)
	}
	return c.withSFTP(ctx, func(client *sftp.Client) error {
		final := dst
		if info, err := client.Stat(dst); err == nil && info.IsDir() {
			final = path.Join(dst, name)
		}
		// A directory with the right to look into it for nobody but us: the
		// copy itself, if it is one, else the place where the file grows.
		private := path.Join(path.Dir(final), "."+name+"."+rand.Text())
		temporary := private
		err := func() error {
			info, err := os.Stat(src.Path)
			if err != nil {
				return err
			}
			if err := mkdirPrivate(client, private); err != nil {
				return err
			}
			if info.IsDir() {
				return uploadDir(client, src.Path, private, info.Mode().Perm(), 0)
			}
			temporary = path.Join(private, name)
			return upload(client, src.Path, temporary, 0)
		}()
		if err != nil {
			remove(client, private)
			return fileError("WRITE_ERROR", "Could not copy %s to %s on %s: %w", src.Path, dst, c.e.to.Host, err)
		}
		if err := client.PosixRename(temporary, final); err != nil {
			remove(client, private)
			return fileError("MV_ERROR", "Could not move temporary file '%s' to %s: %w", temporary, final, err)
		}
		if temporary != private {
			if err := client.RemoveDirectory(private); err != nil {
				c.log.Warn("private directory could not be removed", "target", c.e.to.Host, "dir", private, "reason", farText(err.Error()))
			}
		}
		return nil
	})
}

// remove deletes what is left of a failed copy; the failure itself is what
// gets told.
func remove(client *sftp.Client, name string) {
	if info, err := client.Lstat(name); err == nil && info.IsDir() {
		client.RemoveAll(name)
	} else if err == nil {
		client.Remove(name)
	}
}

// mkdirPrivate makes a directory that is ours alone. It has the server's usual
// mode for a moment, while it is empty.
func mkdirPrivate(client *sftp.Client, name string) error {
	if err := client.Mkdir(name); err != nil {
		return fmt.Errorf("make directory %s: %w", name, err)
	}
	return client.Chmod(name, 0o700)
}

// upload copies a local file or directory, following links, into a directory
// that is private.
func upload(client *sftp.Client, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep, do links form a circle?", from, maxDepth)
	}
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		if err := mkdirPrivate(client, to); err != nil {
			return err
		}
		return uploadDir(client, from, to, info.Mode().Perm(), depth)
	case info.Mode().IsRegular():
		return uploadFile(client, from, to, info.Mode().Perm())
	}
	return fmt.Errorf("%s is neither a file nor a directory", from)
}

// uploadDir fills a directory and then gives it its mode.
func uploadDir(client *sftp.Client, from, to string, mode fs.FileMode, depth int) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := upload(client, filepath.Join(from, entry.Name()), path.Join(to, entry.Name()), depth+1); err != nil {
			return err
		}
	}
	return client.Chmod(to, mode)
}

// uploadFile writes a file and then gives it its mode. Until then its place
// keeps it private, not its own first mode, which the server chooses.
func uploadFile(client *sftp.Client, from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
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

func (c *Conn) getBySFTP(ctx context.Context, src, dst string) error {
	return c.withSFTP(ctx, func(client *sftp.Client) error {
		err := func() error {
			base := path.Base(src)
			if base == "." || base == ".." || base == "/" {
				return fmt.Errorf("%q has no base name", src)
			}
			if err := os.MkdirAll(dst, 0o777); err != nil {
				return err
			}
			root, err := os.OpenRoot(dst)
			if err != nil {
				return err
			}
			defer root.Close()
			if err := root.RemoveAll(base); err != nil {
				return err
			}
			return download(client, root, src, base, 0)
		}()
		if err != nil {
			return fileError("WRITE_ERROR", "Could not copy %s from %s: %w", src, c.e.to.Host, err)
		}
		return nil
	})
}

// download copies a file or directory of the machine below root, following
// the machine's links.
func download(client *sftp.Client, root *os.Root, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep, do links form a circle?", from, maxDepth)
	}
	info, err := client.Stat(from)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", from)
		}
		return downloadFile(client, root, from, to, info.Mode().Perm())
	}
	if err := root.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := client.ReadDir(from)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') {
			return fmt.Errorf("%s: the server names a file %q", from, name)
		}
		if err := download(client, root, path.Join(from, name), filepath.Join(to, name), depth+1); err != nil {
			return err
		}
	}
	return root.Chmod(to, info.Mode().Perm())
}

func downloadFile(client *sftp.Client, root *os.Root, from, to string, mode fs.FileMode) error {
	in, err := client.Open(from)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	defer in.Close()
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := in.WriteTo(out); err != nil {
		out.Close()
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	return root.Chmod(to, mode)
}
