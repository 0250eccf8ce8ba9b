// Package secontext finds the SELinux context that the policy of a machine gives to a path, from the files
// file_contexts of the policy. It works like selabel_lookup of libselinux, a library that a static program
// cannot use.
package secontext

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A Policy has the contexts of paths. It is safe for concurrent use.
type Policy struct {
	rules []*rule
	subs  [][2]string // a prefix of paths, and the prefix whose rules apply to it
}

// A rule gives a context to the paths that match a pattern.
type rule struct {
	pattern string
	prefix  string // that all matching paths have
	exact   bool   // the pattern is the path
	kind    string // as in the parameter ensure; "" for all
	context string // "" for none
	once    sync.Once
	re      *regexp.Regexp // nil if Go does not know the pattern
}

// kinds are the types of files in the second column of file_contexts.
var kinds = map[string]string{
	"--": "file", "-d": "directory", "-l": "link", "-p": "fifo", "-s": "socket", "-c": "characterSpecial", "-b": "blockSpecial",
}

// Load reads the policy below a directory, usually /etc/selinux. Files that do not exist are empty.
func Load(dir string) *Policy {
	name := "targeted"
	for fields := range table(filepath.Join(dir, "config")) {
		if v, is := strings.CutPrefix(fields[0], "SELINUXTYPE="); is {
			name = v
		}
	}
	p := &Policy{}
	base := filepath.Join(dir, name, "contexts/files/file_contexts")
	for _, suffix := range []string{".subs_dist", ".subs"} {
		for fields := range table(base + suffix) {
			if len(fields) == 2 {
				p.subs = append(p.subs, [2]string{fields[0], fields[1]})
			}
		}
	}
	var exact []*rule
	for _, suffix := range []string{"", ".homedirs", ".local"} {
		for fields := range table(base + suffix) {
			r := parse(fields)
			switch {
			case r == nil:
			case r.exact:
				exact = append(exact, r)
			default:
				p.rules = append(p.rules, r)
			}
		}
	}
	p.rules = append(p.rules, exact...)
	return p
}

// table yields the fields of the lines of a file.
func table(name string) func(func([]string) bool) {
	data, _ := os.ReadFile(name)
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) > 0 && !strings.HasPrefix(fields[0], "#") && !yield(fields) {
				return
			}
		}
	}
}

// meta has the characters with a special meaning in a pattern.
const meta = `.^$?*+|[({\`

func parse(fields []string) *rule {
	r := &rule{pattern: fields[0]}
	switch len(fields) {
	case 2:
		r.context = fields[1]
	case 3:
		r.kind, r.context = kinds[fields[1]], fields[2]
	default:
		return nil
	}
	if r.context == "<<none>>" {
		r.context = ""
	}
	end := strings.IndexAny(r.pattern, meta)
	if end < 0 {
		r.exact, r.prefix = true, r.pattern
		return r
	}
	// A quantifier makes the character before it optional. An alternative makes all characters optional.
	if strings.IndexByte("?*{", r.pattern[end]) >= 0 && end > 0 {
		end--
	}
	if r.prefix = r.pattern[:end]; strings.Contains(r.pattern, "|") && !strings.Contains(r.pattern, "(") {
		r.prefix = ""
	}
	// In most exact paths, only dots are escaped.
	if plain := strings.ReplaceAll(r.pattern, `\.`, "."); !strings.ContainsAny(strings.ReplaceAll(r.pattern, `\.`, ""), meta) {
		r.exact, r.pattern, r.prefix = true, plain, plain
	}
	return r
}

func (r *rule) matches(path, kind string) bool {
	if r.kind != "" && kind != "" && r.kind != kind || !strings.HasPrefix(path, r.prefix) {
		return false
	}
	if r.exact {
		return path == r.pattern
	}
	r.once.Do(func() { r.re, _ = regexp.Compile("^(?:" + r.pattern + ")$") })
	return r.re != nil && r.re.MatchString(path)
}

// Lookup returns the context of a path; kind is the type of the file in the words of the parameter ensure, or "".
func (p *Policy) Lookup(path, kind string) (context string, found bool) {
	for _, s := range p.subs {
		if rest, is := strings.CutPrefix(path, s[0]); is && (rest == "" || rest[0] == '/') {
			path = s[1] + rest
			break
		}
	}
	for i := len(p.rules) - 1; i >= 0; i-- {
		if r := p.rules[i]; r.matches(path, kind) {
			return r.context, r.context != ""
		}
	}
	return "", false
}
