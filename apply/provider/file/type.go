// Package file applies resources of the type file: files, directories and symbolic links.
//
// A file is never written in place. Its new content goes to a temporary file in the same directory, with the
// final owner, group and mode. The temporary file is then synced and renamed. The name of the temporary file
// depends on the name of the file alone, so that the next run replaces the temporary file of a killed run.
//
// Files that recursion finds are opened through an os.Root of the declared directory. If a directory below it
// becomes a symbolic link meanwhile, the link cannot lead out of the declared directory. The last part of a
// path is never followed unless links is follow.
//
// The reference is Puppet's type file, version 7.23. Deviations have the marker "Differs from Puppet:".
package file

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/resource"
)

// Type is the type file. It holds the data that resources share during a run: the names of users and groups,
// the policy of SELinux, and the file systems that are flushed.
type Type struct {
	accounts accounts
	labels   labels
	flusher  flusher
}

// New makes the type for one run.
func New() *Type { return &Type{} }

// The values of ensure. Any other value is the target of a link.
const (
	present   = "present"
	absent    = "absent"
	regular   = "file"
	directory = "directory"
	link      = "link"
)

// An item is a File resource.
type item struct {
	t    *Type
	r    *resource.Resource
	path string

	params
	// known is the file whose attributes can be set: the file that Read saw, or a file that was made since.
	known inode
	is    state // set by Read, as are the next three
	want  wanted
	text  texts
	// mount is the first mount point in the directory that is to be removed, relative to it; "" for none.
	mount string
}

// params are the values of the parameters.
type params struct {
	ensure, target string
	content        string
	hasContent     bool
	sources        []string
	kind           kind
	sum            string // checksum_value
	owner, group   []string
	mode           *mode
	label          label
	how
}

// how is the way in which the state is reached.
type how struct {
	backup                      string // ".ext"; noBackup for none, and otherwise the name of a filebucket
	replace, force, follow      bool
	quiet                       bool // no diffs
	validate, mark, staging     string
	permissions                 string // source_permissions
	recurse                     string // "", "true" or "remote"
	levels, most                int64
	ignore                      []string
	purge, all, noDefaultLabels bool
}

const noBackup = "false"

// A contentItem is a file whose content comes with the catalog. It reads and writes only its own path, so it
// can be applied at the same time as other resources. Directories and links cannot: they can change the meaning
// of the paths of other resources. Files with a source on the host cannot, because the source can be another
// resource.
type contentItem struct{ *item }

// Parallel makes it a resource.Parallel.
func (contentItem) Parallel() {}

// Watch implements resource.Watcher.
func (f *item) Watch(context.Context, *resource.Host) []resource.Watch {
	list := []resource.Watch{{Path: f.path, Tree: f.recurse != ""}}
	if f.r.File == nil && f.r.Trees == nil {
		for _, source := range f.sources {
			if source = strings.TrimPrefix(source, "file://"); strings.HasPrefix(source, "/") {
				list = append(list, resource.Watch{Path: source, Tree: f.recurse != ""})
			}
		}
	}
	return list
}

// itemOf returns the item that New has made.
func itemOf(made resource.Item) *item {
	if c, is := made.(contentItem); is {
		return c.item
	}
	return made.(*item)
}

// alone reports whether the order of the item among others matters.
func (f *item) alone() bool {
	local := len(f.sources) > 0 && f.r.File == nil
	regular := f.ensure == "file" || f.ensure == "present" || f.ensure == "" && (f.hasContent || len(f.sources) > 0)
	return !regular || local || f.target != "" || f.validate != "" || f.recurse != "" || f.follow
}

