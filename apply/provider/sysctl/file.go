package sysctl

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// A file is one in the form of sysctl.conf(5).
type file struct {
	path   string
	exists bool
	text   string // as it was read
	lines  []string
}

func open(ctx context.Context, path string) (*file, error) {
	text, exists, err := textfile.Read(ctx, path)
	return &file{path: path, exists: exists, text: text, lines: textfile.Lines(text)}, err
}

// parse returns the parts of a line with a value; ok is false for other lines. before is what is in front of the
// value.
func parse(line string) (name, before, value string, ok bool) {
	line = textfile.Chomp(line)
	text := strings.TrimLeft(line, " \t")
	if text == "" || text[0] == '#' || text[0] == ';' {
		return "", "", "", false
	}
	left, right, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", "", false
	}
	value = strings.Trim(right, " \t")
	before = left + "=" + right[:len(right)-len(strings.TrimLeft(right, " \t"))]
	return strings.TrimPrefix(strings.Trim(left, " \t"), "-"), before, value, true // - is for errors that do not count
}

// find returns the index of the last line with a name, because it is the one that holds at boot; -1 if there is none.
func (f *file) find(name string) int {
	for i, line := range slices.Backward(f.lines) {
		if n, _, _, ok := parse(line); ok && n == name {
			return i
		}
	}
	return -1
}

func (f *file) value(name string) (value string, found bool) {
	at := f.find(name)
	if at < 0 {
		return "", false
	}
	_, _, value, _ = parse(f.lines[at])
	return value, true
}

// set changes the value of a name. A new line comes after a comment that has the name, or at the end.
func (f *file) set(name, value string) {
	if at := f.find(name); at >= 0 {
		_, before, is, _ := parse(f.lines[at])
		if is != value {
			f.lines[at] = before + value + "\n"
		}
		return
	}
	disabled := regexp.MustCompile(`^\s*[#;]\s*` + regexp.QuoteMeta(name) + `([^a-z.].*)?$`)
	at := slices.IndexFunc(f.lines, func(l string) bool { return disabled.MatchString(textfile.Chomp(l)) }) + 1
	if at == 0 {
		at = len(f.lines)
	}
	if at > 0 {
		f.lines[at-1] = textfile.End(f.lines[at-1])
	}
	f.lines = slices.Insert(f.lines, at, name+" = "+value+"\n")
}

// commentAt returns the index of the comment of a name: it is directly above, and begins with the name.
func (f *file) commentAt(name string) (at int, text string) {
	at = f.find(name) - 1
	if at < 0 {
		return -1, ""
	}
	line := strings.TrimLeft(textfile.Chomp(f.lines[at]), " \t")
	if line == "" || line[0] != '#' && line[0] != ';' {
		return -1, ""
	}
	text, is := strings.CutPrefix(strings.TrimSpace(line[1:]), name+":")
	if !is {
		return -1, ""
	}
	return at, strings.TrimSpace(text)
}

func (f *file) comment(name string) string {
	_, text := f.commentAt(name)
	return text
}

func (f *file) setComment(name, text string) {
	line := "# " + name + ": " + text + "\n"
	at, _ := f.commentAt(name)
	switch {
	case at >= 0 && text == "":
		f.lines = slices.Delete(f.lines, at, at+1)
	case at >= 0:
		f.lines[at] = line
	case text != "":
		if at = f.find(name); at >= 0 {
			f.lines = slices.Insert(f.lines, at, line)
		}
	}
}

// remove removes all lines of a name, with its comment.
func (f *file) remove(name string) {
	for f.find(name) >= 0 {
		if at, _ := f.commentAt(name); at >= 0 {
			f.lines = slices.Delete(f.lines, at, at+1)
		}
		at := f.find(name)
		f.lines = slices.Delete(f.lines, at, at+1)
	}
}

// write replaces the file if its text has changed.
func (f *file) write(h *resource.Host) error {
	text := strings.Join(f.lines, "")
	if text == f.text && f.exists {
		return nil
	}
	if f.exists {
		if err := h.Backup(f.path); err != nil {
			return err
		}
	}
	return textfile.Write(f.path, text, 0o644)
}
