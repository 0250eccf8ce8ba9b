package sshkey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"bolt/apply/provider/login"
	"bolt/apply/provider/record"
	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

type authorized struct {
	*record.Store
	mu sync.Mutex
	// unnamed are the keys without a comment of each file, as they were first seen. Their numbers are part of the
	// names of resources, and so must not change when one of them is removed.
	unnamed map[string][]string
}

// Authorized returns the type ssh_authorized_key.
func Authorized() resource.Type {
	a := &authorized{unnamed: make(map[string][]string)}
	a.Store = &record.Store{Format: record.Format{Parse: a.parse, Line: authorizedLine, Mode: 0o600}}
	return a
}

// An option is a name, or a name with a value in quotes.
var option = lazyregexp.New(`^[-\w]+(?:="(.*)")?$`)

var optionStart = lazyregexp.New(`^[-\w]`)

// validOption reports whether a text is one option, as OpenSSH reads it.
func validOption(text string) bool {
	m := option().FindStringSubmatch(text)
	// A quote in the value stands after a backslash.
	return m != nil && !strings.ContainsAny(text, "\r\n") && !strings.Contains(strings.ReplaceAll(m[1], `\"`, ""), `"`) && !strings.HasSuffix(m[1], `\`)
}

// New implements resource.Type.
func (a *authorized) New(r *resource.Resource) (resource.Item, error) {
	i := &record.Item{Store: a.Store, Type: "ssh_authorized_key", Name: r.Title}
	name, given, err := r.Text("name")
	if err != nil {
		return nil, err
	}
	if given {
		i.Name = name
	}
	if i.Name == "" || strings.ContainsAny(i.Name, "\r\n") || strings.TrimSpace(i.Name) != i.Name {
		return nil, &resource.ParamError{Param: "name", Problem: "must be one line without blanks around it" + r.Shown("name", i.Name)}
	}
	ensure, _, err := r.Text("ensure")
	if err != nil {
		return nil, err
	}
	i.Absent = ensure == "absent"
	if err := wanted(i, r); err != nil {
		return nil, err
	}
	p := owner{}
	if p.user, _, err = r.Text("user"); err != nil {
		return nil, err
	}
	if p.target, _, err = r.Text("target"); err != nil {
		return nil, err
	}
	switch {
	case p.user == "" && p.target == "":
		return nil, errors.New("one of the parameters user and target is needed")
	case p.target != "" && !strings.HasPrefix(p.target, "/"):
		return nil, &resource.ParamError{Param: "target", Problem: "must be an absolute path" + r.Shown("target", p.target)}
	}
	drop, err := r.Bool("drop_privileges", true)
	if err != nil {
		return nil, err
	}
	p.trust = !drop
	i.Places, i.Written = p.places, p.own
	return i, nil
}

func wanted(i *record.Item, r *resource.Resource) error {
	typ, given, err := r.Text("type")
	if err != nil {
		return err
	}
	if given {
		if typ, err = keyType(typ, slices.Concat(keyTypes, certTypes)); err != nil {
			return err
		}
		i.Want = append(i.Want, record.Property{Name: "type", Value: typ})
	}
	key, given, err := keyText(r)
	if err != nil {
		return err
	}
	if given {
		i.Want = append(i.Want, record.Property{Name: "key", Value: key})
	}
	options, _, err := r.Texts("options")
	if err != nil {
		return err
	}
	if len(options) == 1 && options[0] == "absent" {
		options = nil
	}
	for _, o := range options {
		if !validOption(o) {
			problem := "must be a list of options of the form name or name=\"value\""
			if !r.Secret("options") {
				problem += fmt.Sprintf(", and has %q", o)
			}
			return &resource.ParamError{Param: "options", Problem: problem}
		}
	}
	// A key has no options unless the resource has some.
	i.Want = append(i.Want, record.Property{Name: "options", Value: strings.Join(options, ",")})
	return nil
}

// An owner is the user of a key and the file of the key.
type owner struct {
	user, target string
	trust        bool // that nobody else can change the directories of the file
}

func (o *owner) places(ctx context.Context, h *resource.Host) ([]record.Place, error) {
	if o.user == "" {
		return []record.Place{{Path: o.target, Refuse: errors.New("the parameter user is needed to change the file")}}, nil
	}
	id, home, err := find(ctx, h, o.user)
	if err != nil {
		return nil, err
	}
	p := record.Place{Path: o.target}
	if o.target == "" {
		if home == "" {
			return nil, fmt.Errorf("the user %q has no home directory", o.user)
		}
		p.Path = h.Path(filepath.Join(home, ".ssh/authorized_keys"))
	}
	if o.trust {
		p.Refuse = trusted(filepath.Dir(p.Path))
	} else {
		p.As = id
	}
	return []record.Place{p}, nil
}

// trusted returns an error unless only the user of this process can change a directory and those above it.
// The topmost directory is not checked, as in Puppet.
func trusted(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	for ; err == nil && len(filepath.Dir(dir)) > 1; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		st, is := info.Sys().(*syscall.Stat_t)
		if !is || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("drop_privileges is false, but other users can change the directory %s", dir)
		}
	}
	return err
}

// own gives a file that root has written to its user.
func (o *owner) own(ctx context.Context, h *resource.Host, path string) error {
	if !o.trust {
		return nil
	}
	id, _, err := find(ctx, h, o.user)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(f.Chown(id.UID, id.GID), f.Chmod(0o600))
}

// parse reads the lines of a file. A key without a comment is named by the file and by its number.
func (a *authorized) parse(path string, lines []string) []record.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	records := make([]record.Record, len(lines))
	used := make(map[int]bool)
	for i, l := range lines {
		r, ok := parseKey(strings.TrimRight(l, "\r"))
		if !ok {
			continue
		}
		if r.Name == "" {
			r.Name = fmt.Sprintf("%s:unnamed-%d", path, a.number(path, l, used))
			r.Values["unnamed"] = "true"
		}
		records[i] = r
	}
	return records
}

// number is that of a key without a comment. Equal keys have one number, but each of them counts.
func (a *authorized) number(path, line string, used map[int]bool) int {
	first := slices.Index(a.unnamed[path], line)
	for i, l := range a.unnamed[path] {
		if l == line && !used[i] {
			used[i] = true
			return first + 1
		}
	}
	used[len(a.unnamed[path])] = true
	a.unnamed[path] = append(a.unnamed[path], line)
	if first >= 0 {
		return first + 1
	}
	return len(a.unnamed[path])
}

func parseKey(l string) (record.Record, bool) {
	if text := strings.TrimLeft(l, blanks); text == "" || text[0] == '#' {
		return record.Record{}, false
	}
	options, rest := "", strings.TrimLeft(l, " \t")
	if word, _, _ := strings.Cut(strings.ReplaceAll(rest, "\t", " "), " "); !isKeyType(word) {
		n := optionsEnd(rest)
		options, rest = rest[:n], strings.TrimLeft(rest[n:], " \t")
	}
	fields := strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == '\t' })
	if len(fields) < 2 || !isKeyType(fields[0]) {
		return record.Record{}, false
	}
	list := splitOptions(options)
	if slices.ContainsFunc(list, func(o string) bool { return !optionStart().MatchString(o) }) {
		return record.Record{}, false
	}
	_, comment, _ := strings.Cut(rest, fields[0])
	_, comment, _ = strings.Cut(comment, fields[1])
	return record.Record{
		Name:   strings.Trim(comment, blanks),
		Values: record.Values{"type": fields[0], "key": fields[1], "options": strings.Join(list, ",")},
	}, true
}

func isKeyType(word string) bool {
	return slices.Contains(keyTypes, word) || slices.Contains(certTypes, word) || word == "ecdsa-sk" || word == "ed25519-sk"
}

// optionsEnd is the number of bytes of the options at the start of a line: they end at the first blank that is not
// in quotes.
func optionsEnd(l string) int {
	quoted := false
	for i := 0; i < len(l); i++ {
		switch c := l[i]; {
		case c == '\\' && i+1 < len(l) && l[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
			return i
		}
	}
	return len(l)
}

// splitOptions splits options at the commas that are not in quotes.
func splitOptions(text string) (options []string) {
	quoted, start := false, 0
	add := func(option string) {
		if option = strings.Trim(option, " \t"); option != "" {
			options = append(options, option)
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == ',':
			add(text[start:i])
			start = i + 1
		}
	}
	add(text[start:])
	return options
}

func authorizedLine(r record.Record) (string, error) {
	for _, p := range []string{"type", "key"} {
		if r.Values[p] == "" {
			return "", fmt.Errorf("the parameter %s is needed for a new key", p)
		}
	}
	words := []string{r.Values["options"], r.Values["type"], r.Values["key"], r.Name}
	if r.Values["unnamed"] != "" {
		words[3] = ""
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return strings.Join(words, " "), nil
}

// find returns a user and the home directory of the user.
func find(ctx context.Context, h *resource.Host, name string) (*textfile.Identity, string, error) {
	u, err := login.FindUser(ctx, h, name)
	if err != nil {
		return nil, "", err
	}
	groups, err := login.Groups(ctx, h, u)
	if err != nil {
		return nil, "", err
	}
	id := &textfile.Identity{UID: int(u.UID), GID: int(u.GID)}
	for _, g := range groups {
		id.Groups = append(id.Groups, int(g))
	}
	return id, u.Home, nil
}
