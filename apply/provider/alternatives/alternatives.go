// Package alternatives applies resources of the types alternatives and alternative_entry. A generic name such as editor
// stands for one program, and alternative entries are the programs that it can stand for.
//
// The rules come from the module puppet-alternatives. The names are read and changed with update-alternatives(1), and
// with alternatives(8) on systems of the Red Hat family.
package alternatives

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/safetext"
)

const limit = 5 * time.Minute

// A system is the program that manages alternatives on a host.
type system struct {
	tool.Tool
	redhat bool
}

// systemOf returns the system of a host. Only systems of the Red Hat family have a program alternatives.
func systemOf(h *resource.Host) *system {
	const hint = "Install the package dpkg, or chkconfig on systems of the Red Hat family"
	if h.Find("alternatives") != "" {
		return &system{tool.Tool{Name: "alternatives", Hint: hint, Limit: limit}, true}
	}
	return &system{tool.Tool{Name: "update-alternatives", Hint: hint, Limit: limit}, false}
}

// A group is a generic name with its state.
type group struct {
	known   bool
	manual  bool
	current string // the path that the name stands for; "" for none
	link    string // the generic path, such as /usr/bin/editor
	choices map[string]choice
}

type choice struct{ priority, family string }

// all returns the names with their modes and paths. The choices and links are missing.
func (s *system) all(ctx context.Context, h *resource.Host) (map[string]group, error) {
	text, err := s.Query(ctx, h, "--get-selections")
	if err != nil {
		return nil, err
	}
	groups := make(map[string]group)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[1] != "auto" && f[1] != "manual" {
			return nil, fmt.Errorf("update-alternatives printed %q, which is not a name with its mode", safetext.Message(line))
		}
		g := group{known: true, manual: f[1] == "manual"}
		if len(f) > 2 {
			g.current = f[2]
		}
		groups[f[0]] = g
	}
	return groups, nil
}

// directories have a file for each name: those of dpkg, and of the Red Hat family.
var directories = []string{"/var/lib/dpkg/alternatives", "/var/lib/alternatives"}

// watches returns the sources of events of a name: its link, and its files.
func watches(h *resource.Host, name string) []resource.Watch {
	list := resource.Paths(h.Path("/etc/alternatives/" + name))
	for _, dir := range directories {
		list = append(list, resource.Watch{Path: h.Path(dir + "/" + name)})
	}
	return list
}

// query returns the state of one name. A name that does not exist is not an error.
func (s *system) query(ctx context.Context, h *resource.Host, name string) (group, error) {
	arg := "--query"
	if s.redhat {
		arg = "--display"
	}
	out, err := s.Run(ctx, h, &resource.Command{Argv: []string{arg, name}})
	switch {
	case err != nil || out.Code == 2 && !s.redhat:
		return group{}, err
	case s.redhat && out.Code != 0:
		if _, exists, err := textfile.Read(ctx, h.Path("/var/lib/alternatives/"+name)); err != nil || !exists {
			return group{}, err
		}
	}
	if err := out.Failure(s.Name); err != nil {
		return group{}, err
	}
	if !s.redhat {
		return parseQuery(string(out.Stdout))
	}
	g, err := parseDisplay(string(out.Stdout))
	if err == nil && g.known {
		var text string
		text, _, err = textfile.Read(ctx, h.Path("/var/lib/alternatives/"+name))
		if lines := strings.SplitN(text, "\n", 3); len(lines) == 3 {
			g.link = lines[1]
		}
	}
	return g, err
}

// parseQuery reads the output of update-alternatives --query.
func parseQuery(text string) (g group, err error) {
	g.choices = make(map[string]choice)
	at := ""
	for line := range strings.Lines(text) {
		key, value, is := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch {
		case !is:
		case key == "Name":
			g.known = true
		case key == "Link":
			g.link = value
		case key == "Status":
			g.manual = value == "manual"
		case key == "Value" && value != "none":
			g.current = value
		case key == "Alternative":
			at = value
		case key == "Priority":
			g.choices[at] = choice{priority: strings.TrimSpace(value)}
		}
	}
	if !g.known || g.link == "" {
		return g, fmt.Errorf("update-alternatives printed %q, which has no name", safetext.Message(text))
	}
	return g, nil
}

