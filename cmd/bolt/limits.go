package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/transport"
)

// limits are those of a download from one target; they were checked before.
func (a *app) limits() transport.Limits {
	l, _ := limitsOf(a.values)
	return l
}

// limitsOf reads --max-files, --max-size and --max-depth.
func limitsOf(v flagValues) (l transport.Limits, err error) {
	for name, into := range map[string]*int{"max-files": &l.Files, "max-depth": &l.Depth} {
		if !v.has(name) {
			continue
		}
		n, err := parseCount(v.last(name))
		if err != nil || n <= 0 {
			return l, hinted(usagef("Invalid parameter specified for option '--%s': %s", name, v.last(name)), "give a number above 0")
		}
		*into = n
	}
	if v.has("max-size") {
		if l.Bytes, err = transport.ParseSize(v.last("max-size")); err != nil {
			return l, hinted(usagef("Invalid parameter specified for option '--max-size': %s", v.last("max-size")), "give bytes (1000000) or a unit (500M, 20G; 1K is 1,024 bytes)")
		}
	}
	return l, nil
}

// missingDirs are the directories on the way to a path that do not exist, the
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

// removeEmpty removes directories up to the first that is not empty.
func removeEmpty(dirs []string) {
	for _, dir := range dirs {
		if os.Remove(dir) != nil {
			return
		}
	}
}
