package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/cli"
	"bolt/transport"
)

// limitOptions are those of a download from one target.
type limitOptions struct{ files, size, depth cli.Optional }

func (o *limitOptions) bind(b *cli.Binder) {
	b.Optional("max-files", &o.files)
	b.Optional("max-size", &o.size)
	b.Optional("max-depth", &o.depth)
}

// parse reads the values. Its errors are usage errors.
func (o *limitOptions) parse() (l transport.Limits, err error) {
	for _, one := range []struct {
		name string
		text cli.Optional
		into *int
	}{{"max-files", o.files, &l.Files}, {"max-depth", o.depth, &l.Depth}} {
		if !one.text.Given {
			continue
		}
		n, err := parseCount(one.text.Text)
		if err != nil || n <= 0 {
			return l, hinted(cli.Invalid(one.name, one.text.Text), "give a number above 0")
		}
		*one.into = n
	}
	if o.size.Given {
		if l.Bytes, err = transport.ParseSize(o.size.Text); err != nil {
			return l, hinted(cli.Invalid("max-size", o.size.Text), "give bytes (1000000) or a unit (500M, 20G; 1K is 1,024 bytes)")
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
