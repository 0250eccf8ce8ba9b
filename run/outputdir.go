package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/fault"
	"bolt/internal/filelock"
	"bolt/inventory"
	"bolt/transport"
)

// An OutputDir is a directory that takes the output of commands, scripts and tasks. Each
// target has one file for its standard output and, if there is any, one for its standard
// error. Output is written as it arrives, without a limit. The standard output of a task
// is written when the task has ended. Nothing is written outside of the directory. An
// OutputDir holds the lock of its directory until Close.
type OutputDir struct {
	dir   string
	root  *os.Root
	lock  *os.File // the directory itself
	names map[*inventory.Target]string
}

// errSuffix is the suffix of the name of a file with standard error.
const errSuffix = ".err"

// errOutputDirHeld is the cause of an error for a directory that another run uses.
var errOutputDirHeld = errors.New("another run of bolt writes to it")

// An obstacleError is the cause of an error for a path that is not a directory.
type obstacleError struct{ Path, What string }

func (e *obstacleError) Error() string { return e.Path + " is " + e.What }

// OpenOutputDir locks the directory of --output-dir. If the directory does not exist,
// OpenOutputDir makes it with mode 0700. The caller closes it when the last action has
// ended. For the name "", OpenOutputDir returns nil, which is an OutputDir without files.
func OpenOutputDir(dir string, targets []*inventory.Target) (*OutputDir, error) {
	if dir == "" {
		return nil, nil
	}
	d, err := openOutputDir(dir, targets)
	if err != nil {
		return nil, outputDirError(dir, err)
	}
	return d, nil
}

// outputDirError adds the name of the directory and, if there is one, the next step.
func outputDirError(dir string, err error) error {
	f := fault.File(dir, err, "The directory '%s' of --output-dir cannot be used: %v", dir, err)
	if errors.Is(err, errOutputDirHeld) {
		f.Hint = "Wait until that run has ended, or use another directory."
	} else if obstacle, ok := errors.AsType[*obstacleError](err); ok {
		f.Hint = fmt.Sprintf("Remove %s, or use another directory.", obstacle.Path)
	}
	return f
}

func openOutputDir(dir string, targets []*inventory.Target) (*OutputDir, error) {
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
		return nil, cmp.Or(obstacle(dir), err)
	}
	var err error
	if d.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if err := d.take(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for file := range taken {
		if info, err := d.root.Lstat(file); err == nil && info.IsDir() {
			return nil, errors.Join(d.isDirectory(file), d.Close())
		}
	}
	return d, nil
}

// take locks the directory.
func (d *OutputDir) take() (err error) {
	if d.lock, err = d.root.Open("."); err != nil {
		return err
	}
	if err = filelock.Try(d.lock); errors.Is(err, filelock.ErrHeld) {
		return errOutputDirHeld
	}
	return err
}

// obstacle returns the error for the path that prevents the creation of a directory: a
// file, or a symbolic link to a path that does not exist. It returns nil if there is no
// such path.
func obstacle(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		link, err := os.Lstat(at)
		if err != nil && at != filepath.Dir(at) {
			continue // it does not exist, or a path above it is the obstacle
		}
		if err != nil {
			return nil
		}
		to, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && link.Mode()&fs.ModeSymlink != 0:
			name, _ := os.Readlink(at)
			return &obstacleError{at, fmt.Sprintf("a symbolic link to %s, which does not exist", name)}
		case err == nil && !to.IsDir():
			return &obstacleError{at, "not a directory"}
		}
		return nil
	}
}

// Close unlocks the directory. It has no effect on a nil *OutputDir.
func (d *OutputDir) Close() error {
	if d == nil {
		return nil
	}
	var err error
	if d.lock != nil {
		err = d.lock.Close()
	}
	return errors.Join(err, d.root.Close())
}

// Clear removes the files that earlier runs wrote for the same targets. It is called when
// the run begins. It has no effect on a nil *OutputDir.
func (d *OutputDir) Clear() error {
	if d == nil {
		return nil
	}
	for _, name := range d.names {
		for _, file := range []string{name, name + errSuffix} {
			if err := d.remove(file); err != nil {
				return outputDirError(d.dir, err)
			}
		}
	}
	return nil
}

// remove removes a file or a link. It does not remove a directory.
func (d *OutputDir) remove(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.IsDir() {
		return d.isDirectory(name)
	}
	if err == nil {
		err = d.root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *OutputDir) isDirectory(name string) error {
	return &obstacleError{filepath.Join(d.dir, name), "a directory"}
}

// targetFiles are the files of one target while an action runs on it. The method end of
// a nil *targetFiles has no effect.
type targetFiles struct {
	dir    *OutputDir
	names  [2]string
	files  [2]*os.File // nil until there is something to write
	result bool        // standard output is the result of a task, which may contain secrets
	run    bool        // a command was run
	err    error       // the first write error
}

// begin creates the file for the standard output of a target. A nil *OutputDir has no
// files.
func (d *OutputDir) begin(t *inventory.Target) (*targetFiles, error) {
	if d == nil {
		return nil, nil
	}
	name := d.names[t]
	f := &targetFiles{dir: d, names: [2]string{name, name + errSuffix}}
	if err := f.open(capture.Stdout); err != nil {
		return nil, &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err, Msg: fmt.Sprintf("The output file in the directory %s could not be created: %v", d.dir, err)}
	}
	return f, nil
}

func (f *targetFiles) open(s capture.Stream) (err error) {
	f.files[s], err = f.dir.root.OpenFile(f.names[s], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

// write writes a piece of output. An error does not end the command.
func (f *targetFiles) write(s capture.Stream, p []byte) {
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

// end writes the result of a task without its sensitive values, and closes the files. If
// a file is incomplete, the target has failed.
func (f *targetFiles) end(res *event.Result, log func(msg string, args ...any)) {
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

// value writes a result. If the result is only text, value writes the text, otherwise
// JSON.
func (f *targetFiles) value(res *event.Result) {
	text, isText := res.Value.Value("_output").(string)
	given := res.Err != nil && res.Err.Given != nil
	switch {
	case f.err != nil, res.Err != nil && !given && res.Value.Len() == 0:
		return
	case isText && res.Value.Len() == 1 && !given:
		f.write(capture.Stdout, []byte(text))
		return
	}
	if f.err = res.WriteMembers(f.files[capture.Stdout]); f.err == nil {
		f.write(capture.Stdout, []byte("\n"))
	}
}
