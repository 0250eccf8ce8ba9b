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

// Limits on a pattern. Nobody writes one that reaches them; a program's text
// can, and what it costs must end.
const (
	maxPattern      = 1 << 16 // bytes
	maxAlternatives = 10_000  // that {a,b}{c,d}… may become
	maxScanned      = 1 << 26 // bytes read to find them
	maxSteps        = 1 << 20 // names looked at
	folderSteps     = 32      // that listing a folder counts for: it takes as long
	maxPath         = 1 << 12 // bytes of a path, above which none exists
)

// Glob is hiera.Files's. A file is there once for each alternative of {a,b}
// that it matches. Names that begin with a period match only patterns that do.
//
// Differs from Ruby: links that lead nowhere are not there, nor is "." for a
// pattern such as .*/x.
func (Files) Glob(ctx context.Context, pattern string) ([]string, error) {
	return glob(ctx, pattern, false)
}

// Entries returns all that a pattern is for, as Dir.glob does: folders too,
// and links that lead nowhere. What a pattern with a slash at its end is for
// are folders alone.
//
// Differs from Ruby: "." is not there for a pattern such as .*, nor are slashes
// doubled as in the pattern.
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

// braces collects the patterns that one with {a,b} stands for.
type braces struct {
	out     []string
	scanned int
}

func (b *braces) expand(p string) error {
	if b.scanned += len(p); b.scanned > maxScanned || len(b.out) >= maxAlternatives {
		return errors.New("the pattern stands for too many others")
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

// firstBrace divides a pattern at its first group; groups may be nested.
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
	end   bool // what a slash at the end stands before: the folder itself
}

// parts divides a pattern. Of several ** in a row one is enough; a last part
// without a slash behind it is the name of a file, where ** is *.
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

// matches tells whether the part is for a name.
func (p part) matches(name string) bool {
	switch {
	case p.deep, p.end:
		return false
	case p.magic:
		return match(p.text, name)
	}
	return p.text == name
}

// A globber finds the files of a pattern. It goes once through each folder,
// with all the places in the pattern that what it has passed may have come to:
// so a file is found once however many ** could have led there.
type globber struct {
	ctx     context.Context
	folders bool // are wanted, and links that lead nowhere
	parts   []part
	steps   int
	out     []string
}

// walk looks for what the parts from any index of at on match below prefix,
// which is empty or ends with a slash.
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

// step goes on at path, with the parts from any index of next on. kind is what
// is known of it.
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

// list returns what is in a folder, by its names. One that cannot be read is
// as if it were empty.
func (g *globber) list(dir string) ([]fs.DirEntry, error) {
	// A pipe of that name must not make anybody wait.
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
			break // at the end, or what comes cannot be read
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
		return errors.New("the pattern leads to too many files and folders")
	}
	return nil
}

// add adds a number to a sorted list that may have it.
func add(list []int, n int) []int {
	i, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, i, n)
}

// match tells whether a pattern between slashes is for a name, as Ruby has it:
// * and **, ?, [a-z], [!a-z] and [^a-z], and \ before what is itself. A
// bracket or brace that is not closed is for no name.
func match(pattern, name string) bool {
	if name[0] == '.' && pattern[0] != '.' && !strings.HasPrefix(pattern, `\.`) {
		return false
	}
	var star, rest string // behind the last *, and what of the name that was tried with
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

// bracket tells whether the first character of s is one of those before the
// next ] of p, and returns what comes after that.
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
