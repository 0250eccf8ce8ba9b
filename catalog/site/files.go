package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"bolt/catalog"
	"bolt/format/fault"
	"bolt/internal/readfile"
)

// maxCatalog is the size of the largest catalog that is read.
const maxCatalog = 256 << 20

// Read reads the catalogs of nodes: of a file, or of all files of a directory that end
// in .json. A catalog without a name has that of its file. The error is a *fault.Error.
func Read(ctx context.Context, path string) (map[string]*catalog.Catalog, error) {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(quoteGlob(path), "*.json")); err != nil || len(files) == 0 {
			e := fault.File(path, err, "The directory '%s' has no catalogs.", path)
			e.Hint = "A catalog is a file that ends in .json, as \"bolt catalog compile --format json\" prints it."
			return nil, e
		}
	}
	all := make(map[string]*catalog.Catalog, len(files))
	for _, name := range files {
		text, err := readfile.Read(ctx, name, maxCatalog)
		if err != nil {
			return nil, fault.File(name, err, "The catalog '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
		c, err := catalog.Parse(text)
		if err != nil {
			return nil, fault.File(name, err, "The file '%s' is not a catalog: %v", name, err)
		}
		if c.Name == "" {
			c.Name = strings.TrimSuffix(filepath.Base(name), ".json")
		}
		if all[c.Name] != nil {
			return nil, fault.File(name, nil, "The directory '%s' has two catalogs of the node %s.", path, c.Name)
		}
		all[c.Name] = c
	}
	return all, nil
}

// quoteGlob escapes the characters that have a meaning in a pattern of filepath.Glob.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
