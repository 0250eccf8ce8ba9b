// Package plugins packs the Ruby code of modules, such as resource types and providers, for an installed Puppet.
//
// A package is a tar archive of MODULE/lib/FILE. Equal code gives equal bytes, so that a machine which has a
// package needs not get it again.
package plugins

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Module is a module whose code is packed.
type Module struct {
	Name string
	Lib  fs.FS // the directory lib of the module; it need not exist
}

// maxSize bounds a package. It is held in memory.
const maxSize = 64 << 20

// Pack returns the package of modules, nil if none of them has code. Facts are left out, because a catalog
// does not read them.
func Pack(list []Module) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range list {
		err := fs.WalkDir(m.Lib, ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name == ".":
				return fs.SkipDir
			case err != nil:
				return err
			case e.IsDir() && name == "facter":
				return fs.SkipDir
			}
			info, err := fs.Stat(m.Lib, name)
			if err != nil || !info.Mode().IsRegular() {
				return nil //nolint:nilerr // a link that leads nowhere is no code
			}
			if int64(out.Len())+info.Size() > maxSize {
				return fmt.Errorf("the Ruby code of the modules has more than %d bytes", maxSize)
			}
			text, err := fs.ReadFile(m.Lib, name)
			if err != nil {
				return err
			}
			if err := w.WriteHeader(&tar.Header{Name: path.Join(m.Name, "lib", name), Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("the code of module %s: %w", m.Name, err)
		}
	}
	if out.Len() == 0 {
		return nil, nil
	}
	err := w.Close() // writes the end of the archive
	return out.Bytes(), err
}

// Unpack writes a package into a directory, which becomes a module path.
func Unpack(from io.Reader, dir string) error {
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || strings.Contains(h.Name, "\x00") {
			return fmt.Errorf("the package of plugins has the file %q, which is not a regular file of a module", h.Name)
		}
		name := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
