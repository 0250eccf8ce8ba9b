package ansible

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/transport"
)

// vars reads the files of group_vars and host_vars: for NAME the file or directory
// NAME, or else NAME.yml, NAME.yaml or NAME.json. Each file is read once.
type vars struct {
	dirs   []string // that contain such directories; later ones override earlier ones
	decode func(ctx context.Context, path string, data []byte) (any, error)
	read   map[string]*ordered.Map
	listed map[string]map[string]bool // names in directories, nil for missing directories
}

// maxVarsFiles is the maximum number of files in the directory of one name.
const maxVarsFiles = 10_000

func (v *vars) groups(ctx context.Context, to *ordered.Map, names []string) error {
	for _, dir := range v.dirs {
		for _, n := range names {
			if err := v.put(ctx, to, filepath.Join(dir, "group_vars"), n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *vars) host(ctx context.Context, to *ordered.Map, name string) error {
	for _, dir := range v.dirs {
		if err := v.put(ctx, to, filepath.Join(dir, "host_vars"), name); err != nil {
			return err
		}
	}
	return nil
}

func (v *vars) put(ctx context.Context, to *ordered.Map, dir, name string) error {
	there, err := v.list(dir)
	if err != nil || there == nil || strings.ContainsRune(name, filepath.Separator) {
		return err
	}
	for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
		if there[name+ext] {
			m, err := v.of(ctx, filepath.Join(dir, name+ext))
			put(to, m)
			return err
		}
	}
	return nil
}

// setting returns the file or directory of a name that sets a variable. It searches the
// files that were read; "" if none of them sets the variable.
func (v *vars) setting(kind, name, variable string) string {
	for _, dir := range slices.Backward(v.dirs) {
		for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
			path := filepath.Join(dir, kind, name+ext)
			if _, ok := v.read[path].Get(variable); ok {
				return path
			}
		}
	}
	return ""
}

// list returns the names in a directory; nil if the directory does not exist.
func (v *vars) list(dir string) (map[string]bool, error) {
	if there, known := v.listed[dir]; known {
		return there, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s: %w", dir, withoutPath(err))
	}
	var there map[string]bool
	if err == nil {
		there = make(map[string]bool)
		for _, e := range entries {
			there[e.Name()] = true
		}
	}
	v.listed[dir] = there
	return there, nil
}

// of returns the variables of a file, or of all files of a directory.
func (v *vars) of(ctx context.Context, path string) (*ordered.Map, error) {
	if m, known := v.read[path]; known {
		return m, nil
	}
	files, err := varsFiles(path, 0)
	if err != nil {
		return nil, err
	}
	m := &ordered.Map{}
	for _, f := range files {
		more, err := v.file(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		put(m, more)
	}
	v.read[path] = m
	return m, nil
}

func (v *vars) file(ctx context.Context, path string) (*ordered.Map, error) {
	data, err := readfile.Read(ctx, path, readfile.Config)
	if err != nil {
		return nil, withoutPath(err)
	}
	value, err := v.decode(ctx, path, data)
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case *ordered.Map:
		return value, nil
	}
	return nil, errors.New("it is not a map of variables")
}

// varsFiles lists the files with variables below a path, sorted by name: files without
// an extension, and YAML and JSON files.
func varsFiles(path string, depth int) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if depth > maxNested {
		return nil, fmt.Errorf("%s: directories are nested deeper than %d", path, maxNested)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		ext := filepath.Ext(name)
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || !slices.Contains([]string{"", ".yml", ".yaml", ".json"}, ext) {
			continue
		}
		full := filepath.Join(path, name)
		info, err := os.Stat(full)
		if err != nil || info.IsDir() && ext != "" {
			continue // a dangling link
		}
		more, err := varsFiles(full, depth+1)
		if err != nil {
			return nil, err
		}
		if files = append(files, more...); len(files) > maxVarsFiles {
			return nil, fmt.Errorf("%s: there are more than %d files", path, maxVarsFiles)
		}
	}
	return files, nil
}

// secret marks all strings of a value as secrets.
func secret(v any) any {
	switch v := v.(type) {
	case string:
		return transport.NewSecret(v)
	case []any:
		for i, e := range v {
			v[i] = secret(e)
		}
	case *ordered.Map:
		for k, e := range v.All() {
			v.Set(k, secret(e))
		}
	}
	return v
}

func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
