package yumrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// What lines are, as in Puppet.
var (
	comment  = lazyregexp.New(`(?i)^\s*$|^[#;]|^\s*rem\s`)
	heading  = lazyregexp.New(`^\[([^\]]+)\]`)
	property = lazyregexp.New(`^\s*([^\s=]+)\s*=\s*(.*?)\s*$`)
)

// A section is a part of a file, with its lines as they are. The first line is the heading.
type section struct {
	name  string
	lines []string
}

// A file is one with repositories.
type file struct {
	path     string // without the root of the host
	exists   bool
	head     []string // lines before the first section
	sections []*section
	wrong    int // the number of the first line that is not understood; 0 for none
	text     string
}

func open(ctx context.Context, h *resource.Host, path string) (*file, error) {
	f := &file{path: path}
	var err error
	if f.text, f.exists, err = textfile.Read(ctx, h.Path(path)); err != nil {
		return nil, err
	}
	f.parse()
	return f, nil
}

func (f *file) parse() {
	var s *section
	inProperty := false
	for i, line := range textfile.Lines(f.text) {
		text := textfile.Chomp(line)
		m := heading().FindStringSubmatch(text)
		switch {
		case comment().MatchString(text):
		case s != nil && inProperty && strings.ContainsAny(text[:1], " \t\f"): // the value goes on
		case m != nil:
			s, inProperty = &section{name: m[1], lines: []string{line}}, false
			f.sections = append(f.sections, s)
			continue
		case s != nil && property().MatchString(text):
			inProperty = true
		case f.wrong == 0:
			f.wrong = i + 1
		}
		if s == nil {
			f.head = append(f.head, line)
		} else {
			s.lines = append(s.lines, line)
		}
	}
}

// whole returns an error if the file has a line that is not understood.
func (f *file) whole() error {
	if f.wrong == 0 {
		return nil
	}
	return fmt.Errorf("line %d of %s is neither a section nor a setting, so the file is not changed", f.wrong, f.path)
}

func (f *file) String() string {
	var b strings.Builder
	for _, line := range f.head {
		b.WriteString(line)
	}
	for _, s := range f.sections {
		for _, line := range s.lines {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (f *file) find(name string) *section {
	for _, s := range f.sections {
		if s.name == name {
			return s
		}
	}
	return nil
}

// add returns a new section at the end.
func (f *file) add(name string) *section {
	last := &f.head
	if n := len(f.sections); n > 0 {
		last = &f.sections[n-1].lines
	}
	if n := len(*last); n > 0 {
		(*last)[n-1] = textfile.End((*last)[n-1])
	}
	s := &section{name: name, lines: []string{"[" + name + "]\n"}}
	f.sections = append(f.sections, s)
	return s
}

func (f *file) remove(name string) {
	f.sections = slices.DeleteFunc(f.sections, func(s *section) bool { return s.name == name })
}

// body returns the lines after the heading.
func (s *section) body() []string { return s.lines[1:] }

// at returns the lines of the first setting with a key: from is the first one, and to the one after the last.
func (s *section) at(key string) (from, to int, found bool) {
	inProperty := false
	for i := 1; i < len(s.lines); i++ {
		text := textfile.Chomp(s.lines[i])
		if comment().MatchString(text) || inProperty && strings.ContainsAny(text[:1], " \t\f") {
			continue
		}
		m := property().FindStringSubmatch(text)
		if m != nil && m[1] == key {
			return i, s.end(i + 1), true
		}
		inProperty = m != nil
	}
	return 0, 0, false
}

// end returns the index after the lines with which a value goes on.
func (s *section) end(from int) int {
	to := from
	for i := from; i < len(s.lines); i++ {
		text := textfile.Chomp(s.lines[i])
		switch {
		case comment().MatchString(text):
		case strings.ContainsAny(text[:1], " \t\f"):
			to = i + 1
		default:
			return to
		}
	}
	return to
}

// value returns the value of a key, "absent" if there is none.
func (s *section) value(key string) string {
	from, to, found := s.at(key)
	if !found {
		return absent
	}
	m := property().FindStringSubmatch(textfile.Chomp(s.lines[from]))
	value := m[2]
	for _, line := range s.lines[from+1 : to] {
		if text := textfile.Chomp(line); !comment().MatchString(text) {
			value += "\n" + text
		}
	}
	return value
}

// set changes the value of a key. A new key comes at the end, as in Puppet. The value "absent" removes the key.
func (s *section) set(key, value string) {
	from, to, found := s.at(key)
	line := key + "=" + value + "\n"
	switch {
	case found && value == absent:
		s.lines = slices.Delete(s.lines, from, to)
	case found && s.value(key) == value:
	case found:
		s.lines = slices.Replace(s.lines, from, to, line)
	case value != absent:
		n := len(s.lines)
		s.lines[n-1] = textfile.End(s.lines[n-1])
		s.lines = append(s.lines, line)
	}
}
