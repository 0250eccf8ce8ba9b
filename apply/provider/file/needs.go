package file

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"bolt/apply/resource"
	"bolt/catalog"
)

// A Need is a content that a resource will ask the host for.
type Need struct {
	SHA256 string // hexadecimal
	Path   string // of the file that will get it
}

// Needs returns the contents that a File resource needs, as far as the host does not have them already. It reads the files
// of the host and changes nothing. What it reads is not read again when the resource is applied, unless the
// file has changed. A file that cannot be read needs its content.
func (t *Type) Needs(r *resource.Resource) (needs []Need) {
	made, err := t.New(r)
	if err != nil {
		return nil
	}
	f := itemOf(made)
	if f.ensure == absent {
		return nil
	}
	done := make(map[string]bool)
	add := func(m *catalog.FileMeta, path string) {
		k, sum, _ := parts(m.Sum)
		if m.Type == regular && k == sha && !done[path] && !t.has(f, path, sum) {
			needs = append(needs, Need{sum, path})
		}
		done[path] = true
	}
	if r.File != nil {
		add(r.File, f.path)
	}
	for _, tree := range r.Trees {
		for _, m := range tree.Files {
			if m.Relative == "." || m.Relative == "" {
				add(m, f.path)
			} else if filepath.IsLocal(m.Relative) {
				add(m, filepath.Join(f.path, m.Relative))
			}
		}
	}
	return needs
}

// has reports whether a file needs no content.
func (t *Type) has(f *item, path, sum string) bool {
	if f.sum != "" {
		sum = f.sum // which may be of another kind: then the content is sent in vain
	}
	p := place{dir: unix.AT_FDCWD, name: path}
	look := &item{t: t, r: &resource.Resource{Ref: f.r.Ref}, path: path}
	look.follow = f.follow
	is, err := look.look(p)
	if err != nil || is.kind != regular {
		return false
	}
	if !f.replace {
		return true
	}
	file, err := look.open(p)
	if err != nil {
		return false
	}
	defer file.Close()
	got, err := sha.of(file)
	if err != nil {
		return false
	}
	t.sums.put(path, &is.st, got)
	return got == sha.text(sum)
}
