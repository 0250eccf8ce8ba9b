// Package hiera looks up data in hierarchies of files: Hiera 5.
//
// A [Hiera] is the configuration of an environment. It has the layers that are
// searched: global, environment, and, for a key "mod::…", the layer of that
// module. Each layer has a hiera.yaml. A Hiera caches parsed files, and all
// goroutines share it. A [Session] is one compilation or one run. It stores the
// paths that result from its variables, lookup_options, and the values that
// data functions have cached, so that one compilation sees one state of the
// data.
//
//	h := hiera.New(hiera.Options{Files: files, YAML: yaml, Global: "/p/hiera.yaml"})
//	s := h.Session(hiera.SessionOptions{})
//	v, err := s.Lookup(ctx, hiera.AtSite(site), hiera.Request{Names: []string{"port"}})
//
// Programs look up data with the functions of a Library that all evaluations
// share. The session of each evaluation is the Data of its Env:
//
//	lib := eval.NewLibrary(loader, hiera.Functions(sessionOf)...)
//	in := eval.New(eval.Env{Library: lib, Data: h.Session(hiera.SessionOptions{})})
//
// The package has no side effects of its own. It reads files through the
// interface [Files]. Functions in Options decode YAML, JSON, HOCON and eyaml. A
// [Caller] gives access to variables and functions of the language.
//
// The data functions are yaml_data, json_data, hocon_data, eyaml_lookup_key and
// functions that are written in the Puppet language. Errors are [*Error], with
// the file and the line if they are known, or errors of the Caller. An
// [Explanation] describes how a value was found.
//
// The package follows Puppet 8. Differences are marked with comments that begin
// with "Differs from Puppet:". Hierarchies of version 3 and 4 are an error.
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

// A Stamp distinguishes versions of a file.
type Stamp struct {
	Size    int64
	ModTime int64  // in nanoseconds
	Inode   uint64 // 0 if there is none
}

// Files reads data. Paths have the form that they have in the configuration,
// joined to the roots in Options. It must be safe for concurrent use.
type Files interface {
	// Stat returns the stamp of a file. If the file does not exist, ok is
	// false.
	Stat(path string) (s Stamp, ok bool)
	// ReadFile returns the content of a file. It ends when ctx is done.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Glob returns the files that match a pattern, sorted. It does not return
	// directories. Patterns are those of Ruby's Dir.glob (*, **, ?, [a-z],
	// {a,b}). It ends when ctx is done.
	Glob(ctx context.Context, pattern string) ([]string, error)
}

// A Decoder decodes text. Maps keep their order. A symbol in YAML becomes the
// value with this name in the language (default, undef), or a *value.Runtime,
// which a lookup must not return. file is for messages. An error contains the
// file and, if known, the line. An *Error has them in its fields.
type Decoder func(text []byte, file string) (value.Value, error)

// A Locator returns the position of a value in a file: the line and column of
// the value at a path of keys (string) and indexes (int). It returns 0 if the
// position is unknown.
type Locator func(path ...any) (line, column int)

// Modules are the modules of an environment.
type Modules interface {
	// Root returns the directory of a module. If the module does not exist, ok
	// is false.
	Root(name string) (dir string, ok bool)
}

// Options configure a Hiera.
type Options struct {
	Files Files

	// YAML decodes the files of yaml_data and eyaml, JSON those of json_data,
	// HOCON those of hocon_data. A format without a decoder is an error.
	YAML, JSON, HOCON Decoder
	// Config decodes hiera.yaml. nil: YAML is used, and messages do not have
	// lines.
	Config func(text []byte, file string) (value.Value, Locator, error)
	// Eyaml returns a function that decrypts the strings of files. options are
	// the options of a hierarchy entry that are strings (pkcs7_public_key, …).
	// nil: eyaml is an error.
	Eyaml func(ctx context.Context, options map[string]string) (func(s string) (string, error), error)

	// Global is the path of the global hiera.yaml, or "".
	Global string
	// Environment is the directory of the environment, which can have a
	// hiera.yaml, or "".
	Environment string
	// EnvironmentName is the name of the environment.
	EnvironmentName string
	// Modules can be nil.
	Modules Modules
}

// A Hiera is a set of hierarchies. It is safe for concurrent use.
type Hiera struct {
	o     Options
	files fileCache
}

// New returns a Hiera.
func New(o Options) *Hiera {
	return &Hiera{o: o, files: fileCache{files: o.Files}}
}

// SessionOptions configure a Session.
type SessionOptions struct {
	// Plan uses plan_hierarchy if a configuration has one. The error of an
	// unknown variable then explains that a plan has no facts.
	Plan bool
	// Strict is the setting strict. It applies to unknown variables in
	// interpolations. In the paths of a hierarchy, an unknown variable is at
	// most a warning.
	Strict eval.Strict
	// Looked receives each key that is looked up in the data, in the form of
	// the request ("port", "a.b"), also if it is not found. nil: keys are not
	// recorded. It must be safe for concurrent use.
	Looked func(key string)
	// Warn receives each warning once. nil: warnings are discarded.
	Warn func(msg string)
}

// Session returns a new session.
func (h *Hiera) Session(o SessionOptions) *Session {
	s := &Session{h: h, o: o, modules: map[string]*layer{}, lookupOptions: map[optionsKey]*lookupOptions{}, warned: map[string]bool{}, unset: map[string]bool{}}
	s.global = &layer{place: placeGlobal, configPath: h.o.Global, root: path.Dir(h.o.Global), required: true}
	return s
}

// A Session is the set of lookups of one compilation. It is safe for concurrent
// use.
type Session struct {
	h *Hiera
	o SessionOptions

	mu            sync.Mutex // guards the fields below, and the layers' fields
	global        *layer
	env           *layer // nil: not loaded yet
	modules       map[string]*layer
	lookupOptions map[optionsKey]*lookupOptions
	warned        map[string]bool
	unset         map[string]bool
}

// Unset returns the variables without a value that the paths of the hierarchies
// used so far contain. They are sorted and have the form of the source
// ("facts.os.name").
func (s *Session) Unset() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.unset))
}

// warn reports a warning once.
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
