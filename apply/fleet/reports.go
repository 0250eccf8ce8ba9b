package fleet

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/fault"
	"bolt/internal/atomicfile"
	"bolt/inventory"
)

// Reports writes the apply report of each target: to a file if there is one target, or to the file
// TARGET.json in a directory. Only the owner can read the files.
type Reports struct {
	path string
	dir  bool
}

// NewReports checks the path to which reports are written. path is a directory if it exists as a directory, or
// if it ends in a slash. For several targets, it must be a directory. A missing directory is made. The error is
// a *fault.Error.
func NewReports(path string, targets int) (*Reports, error) {
	if path == "-" {
		return nil, fault.File(path, nil, "Reports cannot be written to standard output. Give a file, or use --format json")
	}
	info, err := os.Stat(path)
	r := &Reports{path: path, dir: strings.HasSuffix(path, "/") || err == nil && info.IsDir()}
	switch {
	case r.dir:
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fault.File(path, err, "The directory '%s' for reports could not be made: %v", path, fault.WithoutPath(err))
		}
	case targets > 1:
		err := fs.ErrInvalid
		return nil, fault.File(path, err, "The reports of %d targets cannot be written to the one file '%s'. Give a directory: %s/", targets, path, path)
	}
	return r, nil
}

// Write writes the report of a target. The file is replaced as a whole.
func (r *Reports) Write(_ context.Context, t *inventory.Target, _ *catalog.Catalog, done *report.Run) error {
	name := r.path
	if r.dir {
		name = filepath.Join(r.path, fileOf(t)+".json")
	}
	data, err := json.Marshal(done.Data())
	if err == nil {
		err = atomicfile.WriteOwn(name, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.File(name, err, "The report of %s could not be written: %v", t.SafeName(), fault.WithoutPath(err))
	}
	return nil
}
