package selinux

import (
	"context"
	"path"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

type fcontexts struct{}

// Fcontext returns the type selinux_fcontext.
func Fcontext() resource.Type { return fcontexts{} }

// A fcontext is a resource of the type selinux_fcontext.
type fcontext struct {
	spec, kind       string // kind is a letter, as for semanage -f
	seltype, seluser string
	absent           bool
	is               label
	err              error // of the change of the type
}

// A label is the context of files. seltype is <<none>> for files that get no context, and "" for a missing label.
// A local label is from semanage, not from the policy.
type label struct {
	seluser, seltype string
	local            bool
}

// New implements resource.Type.
func (fcontexts) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &fcontext{spec: f.Text("pathspec", ""), kind: f.Text("file_type", "a"), seluser: f.Word("seluser", "", ""), seltype: f.Word("seltype", "", ""), absent: f.Text("ensure", "present") == "absent"}
	if x.spec == "" || strings.HasPrefix(x.spec, "-") || strings.ContainsAny(x.spec, " \t\r\n") {
		f.RefuseValue("pathspec", "must be a regular expression for paths, without spaces", x.spec)
	}
	if len(x.kind) != 1 || !strings.Contains("abcdflps", x.kind) {
		f.RefuseValue("file_type", "must be a, b, c, d, f, l, p or s", x.kind)
	}
	if x.seltype == "" && !x.absent {
		f.Refuse("seltype", "must be given")
	}
	for _, p := range []string{"selrole", "selrange"} {
		if r.Params.Value(p) != nil {
			f.Refuse(p, "cannot be set by semanage")
		}
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *fcontext) Read(ctx context.Context, h *resource.Host) error {
	return fcontexts{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. It reads the files of the policy and of local definitions, which win.
func (fcontexts) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() (map[[2]string]label, error) {
		all := make(map[[2]string]label)
		for _, name := range []string{"file_contexts", "file_contexts.local"} {
			file, err := contexts(ctx, h, name)
			if err != nil {
				return nil, err
			}
			text, _, err := textfile.Read(ctx, file)
			if err != nil {
				return nil, err
			}
			parseContexts(text, name == "file_contexts.local", all)
		}
		return all, nil
	}, func(x *fcontext, all map[[2]string]label) error {
		x.is = all[[2]string{x.spec, x.kind}]
		return nil
	})
}

// parseContexts reads lines with a pattern, sometimes a kind of files such as -d, and a context, as file_contexts(5) describes them.
func parseContexts(text string, local bool, all map[[2]string]label) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || len(f) > 3 || strings.HasPrefix(f[0], "#") {
			continue
		}
		kind := "a"
		if len(f) == 3 {
			if len(f[1]) != 2 || f[1][0] != '-' {
				continue
			}
			if kind = f[1][1:]; kind == "-" {
				kind = "f"
			}
		}
		l := label{seltype: "<<none>>", local: local}
		if text := f[len(f)-1]; text != l.seltype {
			parts := strings.Split(text, ":")
			if len(parts) < 3 {
				continue
			}
			l = label{parts[0], parts[2], local}
		}
		all[[2]string{f[0], kind}] = l
	}
}

// Watch implements resource.Watcher.
func (x *fcontext) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return watches(ctx, h)
}

// Plan implements resource.Item. semanage cannot remove a definition of the policy. So with ensure => absent, such a definition
// counts as absent.
func (x *fcontext) Plan() ([]resource.Change, error) {
	changes := resource.Ensure("selinux_fcontext", x.is.seltype != "" && (x.is.local || !x.absent), x.absent)
	if changes != nil || x.absent {
		return changes, nil
	}
	if x.is.seltype != x.seltype {
		changes = append(changes, resource.Change{Property: "seltype", Is: x.is.seltype, Should: x.seltype})
	}
	if x.seluser != "" && x.is.seluser != x.seluser {
		changes = append(changes, resource.Change{Property: "seluser", Is: x.is.seluser, Should: x.seluser})
	}
	return changes, nil
}

// Do implements resource.Item. One call of semanage makes all changes of a definition.
func (x *fcontext) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	args := []string{"fcontext", "-a", "-t", x.seltype, "-f", x.kind}
	switch {
	case x.absent:
		args[1], args[3] = "-d", x.is.seltype
	case c.Property == "seluser" && x.is.seltype != x.seltype:
		return x.err // made together with the type
	case c.Property != "ensure":
		args[1] = "-m"
	}
	if x.seluser != "" {
		args = append(args, "-s", x.seluser)
	}
	x.err = semanage().Change(ctx, h, append(args, x.spec)...)
	return x.err
}

type equivalences struct{}

// Equivalence returns the type selinux_fcontext_equivalence.
func Equivalence() resource.Type { return equivalences{} }

// An equivalence is a resource of the type selinux_fcontext_equivalence: files below path get the contexts of
// the files below target.
type equivalence struct {
	path, target string
	absent       bool
	is           string
}

// New implements resource.Type.
func (equivalences) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &equivalence{path: f.Word("path", f.Text("name", r.Title), ""), target: f.Word("target", "", ""), absent: f.Text("ensure", "present") == "absent"}
	if !path.IsAbs(x.path) {
		f.RefuseValue("path", "must be an absolute path", x.path)
	}
	if !path.IsAbs(x.target) && !(x.absent && x.target == "") {
		f.RefuseValue("target", "must be an absolute path", x.target)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *equivalence) Read(ctx context.Context, h *resource.Host) error {
	return equivalences{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (equivalences) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() (map[string]string, error) {
		file, err := contexts(ctx, h, "file_contexts.subs")
		if err != nil {
			return nil, err
		}
		text, _, err := textfile.Read(ctx, file)
		all := make(map[string]string)
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) == 2 && !strings.HasPrefix(f[0], "#") {
				all[f[0]] = f[1]
			}
		}
		return all, err
	}, func(x *equivalence, all map[string]string) error {
		x.is = all[x.path]
		return nil
	})
}

// Watch implements resource.Watcher.
func (x *equivalence) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return watches(ctx, h)
}

// Plan implements resource.Item.
func (x *equivalence) Plan() ([]resource.Change, error) {
	changes := resource.Ensure("selinux_fcontext_equivalence", x.is != "", x.absent)
	if changes == nil && !x.absent && x.is != x.target {
		changes = []resource.Change{{Property: "target", Is: x.is, Should: x.target}}
	}
	return changes, nil
}

// Do implements resource.Item. semanage cannot modify an equivalence, so the old equivalence is removed first, without
// loading the policy.
func (x *equivalence) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.absent {
		return semanage().Change(ctx, h, "fcontext", "-d", "-e", x.is, x.path)
	}
	if x.is != "" {
		if err := semanage().Change(ctx, h, "fcontext", "-N", "-d", "-e", x.is, x.path); err != nil {
			return err
		}
	}
	return semanage().Change(ctx, h, "fcontext", "-a", "-e", x.target, x.path)
}
