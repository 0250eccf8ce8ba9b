// Package bundle finds the contents that a catalog needs on a machine, and keeps the contents
// that were sent there for the time of a run.
//
// Contents are files of the controller, named by their SHA-256. A machine needs a content
// only if its file has another one.
package bundle

import (
	"path"
	"strings"

	"bolt/catalog"
)

// A Content is a content that a resource of a catalog needs.
type Content struct {
	Sum    string // SHA-256, hexadecimal
	Source string // path on the compiler's machine
	Path   string // path on the machine that is changed
}

const prefix = "{sha256}"

// IsSum reports whether a text is a SHA-256 in hexadecimal digits.
func IsSum(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// Contents returns the contents that a catalog needs, in the order of its resources. If
// several resources need the same content, each has an entry.
func Contents(c *catalog.Catalog) []Content {
	var list []Content
	add := func(f *catalog.FileMeta, source, at string) {
		sum, is := strings.CutPrefix(f.Sum, prefix)
		if f.Type == "file" && is && IsSum(sum) {
			list = append(list, Content{sum, source, at})
		}
	}
	for _, r := range c.Resources() {
		if r.Virtual {
			continue
		}
		at, is := r.Params.Value("path").(string)
		if !is {
			at = r.Title
		}
		if f := c.Files[catalog.FileKey(r.Ref)]; f != nil {
			add(f, f.Path, at)
		}
		if r.Type != "File" {
			continue
		}
		for _, t := range c.Trees[r.Title] {
			for _, f := range t.Files {
				add(f, path.Join(f.Path, f.Relative), path.Join(at, f.Relative))
			}
		}
	}
	return list
}

// HasSecrets reports whether a catalog has secret values. Such a catalog is not kept on the machine.
func HasSecrets(c *catalog.Catalog) bool {
	for _, r := range c.Resources() {
		if len(r.Sensitive) > 0 {
			return true
		}
		for _, name := range r.Params.Keys() {
			if r.Secret(name) {
				return true
			}
		}
	}
	return false
}
