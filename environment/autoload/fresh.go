package autoload

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"bolt/modules"
	"bolt/puppet/syntax"
)

// maxSeen is the maximum number of files and modules that a Loader watches.
// Programs can use any number of names.
const maxSeen = 4096

// settled is the minimum age of a change that can be distinguished from the
// next change: the times of file systems have a limited resolution, and a file
// can change twice within one tick.
const settled = 100 * time.Millisecond

// A stamp identifies a version of a file; nil means that the file does not
// exist.
type stamp = fs.FileInfo

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func same(a, b stamp) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// isSettled reports whether a stamp that was taken at that time identifies a
// single version.
func isSettled(s stamp, at time.Time) bool { return s == nil || at.Sub(s.ModTime()) > settled }

// A seen records the files and modules that the results of a Loader depend on.
type seen struct {
	mu      sync.Mutex                // guards the fields below
	modules map[string]modules.Module // by name; the zero Module: it does not exist
	files   map[string]stamp
	more    bool // results also depend on files that are not recorded
}

// incomplete records that a result depends on files that cannot be watched, or
// is an error.
func (s *seen) incomplete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = true
}

func (s *seen) module(name string, m modules.Module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modules == nil {
		s.modules = map[string]modules.Module{}
	}
	if s.more = s.more || len(s.modules) >= maxSeen; !s.more {
		s.modules[name] = m
	}
}

// file records the stamp of a file at a time.
func (s *seen) file(path string, was stamp, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]stamp{}
	}
	if s.more = s.more || len(s.files) >= maxSeen || !isSettled(was, at); !s.more {
		s.files[path] = was
	}
}

// current reports whether everything is unchanged.
func (s *seen) current(path *modules.Path) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more {
		return false
	}
	for name, was := range s.modules {
		if now, _ := path.Module(name); now != was {
			return false
		}
	}
	for path, was := range s.files {
		if !same(was, stampOf(path)) {
			return false
		}
	}
	return true
}

// programs caches the programs of files, by stamp. They are checked, but not
// linked: definitions belong to one state of all files, because they cache the
// meaning of names in them.
type programs struct {
	mu     sync.Mutex // guards byPath
	byPath map[string]program
}

type program struct {
	stamp stamp
	*syntax.Program
}

// get returns the program of a file with a stamp, nil if there is none.
func (p *programs) get(path string, s stamp) *syntax.Program {
	if s == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, ok := p.byPath[path]; ok && same(have.stamp, s) {
		return have.Program
	}
	return nil
}

// put adds the program of a file that had a stamp at a time.
func (p *programs) put(path string, s stamp, at time.Time, x *syntax.Program) {
	if s == nil || !isSettled(s, at) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byPath == nil {
		p.byPath = map[string]program{}
	}
	p.byPath[path] = program{s, x}
}
