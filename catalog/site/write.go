package site

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"bolt/catalog/seal"
	"bolt/format/fault"
	"bolt/internal/atomicfile"
)

// Write writes a catalog, or its PuppetDB form if it has one, to the file NODE.json in a directory. It makes
// the directory if it does not exist. The file is complete at any time, and only its owner can read it. The
// secrets of a catalog are encrypted; PuppetDB's form has no secrets. The error is a *fault.Error.
func Write(ctx context.Context, dir string, c *Compiled, v seal.Vault) (name string, err error) {
	name = filepath.Join(dir, url.PathEscape(c.Node)+".json")
	form := c.form()
	if c.Stored == nil {
		if form, err = v.Seal(ctx, c.Catalog); err != nil {
			return "", err
		}
	}
	text, err := form.MarshalJSON()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.WriteOwn(name, append(text, '\n'), 0o600)
	}
	if err != nil {
		return "", fault.File(name, err, "The catalog '%s' could not be written: %v", name, fault.WithoutPath(err))
	}
	return name, nil
}
