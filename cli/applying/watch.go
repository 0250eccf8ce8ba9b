package applying

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/apply/fleet"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/environment"
)

// WatchOptions are the options of --watch.
type WatchOptions struct {
	on      bool
	settled cli.Optional // a time
}

// Bind reads the flags.
func (o *WatchOptions) Bind(b *cli.Binder) {
	b.Switch("watch", &o.on)
	b.Optional("converged-timeout", &o.settled)
}

// checkWatch rejects options that contradict each other.
func (o *Options) checkWatch() error {
	if o.watch.settled.Given {
		if !o.watch.on {
			return cli.Errorf("Option '--converged-timeout' needs --watch")
		}
		if _, err := cli.ParseTimeout(o.watch.settled.Text); err != nil {
			return cli.Invalid("converged-timeout", o.watch.settled.Text)
		}
	}
	if !o.watch.on {
		return nil
	}
	for name, given := range map[string]bool{
		"--continue": o.carryOn, "--report": o.report.Given, "--graph": o.graph.Given, "--serial": o.Rolling.Batches(), "--engine puppet": o.engine == fleet.EnginePuppet,
	} {
		if given {
			return cli.Errorf("Options '%s' and '--watch' contradict each other", name)
		}
	}
	return nil
}

// watching returns the action of keeping catalogs applied.
func (v *Invocation) watching(o *Options, action *fleet.Apply, d *fleet.Delivery, edits *fleet.Edits, targets int) *fleet.Watch {
	w := &fleet.Watch{Apply: action, Delivery: d, Edits: edits}
	if o.watch.settled.Given {
		after, _ := cli.ParseTimeout(o.watch.settled.Text) // it was checked
		w.Settling = fleet.NewSettling(after, targets)
	}
	return w
}

const (
	// lookEvery is how often the code is looked at.
	lookEvery = time.Second
	// maxCode is the number of files that are looked at.
	maxCode = 100000
)

// A code is the files that catalogs are compiled from.
type code struct {
	manifests []string
	files     []string // such as hiera.yaml
	trees     []string // all files below them, such as modules
	// data is a directory in which only files of code and data are looked at; "" for none.
	data string
}

// codeExts are the extensions of files of code and data.
var codeExts = []string{".pp", ".yaml", ".yml", ".eyaml", ".json", ".conf", ".hocon"}

// stamp returns a digest of the names, sizes and times of all files.
func (c *code) stamp() string {
	h := sha256.New()
	left := maxCode
	add := func(path string, info fs.FileInfo) {
		fmt.Fprintf(h, "%s\x00%d %d %v\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	walk := func(dir string, only func(name string, isDir bool) bool) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path != dir && !only(d.Name(), d.IsDir()) {
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if left--; left < 0 {
				return fs.SkipAll
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				add(path, info)
			}
			return nil
		})
	}
	for _, f := range slices.Concat(c.manifests, c.files) {
		if info, err := os.Stat(f); err == nil {
			add(f, info)
		}
	}
	for _, dir := range c.trees {
		walk(dir, func(name string, _ bool) bool { return name != ".git" })
	}
	if c.data != "" {
		walk(c.data, func(name string, isDir bool) bool {
			return !strings.HasPrefix(name, ".") && (isDir || slices.Contains(codeExts, filepath.Ext(name)))
		})
	}
	return string(h.Sum(nil))
}

// follow calls changed after each change of the code, when it has not changed for a moment, until ctx ends.
func (c *code) follow(ctx context.Context, changed func()) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	known := c.stamp()
	last := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now := c.stamp()
		if now != known && now == last { // an editor or git may be in the middle of its work
			known = now
			changed()
		}
		last = now
	}
}

// code returns the files from which catalogs of a manifest are compiled.
func (v *Invocation) code(files []string) *code {
	c := &code{trees: v.Code.Modules.Dirs(), data: v.Project.Dir}
	for _, f := range files {
		if f != "-" {
			c.manifests = append(c.manifests, f)
		}
	}
	if v.Code.Hiera != "" {
		c.files = append(c.files, v.Code.Hiera)
	}
	return c
}

// follow compiles the program again after each change of the code, until end is called or ctx ends. If the code has a mistake,
// the code before it stays.
func (v *Invocation) follow(ctx context.Context, files []string, source site.Source, edits *fleet.Edits) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	c := v.code(files)
	wg.Go(func() {
		c.follow(ctx, func() {
			if len(c.manifests) > 0 {
				text, err := os.ReadFile(c.manifests[0])
				if err != nil {
					v.Logs.Warn("code_unread", fmt.Sprintf("The manifest cannot be read, so the old catalogs stay: %v", err))
					return
				}
				source.Text = string(text)
			}
			made, err := site.New(environment.Name, v.Code, []site.Source{source})
			if err != nil {
				v.Logs.Warn("code_wrong", fmt.Sprintf("The new code has a mistake, so the old catalogs stay: %v", err))
				return
			}
			v.Log.Info("the code has changed; the catalogs are compiled again")
			edits.Replace(v.manifest(made).Compile)
		})
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
