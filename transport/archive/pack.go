package archive

import (
	"archive/tar"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"bolt/transport"
)

// packedAt is the time of every entry that Pack writes, so that equal trees
// have equal bytes.
var packedAt = time.Unix(0, 0)

// Pack writes a tree as a tar stream with one entry at the top, which has the
// tree's Name. It follows symbolic links, as scp does. Links that form a cycle,
// devices, sockets and pipes are errors. Permission bits are preserved. Equal
// trees have equal bytes.
//
// For an error of the tree, Pack returns a *transport.Error. It returns an
// error of w unchanged.
func Pack(w io.Writer, t transport.Tree) error {
	a := NewWriter(w, packedAt)
	if err := a.Tree(t); err != nil {
		return err
	}
	return a.Close()
}

const (
	// writeBuffer joins small writes. A header, a small file and its padding
	// are one write each, and each write would be a packet.
	writeBuffer = 64 << 10
	// readBuffer is the size of one read from a file.
	readBuffer = 32 << 10
)

// A Writer writes a tar stream entry by entry. Data may be buffered until
// Close.
type Writer struct {
	out  *bufio.Writer
	tw   *tar.Writer
	time time.Time // of all entries
	buf  []byte
}

// NewWriter returns a Writer whose entries all have the same time.
func NewWriter(w io.Writer, modified time.Time) *Writer {
	out := bufio.NewWriterSize(w, writeBuffer)
	return &Writer{out: out, tw: tar.NewWriter(out), time: modified.Truncate(time.Second), buf: make([]byte, readBuffer)}
}

// Dir adds a directory.
func (a *Writer) Dir(name string, mode fs.FileMode) error {
	return a.header(name+"/", mode, 0, tar.TypeDir)
}

// File adds a regular file of the given size, read from r. If r has less data
// or returns an error, File returns a *ReadError. It does not read more than
// size bytes.
func (a *Writer) File(name string, mode fs.FileMode, size int64, r io.Reader) error {
	if err := a.header(name, mode, size, tar.TypeReg); err != nil {
		return err
	}
	for size > 0 {
		n, err := r.Read(a.buf[:min(size, int64(len(a.buf)))])
		if _, werr := a.tw.Write(a.buf[:n]); werr != nil {
			return werr
		}
		if size -= int64(n); err != nil && size > 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the file became shorter meanwhile
			}
			return &ReadError{err}
		}
	}
	return nil
}

// A ReadError is an error of the reader that was passed to a Writer.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// Close ends the stream.
func (a *Writer) Close() error {
	if err := a.tw.Close(); err != nil {
		return err
	}
	return a.out.Flush()
}

func (a *Writer) header(name string, mode fs.FileMode, size int64, kind byte) error {
	return a.tw.WriteHeader(&tar.Header{Name: name, Mode: int64(mode.Perm()), Size: size, Typeflag: kind, ModTime: a.time, Format: tar.FormatGNU})
}

// Tree adds a tree as Pack does.
func (a *Writer) Tree(t transport.Tree) error {
	name := Name(t)
	if err := CheckName(name); err != nil {
		return err
	}
	w := walk{Writer: a, files: Files(t)}
	return w.add(t.Path, name)
}

// A walk adds the files below a directory.
type walk struct {
	*Writer
	files   fs.FS
	parents []fs.FileInfo // the directories on the current path
}

func (w *walk) add(file, name string) error {
	if len(name) > maxPath {
		return treeError(file, fmt.Sprintf("the path is longer than %d bytes; check whether links form a cycle", maxPath))
	}
	info, err := fs.Stat(w.files, file)
	switch {
	case err != nil:
		return readError(err)
	case info.IsDir():
		return w.addDir(file, name, info)
	case info.Mode().IsRegular():
		return w.addFile(file, name)
	}
	return treeError(file, notCopied)
}

// notCopied is the error text for entries that cannot be copied.
const notCopied = "neither a regular file nor a directory"

func (w *walk) addDir(dir, name string, info fs.FileInfo) error {
	for _, p := range w.parents {
		if os.SameFile(p, info) { // only works for files of package os; other cycles end at maxPath
			return treeError(dir, "the symbolic link leads to one of its parent directories")
		}
	}
	w.parents = append(w.parents, info)
	defer func() { w.parents = w.parents[:len(w.parents)-1] }()
	if err := w.Dir(name, info.Mode()); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.files, dir)
	if err != nil {
		return readError(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for i, e := range entries {
		base := e.Name()
		if !isBase(base) || i > 0 && base == entries[i-1].Name() {
			return treeError(dir, fmt.Sprintf("it lists an invalid or duplicate file %q", base))
		}
		if err := w.add(path.Join(dir, base), name+"/"+base); err != nil {
			return err
		}
	}
	return nil
}

// addFile copies a file up to the size that it had when it was opened.
func (w *walk) addFile(file, name string) error {
	f, err := w.files.Open(file)
	if err != nil {
		return readError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return readError(err)
	}
	if !info.Mode().IsRegular() {
		return treeError(file, notCopied)
	}
	err = w.File(name, info.Mode(), info.Size(), f)
	if r, ok := errors.AsType[*ReadError](err); ok {
		return readError(pathError("read", file, r.Err))
	}
	return err
}

// pathError adds a path to an error, unless it has one.
func pathError(op, file string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: op, Path: file, Err: err}
}

func treeError(file, reason string) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Msg: fmt.Sprintf("Could not upload %s: %s", file, reason)}
}

// readError returns the error for a failure to read the tree.
func readError(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err, Msg: fmt.Sprintf("Could not read: %v", err)}
}
