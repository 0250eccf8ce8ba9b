package shell

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/transport"
)

// writeTree writes the directory root as a tar stream whose paths begin with
// name. Symbolic links are followed, as scp does; links that lead in a circle,
// devices, sockets and pipes are errors. last is an empty file at the end.
//
// The format is GNU's, which every tar reads that can have long names at all
// (busybox ignores pax headers). Owners and times stay behind.
func writeTree(w io.Writer, root, name, last string) error {
	// A header, a small file and its padding are a write each, and each write
	// would be a packet.
	packed := bufio.NewWriterSize(w, 64<<10)
	tw := &treeWriter{tw: tar.NewWriter(packed), now: time.Now().Truncate(time.Second)}
	if err := tw.add(root, name); err != nil {
		return err
	}
	if err := tw.header(last, 0o600, 0, tar.TypeReg); err != nil {
		return err
	}
	if err := tw.tw.Close(); err != nil {
		return err
	}
	return packed.Flush()
}

type treeWriter struct {
	tw      *tar.Writer
	now     time.Time
	parents []fs.FileInfo // the directories that we are in
}

func (t *treeWriter) add(file, name string) error {
	info, err := os.Stat(file)
	if err != nil {
		return localError("read", err)
	}
	switch {
	case info.IsDir():
		return t.addDir(file, name, info)
	case info.Mode().IsRegular():
		return t.addFile(file, name)
	}
	return treeError(file, "neither a regular file nor a directory")
}

func treeError(file, reason string) error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Msg: fmt.Sprintf("Could not upload %s: %s", file, reason)}
}

func (t *treeWriter) addDir(dir, name string, info fs.FileInfo) error {
	for _, p := range t.parents {
		if os.SameFile(p, info) {
			return treeError(dir, "the symbolic link leads back to a directory that it is in")
		}
	}
	t.parents = append(t.parents, info)
	defer func() { t.parents = t.parents[:len(t.parents)-1] }()
	if err := t.header(name+"/", info.Mode(), 0, tar.TypeDir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return localError("read", err)
	}
	for _, e := range entries {
		if err := t.add(filepath.Join(dir, e.Name()), name+"/"+e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// addFile copies as much as the file had when it was opened.
func (t *treeWriter) addFile(file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return localError("read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return localError("read", err)
	}
	if err := t.header(name, info.Mode(), info.Size(), tar.TypeReg); err != nil {
		return err
	}
	return sendFile(t.tw, f, info.Size())
}

func (t *treeWriter) header(name string, mode fs.FileMode, size int64, kind byte) error {
	return t.tw.WriteHeader(&tar.Header{Name: name, Mode: int64(mode.Perm()), Size: size, Typeflag: kind, ModTime: t.now, Format: tar.FormatGNU})
}
