// Package archive carries file trees as tar streams: a local tree to whoever
// takes it as a stream, and what a machine's tar has made into a local
// directory.
//
// Pack and Writer make streams, in one form alone: GNU's, which every tar reads
// that can have long names at all (busybox ignores pax headers), without owners,
// with one entry at the top, parents before children and siblings in the order
// of their names. Pack gives equal trees equal bytes. Open reads what Pack has
// made as a file system. Extract and Receive write what a machine sends, which
// may be anything, below a directory. Nothing holds more than a buffer of a
// file in memory, and no goroutine outlives a call.
package archive

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"bolt/transport"
)

// maxPath bounds the path of an entry: Linux's PATH_MAX, beyond which no
// machine could open it. So it also ends a walk through links in a circle.
const maxPath = 4096

// Name is the base name that a tree has on the way.
func Name(t transport.Tree) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.FS != nil:
		return path.Base(t.Path)
	}
	return filepath.Base(t.Path)
}

// CheckName reports (as a *transport.Error) a name of a tree that no file can
// have.
func CheckName(name string) error {
	if !isBase(name) {
		return unsupported("upload name %q is not a file name", name)
	}
	return nil
}

// Describe is what messages call a tree: the path that it was packed from, if
// it is a packed one and that is known, else its own.
func Describe(t transport.Tree) string {
	if f, ok := t.FS.(*FS); ok && f.Origin != "" {
		return f.Origin
	}
	return t.Path
}

// Files is what t.Path is a path of: t.FS, or this machine's files. Of the
// latter any path will do, not only what fs.ValidPath accepts.
func Files(t transport.Tree) fs.FS {
	if t.FS != nil {
		return t.FS
	}
	return machine{}
}

// machine is this machine's files, as package os has them.
type machine struct{}

func (machine) Open(name string) (fs.File, error)          { return os.Open(name) }
func (machine) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (machine) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// isBase reports whether a name is one that a directory can hold.
func isBase(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func unsupported(format string, args ...any) *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf(format, args...)}
}

// maxReason bounds what an error of the far side's making adds to a message.
const maxReason = 1 << 10

// printable makes a text that may hold names from the far side fit for a
// message.
func printable(s string) string {
	cut := len(s) > maxReason
	if cut {
		s = s[:maxReason]
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if cut {
		s += " …"
	}
	return s
}
