package ini

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
)

// A syntax is how an INI file is written.
type syntax struct {
	separator      string // between setting and value
	prefix, suffix string // around the name of a section
	indentChar     string // new settings begin with some of them
	indentWidth    int    // how many; negative for as many as the other settings of the section

	header, setting, comment *regexp.Regexp
}

// compile makes the patterns of the lines. A separator between blanks is recognized without them, too.
func (s *syntax) compile() {
	sep := strings.TrimSpace(s.separator)
	if sep == "" && s.separator != "" {
		sep = " "
	}
	q, class := regexp.QuoteMeta(sep), ""
	for _, c := range sep {
		class += fmt.Sprintf(`\x{%x}`, c)
	}
	s.header = regexp.MustCompile(`^\s*` + regexp.QuoteMeta(s.prefix) + `(.*)` + regexp.QuoteMeta(s.suffix) + `\s*$`)
	s.setting = regexp.MustCompile(`^(\s*)([^#;\s]|[^#;\s].*?[^\s` + class + `])(\s*` + q + `[ \t]*)(.*)$`)
	s.comment = regexp.MustCompile(`^\s*[#;]+\s*(.*?[^\s` + class + `])\s*` + q + `[ \t]*.*$`)
}

// A section is a part of a file. The first one of a file has no name and no header.
type section struct {
	name  string
	lines []string // with the header and with line ends
}

// A file is a parsed INI file. All lines are kept as they are.
type file struct {
	s        *syntax
	sections []*section
}

func parse(text string, s *syntax) *file {
	f := &file{s: s, sections: []*section{{}}}
	for _, line := range textfile.Lines(text) {
		if m := s.header.FindStringSubmatch(textfile.Chomp(line)); m != nil {
			f.sections = append(f.sections, &section{name: m[1]})
		}
		last := f.sections[len(f.sections)-1]
		last.lines = append(last.lines, line)
	}
	return f
}

// find returns the last section with a name, nil if there is none. The section without a name is always there.
func (f *file) find(name string) *section {
	for _, s := range slices.Backward(f.sections) {
		if s.name == name {
			return s
		}
	}
	return nil
}

// body are the lines of a section after its header.
func (s *section) body() []string {
	if s.name == "" || len(s.lines) == 0 {
		return s.lines
	}
	return s.lines[1:]
}

// values returns the values of a setting, one for each of its lines.
func (f *file) values(name, setting string) (values []string) {
	s := f.find(name)
	if s == nil {
		return nil
	}
	for _, line := range s.body() {
		if m := f.s.setting.FindStringSubmatch(textfile.Chomp(line)); m != nil && m[2] == setting {
			values = append(values, m[4])
		}
	}
	return values
}

// add returns a section, which is made if it is missing.
func (f *file) add(name string) *section {
	s := f.find(name)
	if s != nil {
		return s
	}
	last := f.sections[len(f.sections)-1]
	if n := len(last.lines); n > 0 {
		last.lines[n-1] = textfile.End(last.lines[n-1])
	}
	if len(f.sections) > 1 || len(last.lines) > 0 {
		// A blank line is between sections.
		last.lines = append(last.lines, "\n")
	}
	s = &section{name: name, lines: []string{f.s.prefix + name + f.s.suffix + "\n"}}
	f.sections = append(f.sections, s)
	return s
}

// set gives a setting these values, each on a line of its own. They replace the last line of the setting, and the
// other lines of the setting go. The comment with a setting that is missing shows where it belongs.
func (f *file) set(name, setting string, values []string) {
	s := f.add(name)
	head := len(s.lines) - len(s.body())
	done := false
	for i := len(s.lines) - 1; i >= head; i-- {
		text := textfile.Chomp(s.lines[i])
		m := f.s.setting.FindStringSubmatch(text)
		if m == nil || m[2] != setting {
			continue
		}
		var lines []string
		for _, v := range values {
			lines = append(lines, m[1]+m[2]+m[3]+v+s.lines[i][len(text):])
		}
		if done {
			lines = nil
		}
		s.lines = slices.Replace(s.lines, i, i+1, lines...)
		done = true
	}
	if done {
		return
	}
	at := f.commented(s, head, setting)
	if at > 0 {
		s.lines[at-1] = textfile.End(s.lines[at-1])
	}
	var lines []string
	for _, v := range values {
		lines = append(lines, f.indent(s)+setting+f.s.separator+v+"\n")
	}
	if len(s.lines) == 0 && len(f.sections) > 1 {
		lines = append(lines, "\n")
	}
	s.lines = slices.Insert(s.lines, at, lines...)
}

// commented is the index after the comment with a setting, or else before the blank lines at the end of the section.
func (f *file) commented(s *section, head int, setting string) int {
	for i, line := range s.body() {
		if m := f.s.comment.FindStringSubmatch(textfile.Chomp(line)); m != nil && m[1] == setting {
			return head + i + 1
		}
	}
	at := len(s.lines)
	for at > head && strings.TrimSpace(s.lines[at-1]) == "" {
		at--
	}
	return at
}

// indent returns the indentation of new settings in a section: the least one of the others.
func (f *file) indent(s *section) string {
	if f.s.indentWidth >= 0 {
		return strings.Repeat(f.s.indentChar, f.s.indentWidth)
	}
	least := -1
	for _, line := range s.body() {
		if m := f.s.setting.FindStringSubmatch(textfile.Chomp(line)); m != nil && (least < 0 || len(m[1]) < least) {
			least = len(m[1])
		}
	}
	return strings.Repeat(f.s.indentChar, max(least, 0))
}

// remove removes a setting, and its section if nothing is left in it.
func (f *file) remove(name, setting string) {
	s := f.find(name)
	if s == nil {
		return
	}
	head := len(s.lines) - len(s.body())
	body := slices.DeleteFunc(s.lines[head:], func(line string) bool {
		m := f.s.setting.FindStringSubmatch(textfile.Chomp(line))
		return m != nil && m[2] == setting
	})
	if len(body) == 0 {
		head = 0
	}
	s.lines = append(s.lines[:head], body...)
}

func (f *file) String() string {
	var b strings.Builder
	for _, s := range f.sections {
		for _, line := range s.lines {
			b.WriteString(line)
		}
	}
	return b.String()
}
