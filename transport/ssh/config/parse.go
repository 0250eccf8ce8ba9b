package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bolt/internal/readfile"
	"bolt/transport/ssh/pattern"
)

const (
	// maxIncludeDepth is OpenSSH's READCONF_MAX_DEPTH.
	maxIncludeDepth = 16
	// maxReads stops files that include each other many times.
	maxReads = 10_000
	// maxBytes is far above any real file. It prevents a device or a wrong path
	// from filling the memory.
	maxBytes = 64 << 20
)

// position is a line of a file.
type position struct {
	file string
	line int
}

func (p position) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// reader reads one file and its includes into blocks.
type reader struct {
	files *Files
	user  bool     // relative includes are in ~/.ssh, not in /etc/ssh
	stack []string // files that are being read, the innermost last
	reads int
	limit error // a file could not be opened or is not text, so no file is used
}

// read appends the blocks of a file. around is the condition of the Include
// that names the file, or nil.
func (r *reader) read(path string, around *condition, checkOwner bool) error {
	if r.reads++; r.reads > maxReads {
		return fmt.Errorf("more than %d included files", maxReads)
	}
	r.files.read.note(path) // before reading: a change in the meantime is detected later
	data, err := readFile(path, checkOwner)
	if readfile.OutOfFiles(err) {
		r.limit = err
	}
	if err != nil {
		return err
	}
	if line := binaryLine(string(data)); line > 0 {
		r.limit = fmt.Errorf("%s: the line has control characters: this is not a text file", position{path, line})
		return r.limit
	}
	r.stack = append(r.stack, path)
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()

	r.parse(path, string(data), around)
	return nil
}

// binaryLine returns the number of the first line, counted from 1, that has a control
// character and is not a comment; 0 if there is none. ssh also refuses such a file.
func binaryLine(text string) int {
	line := 0
	for l := range strings.Lines(text) {
		line++
		if t := strings.TrimLeft(l, space); t != "" && t[0] != '#' && strings.ContainsFunc(strings.TrimRight(t, space+"\f"), isControl) {
			return line
		}
	}
	return 0
}

func isControl(c rune) bool { return c != '\t' && (c < ' ' || c == 0x7f) }

// parse parses the text of a file; see read.
func (r *reader) parse(path, text string, around *condition) {
	when := around
	b := block{when: when}
	line := 0
	for l := range strings.SplitSeq(text, "\n") {
		line++
		at := position{path, line}
		keyword, rest := splitKeyword(l)
		if keyword == "" {
			continue
		}
		if keyword == "host" || keyword == "match" {
			r.add(b)
			when = r.condition(keyword, rest, around, at)
			b = block{when: when}
			continue
		}
		if keyword == "include" {
			r.add(b)
			r.include(rest, when, at)
			b = block{when: when}
			continue
		}
		opt := optionOf(keyword)
		if opt == optNone {
			continue
		}
		s, err := newSetting(opt, rest, at)
		switch {
		case err != nil:
			r.warn(at, keyword, err)
		case s.opt != optNone:
			b.settings = append(b.settings, s)
		}
	}
	r.add(b)
}

func (r *reader) warn(at position, what string, err error) {
	r.files.log.Warn("ssh config line is not used", "at", at.String(), "keyword", what, "reason", err)
	r.files.note("%s: %s: %v", at, what, err)
}

// condition parses a Host or Match line. For an invalid line, the condition
// never holds. So the settings below it apply to no host instead of all hosts.
func (r *reader) condition(keyword, rest string, around *condition, at position) *condition {
	w := &condition{around: around, at: at}
	args, err := splitArgs(rest)
	switch {
	case err != nil:
	case keyword == "host":
		err = w.parseHost(args)
	default:
		err = w.parseMatch(args)
		r.files.final = r.files.final || w.final
	}
	if err != nil {
		w.never = true
		r.warn(at, keyword, err)
	}
	return w
}

// add appends a block and indexes it.
func (r *reader) add(b block) {
	// A Match is evaluated at its position, even if no setting follows before
	// the next Include. So its first block is stored.
	if len(b.settings) == 0 && (b.when == nil || b.when.hosts != nil) {
		return
	}
	c := r.files
	i := len(c.blocks)
	c.blocks = append(c.blocks, b)
	names := b.when.plainNames()
	if names == nil {
		c.general = append(c.general, i)
		return
	}
	for _, n := range names {
		if list := c.byName[n]; len(list) == 0 || list[len(list)-1] != i {
			c.byName[n] = append(list, i)
		}
	}
}

// include reads the files of an Include line.
func (r *reader) include(rest string, when *condition, at position) {
	args, err := splitArgs(rest)
	if err == nil && len(args) == 0 {
		err = errNoArgument
	}
	if err != nil {
		r.warn(at, "include", err)
		return
	}
	for _, a := range args {
		paths, err := r.includePaths(a)
		if err != nil {
			r.warn(at, "include", err)
			continue
		}
		for _, p := range paths {
			err := r.readIncluded(p, when)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EISDIR) {
				r.warn(at, "include", err)
			}
		}
	}
}

