package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"bolt/catalog/compile"
	"bolt/format/fault"
	"bolt/internal/spelling"
)

// ErrNoEnvironment is the cause of the error for an unknown environment.
var ErrNoEnvironment = errors.New("the environment does not exist")

// noEnvironment returns the error for the name of an environment that does not exist.
func noEnvironment(path, name string) error {
	e := &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The environment '%s' does not exist in '%s'.", name, path), Err: ErrNoEnvironment}
	e.Hint = "Choose an environment with --environment. Its name has only letters, digits and _."
	var names []string
	entries, err := os.ReadDir(path)
	if err != nil {
		e.Msg += fmt.Sprintf(" The directory could not be read: %v.", fault.WithoutPath(err))
	}
	for _, d := range entries {
		if info, err := os.Stat(filepath.Join(path, d.Name())); err == nil && info.IsDir() && valid(d.Name()) {
			names = append(names, d.Name())
		}
	}
	const most = 20
	switch near := spelling.Near(name, names); {
	case near != "":
		e.Msg += " Did you mean '" + near + "'?"
	case len(names) > most:
		e.Msg += fmt.Sprintf(" It has %s and %d more.", strings.Join(names[:most], ", "), len(names)-most)
	case len(names) > 0:
		e.Msg += " It has " + strings.Join(names, ", ") + "."
	}
	return e
}

// Environments compile each node in the environment that it names. It is safe for
// concurrent use.
type Environments struct {
	name string // of nodes that name none
	open func(name string) (*Site, error)

	mu    sync.Mutex // guards sites
	sites map[string]*opening
}

// An opening is an environment that is opened once.
type opening struct {
	once sync.Once
	site *Site
	err  error
}

// NewEnvironments returns the environments of nodes. name is the environment of nodes that
// name none. open opens an environment, once for all nodes; the time limit of a node does
// not end it.
func NewEnvironments(name string, open func(name string) (*Site, error)) *Environments {
	return &Environments{name: name, open: open, sites: make(map[string]*opening)}
}

// Compile compiles the catalog of a node in its environment.
func (e *Environments) Compile(ctx context.Context, n Node) (*compile.Result, error) {
	name := n.Environment
	if name == "" {
		name = e.name
	}
	e.mu.Lock()
	o := e.sites[name]
	if o == nil {
		o = &opening{}
		e.sites[name] = o
	}
	e.mu.Unlock()
	o.once.Do(func() { o.site, o.err = e.open(name) })
	if o.err != nil {
		return nil, o.err
	}
	return o.site.Compile(ctx, n)
}
