package krb5

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The limits for configuration files. A usual krb5.conf has a few KiB in a
// handful of files.
const (
	maxConfigFile  = 1 << 20
	maxConfigFiles = 256
	maxConfigDepth = 16
)

// A profile is the tree in krb5.conf files. A section has relations with string
// values, and further sections. A nil profile is empty.
type profile struct {
	relations map[string][]string
	sections  map[string]*profile
	settled   map[string]bool // relations that take no more values
	final     bool            // later files add nothing
}

func newProfile() *profile {
	return &profile{relations: make(map[string][]string), sections: make(map[string]*profile), settled: make(map[string]bool)}
}

// section returns the section with that name, and creates it if needed.
func (p *profile) section(tag string) *profile {
	sub := p.sections[tag]
	if sub == nil {
		sub = newProfile()
		p.sections[tag] = sub
	}
	return sub
}

// find returns the section at a path, or nil.
func (p *profile) find(path ...string) *profile {
	for _, tag := range path {
		if p == nil {
			return nil
		}
		p = p.sections[tag]
	}
	return p
}

// values returns all values of a relation, in order.
func (p *profile) values(tag string) []string {
	if p == nil {
		return nil
	}
	return p.relations[tag]
}

// value returns the first value of a relation.
func (p *profile) value(tag string) (string, bool) {
	if list := p.values(tag); len(list) > 0 {
		return list[0], true
	}
	return "", false
}

func (p *profile) add(tag, value string, final bool) {
	if p.settled[tag] {
		return
	}
	p.relations[tag] = append(p.relations[tag], value)
	p.settled[tag] = final
}

// A profileReader reads files into a profile.
type profileReader struct {
	into  *profile
	open  func(path string) ([]byte, error)
	list  func(dir string) ([]string, error)
	files int
}

// openConfig reads one file.
func openConfig(path string) ([]byte, error) {
	// The path may lead to a pipe that has no writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err == nil && len(text) > maxConfigFile {
		err = fmt.Errorf("it is larger than %d bytes", maxConfigFile)
	}
	return text, err
}

// listConfig lists the files of an includedir. Their names consist of letters,
// digits, dashes and underscores, or end in .conf and do not begin with a dot.
func listConfig(dir string) ([]string, error) {
	d, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range d { // sorted
		name := e.Name()
		plain := !strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		})
		if plain || strings.HasSuffix(name, ".conf") && name[0] != '.' {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list, nil
}

// file reads a file into the profile. Its error contains the position.
func (r *profileReader) file(path string, depth int) error {
	if r.files++; r.files > maxConfigFiles || depth > maxConfigDepth {
		return fmt.Errorf("%s: too many files include one another", path)
	}
	text, err := r.open(path)
	if err != nil {
		return err
	}
	if err := r.parse(path, text, depth); err != nil {
		return err
	}
	return nil
}

// parse parses text by the grammar of MIT's profile library. Lines that begin
// with # or ; are comments. [section] begins a section. A relation is "tag =
// value"; the value can be in quotes. "tag = {" to "}" is a subsection. A *
// after a section, a tag or a closing brace means that later entries with the
// same name are ignored.
func (r *profileReader) parse(path string, text []byte, depth int) error {
	var stack []*profile // of the sections that are open
	skipped := newProfile()
	waiting := "" // tag of a "tag =" line whose brace is on the next line
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		bad := func(what string) error { return fmt.Errorf("%s:%d: %s", path, i+1, what) }
		word, rest := cutSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case waiting != "":
			if line != "{" {
				return bad("{ is missing after " + quote(waiting))
			}
			stack = append(stack, open(stack[len(stack)-1], waiting, skipped))
			waiting = ""
			continue
		case word == "include" && rest != "":
			if err := r.file(rest, depth+1); err != nil {
				return included(bad, err)
			}
			continue
		case word == "includedir" && rest != "":
			names, err := r.list(rest)
			if err != nil {
				return included(bad, err)
			}
			for _, name := range names {
				if err := r.file(name, depth+1); err != nil {
					return included(bad, err)
				}
			}
			continue
		case word == "module" && rest != "": // another type of configuration, in a library
			continue
		case line[0] == '[':
			name, after, ok := strings.Cut(line[1:], "]")
			if !ok || strings.Trim(after, "* \t") != "" {
				return bad("[ without ]")
			}
			if len(stack) > 1 {
				return bad("} is missing before " + quote(line))
			}
			section := r.into.section(name)
			if section.final && len(stack) == 0 {
				section = skipped
			}
			stack = []*profile{section}
			if strings.HasPrefix(after, "*") {
				// The * applies to other files; this file continues the
				// section.
				defer func() { section.final = true }()
			}
			continue
		case line[0] == '}':
			if len(stack) < 2 {
				return bad("} without {")
			}
			if strings.HasPrefix(line, "}*") {
				stack[len(stack)-1].final = true
			}
			stack = stack[:len(stack)-1]
			continue
		}
		tag, value, ok := strings.Cut(line, "=")
		tag, value = strings.TrimSpace(tag), strings.TrimSpace(value)
		if !ok || tag == "" {
			return bad("= is missing in " + quote(line))
		}
		if len(stack) == 0 {
			return bad(quote(tag) + " is before the first section")
		}
		if len(stack) > maxConfigDepth {
			return bad("too many nested {")
		}
		into := stack[len(stack)-1]
		final := strings.HasSuffix(tag, "*")
		tag = strings.TrimSuffix(tag, "*")
		switch {
		case value == "{":
			stack = append(stack, open(into, tag, skipped))
		case value == "":
			if i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == "{" {
				waiting = tag
				continue
			}
			into.add(tag, "", final)
		default:
			into.add(tag, unquote(value), final)
		}
	}
	return nil
}

// included returns the error of an included file.
func included(bad func(string) error, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return bad(fmt.Sprintf("%s: %v", p.Path, p.Err))
	}
	return err
}

// open returns the section with a tag in another section.
func open(in *profile, tag string, skipped *profile) *profile {
	sub := in.section(strings.TrimSuffix(tag, "*"))
	if sub.final {
		return skipped
	}
	return sub
}

func cutSpace(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// unquote returns a value: without quotes and escapes, or unchanged.
func unquote(s string) string {
	if s == "" || s[0] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s) && s[i] != '"'; i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			switch c = s[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", s)
}
