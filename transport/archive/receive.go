package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"bolt/transport"
)

// Source splits the path of a file or directory to download into its directory
// and its base name. If the path has no base name, it returns a
// *transport.Error.
func Source(src string) (dir, base string, err error) {
	if src == "" || strings.Contains(src, "\x00") {
		return "", "", unsupported("download source %q is not a path", src)
	}
	dir, base = path.Dir(path.Clean(src)), path.Base(src)
	if !isBase(base) {
		return "", "", unsupported("download source %q has no base name", src)
	}
	return dir, base, nil
}

// Receive does the local part of transport.Conn's Get. It creates the directory
// dst if it is missing, and extracts the stream of read into it. read is
// transport.Archiver's Archive of src. host names the machine in messages.
// After an error, Receive removes empty directories that it created.
//
// If both read and the extraction fail, the error of read is returned, because
// a truncated stream is only its consequence. But if the extraction failed
// first and therefore stopped read, the error of the extraction is returned.
// The error is a *transport.Error if the error of read is one.
func Receive(src, host, dst string, limits transport.Limits, read func(to io.Writer) error) (err error) {
	_, base, err := Source(src)
	if err != nil {
		return err
	}
	undo, err := MakeDir(dst)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	root, err := os.OpenRoot(dst)
	if err != nil {
		return writeError(err)
	}
	defer root.Close()
	x := newExtractor(root, base, limits)
	defer func() {
		if err != nil {
			x.undo()
		}
	}()

	pr, pw := io.Pipe()
	to := &receiver{w: pw}
	var wg sync.WaitGroup
	var unpacked error
	wg.Go(func() {
		// The data comes from the machine. A panic must not end the work on
		// other machines.
		defer func() {
			if p := recover(); p != nil {
				unpacked = fmt.Errorf("internal error: %v", p)
				pr.CloseWithError(unpacked)
			}
		}()
		unpacked = x.extract(pr)
		if unpacked == nil || unpacked == errEmptyArchive {
			_, _ = io.Copy(io.Discard, pr) // tar pads its last record
		}
		pr.CloseWithError(unpacked)
	})
	defer wg.Wait()
	defer pw.Close() // even if read panics
	err = read(to)
	pw.Close()
	wg.Wait()
	if unpacked != nil && (to.refused || err == nil) {
		e := &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: unpacked,
			Msg: fmt.Sprintf("Could not download %s from %s to %s: %s", src, host, filepath.Join(dst, base), printable(unpacked.Error()))}
		if limit, ok := errors.AsType[*limitError](unpacked); ok {
			e.Hint = limit.hint
		}
		return e
	}
	return err
}

// MakeDir creates the directory of a download if it is missing. undo removes it
// if it was created and is empty. Its parent directories stay, because other
// downloads may use them.
func MakeDir(dst string) (undo func(), err error) {
	_, err = os.Lstat(dst)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return nil, writeError(err)
	}
	return func() {
		if missing {
			_ = os.Remove(dst) // a directory with content stays
		}
	}, nil
}

// receiver records whether it has refused data.
type receiver struct {
	w       io.Writer
	refused bool
}

func (r *receiver) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil {
		r.refused = true
	}
	return n, err
}

func writeError(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err, Msg: fmt.Sprintf("Could not prepare the download directory: %v", err)}
}
