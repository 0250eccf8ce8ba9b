// Package tidy applies resources of the type tidy: it removes files by age and size.
//
// The resource itself changes nothing. It generates a File resource with ensure absent for each file that is to be removed.
package tidy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/fileset"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/glob"
)

// Type is the type tidy.
type Type struct{}

// manyFiles is the number of files above which a directory is reported that sets no limit.
const manyFiles = 1000

type item struct {
	r       *resource.Resource
	path    string
	levels  int // below the path; negative: all
	most    int
	matches []string
	tests   []test // a file that passes one of them is removed
	times   string // "atime", "mtime" or "ctime"
	rmdirs  bool
}

// A test decides about a file.
type test func(st *unix.Stat_t, now time.Time) bool

// Parallel marks tidy as independent of other resources.
func (*item) Parallel() {}

// New checks the parameters.
func (Type) New(r *resource.Resource) (resource.Item, error) {
	t := &item{r: r, path: r.Title, times: "atime"}
	if p, given, err := r.Text("path"); err != nil {
		return nil, err
	} else if given {
		t.path = p
	}
	if !strings.HasPrefix(t.path, "/") {
		return nil, bad("path", "must be an absolute path%s", r.Shown("path", t.path))
	}
	t.path = filepath.Clean(t.path)
	for _, read := range []func() error{t.readRecurse, t.readMatches, t.readTests} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func bad(param, format string, a ...any) error {
	return &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
}

func (t *item) readRecurse() error {
	text, _, err := t.r.Text("recurse")
	if err != nil {
		return err
	}
	switch text {
	case "", "false":
		t.levels = 0
	case "true", "inf":
		t.levels = -1
	default:
		if t.levels, err = strconv.Atoi(text); err != nil || t.levels < 0 {
			return bad("recurse", "must be true, false, inf or a number of levels%s", t.r.Shown("recurse", text))
		}
	}
	most, err := t.r.Int("max_files", 0)
	if err == nil && most < 0 {
		err = bad("max_files", "must not be negative, and is %d", most)
	}
	t.most = int(most)
	return err
}

func (t *item) readMatches() (err error) {
	if t.matches, _, err = t.r.Texts("matches"); err != nil {
		return err
	}
	if t.matches != nil && t.levels == 0 {
		return bad("matches", "needs recurse: it is compared with the names of files in a directory")
	}
	t.rmdirs, err = t.r.Bool("rmdirs", false)
	return err
}

func (t *item) readTests() error {
	times, given, err := t.r.Text("type")
	if err != nil {
		return err
	}
	if given {
		t.times = times
	}
	// Puppet takes strings only for age and size.
	if age, given := t.r.Params.Get("age"); given {
		seconds, ok := amount(age, 'd', map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400})
		if !ok {
			return bad("age", "must be a string such as '10s', '5m', '4h', '3d' or '1w', and is %#v", age)
		}
		t.tests = append(t.tests, func(st *unix.Stat_t, now time.Time) bool { return now.Unix()-t.time(st).Sec >= seconds })
	}
	if size, given := t.r.Params.Get("size"); given {
		bytes, ok := amount(size, 'k', map[byte]int64{'b': 1, 'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40})
		if !ok {
			return bad("size", "must be a string such as '10b', '5k', '4m', '3g' or '1t', and is %#v", size)
		}
		t.tests = append(t.tests, func(st *unix.Stat_t, _ time.Time) bool { return st.Size >= bytes })
	}
	return nil
}

// amount parses a number with a unit, of which the first letter counts.
func amount(v any, unit byte, units map[byte]int64) (n int64, ok bool) {
	text, _ := v.(string)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	if rest := strings.ToLower(text[len(digits):]); rest != "" {
		unit = rest[0]
	}
	factor := units[unit]
	if factor == 0 || n > 1<<62/factor {
		return 0, false
	}
	return n * factor, true
}

func (t *item) time(st *unix.Stat_t) unix.Timespec {
	switch t.times {
	case "mtime":
		return st.Mtim
	case "ctime":
		return st.Ctim
	}
	return st.Atim
}

// Read and the rest do nothing: a tidy resource is never changed itself.
func (t *item) Read(context.Context, *resource.Host) error { return nil }

// Plan returns no changes.
func (t *item) Plan() ([]resource.Change, error) { return nil, nil }

// Do is never called.
func (t *item) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

// A candidate is a file that can be removed.
type candidate struct {
	rel       string // "." for the path itself
	directory bool
	goes      bool
}

// Generate returns the files to remove. The files in a directory come before the directory.
func (t *item) Generate(ctx context.Context, h *resource.Host) ([]*resource.Resource, error) {
	files, err := t.candidates(ctx, h)
	var most *fileset.MostError
	if errors.As(err, &most) {
		h.Logf(t.r.Ref, report.Err, "No file is removed: %s.", most) // as in Puppet
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// A directory is removed only if all of its files are removed. Differs from Puppet: it removes directories with
	// other files in them, against its own documentation.
	stays := make(map[string]bool)
	var list []*resource.Resource
	for _, c := range slices.Backward(files) {
		if !c.goes || c.directory && stays[c.rel] {
			if c.rel != "." {
				stays[path.Dir(c.rel)] = true
			}
			continue
		}
		list = append(list, t.removal(c))
	}
	if len(list) > 0 {
		h.Logf(t.r.Ref, report.Notice, "%d files are to be removed.", len(list))
	}
	return list, nil
}

// candidates returns the files, a directory before its files.
func (t *item) candidates(ctx context.Context, h *resource.Host) ([]candidate, error) {
	var top unix.Stat_t
	if err := unix.Lstat(t.path, &top); err != nil {
		if errors.Is(err, fs.ErrNotExist) || err == unix.ENOTDIR {
			return nil, nil
		}
		return nil, &fs.PathError{Op: "stat", Path: t.path, Err: err}
	}
	declared := make(map[string]bool)
	for _, r := range slices.Concat(h.Declared("File"), h.Declared("Concat_file")) {
		name, given := r.Params.Value("path").(string)
		if !given {
			name = r.Title
		}
		declared[filepath.Clean(name)] = true
	}
	files := []candidate{t.judge(".", &top, declared, h.Now())}
	if top.Mode&unix.S_IFMT != unix.S_IFDIR {
		return files, nil
	}
	entries, err := fileset.List(ctx, t.path, fileset.Options{Limit: t.levels, Most: t.most})
	if err != nil {
		return nil, err
	}
	if len(entries) > manyFiles && t.most == 0 {
		h.Logf(t.r.Ref, report.Warning, "%s has %d files. Set max_files to a limit.", t.path, len(entries))
	}
	root, err := os.OpenRoot(t.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if t.levels == 0 {
		files[0].goes = files[0].goes && empty(root, ".")
	}
	for _, e := range entries {
		st, err := t.stat(root, e.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := t.judge(e.Name, st, declared, h.Now())
		if c.directory && c.goes && strings.Count(e.Name, "/")+1 == t.levels {
			c.goes = empty(root, e.Name) // what is in it is not in the list
		}
		files = append(files, c)
	}
	// Names with a byte below "/", such as "a-b", are between a directory and its files in the order of List.
	slices.SortFunc(files, func(a, b candidate) int { return slices.Compare(split(a.rel), split(b.rel)) })
	return files, nil
}

// empty reports whether a directory has no files.
func empty(root *os.Root, name string) bool {
	d, err := root.Open(name)
	if err != nil {
		return false
	}
	defer d.Close()
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

func split(rel string) []string {
	if rel == "." {
		return nil
	}
	return strings.Split(rel, "/")
}

func (t *item) stat(root *os.Root, name string) (*unix.Stat_t, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return statOf(info), nil
}

// judge decides about a file by itself.
func (t *item) judge(rel string, st *unix.Stat_t, declared map[string]bool, now time.Time) candidate {
	c := candidate{rel: rel, directory: st.Mode&unix.S_IFMT == unix.S_IFDIR}
	full := filepath.Join(t.path, rel)
	if declared[full] || c.directory && !t.rmdirs {
		return c
	}
	if t.matches != nil && !slices.ContainsFunc(t.matches, func(p string) bool { return glob.File(p, filepath.Base(full), true) }) {
		return c
	}
	c.goes = len(t.tests) == 0 || slices.ContainsFunc(t.tests, func(pass test) bool { return pass(st, now) })
	return c
}

// removal is the resource that removes a file. It has the metaparameters of the tidy resource.
func (t *item) removal(c candidate) *resource.Resource {
	full := filepath.Join(t.path, c.rel)
	params := ordered.Of("path", full, "ensure", "absent", "force", true, "backup", false)
	for _, name := range []string{"noop", "schedule", "loglevel", "notify", "before"} {
		if v, given := t.r.Params.Get(name); given {
			params.Set(name, v)
		}
	}
	r := &resource.Resource{Ref: catalog.Ref{Type: "File", Title: full}, Params: params}
	if c.rel != "." {
		r.Within = t.path
	}
	return r
}

// Watch implements resource.Watcher. Files become old without an event.
func (*item) Watch(context.Context, *resource.Host) []resource.Watch {
	return []resource.Watch{{Poll: true}}
}
