package postgresql

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

type settingsType struct{}

// Conf returns the type postgresql_conf.
func Conf() resource.Type { return settingsType{} }

// A setting is a postgresql_conf: a line of postgresql.conf.
type setting struct {
	key, value, target string
	comment            *string // nil if not given
	absent             bool

	lines []string
	at    int // of the setting; -1 if the file has none
	is    line
}

// A line is a setting in a file.
type line struct {
	key, value, comment string
	quoted              bool // the value is in quotes
}

var (
	keyForm    = lazyregexp.New(`^[\w.]+$`)
	plainValue = lazyregexp.New(`^(\d+\.?\d+|\w+)$`)
	numberForm = lazyregexp.New(`^-?\d+(\.\d+)?$`)
	// openQuote is a value that escapes a quote or the end of its own quotes: an odd number of backslashes is before it.
	openQuote = lazyregexp.New(`(?:^|[^\\])\\(?:\\\\)*(?:'|$)`)
	lineForm  = lazyregexp.New(`^\s*([\w.]+)(?:\s*=\s*|\s+|$)(.*)$`)
)

// New implements resource.Type.
func (settingsType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &setting{key: f.Text("key", ""), value: f.Text("value", ""), target: f.Text("target", ""), comment: optional(&f, "comment"),
		absent: f.Text("ensure", "present") == "absent"}
	if !keyForm().MatchString(x.key) {
		f.RefuseValue("key", "must be the name of a setting, such as max_connections", x.key)
	}
	if !filepath.IsAbs(x.target) || !strings.HasSuffix(x.target, ".conf") {
		f.RefuseValue("target", "must be an absolute path that ends with .conf", x.target)
	}
	if strings.ContainsAny(x.value, "\r\n\x00") || strings.TrimLeft(x.value, " \t") != x.value {
		f.RefuseValue("value", "must be one line, without blanks at its beginning", x.value)
	}
	if openQuote().MatchString(x.value) {
		f.RefuseValue("value", "must not have a single backslash before a quote or at its end, because PostgreSQL could not read the file", x.value)
	}
	if !x.absent && r.Params.Value("value") == nil {
		f.Refuse("value", "must be given")
	}
	if x.comment != nil && strings.ContainsAny(*x.comment, "\r\n\x00") {
		f.RefuseValue("comment", "must be one line", *x.comment)
	}
	return x, f.Err
}

// parseLine reads a line. ok is false for a line without a setting.
func parseLine(text string) (l line, ok bool) {
	m := lineForm().FindStringSubmatch(textfile.Chomp(text))
	if m == nil {
		return l, false
	}
	l.key = m[1]
	rest := m[2]
	if strings.HasPrefix(rest, "'") {
		l.value, rest, l.quoted = quotedValue(rest)
	} else {
		end := strings.IndexByte(rest, '#')
		if end < 0 {
			end = len(rest)
		}
		l.value, rest = strings.TrimSpace(rest[:end]), rest[end:]
	}
	if _, comment, has := strings.Cut(rest, "#"); has {
		l.comment = strings.TrimSpace(comment)
	}
	return l, true
}

// quotedValue reads a value in quotes. A quote in it is written twice, or after a backslash; other backslashes belong to the value.
func quotedValue(text string) (value, rest string, quoted bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\'' && i+1 < len(text) && text[i+1] == '\'', text[i] == '\\' && i+1 < len(text) && text[i+1] == '\'':
			b.WriteByte('\'')
			i++
			continue
		case text[i] == '\\' && i+1 < len(text):
			b.WriteByte(text[i])
			i++
		case text[i] == '\'':
			return b.String(), text[i+1:], true
		}
		b.WriteByte(text[i])
	}
	return b.String(), "", true
}

// text returns the line of the setting.
func (x *setting) text() string {
	key := strings.ToLower(x.key)
	sep, quote := " = ", !plainValue().MatchString(x.value)
	if key == "include" || key == "include_if_exists" {
		sep, quote = " ", true
	}
	value := x.value
	if quote {
		value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	text := key + sep + value
	if x.comment != nil && *x.comment != "absent" {
		text += " # " + *x.comment
	}
	return text + "\n"
}

// Read implements resource.Item. The names of settings have no case.
func (x *setting) Read(ctx context.Context, _ *resource.Host) error {
	text, exists, err := textfile.Read(ctx, x.target)
	if err == nil && !exists {
		err = fmt.Errorf("the file %s does not exist", x.target)
	}
	if err != nil {
		return err
	}
	x.lines, x.at = textfile.Lines(text), -1
	for i, text := range x.lines {
		l, ok := parseLine(text)
		if !ok || !strings.EqualFold(l.key, x.key) {
			continue
		}
		if x.at >= 0 {
			return fmt.Errorf("the file %s has the setting %s more than once", x.target, x.key)
		}
		x.at, x.is = i, l
	}
	return nil
}

// Watch implements resource.Watcher.
func (x *setting) Watch(context.Context, *resource.Host) []resource.Watch {
	return resource.Paths(x.target)
}

// same reports whether the file has the value. As in the module, a number in quotes is not a number.
func (x *setting) same() bool {
	return x.is.value == x.value && !(x.is.quoted && numberForm().MatchString(x.value) && plainValue().MatchString(x.value))
}

// Plan implements resource.Item.
func (x *setting) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && x.at >= 0:
		return resource.Removed("postgresql_conf"), nil
	case x.absent:
		return nil, nil
	case x.at < 0:
		return resource.Created("postgresql_conf"), nil
	}
	if !x.same() {
		changes = append(changes, resource.Change{Property: "value", Is: x.is.value, Should: x.value})
	}
	if x.comment != nil && x.is.comment != strings.TrimSpace(*x.comment) && !(*x.comment == "absent" && x.is.comment == "") {
		changes = append(changes, resource.Change{Property: "comment", Is: x.is.comment, Should: *x.comment})
	}
	return changes, nil
}

// Do implements resource.Item. Another resource can have changed the file since Read, so it is read again.
func (x *setting) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if err := x.Read(ctx, h); err != nil {
		return err
	}
	switch {
	case x.absent && x.at < 0:
		return nil
	case x.absent:
		x.lines = append(x.lines[:x.at], x.lines[x.at+1:]...)
	case x.at < 0:
		if n := len(x.lines); n > 0 {
			x.lines[n-1] = textfile.End(x.lines[n-1])
		}
		x.lines = append(x.lines, x.text())
	case x.lines[x.at] == x.text(): // the change of the other property
		return nil
	default:
		x.lines[x.at] = x.text()
	}
	if err := h.Backup(x.target); err != nil {
		return err
	}
	return textfile.Write(x.target, strings.Join(x.lines, ""), 0o644)
}
