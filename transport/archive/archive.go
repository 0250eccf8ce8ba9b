// Package archive converts file trees to tar streams, and the tar stream of a
// machine to a local directory.
//
// Pack and Writer write streams in one format: GNU tar. Every tar that supports
// long names can read it (busybox ignores pax headers). The streams have no
// owners and one entry at the top. Parents are before children, and siblings
// are in the order of their names. For equal trees, Pack writes equal bytes.
//
// Open reads an archive of Pack as a file system. Extract and Receive write the
// stream of a machine, which may hold anything, below a directory. Only a
// buffer of a file is held in memory, and no goroutine outlives a call.
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

// maxPath limits the path of an entry to Linux's PATH_MAX; no machine can open
// a longer path. So it also ends a walk through a cycle of links.
const maxPath = 4096

// Name returns the base name of a tree for the copy.
func Name(t transport.Tree) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.FS != nil:
		return path.Base(t.Path)
	}
	return filepath.Base(t.Path)
}

// CheckName returns a *transport.Error if a name cannot be the name of a file.
func CheckName(name string) error {
	if !isBase(name) {
		return unsupported("upload name %q is not a file name", name)
	}
	return nil
}

// Describe returns the name of a tree for messages: the path from which it was
// packed, if that is known, or else its own path.
func Describe(t transport.Tree) string {
	if f, ok := t.FS.(*FS); ok && f.Origin != "" {
		return f.Origin
	}
	return t.Path
}

// Files returns the file system of t.Path: t.FS, or this machine's. This
// machine's file system accepts any path, not only those that fs.ValidPath
// accepts.
func Files(t transport.Tree) fs.FS {
	if t.FS != nil {
		return t.FS
	}
	return machine{}
}

// machine is this machine's file system, as in package os.
type machine struct{}

func (machine) Open(name string) (fs.File, error)          { return os.Open(name) }
func (machine) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (machine) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// isBase reports whether a directory can contain an entry with this name.
func isBase(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func unsupported(format string, args ...any) *transport.Error {
	return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf(format, args...)}
}

// maxReason limits the length of a remote error in a message.
const maxReason = 1 << 10

// printable prepares a text with remote names for a message.
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
