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
// and the name that it has on the way. A path without a name of its own is an
// error, a *transport.Error.
func Source(src string) (dir, base string, err error) {
	if src == "" || strings.Contains(src, "\x00") {
		return "", "", unsupported("download source %q is not a path", src)
	}
	dir, base = path.Dir(path.Clean(src)), path.Base(src)
	if !isBase(base) {
		return "", "", unsupported("download source %q has no name of its own", src)
	}
	return dir, base, nil
}

// Receive does the local part of transport.Conn's Get: it makes the directory
// dst if it is missing and writes into it what read, which is
// transport.Archiver's Archive of src, hands over. host names the machine in
// messages. After an error nothing empty stays that was made here.
//
// An error of read's counts before ours, because a stream that ends too soon is
// only its consequence; but if we could not write, and read was stopped by
// that, our reason counts. The error is a *transport.Error if read's is.
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
		// The data is from the machine. A panic must not end the work on other machines.
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
	defer pw.Close() // also if read panics
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

// MakeDir makes the directory of a download if it is missing. undo removes it
// again if it was made and is empty; directories above it stay, because other
// downloads may be about to use them.
func MakeDir(dst string) (undo func(), err error) {
	_, err = os.Lstat(dst)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return nil, writeError(err)
	}
	return func() {
		if missing {
			_ = os.Remove(dst) // what holds something stays
		}
	}, nil
}

// receiver remembers that it has refused to take more.
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
