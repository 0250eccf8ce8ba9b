package htpasswd

import (
	"context"
	"fmt"
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
	user, hash string // "" for blank lines and comments
}

// marker is the comment that Puppet writes above the lines of resources.
const marker = "# Puppet Name: "

var marked = lazyregexp.New(`^#.*Puppet Name: (.+)$`)

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
			return nil, fmt.Errorf("line %d is not of the form USER:HASH", i+1)
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
	return slices.IndexFunc(t, func(e entry) bool { return e.name == name })
}

// set returns the table with a line for a user, and without all other lines of the user and of the resource.
func (t table) set(user, name, hash string) table {
	wanted := entry{mark: marker + name, name: name, line: user + ":" + hash, user: user, hash: hash}
	at := t.find(user, name)
	if at < 0 {
		return append(t, wanted)
	}
	t[at] = wanted
	var list table
	for i, e := range t {
		if i == at || !e.of(user, name) {
			list = append(list, e)
		}
	}
	return list
}

// remove returns the table without the lines of a user and of a resource.
func (t table) remove(user, name string) table {
	return slices.DeleteFunc(t, func(e entry) bool { return e.of(user, name) })
}

func (e *entry) of(user, name string) bool { return e.user == user || e.name == name }

// A file is one that is read or changed.
type file struct {
	table  table
	exists bool
	err    error
	works  []int // that changed the table
}

// files are the files of one batch of resources, by their paths.
type files map[string]*file

func (fs files) open(ctx context.Context, path string) *file {
	f := fs[path]
	if f != nil {
		return f
	}
	f = &file{}
	fs[path] = f
	var text string
	if text, f.exists, f.err = textfile.Read(ctx, path); f.err == nil {
		if f.table, f.err = parse(text); f.err != nil {
			f.err = fmt.Errorf("%s: %w, so the file is not a password file. bolt does not change it", path, f.err)
		}
	}
	return f
}

// write replaces the file.
func (f *file) write(h *resource.Host, path string) error {
	if f.exists {
		if err := h.Backup(path); err != nil {
			return fmt.Errorf("the file was not changed, because a backup cannot be made: %w", err)
		}
	}
	return textfile.Write(path, f.table.text(), newMode)
}
