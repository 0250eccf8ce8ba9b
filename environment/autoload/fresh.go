package autoload

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"bolt/modules"
	"bolt/puppet/syntax"
)

// maxSeen is how many files and modules a Loader watches. Programs can make up
// names without end.
const maxSeen = 4096

// settled is how old a change must be so that one after it has another time:
// file systems count in ticks, and a file can change twice in one.
const settled = 100 * time.Millisecond

// A stamp tells versions of a file apart; nil: there is none.
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

// isSettled tells whether a stamp, taken at a time, stands for one version.
func isSettled(s stamp, at time.Time) bool { return s == nil || at.Sub(s.ModTime()) > settled }

// A seen is what the answers of a Loader depend on.
type seen struct {
	mu      sync.Mutex                // guards the fields below
	modules map[string]modules.Module // by their names; the zero Module: there is none
	files   map[string]stamp
	more    bool // and on something that is not among these
}

// incomplete notes that answers depend on what cannot be watched, or that one
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

// file notes the stamp that a file had at a time.
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

// current tells whether everything is as it was.
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

// programs are those of files, by stamp. They are checked, but nothing was
// found in them yet: definitions belong to one state of all files, because
// they remember what the names in them mean.
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

// put keeps the program of a file that had a stamp at a time.
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
