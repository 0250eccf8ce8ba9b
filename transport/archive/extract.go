package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Extract reads a tar stream of the one file or directory base into root.
// Nothing is written outside of root, whatever the names say and whatever
// links lie there already (os.Root). Files and directories come with their
// permission bits; a hard link becomes a copy of the file that came before;
// everything else that tar can carry is refused.
func Extract(r io.Reader, root *os.Root, base string) error {
	x := &extractor{root: root, base: base}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive from the machine: %w", err)
		}
		if err := x.entry(h, tr); err != nil {
			return err
		}
	}
	if !x.any {
		return errEmptyArchive
	}
	return x.finish()
}

// errEmptyArchive is what tar leaves when it could read nothing; it says itself
// why.
var errEmptyArchive = errors.New("the archive from the machine is empty")

type extractor struct {
	root *os.Root
	base string
	any  bool
	dirs []dirMode // in order of arrival: parents before children
}

type dirMode struct {
	name string
	mode fs.FileMode
}

func (x *extractor) entry(h *tar.Header, r io.Reader) error {
	name, err := x.name(h.Name)
	if err != nil {
		return err
	}
	x.any = true
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		return x.dir(name, mode)
	case tar.TypeReg, tar.TypeCont:
		if h.PAXRecords["GNU.sparse.realsize"] != "" || h.PAXRecords["GNU.sparse.size"] != "" {
			break // a few bytes could fill the disk; tar makes these only when told to
		}
		return x.file(name, mode, r)
	case tar.TypeLink:
		return x.link(name, h.Linkname)
	}
	return fmt.Errorf("%q is neither a regular file nor a directory", h.Name)
}

// name checks a path of the archive: it is base, or below it.
func (x *extractor) name(name string) (string, error) {
	clean := path.Clean(name)
	if strings.Contains(name, "\x00") || clean != x.base && !strings.HasPrefix(clean, x.base+"/") {
		return "", fmt.Errorf("the archive from the machine has an entry %q that is not below %q", name, x.base)
	}
	return clean, nil
}

func (x *extractor) dir(name string, mode fs.FileMode) error {
	info, err := x.root.Lstat(name)
	if err == nil && info.IsDir() {
		err = x.root.Chmod(name, 0o700)
	} else {
		if err = x.root.RemoveAll(name); err == nil {
			err = x.root.Mkdir(name, 0o700)
		}
	}
	if err != nil {
		return err
	}
	x.dirs = append(x.dirs, dirMode{name, mode})
	return nil
}

// file writes a file anew, so that nothing is written through a link; half a
// file does not stay.
func (x *extractor) file(name string, mode fs.FileMode, r io.Reader) (err error) {
	if err := x.root.RemoveAll(name); err != nil {
		return err
	}
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = x.root.Remove(name) // the first error counts
		}
	}()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Chmod(mode)
}

func (x *extractor) link(name, target string) error {
	from, err := x.name(target)
	if err != nil {
		return err
	}
	if from == name {
		return fmt.Errorf("the archive from the machine links %q to itself", name)
	}
	info, err := x.root.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("the archive from the machine links %q to something that is no file", name)
	}
	f, err := x.root.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return x.file(name, info.Mode().Perm(), f)
}

// finish gives the directories their own permission bits, inner ones first,
// now that nothing more is to be written into them.
func (x *extractor) finish() error {
	for i := len(x.dirs) - 1; i >= 0; i-- {
		if err := x.root.Chmod(x.dirs[i].name, x.dirs[i].mode); err != nil {
			return err
		}
	}
	return nil
}