// parseDisplay reads the output of alternatives --display. A name that does not exist has an empty output.
func parseDisplay(text string) (g group, err error) {
	if strings.TrimSpace(text) == "" {
		return g, nil
	}
	g.choices = make(map[string]choice)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if status, is := cutAfter(line, " status is "); is {
			g.known, g.manual = true, strings.HasPrefix(status, "manual")
		}
		if current, is := cutAfter(line, " link currently points to "); is {
			g.current = current
		}
		// PATH - priority 10, or PATH - family NAME priority 10
		if file, rest, is := strings.Cut(line, " - "); is && strings.HasPrefix(file, "/") {
			f := strings.Fields(rest)
			switch {
			case len(f) == 2 && f[0] == "priority":
				g.choices[file] = choice{priority: f[1]}
			case len(f) == 4 && f[0] == "family" && f[2] == "priority":
				g.choices[file] = choice{priority: f[3], family: f[1]}
			}
		}
	}
	if !g.known {
		err = fmt.Errorf("alternatives printed %q, which has no status", safetext.Message(text))
	}
	return g, err
}

func cutAfter(line, sep string) (string, bool) {
	_, after, is := strings.Cut(line, sep)
	return after, is
}

// word checks a name, which becomes an argument and the name of a file.
func word(f *resource.Fields, param, text string) string {
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "/ \t\r\n") {
		f.RefuseValue(param, "must be a word without spaces and slashes that does not begin with -", text)
	}
	return text
}

func absolute(f *resource.Fields, param, text string) string {
	if !path.IsAbs(text) || strings.ContainsAny(text, "\r\n") {
		f.RefuseValue(param, "must be an absolute path", text)
	}
	return text
}

// Type returns the type alternatives.
func Type() resource.Type { return selections{} }

type selections struct{}

// A selection is a resource of the type alternatives.
type selection struct {
	name string
	path string // an absolute path, or a family of the Red Hat tool; "" if it is not managed
	mode string // auto, manual, or "" if it is not managed
	is   group
}

// New implements resource.Type.
func (selections) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &selection{path: f.Text("path", ""), mode: f.Text("mode", "")}
	x.name = word(&f, "name", f.Text("name", r.Title))
	switch {
	case x.mode == "auto" && x.path != "":
		f.Refuse("mode", "cannot be auto, because path is given")
	case x.mode == "manual" && x.path == "":
		f.Refuse("mode", "cannot be manual without path")
	case x.mode != "" && x.mode != "auto" && x.mode != "manual":
		f.RefuseValue("mode", "must be auto or manual", x.mode)
	case strings.HasPrefix(x.path, "-") || strings.ContainsAny(x.path, " \t\r\n"):
		f.RefuseValue("path", "must be an absolute path", x.path)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *selection) Read(ctx context.Context, h *resource.Host) error {
	return selections{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. One query reads all names, except on systems of the Red Hat family.
func (selections) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	s := systemOf(h)
	if !s.redhat {
		return tool.ReadAll(items, func() (map[string]group, error) { return s.all(ctx, h) }, func(x *selection, all map[string]group) error {
			x.is = all[x.name]
			if x.path != "" && !path.IsAbs(x.path) {
				return &resource.ParamError{Param: "path", Problem: "must be an absolute path: only systems of the Red Hat family have families"}
			}
			return nil
		})
	}
	errs := make([]error, len(items))
	for i, item := range items {
		x := item.(*selection)
		x.is, errs[i] = s.query(ctx, h, x.name)
	}
	return errs
}

// Watch implements resource.Watcher.
func (x *selection) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return watches(h, x.name)
}

// Plan implements resource.Item.
func (x *selection) Plan() (changes []resource.Change, err error) {
	if x.path != "" && x.is.current != x.path && (path.IsAbs(x.path) || x.is.choices[x.is.current].family != x.path) {
		changes = append(changes, resource.Change{Property: "path", Is: x.is.current, Should: x.path})
	}
	mode := "auto"
	if x.is.manual {
		mode = "manual"
	}
	if x.mode != "" && (mode != x.mode || !x.is.known) {
		if !x.is.known {
			mode = ""
		}
		changes = append(changes, resource.Change{Property: "mode", Is: mode, Should: x.mode})
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *selection) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	s := systemOf(h)
	if c.Property == "mode" && x.mode == "auto" {
		return s.Change(ctx, h, "--auto", x.name)
	}
	return s.Change(ctx, h, "--set", x.name, x.path)
}
