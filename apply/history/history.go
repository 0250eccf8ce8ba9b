// Package history keeps the reports of the last runs on each node in a directory.
//
//	h := history.Open(dir, history.Keep)
//	err := h.Add(&history.Report{Summary: history.Summary{Node: "web1", Run: id, Time: start}})
//	for s, err := range h.Last(ctx, nil) { … }
//
// A report is the file NODE/TIME-RUN.jsonl. Its first line is the summary, so that a list of
// many nodes reads only the beginning of one file for each node. Each of the other lines is
// the outcome of a resource that was not unchanged, or a message:
//
//	{"format":1,"bytes":95,"node":"web1","run":"8f…","time":"…","status":"changed",…}
//	{"resource":{"ref":"File[/etc/motd]","status":"changed","events":[…]}}
//	{"log":{"ref":"Exec[x]","level":"notice","message":"…"}}
//
// If the name of a node is not a safe file name, the name of its directory has a digest.
//
// Only the user that made the directories can read them. A file is replaced as a whole, without a wait
// for the disk: after a crash of the machine, the last reports can be missing or damaged. Several processes need no lock,
// because each run has a file of its own.
package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
	"bolt/internal/readfile"
)

// Keep is the number of reports of a node that are kept by default.
const Keep = 20

// Folder is the directory of reports in the state directory of a project.
const Folder = "reports"

// A Dir is a directory of reports. It is safe for concurrent use, also by several processes.
type Dir struct {
	path string
	keep int
}

// Open returns the reports in a directory, which need not exist. Add keeps the newest reports of each node, at
// most keep of them.
func Open(path string, keep int) *Dir { return &Dir{path, keep} }

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// A DamagedError is the error for a file that is not a whole report.
type DamagedError struct {
	Path string
	Err  error
}

// Error names the file.
func (e *DamagedError) Error() string {
	cause := e.Err
	if p, is := errors.AsType[*fs.PathError](cause); is {
		cause = p.Err
	}
	return fmt.Sprintf("the report %s cannot be read: %v", e.Path, cause)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// ErrNone is the error of Get for a report that is not there.
var ErrNone = errors.New("the report does not exist")

const (
	suffix = ".jsonl"
	// stamp is the layout of times in file names. All stamps have the same length, so names sort by time.
	stamp = "20060102T150405.000000000Z"
	// abandoned is the age from which a temporary file has no writer any more.
	abandoned = time.Hour
)

// plain reports whether a name is its own file name. Other names get a digest, so no two names share a file, also where
// letters in upper case and lower case are the same.
func plain(name string) bool {
	const most = 100 // bytes; file systems allow 255 for a name
	return name != "" && len(name) <= most && name[0] != '.' && name[0] != '-' && safe(name) == name
}

// safe returns a name without the characters that a file name of a report cannot have.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// fileName returns a file name for any name. The character "~" is in the names with a digest only.
func fileName(name string) string {
	if plain(name) {
		return name
	}
	const shown, digits = 40, 32
	sum := sha256.Sum256([]byte(name))
	short := strings.TrimLeft(safe(strings.ToLower(name)), ".-")
	return short[:min(shown, len(short))] + "~" + hex.EncodeToString(sum[:])[:digits]
}

func nameOf(r *Report) string {
	return r.Time.UTC().Format(stamp) + "-" + fileName(r.Run) + suffix
}

// Add keeps a report, and removes the oldest reports of the node if there are too many. A report of the same run is
// replaced.
func (d *Dir) Add(r *Report) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	dir, name := filepath.Join(d.path, fileName(r.Node)), nameOf(r)
	if err := checkLinks(d.path, dir); err != nil {
		return err
	}
	write := func() error { return atomicfile.WriteUnsynced(filepath.Join(dir, name), data, 0o600) }
	if err = write(); errors.Is(err, fs.ErrNotExist) {
		if err = d.prepare(dir); err == nil {
			err = write()
		}
	}
	if err != nil {
		return err
	}
	return d.prune(dir, name)
}

// checkLinks refuses links in the place of directories: with a link, another user who can write to the project could let bolt write and
// remove files elsewhere.
func checkLinks(dirs ...string) error {
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: "write", Path: dir, Err: ownfile.ErrLink}
		}
	}
	return nil
}

// prepare makes the directory of a node. The file .gitignore keeps reports out of version control, also in projects that
// are older than reports.
func (d *Dir) prepare(dir string) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	for _, dir := range []string{d.path, dir} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	ignore := filepath.Join(d.path, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return atomicfile.WriteUnsynced(ignore, []byte("*\n"), 0o600)
}

// prune removes reports of a node that are too many, earlier reports of the run of the file own, and temporary files of writers
// that were killed. The file own stays, also if a clock that was ahead has made later files.
func (d *Dir) prune(dir, own string) error {
	names, err := namesIn(dir)
	if err != nil {
		return err
	}
	var errs []error
	remove := func(name string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process was faster
			errs = append(errs, err)
		}
	}
	kept := 1
	for _, name := range slices.Backward(names) {
		switch {
		case name == own:
		case isTemporary(name):
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandoned {
				remove(name)
			}
		case !isReport(name):
		case kept >= d.keep || name[len(stamp):] == own[len(stamp):]:
			remove(name)
		default:
			kept++
		}
	}
	return errors.Join(errs...)
}