func (r *reader) readIncluded(path string, when *condition) error {
	switch {
	case slices.Contains(r.stack, path):
		return fmt.Errorf("%s includes itself", path)
	case len(r.stack) > maxIncludeDepth:
		return fmt.Errorf("%s: more than %d levels of Include", path, maxIncludeDepth)
	}
	return r.read(path, when, true)
}

// includePaths expands one argument of Include as glob(3) does: sorted, and
// without matching a leading dot by a wildcard.
func (r *reader) includePaths(arg string) ([]string, error) {
	if arg == "" {
		return nil, errNoArgument
	}
	p, err := expandText(arg, true, r.files.local, func(token byte) (string, error) {
		return r.files.local.token(token)
	})
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(p, "~"):
		if !r.user {
			return nil, fmt.Errorf("%s: no ~ in a system-wide file", p)
		}
		if p, err = r.files.local.tilde(p); err != nil {
			return nil, err
		}
	case !filepath.IsAbs(p) && r.user:
		p = r.files.local.home + "/.ssh/" + p
	case !filepath.IsAbs(p):
		p = "/etc/ssh/" + p
	}
	p = strings.ReplaceAll(filepath.Clean(p), "[!", "[^")
	found, err := globFiles(p)
	if err != nil {
		return nil, err
	}
	r.files.read.globs = append(r.files.read.globs, globRead{p, found})
	return found, nil
}

func globFiles(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	found = slices.DeleteFunc(found, func(f string) bool { return !globVisible(pattern, f) })
	slices.Sort(found)
	return found, nil
}

// globVisible reports whether the pattern contains the leading dot of each
// element of path that begins with one.
func globVisible(pattern, path string) bool {
	want := strings.Split(pattern, "/")
	for i, have := range strings.Split(path, "/") {
		if strings.HasPrefix(have, ".") && i < len(want) && !strings.HasPrefix(want[i], ".") {
			return false
		}
	}
	return true
}

// readFile returns the content of a file. With checkOwner it refuses a file
// that other users could have written, because the file can contain commands.
func readFile(path string, checkOwner bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxBytes)
	}
	if checkOwner {
		if err := checkOwnership(path, info); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(path)
}

// checkOwnership requires that the file belongs to this user or root, and that
// no other user can write it. The owner's private group (with the owner's name)
// may write it, because some systems create home directories with such groups.
func checkOwnership(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode := info.Mode().Perm()
	refuse := func(why string) error {
		return fmt.Errorf("%s: %s: %w (chmod go-w, or chown it)", path, why, fs.ErrPermission)
	}
	switch {
	case st.Uid != 0 && int(st.Uid) != os.Getuid():
		return refuse("it belongs to another user")
	case mode&0o002 != 0:
		return refuse("all users may write it")
	case mode&0o020 != 0:
		owner, errOwner := user.LookupId(strconv.Itoa(int(st.Uid)))
		group, errGroup := user.LookupGroupId(strconv.Itoa(int(st.Gid)))
		if errOwner != nil || errGroup != nil || owner.Username != group.Name {
			return refuse("its group may write it")
		}
	}
	return nil
}

const space = " \t\r\n"

// splitKeyword returns the lower-case keyword of a line, and the rest after
// white space and an optional "=". It returns "" for a blank line or a comment.
func splitKeyword(line string) (keyword, rest string) {
	line, _, _ = strings.Cut(line, "\x00")
	line = strings.TrimRight(line, space+"\f")
	line = strings.TrimLeft(line, space)
	if line == "" || line[0] == '#' {
		return "", ""
	}
	i := strings.IndexAny(line, space+`="`)
	if i < 0 {
		return pattern.Lower(line), ""
	}
	keyword, rest = pattern.Lower(line[:i]), strings.TrimLeft(line[i:], space)
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), space)
	return keyword, rest
}

var (
	errQuotes     = errors.New("a quote is not closed")
	errNoArgument = errors.New("an argument is missing")
)

// splitArgs splits arguments at white space. It handles '…' and "…", a \ before
// a quote, a backslash or a space, and a comment at the start of a word.
func splitArgs(s string) ([]string, error) {
	var args []string
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || s[i] == '\t' {
			continue
		}
		if s[i] == '#' {
			break
		}
		var word []byte
		quote := byte(0)
	word:
		for ; i < len(s); i++ {
			c := s[i]
			switch {
			case c == '\\' && i+1 < len(s) && (strings.IndexByte(`'"\`, s[i+1]) >= 0 || quote == 0 && s[i+1] == ' '):
				i++
				word = append(word, s[i])
			case quote == 0 && (c == ' ' || c == '\t'):
				break word
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			default:
				word = append(word, c)
			}
		}
		if quote != 0 {
			return nil, errQuotes
		}
		args = append(args, string(word))
	}
	return args, nil
}
