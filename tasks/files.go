package tasks

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/transport"
)

// mounts are the directories of a module whose files tasks may use.
var mounts = []string{"files", "lib", "scripts", "tasks"}

// A File is a file that is sent with a task.
type File struct {
	Name   string // "x.sh" for the task's own, "module/files/path" for others
	Module modules.Module
	Local  string // path in the module
}

// Path returns the path of the file, for people.
func (f File) Path() string { return f.Module.Path(f.Local) }

// Files returns all files of the task: first the executables, then the
// additional files. If a file is missing, it warns, because only another
// implementation may need the file.
func (l *Library) Files(t *Task) []File {
	var list []File
	names := slices.Clone(t.files)
	for i := range t.Implementations {
		impl := &t.Implementations[i]
		if own := (File{impl.File, t.Module, impl.local}); !slices.ContainsFunc(list, func(f File) bool { return f.Name == own.Name }) {
			list = append(list, own)
		}
		names = append(names, impl.files...)
	}
	extra, errs := l.extra(t, names)
	for _, err := range errs {
		l.o.Warn("task_files", err.Error())
	}
	return append(list, extra...)
}

// extra returns the files in the metadata, each once, and the errors of names
// that match no file.
func (l *Library) extra(t *Task, names []string) (list []File, errs []error) {
	seen := make(map[string]bool)
	for _, name := range names {
		found, err := l.named(t, name)
		if err != nil {
			errs = append(errs, err)
		}
		for _, f := range found {
			if !seen[f.Name] {
				seen[f.Name] = true
				list = append(list, f)
			}
		}
	}
	return list, errs
}

// named returns a file, or the files of a directory if name ends in a slash.
func (l *Library) named(t *Task, name string) ([]File, error) {
	bad := func(format string, args ...any) ([]File, error) {
		return nil, fault.New(palError, "The files of task %s: %s", t.Name, fmt.Sprintf(format, args...))
	}
	module, rest, _ := strings.Cut(name, "/")
	m, ok := l.o.Modules.Module(module)
	if !ok {
		return bad("Could not find module %s containing task file %s", module, name)
	}
	rel := strings.TrimSuffix(rest, "/")
	mount, below, _ := strings.Cut(rel, "/")
	switch {
	case !slices.Contains(mounts, mount):
		return bad("Files must be saved in module directories that Puppet makes available via mount points: files, lib, scripts, tasks: %s", name)
	case !fs.ValidPath(rel):
		return bad("File pathnames cannot include relative paths: %s", name)
	case below == "" && !strings.HasSuffix(rest, "/"):
		return bad("%s is a directory of the module. Specify a file below it, or the whole directory with a trailing slash", name)
	}
	info, err := m.Stat(rel)
	switch {
	case err != nil:
		return bad("Could not find %s on disk", m.Path(rel))
	case info.IsDir() && !strings.HasSuffix(rest, "/"):
		return bad("Directories specified in task metadata must include a trailing slash: %s", name)
	case !info.IsDir() && strings.HasSuffix(rest, "/"):
		return bad("Files specified in task metadata cannot include a trailing slash: %s", name)
	case !info.IsDir():
		return []File{{path.Join(module, rel), m, rel}}, nil
	}
	return walk(m, rel, 0)
}

// maxBelow limits how deep directories may be nested: a directory may be a link
// to a directory that contains it.
const maxBelow = 40

// walk returns the files below a directory of a module, sorted. It leaves out
// names that begin with a dot, as Ruby's globs do. It follows links.
func walk(m modules.Module, rel string, depth int) ([]File, error) {
	if depth > maxBelow {
		return nil, fault.New(palError, "The directory %s is nested deeper than %d levels. Check whether it contains a symbolic link to itself.", m.Path(rel), maxBelow)
	}
	entries, err := m.ReadDir(rel)
	if err != nil {
		return nil, fault.File(m.Path(rel), err, "The directory %s cannot be read: %v", m.Path(rel), fault.WithoutPath(err))
	}
	var list []File
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := path.Join(rel, e.Name())
		if e.Type().IsRegular() {
			list = append(list, File{path.Join(m.Name, name), m, name})
			continue
		}
		info, err := m.Stat(name)
		switch {
		case err != nil:
			return nil, fault.File(m.Path(name), err, "The file %s cannot be read: %v", m.Path(name), fault.WithoutPath(err))
		case info.IsDir():
			more, err := walk(m, name, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		case info.Mode().IsRegular():
			list = append(list, File{path.Join(m.Name, name), m, name})
		}
	}
	return list, nil
}

// staged reads a file that is sent to a target.
func (f File) staged(ctx context.Context) (transport.File, error) {
	data, err := f.Module.ReadFile(ctx, f.Local, readfile.Payload)
	if err != nil {
		return transport.File{}, fault.File(f.Path(), err, "The file %s cannot be read: %v", f.Path(), fault.WithoutPath(err))
	}
	info, err := f.Module.Stat(f.Local)
	if err != nil {
		return transport.File{}, fault.File(f.Path(), err, "The file %s cannot be read: %v", f.Path(), fault.WithoutPath(err))
	}
	return transport.File{Name: f.Name, Mode: info.Mode().Perm(), Data: data}, nil
}
