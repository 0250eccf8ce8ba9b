// Package augeas applies resources of the type augeas: changes of the trees that augeas makes of configuration files.
//
// The rules are those of the module augeas_core. The trees are read and changed with augtool(1), because the libraries
// of augeas need C. augeas itself replaces files as a whole, and it does not change a file that it cannot read.
package augeas

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
	"bolt/internal/regexp"
)

// Type returns the type augeas.
func Type() resource.Type { return augeasType{} }

type augeasType struct{}

// An item is one augeas resource.
type item struct {
	r          *resource.Resource
	context    string // "" or with a slash at the end
	onlyIf     *command
	pattern    *regexp.Regexp // of onlyIf with =~
	changes    []command
	root       string
	loadPath   []string
	force      bool
	typeCheck  bool
	lens, incl string
	showDiff   bool
	secret     bool // the changes are not shown

	needed bool   // Read: the changes would change files, or are forced
	diff   string // of the files
}

// New implements resource.Type.
func (augeasType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r:         r,
		context:   f.Text("context", ""),
		root:      f.Text("root", "/"),
		force:     f.Bool("force", false),
		typeCheck: f.Bool("type_check", false),
		lens:      f.Text("lens", ""),
		incl:      f.Text("incl", ""),
		showDiff:  f.Bool("show_diff", true),
		secret:    r.Secret("changes") || r.Secret("onlyif") || r.Secret("context"),
	}
	if x.context == "" && x.incl != "" {
		x.context = "/files" + x.incl
	}
	if x.context != "" && !strings.HasSuffix(x.context, "/") {
		x.context += "/"
	}
	for _, dirs := range f.Texts("load_path") {
		x.loadPath = append(x.loadPath, strings.FieldsFunc(dirs, func(r rune) bool { return r == ':' })...)
	}
	if (x.lens == "") != (x.incl == "") {
		f.Refuse("lens", "must be used together with incl")
	}
	if !filepath.IsAbs(x.root) {
		f.RefuseValue("root", "must be an absolute path", x.root)
	}
	x.changes = x.parse(&f, "changes", false)
	if list := x.parse(&f, "onlyif", true); len(list) > 0 {
		x.onlyIf = &list[0]
		x.checkCondition(&f)
	}
	return x, f.Err
}

// parse reads the lines of a parameter.
func (x *item) parse(f *resource.Fields, param string, condition bool) (list []command) {
	for _, text := range f.Texts(param) {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			c, err := parse(line, x.context)
			isCondition := strings.Contains(conditions, " "+c.name+" ")
			switch {
			case err == nil && isCondition != condition:
				f.Refuse(param, fmt.Sprintf("has the command %s, which it cannot have", c.name))
			case err == nil && (c.name == "ins" || c.name == "insert") && c.args[1] != "before" && c.args[1] != "after":
				f.Refuse(param, "has the command ins, which needs before or after")
			case err != nil && x.secret:
				f.Refuse(param, "has a command that is not understood; its value is secret")
			case err != nil:
				f.Refuse(param, err.Error())
			}
			list = append(list, c)
		}
	}
	return list
}

// checkCondition checks the second part of onlyif.
func (x *item) checkCondition(f *resource.Fields) {
	c := x.onlyIf
	switch c.name {
	case "get":
		if len(c.args) == 3 && c.args[1] == "=~" {
			var err error
			if x.pattern, err = regexp.Compile(c.args[2]); err != nil {
				f.Refuse("onlyif", "has a pattern that is not a regular expression")
			}
		}
	case "match", "values":
		if len(c.args) < 2 {
			return
		}
		clause, err := parse(c.args[1], x.context)
		switch {
		case err != nil && !x.secret:
			f.Refuse("onlyif", err.Error())
		case err != nil || !slices.Contains([]string{"size", "include", "not_include", "==", "!="}, clause.name) || c.name == "values" && clause.name == "size":
			f.Refuse("onlyif", "has a condition that is not understood after "+c.name)
		case clause.name == "==" || clause.name == "!=":
			if _, err := array(clause.args[0]); err != nil {
				f.Refuse("onlyif", err.Error())
			}
		case clause.name == "size" && clause.args[0] == "=~":
			f.Refuse("onlyif", "has a size, which cannot be compared with =~")
		}
	default:
		f.Refuse("onlyif", "must begin with get, match or values")
	}
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	x.needed, x.diff = false, ""
	if x.onlyIf != nil {
		if holds, err := x.holds(ctx, h); err != nil || !holds {
			return err
		}
	}
	if x.force {
		x.needed = true
		return nil
	}
	files, removed, err := x.try(ctx, h)
	if err != nil {
		return err
	}
	x.needed = len(files) > 0
	if x.needed && !removed && h.Diffs && x.showDiff && !x.secret {
		return x.compare(ctx, h)
	}
	return nil
}

// Watch implements resource.Watcher. With incl, augeas reads one file. Without, and if incl is a pattern, it can read many. With force, each
// check changes the file, so its events would not end.
func (x *item) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	if x.incl == "" || x.force || strings.ContainsAny(x.incl, "*?[\\") {
		return []resource.Watch{{Poll: true}}
	}
	return resource.Paths(h.Path(filepath.Join(x.root, x.incl)))
}

// holds reports whether the condition of onlyif is true.
func (x *item) holds(ctx context.Context, h *resource.Host) (bool, error) {
	s := x.begin()
	s.mark()
	query := "match"
	if x.onlyIf.name == "get" {
		query = "get"
	}
	s.add(query, x.onlyIf.args[0])
	s.mark()
	a, err := x.run(ctx, h, s, false)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return false, err
	}
	if query == "get" {
		value, _ := strings.CutPrefix(strings.TrimSuffix(a.parts[1], "\n"), x.onlyIf.args[0]+" = ")
		if value == strings.TrimSuffix(a.parts[1], "\n") { // there is no value
			value = ""
		}
		return x.get(value)
	}
	list, values := matches(a.parts[1])
	if x.onlyIf.name == "values" {
		list = values
	}
	return x.match(list), nil
}

