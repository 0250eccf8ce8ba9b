// Package static makes catalogs static: it adds the digest, owner and mode of the files that File, Archive and
// Concat_fragment resources name as sources, at the time of the compilation. A later apply does not depend
// on the files any more.
//
// Sources of the form puppet:///modules/MODULE/PATH are resolved, and sources of the mounts scripts and
// tasks, which Puppet has as well. As in Puppet, a source that is an absolute path names a file of the
// target; it is left unchanged. So is a source with the name of a server.
//
// The reference is Puppet's file server and the static catalogs of Puppet Server.
package static

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bolt/catalog"
	"bolt/modules"
)

// Sources finds the files of sources. It reads a file again only if the file has changed, and is
// safe for concurrent use.
type Sources struct {
	modules *modules.Path
	sums    sums
}

// New makes a Sources of the modules of an environment.
func New(path *modules.Path) *Sources { return &Sources{modules: path} }

// A Problem is a resource whose source could not be resolved completely. If nothing was resolved, the resource
// has no metadata.
type Problem struct {
	Resource *catalog.Resource
	Msg      string // such as: the source is puppet:///modules/m/x, which does not exist
}

// withSources are the types of resources that can have a source on a file server.
var withSources = []string{"Archive", "Concat_fragment", "File"}

// Resolve adds the metadata of files to the catalog: to Files for one file, to Trees for
// resources with recurse. It returns the resources with sources that it cannot resolve. FIFOs,
// sockets and devices below a source are left out, which is also a problem. The error is the error of ctx.
func (s *Sources) Resolve(ctx context.Context, c *catalog.Catalog) ([]Problem, error) {
	var problems []Problem
	for _, r := range c.Resources() {
		if !slices.Contains(withSources, r.Type) || r.Virtual || r.Params.Value("ensure") == "absent" {
			continue
		}
		sources := texts(r.Params.Value("source"))
		if len(sources) == 0 || !served(sources) {
			continue
		}
		var msg, left string
		if recursive(r) {
			msg, left = s.trees(ctx, c, r, sources)
		} else {
			msg = s.file(ctx, c, r, sources)
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if r.Secret("source") {
			if msg != "" {
				msg = "is secret, and could not be resolved"
			}
			if left != "" {
				left = "is secret. It has entries that are not files, directories or links, and that are left out"
			}
		}
		for _, m := range []string{msg, left} {
			if m != "" {
				problems = append(problems, Problem{r, "the source " + m})
			}
		}
	}
	return problems, nil
}

// texts returns the strings of a parameter; nil if it has other values, such as Deferred values.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			text, is := x.(string)
			if !is {
				return nil
			}
			list = append(list, text)
		}
	}
	return list
}

// scheme begins the sources of a file server.
const scheme = "puppet:"

// served reports whether all sources are on a file server. If some are files of the target,
// only the target can choose the first that exists.
func served(sources []string) bool {
	for _, source := range sources {
		if !strings.HasPrefix(source, scheme) {
			return false
		}
	}
	return true
}

func recursive(r *catalog.Resource) bool {
	switch v := r.Params.Value("recurse").(type) {
	case bool:
		return v
	case string:
		return v == "true" || v == "remote"
	}
	return false
}

// file adds the metadata of the first source that exists. msg is the problem, if there is one.
func (s *Sources) file(ctx context.Context, c *catalog.Catalog, r *catalog.Resource, sources []string) (msg string) {
	w := s.walk(r)
	for _, source := range sources {
		at, msg := s.find(source)
		if msg != "" {
			return msg
		}
		f, err := w.meta(ctx, at.path, "")
		switch {
		case missing(err):
			continue
		case err != nil:
			return unreadable(source, err)
		}
		f.Source, f.ContentURI = source, at.uri
		if c.Files == nil {
			c.Files = make(map[string]*catalog.FileMeta)
		}
		c.Files[catalog.FileKey(r.Ref)] = f
		return ""
	}
	return absent(sources)
}

