package htpasswd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// A table has the lines of a file.
type table []entry

// An entry is a line.
type entry struct {
	// mark is the comment directly above the line that names its resource, and name is that name; "" if there is none. The table has
	// no other entry for the comment.
	mark, name string
	line       string
	user, hash string // "" for blank lines and comments. In a file of groups, they are a group and its users
}

// marker is the comment that Puppet writes above the lines of resources.
const marker = "# Puppet Name: "

var marked = lazyregexp.New(`^#.*?Puppet Name: (.+)$`)

// parse reads a file. As for htpasswd(1), a file that has a line without a colon is an error. The error has no part of the line, because
// that can be a password.
func parse(text string) (t table, err error) {
	var mark, name string
	flush := func() {
		if mark != "" {
			t = append(t, entry{line: mark})
		}
		mark, name = "", ""
	}
	for i, line := range textfile.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := marked().FindStringSubmatch(line); m != nil {
			flush()
			mark, name = line, strings.TrimRight(m[1], blanks)
			continue
		}
		if start := strings.TrimLeft(line, blanks); start == "" || start[0] == '#' {
			flush()
			t = append(t, entry{line: line})
			continue
		}
		user, hash, is := strings.Cut(line, ":")
		if !is || user == "" || strings.Contains(line, "\x00") {
			return nil, fmt.Errorf("line %d does not have a name and a colon", i+1)
		}
		t = append(t, entry{mark, name, line, user, strings.TrimRight(hash, blanks)})
		mark, name = "", ""
	}
	flush()
	return t, nil
}

const blanks = " \t\r\v\f"

func (t table) text() string {
	var b strings.Builder
	for _, e := range t {
		if e.mark != "" {
			b.WriteString(e.mark + "\n")
		}
		b.WriteString(e.line + "\n")
	}
	return b.String()
}

// find returns the index of the line of a user, -1 if there is none. The first line of a user counts, as for the web servers. If the user has no line,
// it is the first line under the name of the resource.
func (t table) find(user, name string) int {
	if i := slices.IndexFunc(t, func(e entry) bool { return e.user == user }); i >= 0 {
		return i
	}
	return slices.IndexFunc(t, func(e entry) bool { return e.of(user, name) })
}

// set returns the table with an entry, and without all other lines of its user and of its resource.
func (t table) set(wanted entry) table {
	at := t.find(wanted.user, wanted.name)
	if at < 0 {
		return append(t, wanted)
	}
	t[at] = wanted
	var list table
	for i, e := range t {
		if i == at || !e.of(wanted.user, wanted.name) {
			list = append(list, e)
		}
	}
	return list
}

// remove returns the table without the lines of a user and of a resource.
func (t table) remove(user, name string) table {
	return slices.DeleteFunc(t, func(e entry) bool { return e.of(user, name) })
}

func (e *entry) of(user, name string) bool { return e.user == user || name != "" && e.name == name }

// A file is one that is read or changed.
type file struct {
	path   string
	table  table
	exists bool
	err    error
	works  []int // that changed the table
}

// files are the files of one batch of resources, by their paths without links.
type files map[string]*file

func (fs files) open(ctx context.Context, path string) *file {
	key := textfile.Same(path)
	f := fs[key]
	if f != nil {
		return f
	}
	f = &file{path: path}
	fs[key] = f
	var text string
	if text, f.exists, f.err = textfile.Read(ctx, path); f.err == nil {
		if f.table, f.err = parse(text); f.err != nil {
			f.err = fmt.Errorf("%s: %w, so the file is malformed. bolt does not change it", path, f.err)
		}
	}
	return f
}

// A record is an item that is a line of a file.
type record interface {
	where() string // the path of the file
	change(f *file) error
}

// doAll makes the changes of items. Each file is written once.
func doAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	files := make(files)
	for n, w := range works {
		x := w.Item.(record)
		f := files.open(ctx, x.where())
		if errs[n] = f.err; f.err == nil {
			errs[n] = x.change(f)
		}
		if errs[n] == nil {
			f.works = append(f.works, n)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		f := files[key]
		if len(f.works) == 0 {
			continue
		}
		err := f.write(h)
		for _, n := range f.works {
			errs[n] = err
		}
	}
	return errs
}

// at returns the path of the file of a resource. target can be "".
func at(h *resource.Host, target, without string) string {
	if target == "" || target == without {
		return h.Path(without)
	}
	return filepath.Clean(target)
}

// write replaces the file.
func (f *file) write(h *resource.Host) error {
	if f.exists {
		if err := h.Backup(f.path); err != nil {
			return fmt.Errorf("the file was not changed, because a backup cannot be made: %w", err)
		}
	}
	return textfile.Write(f.path, f.table.text(), newMode)
}
