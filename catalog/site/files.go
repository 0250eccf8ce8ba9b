package site

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"bolt/catalog"
	"bolt/catalog/seal"
	"bolt/format/fault"
	"bolt/internal/readfile"
)

// maxCatalog is the size of the largest catalog that is read.
const maxCatalog = 256 << 20

// files returns the catalogs of a file, or of all files of a directory that end in .json. The keys are the
// node names in the file names. The error is a *fault.Error.
func files(path string) (map[string]string, error) {
	list := []string{path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.File(path, err, "The catalog '%s' could not be read: %v", path, fault.WithoutPath(err))
	}
	if info.IsDir() {
		if list, err = filepath.Glob(filepath.Join(quoteGlob(path), "*.json")); err != nil || len(list) == 0 {
			e := fault.File(path, err, "The directory '%s' has no catalogs.", path)
			e.Hint = "A catalog is a file that ends in .json, as \"bolt catalog compile --format json\" prints it."
			return nil, e
		}
	}
	byName := make(map[string]string, len(list))
	for _, name := range list {
		byName[nodeOf(name)] = name
	}
	return byName, nil
}

// read reads the catalog of a file. If a catalog has no name, it gets the name of its file. The
// error is a *fault.Error.
func read(ctx context.Context, name string) (*catalog.Catalog, error) {
	text, err := readfile.Read(ctx, name, maxCatalog)
	if err != nil {
		return nil, fault.File(name, err, "The catalog '%s' could not be read: %v", name, fault.WithoutPath(err))
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return nil, fault.File(name, err, "The file '%s' is not a catalog: %v", name, err)
	}
	if c.Name == "" {
		c.Name = nodeOf(name)
	}
	return c, nil
}

// readOpen is read with the secrets decrypted.
func readOpen(ctx context.Context, name string, v seal.Vault) (*catalog.Catalog, error) {
	c, err := read(ctx, name)
	if err != nil {
		return nil, err
	}
	return v.Open(ctx, c)
}

// nodeOf returns the node for a file name of Write.
func nodeOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	if node, err := url.PathUnescape(name); err == nil {
		return node
	}
	return name
}

// quoteGlob escapes the special characters of a pattern of filepath.Glob.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
