// Package resource defines the parts that apply resources: a Type knows all resources of
// one resource type, an Item is one resource while it is applied, and a Host is the machine.
//
// An Item works in three steps. Read finds the present state on the host. Plan compares it
// with the wanted state and returns the changes; it has no effects and does not look at the
// host, so that noop and tests work on data. Do makes one of the changes.
//
// The code here runs on the machine that is changed. It does not know the language, the
// connection, or the inventory.
package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A Resource is a resource of a catalog as its type sees it. It is not changed while it is
// applied.
type Resource struct {
	catalog.Ref
	// Params are the parameters that have values. Sensitive values are unwrapped; their names
	// are in Secret. Metaparameters are in it, too; the engine obeys them.
	Params *ordered.Map
	// Secrets names the parameters with a value that must never be shown.
	Secrets []string
	// File is the metadata of a file with one source, and Trees those of a directory with
	// sources and recurse; nil if the sources are not known to the catalog. Then a source is
	// a path on the host.
	File  *catalog.FileMeta
	Trees []catalog.Tree
	// Within is the directory that a generated file lies in: links that lead out of it are not followed. It is
	// "" for a file that the catalog declares.
	Within string
	Tags   []string
	// Sends are the keys of the values that other resources receive from this resource (Sender). They are known before Read, not
	// in New.
	Sends []string
}

// Secret reports whether the value of a parameter must never be shown.
func (r *Resource) Secret(param string) bool {
	for _, s := range r.Secrets {
		if s == param {
			return true
		}
	}
	return false
}

// A Type applies the resources of one resource type. It is safe for concurrent use.
type Type interface {
	// New checks a resource and makes its Item. It neither reads nor changes the host: an
	// error of any resource of the catalog ends the run before something is changed. So New
	// finds all mistakes that can be seen in the parameters alone. The error names the
	// parameter (use ParamError) but not the resource.
	New(r *Resource) (Item, error)
}

// An Item is one resource while it is applied. The engine calls its methods from one
// goroutine at a time: Generate if it is there, Read, Plan, Do for each change unless the
// resource is noop, and Refresh if another resource asks for it.
type Item interface {
	// Read finds the present state. It changes nothing, also where commands are run.
	Read(ctx context.Context, h *Host) error
	// Plan returns the changes that the resource needs, in the order in which Do must make
	// them; none if the state that Read found is the wanted one. It has no effects. An error
	// fails the resource.
	Plan() ([]Change, error)
	// Do makes one change of Plan. After an error the resource has failed. The rest of the
	// changes is made all the same, unless the change was that of ensure.
	Do(ctx context.Context, h *Host, c *Change) error
}

// A Change is the difference in one property.
type Change struct {
	// Property is the name of the property. Name is Puppet's name of the change, such as
	// "file_created"; "" stands for PROPERTY_changed.
	Property, Name string
	// Is and Should are the values for people. The engine replaces those of secret parameters
	// (Resource.Secret of Property).
	Is, Should string
	// Message is a sentence about the change, "" for the engine's: "PROPERTY changed from IS
	// to SHOULD". It must not have a secret in it.
	Message string
	// Diff returns a unified diff of contents, or ""; nil if there is none. The engine calls
	// it before Do, only if diffs are wanted, and not for secrets.
	Diff func() string
	// NoRefresh is set if a refresh is not needed after the change, such as for a service that was just
	// started.
	NoRefresh bool
}

// Created returns the change of a resource of a type that does not exist and is created.
func Created(typ string) []Change {
	return []Change{{Property: "ensure", Name: typ + "_created", Is: "absent", Should: "present"}}
}

// Removed returns the change of a resource of a type that exists and is removed.
func Removed(typ string) []Change {
	return []Change{{Property: "ensure", Name: typ + "_removed", Is: "present", Should: "absent"}}
}

// Ensure returns the change of a resource that must exist, or must be absent; nil if it does or is.
func Ensure(typ string, exists, absent bool) []Change {
	switch {
	case exists && absent:
		return Removed(typ)
	case !exists && !absent:
		return Created(typ)
	}
	return nil
}

// A Refresher is an Item that does something when a resource that notifies it has changed. Refresh is called
// after the changes of the Item itself. made are those changes; none if there were none. An
// item that has nothing to do returns nil: it counts as refreshed all the same, as in Puppet.
type Refresher interface {
	Refresh(ctx context.Context, h *Host, made []Change) error
}

// A Sender is an Item with values that other resources can receive. Sent is called when the item has been applied
// without a failure; in noop mode, without Do and Refresh. The values are plain data (catalog.Plain) by the keys of package catalog/types. A
// key without a value was not sent, so its receivers are skipped. If secret is set, none of the values must ever be shown.
type Sender interface {
	Sent() (values map[string]any, secret bool)
}

