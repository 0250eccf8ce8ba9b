package install

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"bolt/internal/atomicfile"
	"bolt/internal/readfile"
)

// lockName is a file in the directory of installed modules. It lists the modules
// and their sources, so that no module is fetched twice.
const lockName = ".bolt-lock.json"

// lockVersion is the version of the file's format.
const lockVersion = 1

// lockData is the content of a lock file.
type lockData struct {
	Version int      `json:"version"`
	Specs   []string `json:"specs"`   // the modules of bolt-project.yaml; null if they are not known
	Modules []entry  `json:"modules"` // sorted by directory
}

// entry is one installed module.
type entry struct {
	Name    string `json:"name"`
	Dir     string `json:"dir"`  // relative to the project if it is inside of it
	Want    string `json:"want"` // the module's line of the Puppetfile
	Title   string `json:"title"`
	Version string `json:"version,omitempty"`
	Forge   string `json:"forge,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of the release's archive
	Git     string `json:"git,omitempty"`    // address, without a password
	Commit  string `json:"commit,omitempty"`
}

// readLock reads the lock file of a directory of modules. If the file is missing,
// damaged or of another version, the result is empty, so that all modules are
// installed again.
func readLock(ctx context.Context, dir string) (lockData, error) {
	var l lockData
	data, err := readfile.Read(ctx, filepath.Join(dir, lockName), readfile.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return lockData{}, nil
	}
	if err != nil {
		return lockData{}, err
	}
	if json.Unmarshal(data, &l) != nil || l.Version != lockVersion {
		return lockData{}, nil
	}
	return l, nil
}

// writeLock replaces the lock file.
func writeLock(dir string, l lockData) error {
	l.Version = lockVersion
	if l.Modules == nil {
		l.Modules = []entry{}
	}
	l.sort()
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, lockName), append(data, '\n'), 0o644)
}

func (l lockData) sort() {
	slices.SortFunc(l.Modules, func(a, b entry) int { return strings.Compare(a.Dir, b.Dir) })
}

// same reports whether the lock file need not be written.
func (l lockData) same(old lockData) bool {
	l.sort()
	old.sort()
	return old.Version == lockVersion && (l.Specs == nil) == (old.Specs == nil) && slices.Equal(l.Specs, old.Specs) && slices.Equal(l.Modules, old.Modules)
}

// of returns the entry for a directory.
func (l lockData) of(dir string) (entry, bool) {
	i := slices.IndexFunc(l.Modules, func(e entry) bool { return e.Dir == dir })
	if i < 0 {
		return entry{}, false
	}
	return l.Modules[i], true
}