// namesIn returns the names in a directory, sorted.
func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// isReport reports whether a file name has the form of a report's.
func isReport(name string) bool {
	return len(name) > len(stamp)+len("-")+len(suffix) && name[0] != '.' && name[len(stamp)] == '-' && strings.HasSuffix(name, suffix)
}

// isTemporary reports whether a file name is that of the temporary file of a report, which atomicfile makes.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") && strings.Contains(name, suffix+".")
}

// reports returns the file names of the reports of a node, the oldest first; none if there is no directory.
func reports(dir string) ([]string, error) {
	names, err := namesIn(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(n string) bool { return !isReport(n) }), err
}

// runOf returns the run in a file name.
func runOf(name string) string { return strings.TrimSuffix(name[len(stamp)+len("-"):], suffix) }

// Runs returns the IDs of the runs of a node whose reports are kept, the newest first. It reads no report.
func (d *Dir) Runs(node string) ([]string, error) {
	names, err := reports(filepath.Join(d.path, fileName(node)))
	runs := make([]string, len(names))
	for i, name := range names {
		runs[len(names)-1-i] = runOf(name)
	}
	return runs, err
}

// Has reports whether there is a report of a run.
func (d *Dir) Has(node, run string) bool {
	runs, err := d.Runs(node)
	return err == nil && slices.Contains(runs, fileName(run))
}

// Get returns the report of a run that Runs has returned. It returns ErrNone or a *DamagedError.
func (d *Dir) Get(ctx context.Context, node, run string) (*Report, error) {
	dir := filepath.Join(d.path, fileName(node))
	names, err := reports(dir)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(names, func(n string) bool { return runOf(n) == run })
	if i < 0 {
		return nil, ErrNone
	}
	path := filepath.Join(dir, names[i])
	data, err := d.read(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	var r *Report
	if err == nil {
		r, err = Parse(data)
	}
	if err == nil {
		err = r.check(dir, names[i])
	}
	if err != nil {
		return nil, &DamagedError{path, err}
	}
	return r, nil
}

func (d *Dir) read(ctx context.Context, path string) ([]byte, error) {
	f, err := ownfile.OpenOwn(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readfile.Whole(ctx, f, maxFile)
}

// check checks that a report is in its place.
func (s *Summary) check(dir, name string) error {
	if fileName(s.Node) != filepath.Base(dir) || fileName(s.Run) != runOf(name) {
		return errors.New("it is the report of another run")
	}
	return nil
}

// All yields the summaries of a node, the newest first. A *DamagedError concerns one file, and the next summary follows.
func (d *Dir) All(ctx context.Context, node string) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		d.summaries(ctx, filepath.Join(d.path, fileName(node)), yield)
	}
}

// Last yields the newest summary of each node, in the order of nodes. If nodes is nil, it yields all nodes with reports in the order of
// their names. A *DamagedError concerns one file, and the next summary follows. Nodes without reports are left out.
func (d *Dir) Last(ctx context.Context, nodes []string) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		var dirs []string
		if nodes == nil {
			names, err := namesIn(d.path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				yield(nil, err)
				return
			}
			dirs = slices.DeleteFunc(names, func(n string) bool { return n[0] == '.' })
		}
		for _, n := range nodes {
			dirs = append(dirs, fileName(n))
		}
		more := true
		for _, dir := range dirs {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			d.summaries(ctx, filepath.Join(d.path, dir), func(s *Summary, err error) bool {
				more = yield(s, err)
				return more && err != nil // until there is one
			})
			if !more {
				return
			}
		}
	}
}

// summaries yields the summaries in the directory of a node, the newest first.
func (d *Dir) summaries(ctx context.Context, dir string, yield func(*Summary, error) bool) {
	const tries = 3
	for range tries {
		if d.found(ctx, dir, yield) {
			return
		}
	}
}

// found is summaries. It returns false if other processes have replaced all reports after their names were read.
func (d *Dir) found(ctx context.Context, dir string, yield func(*Summary, error) bool) bool {
	names, err := reports(dir)
	if err != nil {
		yield(nil, &DamagedError{dir, err})
		return true
	}
	found := len(names) == 0
	for _, name := range slices.Backward(names) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return true
		}
		path := filepath.Join(dir, name)
		s, err := summary(path)
		if err == nil {
			err = s.check(dir, name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has removed it
			continue
		case err != nil:
			s, err = nil, &DamagedError{path, err}
		}
		found = true
		if !yield(s, err) {
			return true
		}
	}
	return found
}

// summary reads the first line of a report.
func summary(path string) (*Summary, error) {
	f, err := ownfile.OpenOwn(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const usual = 1 << 10
	var line []byte
	for size := usual; ; size = maxHead {
		part := make([]byte, size)
		n, err := io.ReadFull(f, part)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		line = append(line, part[:n]...)
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
			break
		}
		if err != nil || len(line) > maxHead {
			return nil, errCut
		}
	}
	h, err := parseHead(line)
	if err != nil {
		return nil, err
	}
	if int64(len(line)+1)+h.Bytes != info.Size() {
		return nil, errCut
	}
	return &h.Summary, nil
}

// Nodes returns the names of all nodes with reports, sorted. Damaged reports are left out.
func (d *Dir) Nodes(ctx context.Context) []string {
	var nodes []string
	for s, err := range d.Last(ctx, nil) {
		if err == nil {
			nodes = append(nodes, s.Node)
		}
	}
	slices.SortFunc(nodes, func(a, b string) int { return cmp.Compare(a, b) })
	return nodes
}