// A Generator is an Item that adds resources that are not in the catalog, such as the files in a
// directory. Generate is called before Read and changes nothing. The new resources are applied after the
// generator and before all that depends on it; a resource that the catalog has already is left out by the
// engine.
type Generator interface {
	Generate(ctx context.Context, h *Host) ([]*Resource, error)
}

// A Parallel is an Item that can be applied at the same time as other Items
// of any type, such as a file. Items that are not Parallel are applied alone, in the order of the catalog.
type Parallel interface{ Parallel() }

// An Independent is an Item that is not Parallel. In a graph, where the catalog has no order, it can be applied at the same time as
// Parallel and Independent items. It changes nothing that other items change, such as a command.
type Independent interface{ Independent() }

// A Watcher is an Item whose state can be watched. Watch returns the sources of events, after which the item must be read
// again. If there are none, nothing but a refresh can make the item do something, such as for an exec without conditions. An Item
// that is not a Watcher is read again from time to time.
type Watcher interface {
	Watch(ctx context.Context, h *Host) []Watch
}

// A Watch is a source of events: a path, or the time.
type Watch struct {
	// Path is an absolute path. Each change of the file, of its metadata or of a directory above it is an event. The file does not
	// need to exist. If Tree is set, each change of a file below it is an event, too.
	Path string
	Tree bool
	// Poll is set if changes can have no event, so that the item is read from time to time.
	Poll bool
	// Every is the time between two events of a timer. An event touches the items directly after this item, and not the item itself.
	Every time.Duration
}

// Paths returns the Watches of paths.
func Paths(paths ...string) (list []Watch) {
	for _, p := range paths {
		list = append(list, Watch{Path: p})
	}
	return list
}

// A Reader is a Type that reads the states of many resources at once, such as with one query
// of a package database. The engine calls ReadAll for all items that it can apply next, instead of Item.Read
// for each. The results are in the order of the items: nil, or the error of an item.
type Reader interface {
	ReadAll(ctx context.Context, h *Host, items []Item) []error
}

// A Doer is a Type that makes the changes of many resources at once, such as in one transaction of
// a package manager. The results are in the order of the works: nil, or the error of a work. A
// work with an error can have been made in part.
type Doer interface {
	DoAll(ctx context.Context, h *Host, works []Work) []error
}

// A Lister is a Type that can list the resources that exist on the host. They can then be shown, and removed if they
// are not in the catalog.
type Lister interface {
	// List returns the resources with "ensure" and the properties that are known. A resource with its title and its
	// parameters, but with "ensure" set to "absent", removes the resource that was found.
	List(ctx context.Context, h *Host) ([]*Resource, error)
}

// A Shower is a Type that shows the states of resources without a catalog.
type Shower interface {
	// Show returns the resource of a name, with "ensure" set to "absent" if it does not exist. For the name "", it returns all resources
	// that exist. The parameters are "ensure" and the properties that are known; hashes of passwords are not among
	// them. The error is ErrNeedsName for a type that has no list.
	Show(ctx context.Context, h *Host, name string) ([]*Resource, error)
}

// ErrNeedsName is the error of a Shower that shows single resources only.
var ErrNeedsName = errors.New("a name is needed: resources of this type cannot be listed")

// Show returns the states of resources of a type as Shower.Show does, for a Lister, too. The result is sorted by
// title. A type that is neither a Shower nor a Lister is an error.
func Show(ctx context.Context, t Type, h *Host, typ, name string) (list []*Resource, err error) {
	switch t := t.(type) {
	case Shower:
		list, err = t.Show(ctx, h, name)
	case Lister:
		if list, err = t.List(ctx, h); name != "" && err == nil {
			list = slices.DeleteFunc(list, func(r *Resource) bool { return r.Title != name })
			if len(list) == 0 {
				list = []*Resource{{Ref: catalog.Ref{Type: typ, Title: name}, Params: ordered.Of("ensure", "absent")}}
			}
		}
	default:
		return nil, fmt.Errorf("bolt cannot show resources of the type %s", strings.ToLower(typ))
	}
	slices.SortStableFunc(list, func(a, b *Resource) int { return strings.Compare(a.Title, b.Title) })
	return list, err
}

// A Work is an item with the changes of its Plan; there is at least one.
type Work struct {
	Item    Item
	Changes []Change
}

// A ParamError is the error of New for one parameter.
type ParamError struct {
	Param   string
	Problem string // such as: must be an absolute path, and is "x". It has no secret in it.
}

func (e *ParamError) Error() string { return fmt.Sprintf("The parameter %s %s", e.Param, e.Problem) }

// Logf reports a message about the resource. It must not have a secret in it.
func (h *Host) Logf(r catalog.Ref, level report.Level, format string, a ...any) {
	if h.Log != nil {
		h.Log(r, level, fmt.Sprintf(format, a...))
	}
}
