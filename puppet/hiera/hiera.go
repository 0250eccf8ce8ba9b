// Package hiera looks up data in hierarchies of files: Hiera 5.
//
// A [Hiera] is the configuration of an environment: the layers that are
// searched (global, environment, and for a key "mod::…" that module's own),
// each with a hiera.yaml. It keeps parsed files and is shared by all
// goroutines. A [Session] is one compilation or one run: it remembers which
// paths its variables led to, lookup_options, and what data functions have
// cached, so that one compilation sees one state of the data.
//
//	h := hiera.New(hiera.Options{Files: files, YAML: yaml, Global: "/p/hiera.yaml"})
//	s := h.Session(hiera.SessionOptions{})
//	v, err := s.Lookup(ctx, hiera.AtSite(site), hiera.Request{Names: []string{"port"}})
//
// Programs look up by the functions of a Library that all evaluations share;
// the session of each is the Data of its Env:
//
//	lib := eval.NewLibrary(loader, hiera.Functions(sessionOf)...)
//	in := eval.New(eval.Env{Library: lib, Data: h.Session(hiera.SessionOptions{})})
//
// The package has no effects of its own. Files come through the interface
// [Files]; YAML, JSON, HOCON and eyaml are decoded by functions that Options
// give; variables and functions of the language are reached through [Caller].
//
// Data functions are yaml_data, json_data, hocon_data, eyaml_lookup_key and
// those written in the Puppet language. Errors are [*Error], with the file and
// the line where they are known, or errors of the Caller. An [Explanation]
// tells how a value was found.
//
// It follows Puppet 8; where it does not, a comment says "Differs from
// Puppet:". Hierarchies of version 3 and 4 are refused.
package hiera

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Stamp tells versions of a file apart.
type Stamp struct {
	Size    int64
	ModTime int64  // in nanoseconds
	Inode   uint64 // 0 where there is none
}

// Files is how data is read. Paths are as configuration has them, joined to
// the roots that Options name. It is safe for many goroutines.
type Files interface {
	// Stat returns the stamp of a file; ok is false when there is none.
	Stat(path string) (s Stamp, ok bool)
	// ReadFile returns the content of a file. It ends with ctx.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Glob returns the files, and no directories, that match a pattern as
	// Ruby's Dir.glob has it (*, **, ?, [a-z], {a,b}), sorted.
	// It ends with ctx, too.
	Glob(ctx context.Context, pattern string) ([]string, error)
}

// A Decoder reads text. Maps keep their order. A symbol of YAML is what it is
// in the language (default, undef), or else a *value.Runtime, which no lookup
// may return. file is for messages. An error tells the file and, if known, the
// line: an *Error does so in its fields.
type Decoder func(text []byte, file string) (value.Value, error)

// A Locator tells where in a file a value stands: the line and column of what
// a path of keys (string) and indexes (int) leads to, 0 if it is not known.
type Locator func(path ...any) (line, column int)

// Modules are the modules of an environment.
type Modules interface {
	// Root returns the directory of a module; ok is false when there is none.
	Root(name string) (dir string, ok bool)
}

// Options are what a Hiera is made of.
type Options struct {
	Files Files

	// YAML reads yaml_data's files and eyaml's; JSON json_data's; HOCON
	// hocon_data's. A format without a decoder is refused.
	YAML, JSON, HOCON Decoder
	// Config reads hiera.yaml; nil: YAML does, and messages have no lines.
	Config func(text []byte, file string) (value.Value, Locator, error)
	// Eyaml returns what decrypts the strings of files, for the options of a
	// hierarchy entry that are strings (pkcs7_public_key, …). Nil: eyaml is
	// refused.
	Eyaml func(ctx context.Context, options map[string]string) (func(s string) (string, error), error)

	// Global is the path of the global hiera.yaml; "" for none.
	Global string
	// Environment is the directory of the environment, which may have a
	// hiera.yaml; "" for none.
	Environment string
	// EnvironmentName is what the environment is called.
	EnvironmentName string
	// Modules may be nil.
	Modules Modules
}

// A Hiera is a set of hierarchies. It is safe for many goroutines.
type Hiera struct {
	o     Options
	files fileCache
}

// New returns a Hiera.
func New(o Options) *Hiera {
	return &Hiera{o: o, files: fileCache{files: o.Files}}
}

// SessionOptions say what is particular to a compilation.
type SessionOptions struct {
	// Plan uses plan_hierarchy where a configuration has one. That a variable
	// is unknown is told as what it is in a plan: there are no facts.
	Plan bool
	// Strict is the setting strict: what an unknown variable in an
	// interpolation is. In paths of a hierarchy it is a warning at most.
	Strict eval.Strict
	// Looked gets each key that is looked up in the data, as it is written ("port", "a.b"),
	// found or not; nil: keys are not recorded. Lookups of several goroutines call it at once.
	Looked func(key string)
	// Warn gets warnings, each once; nil: nobody does.
	Warn func(msg string)
}

// Session returns a new session.
func (h *Hiera) Session(o SessionOptions) *Session {
	s := &Session{h: h, o: o, modules: map[string]*layer{}, lookupOptions: map[optionsKey]*lookupOptions{}, warned: map[string]bool{}, unset: map[string]bool{}}
	s.global = &layer{place: placeGlobal, configPath: h.o.Global, root: path.Dir(h.o.Global), required: true}
	return s
}

// A Session is the lookups of one compilation. It is safe for many goroutines.
type Session struct {
	h *Hiera
	o SessionOptions

	mu            sync.Mutex // guards the fields below, and the layers' fields
	global        *layer
	env           *layer // nil: not known yet
	modules       map[string]*layer
	lookupOptions map[optionsKey]*lookupOptions
	warned        map[string]bool
	unset         map[string]bool
}

// Unset returns, sorted, the variables that paths of the hierarchies looked at so
// far use and that had no value, as they are written there ("facts.os.name").
func (s *Session) Unset() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.unset))
}

// warn tells a warning once.
func (s *Session) warn(format string, args ...any) {
	if s.o.Warn == nil {
		return
	}
	msg := fmt.Sprintf(format, args...)
	s.mu.Lock()
	told := s.warned[msg]
	s.warned[msg] = true
	s.mu.Unlock()
	if !told {
		s.o.Warn(msg)
	}
}
