package project

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
	"bolt/internal/readfile"
)

// Rerun is the file for --rerun, which holds the status of each target in the last
// action. It is a JSON array of {"target":…,"status":…} in the order of the targets
// (Puppet Bolt, lib/bolt/rerun.rb).
type Rerun struct {
	Path string
}

// RerunEntry is the status of one target. Target is its name. The name of a target
// from the command line is its complete URI.
type RerunEntry struct {
	Target string
	OK     bool
}

const (
	rerunSuccess = "success"
	rerunFailure = "failure"
)

// RerunFilters returns the values of --rerun.
func RerunFilters() []string { return []string{"all", rerunFailure, rerunSuccess} }

// RerunError returns the error for an unknown value of --rerun.
func RerunError(filter string) error {
	return fault.New("bolt/cli-error", "Unexpected option %s for '--rerun': the accepted values are all, failure and success", filter)
}

// Targets returns the names of the targets that a filter selects. The filters are
// all, failure and success.
func (r Rerun) Targets(ctx context.Context, filter string) ([]string, error) {
	if !slices.Contains(RerunFilters(), filter) {
		return nil, RerunError(filter)
	}
	entries, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		m, _ := e.(*ordered.Map)
		name, _ := m.Value("target").(string)
		status, _ := m.Value("status").(string)
		if name == "" || status == "" {
			return nil, fault.File(r.Path, nil, "Missing data in rerun file: %s", r.Path)
		}
		if filter == "all" || filter == status {
			names = append(names, name)
		}
	}
	return names, nil
}

func (r Rerun) read(ctx context.Context) ([]any, error) {
	data, err := r.bytes(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.File(r.Path, err, "Could not read rerun file at %s", r.Path)
	case err != nil:
		return nil, fault.File(r.Path, err, "Could not read rerun file at %s: %v", r.Path, fault.WithoutPath(err))
	}
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, fault.File(r.Path, err, "Rerun file at %s is not JSON: %v", r.Path, err)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fault.File(r.Path, nil, "Missing data in rerun file: %s", r.Path)
	}
	return list, nil
}

// bytes returns the content of the file. Because the file selects targets, a symbolic
// link and a file of another user are errors.
func (r Rerun) bytes(ctx context.Context) ([]byte, error) {
	f, err := ownfile.OpenOwn(r.Path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readfile.Whole(ctx, f, readfile.Config)
}

// Save replaces the file. It creates the directory if necessary.
func (r Rerun) Save(entries []RerunEntry) error {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		status := rerunFailure
		if e.OK {
			status = rerunSuccess
		}
		line, err := ordered.Of("target", e.Target, "status", status).MarshalJSON()
		if err != nil {
			return err
		}
		b.Write(line)
	}
	b.WriteByte(']')
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	if r.holds(b.Bytes()) { // replacing the file takes as long as connecting to the pool daemon
		return nil
	}
	// Names of targets can contain passwords, so only the owner can read the file.
	return atomicfile.WriteUnsynced(r.Path, b.Bytes(), 0o600)
}

// holds reports whether the file has this content already, for its owner only.
func (r Rerun) holds(data []byte) bool {
	f, err := ownfile.OpenOwn(r.Path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode() != 0o600 || info.Size() != int64(len(data)) {
		return false
	}
	old := make([]byte, len(data))
	_, err = io.ReadFull(f, old)
	return err == nil && bytes.Equal(old, data)
}

// Forget removes the file. It is for a run that does not have a status for each target.
func (r Rerun) Forget() error {
	if err := os.Remove(r.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.File(r.Path, err, "The rerun file %s could not be removed: %v", r.Path, fault.WithoutPath(err))
	}
	return nil
}