// trees adds the metadata of the first source that exists, or of all sources if sourceselect is
// all. msg is the problem, "" for none; left is a problem with files that are left out.
func (s *Sources) trees(ctx context.Context, c *catalog.Catalog, r *catalog.Resource, sources []string) (msg, left string) {
	var trees []catalog.Tree
	w := s.walk(r)
	for _, source := range sources {
		source = strings.TrimRight(source, "/")
		at, msg := s.find(source)
		if msg != "" {
			return msg, ""
		}
		files, special, err := w.tree(ctx, at.path)
		switch {
		case missing(err):
			continue
		case err != nil:
			return unreadable(source, err), ""
		}
		if special != nil && left == "" {
			left = leftOut(source, special)
		}
		for _, f := range files {
			f.ContentURI = at.uri
			if f.Relative != "." {
				f.ContentURI += "/" + f.Relative
			}
		}
		trees = append(trees, catalog.Tree{Source: source, Files: files})
		if r.Params.Value("sourceselect") != "all" {
			break
		}
	}
	if trees == nil {
		return absent(sources), ""
	}
	if c.Trees == nil {
		c.Trees = make(map[string][]catalog.Tree)
	}
	c.Trees[r.Title] = trees
	return "", left
}

// leftOut returns the problem with files below a source that have no content.
func leftOut(source string, paths []string) string {
	const most = 3
	text, more := strings.Join(paths[:min(most, len(paths))], ", "), len(paths)-most
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("is %s. It has entries that are not files, directories or links, and that are left out: %s", source, text)
}

func absent(sources []string) string {
	if len(sources) == 1 {
		return fmt.Sprintf("is %s, which does not exist", sources[0])
	}
	return fmt.Sprintf("is one of %s, and none of these files exists", strings.Join(sources, ", "))
}

func unreadable(source string, err error) string {
	return fmt.Sprintf("is %s, and it could not be read: %v", source, err)
}

// A place is the path and the URI of the file of a source.
type place struct{ path, uri string }

// folders are the folders of modules, by the names of their mounts.
var folders = map[string]string{"modules": "files", "scripts": "scripts", "tasks": "tasks"}

// find returns the place of a source. It does not check whether the file exists. msg is the
// problem, if there is one.
func (s *Sources) find(source string) (at place, msg string) {
	rest, local := strings.CutPrefix(source, scheme+"///")
	if !local {
		return at, fmt.Sprintf("is %s, which names a server: bolt reads the files of modules only", source)
	}
	mount, rest, _ := strings.Cut(strings.TrimRight(rest, "/"), "/")
	module, rest, _ := strings.Cut(rest, "/")
	folder, known := folders[mount]
	if !known {
		return at, fmt.Sprintf("is %s, and %q is not a mount that bolt knows: it knows modules, scripts and tasks", source, mount)
	}
	if rest == "" {
		rest = "."
	}
	if !fs.ValidPath(rest) {
		return at, fmt.Sprintf("is %s, which is not the path of a file in a module", source)
	}
	m, found := s.modules.Module(module)
	if !found || m.BuiltIn() {
		return at, fmt.Sprintf("is %s, but the module %q does not exist", source, module)
	}
	in := path.Join(folder, rest)
	return place{filepath.Join(m.Dir, filepath.FromSlash(in)), scheme + "///" + path.Join("modules", module, in)}, ""
}

// walk returns the parameters of a resource that select the files of a source.
func (s *Sources) walk(r *catalog.Resource) *walk {
	w := &walk{sums: &s.sums, links: "manage", limit: -1, most: -1, ignore: texts(r.Params.Value("ignore"))}
	if v := texts(r.Params.Value("links")); v != nil {
		w.links = v[0]
	}
	if v := texts(r.Params.Value("source_permissions")); v != nil {
		w.owned = v[0] != "ignore"
	}
	if n, is := number(r.Params.Value("recurselimit")); is {
		w.limit = n
	}
	if n, is := number(r.Params.Value("max_files")); is && n > 0 {
		w.most = n
	}
	return w
}

func number(v any) (n int, is bool) {
	switch v := v.(type) {
	case int64:
		return int(v), true
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return 0, false
}
