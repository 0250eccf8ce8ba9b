package config

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"bolt/internal/filestamp"
)

// An Environment looks up environment variables; nil has none.
type Environment func(string) (string, bool)

// get calls e, which may be nil.
func (e Environment) get(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(name)
}

// EnvironOf returns an Environment for a list of NAME=value.
func EnvironOf(list []string) Environment {
	return func(name string) (string, bool) {
		for _, v := range slices.Backward(list) { // the last one takes effect, as in exec.Cmd
			if n, value, ok := strings.Cut(v, "="); ok && n == name {
				return value, true
			}
		}
		return "", false
	}
}

// An envRead is a variable that was looked up, and the result.
type envRead struct {
	name, value string
	set         bool
}

// recordEnv returns an Environment that appends each result to into.
func recordEnv(env Environment, into *[]envRead) Environment {
	return func(name string) (string, bool) {
		value, ok := env.get(name)
		if r := (envRead{name, value, ok}); !slices.Contains(*into, r) {
			*into = append(*into, r)
		}
		return value, ok
	}
}

// sameEnv reports whether an environment has the same values.
func sameEnv(reads []envRead, env Environment) bool {
	for _, r := range reads {
		if value, ok := env.get(r.name); value != r.value || ok != r.set {
			return false
		}
	}
	return true
}

// reads are the inputs that decided the content of parsed files, in addition to
// their text. As long as they are the same, the files need not be read again.
type reads struct {
	files []stamped
	globs []globRead // of Include
	env   []envRead
	fresh bool // a file was written so recently that its time may not show a second change
}

type stamped struct {
	path  string
	stamp filestamp.Stamp
}

type globRead struct {
	pattern string
	found   []string
}

func (r *reads) note(path string) {
	s := filestamp.At(path)
	r.fresh = r.fresh || s.Fresh()
	r.files = append(r.files, stamped{path, s})
}

// current reports whether the files, if read again, would have the same
// content.
func (r *reads) current(env Environment) bool {
	if r.fresh || !sameEnv(r.env, env) {
		return false
	}
	for _, f := range r.files {
		if filestamp.At(f.path) != f.stamp {
			return false
		}
	}
	for _, g := range r.globs {
		if found, err := globFiles(g.pattern); err != nil || !slices.Equal(found, g.found) {
			return false
		}
	}
	return true
}

// A Cache stores parsed ssh_config files for all callers. It is safe for
// concurrent use.
type Cache struct {
	log *slog.Logger

	mu    sync.Mutex
	slots map[cacheKey]*slot
}

// A cacheKey holds all differences between callers except the environment.
type cacheKey struct {
	home, user, host string
	userFile         string
	systemFile       string
}

// maxSources limits the cache: one user has few sets of files.
const maxSources = 64

type slot struct {
	mu    sync.Mutex // also held while the files are read
	files *Files
}

// NewCache returns an empty cache. Unused parts of files are reported to log;
// nil discards the reports.
func NewCache(log *slog.Logger) *Cache {
	return &Cache{log: log, slots: make(map[cacheKey]*slot)}
}

// Load returns the files as they are now; "" stands for no file. It reads them
// again if they, or other inputs, have changed.
func (k *Cache) Load(local Local, userFile, systemFile string) (*Files, error) {
	source := cacheKey{local.home, local.user, local.host, userFile, systemFile}
	k.mu.Lock()
	s := k.slots[source]
	if s == nil {
		if len(k.slots) >= maxSources {
			clear(k.slots)
		}
		s = &slot{}
		k.slots[source] = s
	}
	k.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files != nil && s.files.read.current(local.Env) {
		return s.files, nil
	}
	files, err := readFiles(local, userFile, systemFile, k.log)
	if err != nil {
		return nil, err
	}
	files.local.Env = nil // only the first caller may use it
	s.files = files
	return files, nil
}
