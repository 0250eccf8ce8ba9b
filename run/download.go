package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// NewDownload returns the Download of a pattern from targets into directories below dest.
// When the download has ended, the caller must call RemoveEmpty.
func NewDownload(source, dest string, limits transport.Limits, targets []*inventory.Target) (*Download, error) {
	dir, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, &fault.Error{Kind: "bolt/file-exist-error", Details: ordered.Of("path", dir),
			Msg: fmt.Sprintf("The destination '%s' is a file, but must be a directory: bolt makes a directory for each target below it.", dir)}
	}
	d := &Download{Source: source, Dir: dir, Expand: true, Limits: limits, missing: missingDirs(dir)}
	taken := make(map[string]bool, len(targets))
	for _, t := range targets {
		sub := d.Subdir(t)
		if taken[sub] {
			return nil, fault.New("bolt/file-error", "Two targets with the name %s would be downloaded to the same directory. Download from one of them at a time.", t.SafeName())
		}
		taken[sub] = true
	}
	return d, nil
}

// missingDirs returns the directories on the way to a path that do not exist, the
// innermost first.
func missingDirs(dir string) (missing []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
}

// RemoveEmpty removes Dir and the directories above it that did not exist before
// NewDownload, up to the first that is not empty. It has no effect on a nil *Download.
func (d *Download) RemoveEmpty() {
	if d == nil {
		return
	}
	for _, dir := range d.missing {
		if os.Remove(dir) != nil {
			return
		}
	}
}