var numeric = lazyregexp.New(`^[+-]?\d+(\.\d+)?$`)

// get compares a value. Numbers are compared as such, and other texts by their characters.
func (x *item) get(value string) (bool, error) {
	op, want := x.onlyIf.args[1], x.onlyIf.args[2]
	if op == "=~" {
		return x.pattern.Match(value)
	}
	order := strings.Compare(value, want)
	if op != "==" && op != "!=" && numeric().MatchString(value) && numeric().MatchString(want) {
		a, _ := strconv.ParseFloat(value, 64)
		b, _ := strconv.ParseFloat(want, 64)
		order = cmp.Compare(a, b)
	}
	return compared(op, order), nil
}

// compared reports whether an operator is true for the order of two values.
func compared(op string, order int) bool {
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// match compares the paths, or the values, that were found.
func (x *item) match(found []string) bool {
	clause, _ := parse(x.onlyIf.args[1], x.context) // New has checked it
	switch clause.name {
	case "size":
		n, _ := strconv.Atoi(clause.args[1])
		return compared(clause.args[0], cmp.Compare(len(found), n))
	case "include":
		return slices.Contains(found, clause.args[0])
	case "not_include":
		return !slices.Contains(found, clause.args[0])
	}
	want, _ := array(clause.args[0])
	return slices.Equal(found, want) == (clause.name == "==")
}

// edit adds the changes and the save to a script. The mode is set after the changes, because they can also set it.
func (x *item) edit(s *script, mode string) {
	for _, c := range x.changes {
		name := c.name
		if n := augtoolNames[name]; n != "" {
			name = n
		}
		s.add(name, c.args...)
	}
	s.add("set", "/augeas/save", mode)
	s.add("save")
}

// try makes the changes in memory. It returns the files that they would change; removed is set if one of them
// would be removed.
func (x *item) try(ctx context.Context, h *resource.Host) (files []string, removed bool, err error) {
	s := x.begin()
	s.mark()
	switch {
	case x.incl != "":
		s.add("match", "/augeas//error")
	case x.simple():
		s.add("match", "/augeas"+strings.TrimSuffix(x.context, "/")+"/error")
	}
	s.mark()
	x.edit(s, "noop")
	s.mark()
	s.add("match", "/augeas/events/saved")
	s.mark()
	s.add("errors")
	s.mark()
	a, err := x.run(ctx, h, s, false)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return nil, false, err
	}
	if errs, _ := matches(a.parts[1]); len(errs) > 0 {
		h.Logf(x.r.Ref, report.Warning, "augeas cannot read a file, so it is left out: %s", errs[0])
	}
	_, files = matches(a.parts[3])
	if len(files) == 0 || !slices.ContainsFunc(x.changes, func(c command) bool { return strings.HasPrefix(c.name, "r") || strings.HasPrefix(c.name, "m") }) {
		return files, false, nil
	}
	removed, err = x.removes(ctx, h, files)
	return files, removed, err
}

// removes reports whether the changes remove one of the files.
func (x *item) removes(ctx context.Context, h *resource.Host, files []string) (bool, error) {
	s := x.begin()
	x.edit(s, "noop")
	for _, f := range files {
		s.mark()
		s.add("match", f)
	}
	s.mark()
	a, err := x.run(ctx, h, s, false)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(a.parts[1:len(a.parts)-1], func(part string) bool {
		paths, _ := matches(part)
		return len(paths) == 0
	}), nil
}

// disk returns the path of a file of augeas, such as /files/etc/hosts.
func (x *item) disk(h *resource.Host, file string) string {
	file = strings.NewReplacer(`\ `, " ", `\`, "").Replace(strings.TrimPrefix(file, "/files"))
	return h.Path(filepath.Join(x.root, file))
}

// compare makes the difference of the files. augeas writes the new ones beside them, with the ending .augnew.
func (x *item) compare(ctx context.Context, h *resource.Host) error {
	s := x.begin()
	x.edit(s, "newfile")
	s.mark()
	s.add("match", "/augeas/events/saved")
	s.mark()
	a, err := x.run(ctx, h, s, false)
	if err != nil {
		return err
	}
	if a.err != nil {
		return a.err
	}
	_, files := matches(a.parts[1])
	for _, f := range files {
		path := x.disk(h, f)
		text, err := os.ReadFile(path + ".augnew")
		if err != nil {
			continue // the difference is only for people
		}
		old, _ := os.ReadFile(path) // a new file has none
		d := diff.Diff(path, old, path, text)
		if _, unified, found := bytes.Cut(d, []byte("\n")); found { // the first line is a command
			x.diff += string(unified)
		}
		if err := os.Remove(path + ".augnew"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	if !x.needed {
		return nil, nil
	}
	c := resource.Change{Property: "returns", Is: "need_to_run", Should: "0", Message: "executed successfully"}
	if x.diff != "" {
		c.Diff = func() string { return x.diff }
	}
	return []resource.Change{c}, nil
}

// Do implements resource.Item. The changes are tried first: if one of them fails, no file is changed.
func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	files, _, err := x.try(ctx, h)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := x.disk(h, f)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := h.Backup(path); err != nil {
			return err
		}
	}
	s := x.begin()
	x.edit(s, "overwrite")
	s.add("errors")
	a, err := x.run(ctx, h, s, true)
	if err != nil {
		return err
	}
	return a.err
}
