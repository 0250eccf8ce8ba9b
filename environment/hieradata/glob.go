package hieradata

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Limits on a pattern. No person writes a pattern that reaches them; a program
// can, and its cost must be bounded.
const (
	maxPattern      = 1 << 16 // bytes
	maxAlternatives = 10_000  // that {a,b}{c,d}… may become
	maxScanned      = 1 << 26 // bytes read to find them
	maxSteps        = 1 << 20 // names looked at
	folderSteps     = 32      // steps that listing a folder counts for, because it takes as long
	maxPath         = 1 << 12 // bytes of a path; no longer path exists
)

// Glob implements hiera.Files. A file is listed once for each alternative of
// {a,b} that it matches. Names that begin with a period match only patterns
// that begin with a period.
//
// Differs from Ruby: dangling links do not exist, nor does "." match a pattern
// such as .*/x.
func (Files) Glob(ctx context.Context, pattern string) ([]string, error) {
	return glob(ctx, pattern, false)
}

// Entries returns all matches of a pattern, as Dir.glob does, including folders
// and dangling links. A pattern with a slash at its end matches only folders.
//
// Differs from Ruby: "." does not match a pattern such as .*, and slashes that
// the pattern repeats are not repeated in the result.
func Entries(ctx context.Context, pattern string) ([]string, error) {
	return glob(ctx, pattern, true)
}

func glob(ctx context.Context, pattern string, folders bool) ([]string, error) {
	if len(pattern) > maxPattern {
		return nil, errors.New("the pattern is too long")
	}
	b := braces{}
	if err := b.expand(pattern); err != nil {
		return nil, err
	}
	g := globber{ctx: ctx, folders: folders}
	for _, p := range b.out {
		g.parts = parts(p)
		if len(g.parts) == 0 || g.parts[len(g.parts)-1].end && !folders {
			continue
		}
		root := ""
		if p[0] == '/' {
			root = "/"
		}
		if err := g.walk(root, []int{0}); err != nil {
			return nil, err
		}
	}
	return g.out, nil
}

// braces collects the alternatives of a pattern with {a,b}.
type braces struct {
	out     []string
	scanned int
}

func (b *braces) expand(p string) error {
	if b.scanned += len(p); b.scanned > maxScanned || len(b.out) >= maxAlternatives {
		return errors.New("the pattern expands to too many others")
	}
	before, choices, after, ok := firstBrace(p)
	if !ok {
		b.out = append(b.out, p)
		return nil
	}
	for _, c := range choices {
		if err := b.expand(before + c + after); err != nil {
			return err
		}
	}
	return nil
}

// firstBrace splits a pattern at its first group; groups may be nested.
func firstBrace(p string) (before string, choices []string, after string, ok bool) {
	start, depth, from := -1, 0, 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth == 0 {
				start, from = i, i+1
			}
			depth++
		case c == ',' && depth == 1:
			choices = append(choices, p[from:i])
			from = i + 1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return p[:start], append(choices, p[from:i]), p[i+1:], true
			}
		}
	}
	return "", nil, "", false
}

// A part is a pattern between slashes.
type part struct {
	text  string
	deep  bool // **: any number of folders
	magic bool // text is a pattern; otherwise it is a name
	end   bool // the folder itself, before a slash at the end
}

// parts splits a pattern at slashes. Several ** in a row are one. A last part
// without a trailing slash is the name of a file, where ** means *.
func parts(pattern string) []part {
	names := strings.Split(pattern, "/")
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
	end := strings.HasSuffix(pattern, "/")
	var out []part
	for i, name := range names {
		deep := name == "**" && (end || i+1 < len(names))
		if deep && len(out) > 0 && out[len(out)-1].deep {
			continue
		}
		p := newPart(name)
		p.deep = deep
		out = append(out, p)
	}
	if end {
		out = append(out, part{end: true})
	}
	return out
}

func newPart(text string) part {
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[', '{':
			return part{text: text, magic: true}
		case '\\':
			if i++; i == len(text) {
				return part{text: text, magic: true}
			}
		}
		name.WriteByte(text[i])
	}
	return part{text: name.String()}
}

// matches reports whether the part matches a name.
func (p part) matches(name string) bool {
	switch {
	case p.deep, p.end:
		return false
	case p.magic:
		return match(p.text, name)
	}
	return p.text == name
}

// A globber finds the files of a pattern. It visits each folder once, together
// with all positions in the pattern that its path can match. So a file is found
// once, even if several ** could match its path.
type globber struct {
	ctx     context.Context
	folders bool // also find folders and dangling links
	parts   []part
	steps   int
	out     []string
}

