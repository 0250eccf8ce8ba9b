package run

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/inventory"
	"bolt/transport"
)

// An OutputDir is a directory that takes what commands, scripts and tasks print:
// for each target one file with its standard output and, if there is any, one with
// its standard error. Output goes to the files as it arrives and is not limited, but
// the standard output of a task when the task has ended.
// Nothing is written outside of the directory.
type OutputDir struct {
	dir   string
	root  *os.Root
	names map[*inventory.Target]string
}

// errSuffix is the suffix of the name of a file with standard error.
const errSuffix = ".err"

// OpenOutputDir makes the directory, with mode 0700, if it does not exist, and
// removes the files that earlier runs wrote there for the same targets. The
// caller closes it when the last action has ended.
func OpenOutputDir(dir string, targets []*inventory.Target) (*OutputDir, error) {
	d := &OutputDir{dir: dir, names: make(map[*inventory.Target]string, len(targets))}
	taken := make(map[string]*inventory.Target, 2*len(targets))
	for _, t := range targets {
		name := escapeName(t.SafeName())
		d.names[t] = name
		for _, file := range []string{name, name + errSuffix} {
			if other := taken[file]; other != nil && other != t {
				return nil, fmt.Errorf("the output of %s and of %s would go to the same file %s", other.SafeName(), t.SafeName(), filepath.Join(dir, file))
			}
			taken[file] = t
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d.root = root
	for file := range taken {
		if err := d.remove(file); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return d, nil
}

// Close releases the directory.
func (d *OutputDir) Close() error { return d.root.Close() }

// remove removes a file or link, and nothing else.
func (d *OutputDir) remove(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory", filepath.Join(d.dir, name))
	}
	if err == nil {
		err = d.root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// targetFiles are the files of one target while an action runs on it. Writing to a nil
// *targetFiles has no effect.
type targetFiles struct {
	dir    *OutputDir
	names  [2]string
	files  [2]*os.File // nil until there is something to write
	result bool        // standard output is a result, which may hold secrets
	run    bool        // a command was run
	err    error       // the first write error
}

// begin creates the file for the standard output of a target.
func (d *OutputDir) begin(t *inventory.Target) (*targetFiles, error) {
	if d == nil {
		return nil, nil
	}
	name := d.names[t]
	f := &targetFiles{dir: d, names: [2]string{name, name + errSuffix}}
	if err := f.open(Stdout); err != nil {
		return nil, &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err, Msg: fmt.Sprintf("The output file in the directory %s could not be created: %v", d.dir, err)}
	}
	return f, nil
}

func (f *targetFiles) open(s Stream) (err error) {
	f.files[s], err = f.dir.root.OpenFile(f.names[s], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

// write writes a piece of output. An error does not end the command.
func (f *targetFiles) write(s Stream, p []byte) {
	if f.err != nil {
		return
	}
	if f.files[s] == nil {
		if f.err = f.open(s); f.err != nil {
			return
		}
	}
	_, f.err = f.files[s].Write(p)
}

// end writes the result of a task, without what is sensitive in it. It closes the files and
// makes it the target's failure if they are not complete.
func (f *targetFiles) end(res *Result, log func(msg string, args ...any)) {
	if f == nil {
		return
	}
	if f.result || !f.run && res.Value.Len() > 0 {
		f.value(res)
	}
	for _, file := range f.files {
		if file != nil {
			f.err = cmp.Or(f.err, file.Close())
		}
	}
	if f.err == nil {
		return
	}
	if res.Err != nil {
		log("output file is incomplete", "target", res.Target.SafeName(), "err", f.err)
		return
	}
	res.Err = newError(&transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: f.err, Msg: fmt.Sprintf("The action has ended, but its output could not be written to the directory %s: %v", f.dir.dir, f.err)})
	res.Err.Command = true
}

// value writes text as it is, and everything else as JSON.
func (f *targetFiles) value(res *Result) {
	text, isText := res.Value.Value("_output").(string)
	given := res.Err != nil && res.Err.Given != nil
	switch {
	case f.err != nil, res.Err != nil && !given && res.Value.Len() == 0:
		return
	case isText && res.Value.Len() == 1 && !given:
		f.write(Stdout, []byte(text))
		return
	}
	w := bufio.NewWriter(f.files[Stdout])
	j := jsonResult{b: w}
	j.raw("{")
	j.members(res)
	j.raw("}\n")
	f.err = cmp.Or(j.err, w.Flush())
}
