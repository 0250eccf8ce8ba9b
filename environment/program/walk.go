package program

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Walk passes the name of each file in args to the first function, or its
// problem to the second. For a directory, it passes all manifests, plans and
// templates below it in the order of their names, except files in hidden
// directories.
func Walk(ctx context.Context, args []string, file func(name string), bad func(Finding)) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			file(arg)
			continue
		}
		t := tree{ctx: ctx, seen: map[inode]bool{}, wants: isProgram, file: file, bad: bad}
		t.walk(arg, info)
		if !t.found && ctx.Err() == nil {
			bad(Finding{Level: "warning", Kind: "no-files", Msg: "no file below this directory ends in .pp or .epp", File: arg})
		}
	}
}

// isProgram reports whether a file is a manifest, a plan or a template by its name.
func isProgram(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".pp" || ext == ".epp"
}

// Files passes the name of each regular file below a directory whose name is wanted to the first function, or its
// problem to the second. The order, and the directories that are left out, are those of Walk. A directory that does
// not exist has no files.
func Files(ctx context.Context, dir string, wants func(name string) bool, file func(name string), bad func(Finding)) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	t := tree{ctx: ctx, seen: map[inode]bool{}, wants: wants, file: file, bad: bad}
	t.walk(dir, info)
}

// A tree is the walk through a directory. Each directory is read once, by the
// first name that leads to it: links can make loops.
type tree struct {
	ctx   context.Context
	seen  map[inode]bool
	links []link // to directories, which come after what has names of its own
	wants func(name string) bool
	file  func(name string)
	bad   func(Finding)
	found bool
}

// An inode identifies a directory independently of its name.
type inode struct{ dev, number uint64 }

type link struct {
	name string
	to   fs.FileInfo
}

func (t *tree) walk(root string, info fs.FileInfo) {
	t.dir(root, info)
	for len(t.links) > 0 {
		l := t.links[0]
		t.links = t.links[1:]
		t.dir(l.name, l.to)
	}
}

func (t *tree) dir(name string, info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		at := inode{uint64(sys.Dev), sys.Ino}
		if t.seen[at] {
			return
		}
		t.seen[at] = true
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		t.bad(Unreadable(name, err))
	}
	for _, e := range entries {
		if t.ctx.Err() != nil {
			return
		}
		t.entry(filepath.Join(name, e.Name()), e)
	}
}

func (t *tree) entry(name string, e fs.DirEntry) {
	program := !e.IsDir() && t.wants(name)
	linked := e.Type()&fs.ModeSymlink != 0
	if !program && !linked && !e.IsDir() {
		return
	}
	if program && e.Type().IsRegular() {
		t.found = true
		t.file(name)
		return
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case linked:
			t.links = append(t.links, link{name, info})
		default:
			t.dir(name, info)
		}
	case !program || err == nil && !info.Mode().IsRegular():
	default: // a link, also one that leads nowhere: reading it will say so
		t.found = true
		t.file(name)
	}
}
