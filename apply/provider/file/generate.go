package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/fileset"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// manyFiles is the number of files above which bolt warns about a directory without a limit.
const manyFiles = 1000

// own has the parameters of a directory that the files in it do not inherit.
var own = []string{"path", "name", "ensure", "recurse", "recurselimit", "max_files", "target", "alias", "source", "checksum_value"}

// Generate returns the files in a directory: the existing files and the files of the source.
func (f *item) Generate(ctx context.Context, h *resource.Host) ([]*resource.Resource, error) {
	if f.recurse == "" || f.ensure == absent {
		return nil, nil
	}
	g := generation{item: f, params: f.inherited(), files: make(map[string]*resource.Resource)}
	var most *fileset.MostError
	if err := g.collect(ctx, h); errors.As(err, &most) {
		// As in Puppet, the directory itself is managed all the same.
		h.Logf(f.r.Ref, report.Err, "The files in the directory are left as they are: %s.", most)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if f.purge {
		g.purge(h)
	}
	return g.list(h), nil
}

// collect finds the existing files and the files of the source.
func (g *generation) collect(ctx context.Context, h *resource.Host) error {
	if g.recurse == "true" {
		if err := g.local(ctx, h); err != nil {
			return err
		}
	}
	switch {
	case g.target != "":
		return g.links(ctx, h)
	case g.r.Trees != nil:
		g.trees()
	case g.item.sources != nil && g.r.File == nil:
		return g.sources(ctx, h)
	}
	return nil
}

// inherited returns the parameters of the files in the directory.
func (f *item) inherited() *ordered.Map {
	params := f.r.Params.Clone()
	for _, param := range own {
		params.Delete(param)
	}
	return params
}

// A generation collects the files of a directory.
type generation struct {
	*item
	params *ordered.Map
	files  map[string]*resource.Resource // by relative path
}

// at returns the resource of a file, and makes it if it does not exist.
func (g *generation) at(rel string) *resource.Resource {
	if r := g.files[rel]; r != nil {
		return r
	}
	path := filepath.Join(g.path, rel)
	params := g.params.Clone()
	params.Set("path", path)
	r := &resource.Resource{Ref: catalog.Ref{Type: "File", Title: path}, Params: params, Secrets: g.r.Secrets, Within: g.path}
	g.files[rel] = r
	return r
}

func (g *generation) options(confined bool) fileset.Options {
	return fileset.Options{Follow: g.follow, Confined: confined, Limit: int(g.levels), Ignore: g.ignore, Most: int(g.most)}
}

// walk lists a directory, and warns if it has many files.
func (g *generation) walk(ctx context.Context, h *resource.Host, dir string, confined bool) ([]fileset.Entry, error) {
	entries, err := fileset.List(ctx, dir, g.options(confined))
	if len(entries) > manyFiles && g.most == 0 {
		h.Logf(g.r.Ref, report.Warning, "%s has %d files, and each is a resource. Set max_files to a limit, or to -1 for none.", dir, len(entries))
	}
	return entries, err
}

// local adds the existing files.
func (g *generation) local(ctx context.Context, h *resource.Host) error {
	entries, err := g.walk(ctx, h, g.path, true)
	for _, e := range entries {
		g.at(e.Name)
	}
	return err
}

// links adds links to the files below the target.
func (g *generation) links(ctx context.Context, h *resource.Host) error {
	entries, err := g.walk(ctx, h, g.target, false)
	for _, e := range entries {
		r := g.at(e.Name)
		if e.Type.IsDir() {
			r.Params.Set("ensure", directory)
		} else {
			r.Params.Set("ensure", link)
			r.Params.Set("target", filepath.Join(g.target, e.Name))
		}
	}
	return err
}

// trees adds the files of sources that the catalog knows. The first source that has a file wins.
func (g *generation) trees() {
	if top := g.top(); top != nil && top.Type != directory {
		return
	}
	done := make(map[string]bool)
	for _, tree := range g.r.Trees {
		for _, m := range tree.Files {
			if m.Relative == "." || m.Relative == "" || done[m.Relative] || !filepath.IsLocal(m.Relative) {
				continue
			}
			done[m.Relative] = true
			r := g.at(m.Relative)
			r.Params.Set("source", tree.Source+"/"+m.Relative)
			r.File = m
		}
	}
}

// sources adds the files of sources on the host.
func (g *generation) sources(ctx context.Context, h *resource.Host) error {
	done := make(map[string]bool)
	for _, source := range g.item.sources {
		if !strings.HasPrefix(source, "/") {
			return nil // Read reports it
		}
		look := os.Lstat
		if g.follow {
			look = os.Stat
		}
		info, err := look(source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return nil // the source is a file
		}
		entries, err := g.walk(ctx, h, source, false)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !done[e.Name] {
				done[e.Name] = true
				g.at(e.Name).Params.Set("source", filepath.Join(source, e.Name))
			}
		}
		if !g.all {
			return nil
		}
	}
	return nil
}

// purge removes the files that are not in a source.
func (g *generation) purge(h *resource.Host) {
	spared := g.spared(h)
	for rel, r := range g.files {
		if r.Params.Value("source") == nil && r.Params.Value("target") == nil && !spared(rel) {
			r.Params.Set("ensure", absent)
		}
	}
}

// list returns the files, sorted by their paths. It leaves out files that belong to another resource of the
// catalog: declared files, files that a concat_file writes, and all files below a declared directory.
func (g *generation) list(h *resource.Host) []*resource.Resource {
	declared := make(map[string]bool)
	for _, r := range slices.Concat(h.Declared("File"), h.Declared("Concat_file")) {
		if path := pathOf(r); path != g.path && strings.HasPrefix(path, g.path) {
			declared[path] = true
		}
	}
	list := make([]*resource.Resource, 0, len(g.files))
	for _, r := range g.files {
		if !under(r.Title, g.path, declared) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *resource.Resource) int { return strings.Compare(a.Title, b.Title) })
	return list
}

// under reports whether a path below top, or a directory on the way to it, is declared.
func under(path, top string, declared map[string]bool) bool {
	for ; len(declared) > 0 && len(path) > len(top); path = filepath.Dir(path) {
		if declared[path] {
			return true
		}
	}
	return false
}
