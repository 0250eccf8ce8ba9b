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

// packedAt is the time of every entry that Pack writes: equal trees are to
// have equal bytes.
var packedAt = time.Unix(0, 0)

// Pack writes a tree as a tar stream with one entry at the top, which has the
// tree's Name. Symbolic links are followed, as scp does; links that lead in a
// circle, devices, sockets and pipes are errors. Permission bits are kept.
// Equal trees give equal bytes.
//
// What is wrong with the tree is a *transport.Error; an error of w is returned
// as it is.
func Pack(w io.Writer, t transport.Tree) error {
	a := NewWriter(w, packedAt)
	if err := a.Tree(t); err != nil {
		return err
	}
	return a.Close()
}

const (
	// writeBuffer: a header, a small file and its padding are a write each,
	// and each write would be a packet.
	writeBuffer = 64 << 10
	// readBuffer is what is read of a file at a time.
	readBuffer = 32 << 10
)

// A Writer makes a tar stream entry by entry. Nothing has been written for
// sure until Close.
type Writer struct {
	out  *bufio.Writer
	tw   *tar.Writer
	time time.Time // of all entries
	buf  []byte
}

// NewWriter returns a Writer whose entries all have one time.
func NewWriter(w io.Writer, modified time.Time) *Writer {
	out := bufio.NewWriterSize(w, writeBuffer)
	return &Writer{out: out, tw: tar.NewWriter(out), time: modified.Truncate(time.Second), buf: make([]byte, readBuffer)}
}

// Dir adds a directory.
func (a *Writer) Dir(name string, mode fs.FileMode) error {
	return a.header(name+"/", mode, 0, tar.TypeDir)
}

// File adds a regular file of the given size, read from r. If r has less, that
// is a *ReadError, as is every error of r; if it has more, that is not looked at.
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
				err = io.ErrUnexpectedEOF // it was cut meanwhile
			}
			return &ReadError{err}
		}
	}
	return nil
}

// A ReadError is an error of the reader that a Writer was given.
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
	parents []fs.FileInfo // the directories that we are in
}

func (w *walk) add(file, name string) error {
	if len(name) > maxPath {
		return treeError(file, fmt.Sprintf("the path is longer than %d bytes; do links lead in a circle?", maxPath))
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

// notCopied is what no copy can be made of.
const notCopied = "neither a regular file nor a directory"

func (w *walk) addDir(dir, name string, info fs.FileInfo) error {
	for _, p := range w.parents {
		if os.SameFile(p, info) { // only of files of package os; the others' circles end at maxPath
			return treeError(dir, "the symbolic link leads back to a directory that it is in")
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
			return treeError(dir, fmt.Sprintf("it lists a file %q, which cannot be, or not twice", base))
		}
		if err := w.add(path.Join(dir, base), name+"/"+base); err != nil {
			return err
		}
	}
	return nil
}

// addFile copies as much as the file had when it was opened.
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

// pathError gives an error a path, unless it has one.
func pathError(op, file string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: op, Path: file, Err: err}
}

func treeError(file, reason string) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Msg: fmt.Sprintf("Could not upload %s: %s", file, reason)}
}

// readError is a failure to read the tree.
func readError(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err, Msg: fmt.Sprintf("Could not read: %v", err)}
}