// walk finds matches below prefix for the parts from each index of at on.
// prefix is empty or ends with a slash.
func (g *globber) walk(prefix string, at []int) error {
	if len(prefix) > maxPath {
		return nil
	}
	var all []int
	list := false
	for _, i := range at {
		if all = add(all, i); g.parts[i].deep {
			all = add(all, i+1)
		}
		list = list || g.parts[i].magic
	}
	if n := len(all); n > 0 && g.parts[all[n-1]].end {
		all = all[:n-1]
		if info, err := os.Stat(prefix); err == nil && info.IsDir() {
			g.out = append(g.out, prefix)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if !list {
		return g.named(prefix, all)
	}
	dir := prefix
	if dir == "" {
		dir = "."
	}
	if err := g.spend(folderSteps); err != nil {
		return err
	}
	entries, err := g.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		var next []int
		for _, i := range all {
			if g.parts[i].matches(name) {
				next = add(next, i+1)
			} else if g.parts[i].deep && e.IsDir() && name[0] != '.' { // links are not followed
				next = add(next, i)
			}
		}
		if err := g.step(prefix+name, next, e.Type()); err != nil {
			return err
		}
	}
	return nil
}

// named is walk for parts that are all names. They need no listing, which may
// be forbidden, and may be "..".
func (g *globber) named(prefix string, at []int) error {
	for n, i := range at {
		name := g.parts[i].text
		same := func(j int) bool { return g.parts[j].text == name }
		if slices.ContainsFunc(at[:n], same) {
			continue
		}
		var next []int
		for _, j := range at[n:] {
			if same(j) {
				next = add(next, j+1)
			}
		}
		if err := g.step(prefix+name, next, fs.ModeIrregular); err != nil {
			return err
		}
	}
	return nil
}

// step continues at path, with the parts from each index of next on. kind is
// the known file type of path.
func (g *globber) step(path string, next []int, kind fs.FileMode) error {
	if err := g.spend(1 + len(next)); err != nil {
		return err
	}
	if n := len(next); n > 0 && next[n-1] == len(g.parts) {
		next = next[:n-1]
		if g.folders {
			if _, err := os.Lstat(path); err == nil {
				g.out = append(g.out, path)
			}
		} else if info, err := os.Stat(path); err == nil && !info.IsDir() {
			g.out = append(g.out, path)
			return nil
		}
	}
	if len(next) == 0 || kind.IsRegular() {
		return nil
	}
	return g.walk(path+"/", next)
}

// list returns the entries of a folder, by name. A folder that cannot be read
// counts as empty.
func (g *globber) list(dir string) ([]fs.DirEntry, error) {
	// Opening a pipe with that name must not block.
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(1024)
		all = append(all, some...)
		if g.ctx.Err() != nil || g.steps+len(all) > maxSteps {
			return nil, g.spend(len(all))
		}
		if err != nil {
			break // the end, or an error
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

func (g *globber) spend(steps int) error {
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	if g.steps += steps; g.steps > maxSteps {
		return errors.New("the pattern matches too many files and folders")
	}
	return nil
}

// add adds a number to a sorted list, if it is not in the list yet.
func add(list []int, n int) []int {
	i, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, i, n)
}

// match reports whether a pattern between slashes matches a name, by Ruby's
// rules: * and **, ?, [a-z], [!a-z] and [^a-z], and \ before a literal
// character. A bracket or brace that is not closed matches nothing.
func match(pattern, name string) bool {
	if name[0] == '.' && pattern[0] != '.' && !strings.HasPrefix(pattern, `\.`) {
		return false
	}
	var star, rest string // the pattern after the last *, and the rest of the name that was tried with it
	starred := false
	p, s := pattern, name
	for {
		ok := false
		switch {
		case p == "":
			if s == "" {
				return true
			}
		case p[0] == '*':
			if p = strings.TrimLeft(p, "*"); p == "" {
				return true
			}
			star, rest, starred = p, s, true
			continue
		case s == "" || p[0] == '{':
			return false
		case p[0] == '?':
			p, ok = p[1:], true
		case p[0] == '[':
			p, ok = bracket(p[1:], s)
		default:
			if p[0] == '\\' && len(p) > 1 {
				p = p[1:]
			}
			n := runeLen(p)
			ok = strings.HasPrefix(s, p[:n])
			p = p[n:]
		}
		switch {
		case ok:
			s = s[runeLen(s):]
		case starred && rest != "":
			rest = rest[runeLen(rest):]
			p, s = star, rest
		default:
			return false
		}
	}
}

// bracket reports whether the first character of s is in the set before the
// next ] of p, and returns the rest of p.
func bracket(p, s string) (rest string, ok bool) {
	c, _ := utf8.DecodeRuneInString(s)
	not := p != "" && (p[0] == '!' || p[0] == '^')
	if not {
		p = p[1:]
	}
	one := func() (rune, bool) {
		p = strings.TrimPrefix(p, `\`)
		if p == "" {
			return 0, false
		}
		r, n := utf8.DecodeRuneInString(p)
		p = p[n:]
		return r, true
	}
	found := false
	for p != "" && p[0] != ']' {
		low, good := one()
		high := low
		if good && len(p) > 1 && p[0] == '-' && p[1] != ']' {
			p = p[1:]
			high, good = one()
		}
		if !good {
			return "", false
		}
		found = found || low <= c && c <= high || c == low || c == high
	}
	if p == "" {
		return "", false
	}
	return p[1:], found != not
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