// New checks the parameters.
func (t *Type) New(r *resource.Resource) (resource.Item, error) {
	p := parser{r: r}
	f := &item{t: t, r: r, path: pathOf(r)}
	if !strings.HasPrefix(f.path, "/") {
		return nil, &resource.ParamError{Param: "path", Problem: "must be an absolute path" + r.Shown("path", f.path)}
	}
	f.params = p.params()
	for param, text := range map[string]string{"path": f.path, "target": f.target, "staging_location": f.staging, "backup": f.backup} {
		if strings.ContainsRune(text, 0) {
			p.bad(param, "must not have a NUL character in it")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := f.check(); err != nil || f.alone() {
		return f, err
	}
	return contentItem{f}, nil
}

// pathOf returns the path of a resource, without superfluous slashes and dots.
func pathOf(r *resource.Resource) string {
	path, given := r.Params.Value("path").(string)
	if !given {
		path = r.Title
	}
	if path == "" {
		return ""
	}
	return filepath.Clean(path)
}

// A parser reads parameters. It keeps the first error.
type parser struct {
	r   *resource.Resource
	err error
}

func (p *parser) bad(param, format string, a ...any) {
	if p.err == nil {
		p.err = &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
	}
}

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) text(param string) (text string) {
	text, _, err := p.r.Text(param)
	p.keep(err)
	return text
}

func (p *parser) texts(param string) []string {
	texts, _, err := p.r.Texts(param)
	p.keep(err)
	return texts
}

func (p *parser) bool(param string, without bool) bool {
	b, err := p.r.Bool(param, without)
	p.keep(err)
	return b
}

// int returns a number that is at least least.
func (p *parser) int(param string, without, least int64) int64 {
	n, err := p.r.Int(param, without)
	p.keep(err)
	if _, given := p.r.Params.Get(param); given && n < least {
		p.bad(param, "must be at least %d, and is %d", least, n)
	}
	return n
}

func (p *parser) params() (v params) {
	v.ensure, v.target = p.text("ensure"), p.text("target")
	v.content, v.hasContent = p.content()
	switch v.ensure {
	case present, absent, regular, directory, link:
	case "false":
		v.ensure = absent
	case "":
		switch {
		case v.target != "":
			v.ensure = link
		case v.hasContent:
			v.ensure = regular
		}
	default:
		v.ensure, v.target = link, v.ensure
	}
	v.sources = p.sources()
	v.kind, v.sum = kind(p.text("checksum")), strings.ToLower(p.text("checksum_value"))
	if v.kind == "" {
		v.kind = sha
	}
	if !v.kind.hashed() && v.kind != mtime && v.kind != ctime && v.kind != none {
		p.bad("checksum", "is a kind of checksum that bolt does not know: %q", v.kind)
	}
	v.owner, v.group = p.names("owner"), p.names("group")
	v.mode = p.mode()
	v.label = label{p.text("seluser"), p.text("selrole"), p.text("seltype"), p.text("selrange")}
	for _, param := range []string{"type", "ctime", "mtime"} {
		if _, given := p.r.Params.Get(param); given {
			p.bad(param, "can only be read")
		}
	}
	v.how = p.how()
	return v
}

func (p *parser) content() (content string, given bool) {
	content, given, err := p.r.Text("content")
	p.keep(err)
	return content, given
}

func (p *parser) names(param string) []string {
	names := p.texts(param)
	if slices.Contains(names, "") {
		p.bad(param, "must not be empty")
	}
	return names
}

func (p *parser) mode() *mode {
	v, given := p.r.Params.Get("mode")
	if !given || v == nil {
		return nil
	}
	if list, is := v.([]any); is && len(list) == 1 {
		v = list[0]
	}
	text, is := v.(string)
	if !is {
		p.bad("mode", "must be a string, such as '0644'")
		return nil
	}
	m, ok := parseMode(text)
	if !ok {
		p.bad("mode", "must be an octal mode such as '0644', or a symbolic mode such as 'u=rw,go=r'%s", p.r.Shown("mode", text))
		return nil
	}
	if _, err := m.apply(0, false); err != nil { // the same error for any file
		p.bad("mode", "cannot be used: %v%s", err, p.r.Shown("mode", text))
		return nil
	}
	return &m
}

// sources returns absolute paths for the files of the host, and URLs for others.
func (p *parser) sources() []string {
	sources := p.texts("source")
	for i, source := range sources {
		if len(source) > 1 {
			source = strings.TrimRight(source, "/")
		}
		if strings.HasPrefix(source, "/") {
			sources[i] = source
			continue
		}
		scheme, rest, _ := strings.Cut(source, ":")
		switch scheme {
		case "puppet":
		case "file":
			// As in Puppet, the name of a server has no effect.
			rest = strings.TrimPrefix(rest, "//")
			if n := strings.IndexByte(rest, '/'); n >= 0 {
				source = rest[n:]
			}
		case "http", "https":
			if rest = strings.TrimPrefix(rest, "//"); rest == "" || rest[0] == '/' || strings.ContainsAny(rest, "\x00\r\n") {
				p.bad("source", "must be a URL such as https://host/file%s", p.r.Shown("source", source))
			}
		default:
			p.bad("source", "must be an absolute path or a URL with puppet, file, http or https%s", p.r.Shown("source", source))
		}
		if scheme == "puppet" && !strings.HasPrefix(rest, "//") {
			p.bad("source", "must be a URL such as puppet:///modules/m/f%s", p.r.Shown("source", source))
		}
		sources[i] = source
	}
	return sources
}

func (p *parser) how() (v how) {
	v.replace, v.force, v.purge = p.bool("replace", true), p.bool("force", false), p.bool("purge", false)
	v.quiet = !p.bool("show_diff", true)
	v.noDefaultLabels = p.bool("selinux_ignore_defaults", false)
	v.follow = p.text("links") == "follow"
	v.all = p.text("sourceselect") == "all"
	v.validate, v.mark = p.text("validate_cmd"), p.text("validate_replacement")
	if v.mark == "" {
		v.mark = "%"
	}
	if v.staging = p.text("staging_location"); v.staging != "" && !strings.HasPrefix(v.staging, "/") {
		p.bad("staging_location", "must be an absolute path%s", p.r.Shown("staging_location", v.staging))
	}
	v.permissions = p.text("source_permissions")
	if v.recurse = p.text("recurse"); v.recurse == "false" {
		v.recurse = ""
	}
	v.levels, v.most = p.int("recurselimit", -1, 0), p.int("max_files", 0, -1)
	if p.r.Params.Value("ignore") != false {
		v.ignore = p.texts("ignore")
	}
	switch v.backup = p.text("backup"); {
	case v.backup == "true":
		v.backup = ".puppet-bak"
	case strings.ContainsRune(v.backup, '/') && v.backup[0] == '.':
		p.bad("backup", "must not have a slash in it%s", p.r.Shown("backup", v.backup))
	}
	return v
}

// check finds parameters that do not fit together.
func (f *item) check() error {
	creators := 0
	for _, given := range []bool{f.hasContent, f.sources != nil, f.target != ""} {
		if given {
			creators++
		}
	}
	bad := func(param, problem string) error { return &resource.ParamError{Param: param, Problem: problem} }
	switch {
	case creators > 1:
		return bad("content", "cannot be used together with source or target: only one of the three is possible")
	case f.recurse == "remote" && f.sources == nil:
		return bad("recurse", "can be remote only with a source")
	case f.recurse != "" && slices.ContainsFunc(f.sources, onWeb):
		return bad("source", "cannot be a file of a web server if recurse is set")
	case f.kind == none && f.sources != nil:
		return bad("checksum", "cannot be none with a source")
	case !f.kind.hashed() && f.hasContent:
		return bad("checksum", fmt.Sprintf("cannot be %s with content", f.kind))
	case f.sum != "" && !f.kind.valid(f.sum):
		return bad("checksum_value", "is not a checksum of the kind "+string(f.kind))
	}
	return nil
}
