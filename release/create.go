package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/apply/bundle"
	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/seal"
	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/store"
)

// Options are the options of Create.
type Options struct {
	Author      string // a user, for messages
	Environment string // "": the environment of the catalogs, if all have the same
	Code        *Code
	Vault       seal.Vault
	// Waiting, if not nil, is called with the author if Create waits for another process that adds a release.
	Waiting func(author string)
}

// A Draft is a release that is being created.
type Draft struct {
	archive *Archive
	vault   seal.Vault
	last    *history

	mu           sync.Mutex
	nodes        map[string]Node
	changes      map[string][]diff.Change
	contents     map[store.Digest]bool
	environments map[string]bool
}

// Create creates a release of the catalogs that fill adds to the draft. If fill returns an error, no release is
// created. Contents that were stored for it stay until Collect removes them.
func (a *Archive) Create(ctx context.Context, o Options, fill func(context.Context, *Draft) error) (*Release, error) {
	var made *Release
	err := a.hold(ctx, o.Author, o.Waiting, func(ctx context.Context, fence store.Fence) error {
		s, err := a.load(ctx)
		if err != nil {
			return err
		}
		d := &Draft{archive: a, vault: o.Vault, nodes: make(map[string]Node), changes: make(map[string][]diff.Change), contents: make(map[store.Digest]bool), environments: make(map[string]bool)}
		if d.last, err = a.history(ctx, s); err != nil {
			return err
		}
		if err := fill(ctx, d); err != nil {
			return err
		}
		if len(d.nodes) == 0 {
			return fault.New(Kind, "No nodes were found, so no release was created.")
		}
		text, err := d.document(&o, s).text()
		if err != nil {
			return err
		}
		if made, err = Parse(text); err != nil {
			return err
		}
		if _, err := a.store.Put(ctx, text); err != nil {
			return err
		}
		return a.append(ctx, s, fence, event{Type: created, Release: made.ID, Sequence: made.Sequence})
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (d *Draft) document(o *Options, s *state) *Document {
	doc := &Document{Format: format, Sequence: s.sequence + 1, Time: time.Now().UTC().Truncate(time.Second), Author: o.Author, Environment: o.Environment, Code: o.Code,
		Nodes: d.nodes, Contents: []store.Digest{}, Changes: []Group{}, Earlier: make(map[string]store.Digest)}
	if len(s.entries) > 0 {
		doc.Parent = s.entries[len(s.entries)-1].ID
	}
	if doc.Environment == "" && len(d.environments) == 1 {
		for name := range d.environments {
			doc.Environment = name
		}
	}
	for sum := range d.contents {
		doc.Contents = append(doc.Contents, sum)
	}
	slices.Sort(doc.Contents)
	for _, g := range diff.Fold(d.changes) {
		doc.Changes = append(doc.Changes, summary(g))
	}
	for name, id := range d.last.releases {
		if _, here := d.nodes[name]; !here {
			doc.Earlier[name] = id
		}
	}
	return doc
}

// summary returns a group of nodes whose changes have no values.
func summary(g diff.Group) Group {
	s := Group{Nodes: g.Nodes, Changes: make([]Change, len(g.Changes))}
	for i, c := range g.Changes {
		s.Changes[i].Change = string(c.Kind)
		if c.Resource != (catalog.Ref{}) {
			s.Changes[i].Resource = c.Resource.String()
		}
		for _, p := range c.Params {
			s.Changes[i].Parameters = append(s.Changes[i].Parameters, p.Name)
		}
	}
	return s
}

// withoutValues removes the parts that a summary does not have, so that diff.Fold puts equal
// summaries together.
func withoutValues(changes []diff.Change) []diff.Change {
	for i, c := range changes {
		if c.Kind != diff.Changed {
			changes[i].Params = nil
			continue
		}
		for k, p := range c.Params {
			c.Params[k] = diff.Param{Name: p.Name}
		}
	}
	return changes
}

// A Making has the programs for a node of a release.
type Making struct {
	Compiler string // as Node.Compiler
	Engine   string // as Node.Engine
	Plugins  []byte // the Ruby code for EnginePuppet; nil for none
}

// Add adds the catalog of a node. It is safe for concurrent use.
func (d *Draft) Add(ctx context.Context, name string, c *catalog.Catalog, by Making) error {
	made := Node{Catalog: store.Digest(c.Digest()), Changed: true, Compiler: by.Compiler, Engine: by.Engine}
	var err error
	if by.Plugins != nil {
		if made.Plugins, err = d.archive.store.Put(ctx, by.Plugins); err != nil {
			return err
		}
	}
	last, known, err := d.last.node(ctx, name)
	if err != nil {
		return err
	}
	var changes []diff.Change
	if known {
		made.Changed = last.Applied() != made.Applied()
		if last.Catalog == made.Catalog {
			if has, err := d.archive.store.Has(ctx, last.Blob); err != nil {
				return err
			} else if has {
				made.Blob = last.Blob
			}
		} else if changes, err = d.compare(ctx, last, c); err != nil {
			return err
		}
	}
	if made.Blob == "" {
		if made.Blob, err = d.put(ctx, c); err != nil {
			return err
		}
	}
	if err := d.keepContents(ctx, c); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, twice := d.nodes[name]; twice {
		return fault.New(Kind, "The node %s has two catalogs.", name)
	}
	d.nodes[name] = made
	d.environments[c.Environment] = true
	if known {
		changes = append(changes, programs(&last, &made)...)
	}
	if changes != nil {
		d.changes[name] = changes
	}
	return nil
}

// The kinds of changes that are not in the catalog.
const (
	engineChange  diff.Kind = "engine"
	pluginsChange diff.Kind = "plugins"
)

// programs returns the changes of the engine of a node, and of its Ruby code, since the last release of the node.
func programs(was, is *Node) []diff.Change {
	switch {
	case was.Engine != is.Engine:
		return []diff.Change{{Kind: engineChange}}
	case was.Plugins != is.Plugins:
		return []diff.Change{{Kind: pluginsChange}}
	}
	return nil
}

// put stores a catalog with its secrets encrypted.
func (d *Draft) put(ctx context.Context, c *catalog.Catalog) (store.Digest, error) {
	sealed, err := d.vault.Seal(ctx, c)
	if err != nil {
		return "", err
	}
	text, err := sealed.MarshalJSON()
	if err != nil {
		return "", err
	}
	return d.archive.store.Put(ctx, text)
}

// compare returns the changes of a node since its last release. It returns none if the catalog of that release
// was removed from the store.
func (d *Draft) compare(ctx context.Context, last Node, c *catalog.Catalog) ([]diff.Change, error) {
	before, err := d.archive.Catalog(ctx, last, d.vault)
	if _, gone := errors.AsType[*store.NotFoundError](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return withoutValues(diff.Compare(before, c)), nil
}

// maxContent is the size of the largest file that is stored.
const maxContent = 1 << 30

// keepContents stores the files that a catalog needs.
func (d *Draft) keepContents(ctx context.Context, c *catalog.Catalog) error {
	for _, f := range bundle.Contents(c) {
		sum := store.Digest(f.Sum)
		d.mu.Lock()
		done := d.contents[sum]
		d.contents[sum] = true // an error ends the draft
		d.mu.Unlock()
		if done {
			continue
		}
		if has, err := d.archive.store.Has(ctx, sum); err != nil {
			return err
		} else if has {
			continue
		}
		data, err := readfile.Read(ctx, f.Source, maxContent)
		if err != nil {
			return fault.File(f.Source, err, "The content of %s in the catalog of %s could not be stored: %s: %v", f.Path, c.Name, f.Source, fault.WithoutPath(err))
		}
		if got := store.DigestOf(data); got != sum {
			return hinted(fault.File(f.Source, nil, "The file %s has changed since the catalog of %s was compiled.", f.Source, c.Name), "Create the release again.")
		}
		if _, err := d.archive.store.Put(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

// A history has the last release of each node.
type history struct {
	archive  *Archive
	releases map[string]store.Digest

	mu     sync.Mutex
	loaded map[store.Digest]*Release // nil: it was removed
}

// history reads the last releases of all nodes. A release that was created here lists earlier releases of other
// nodes (Document.Earlier); an imported release does not.
func (a *Archive) history(ctx context.Context, s *state) (*history, error) {
	h := &history{archive: a, releases: make(map[string]store.Digest), loaded: make(map[store.Digest]*Release)}
	put := func(name string, id store.Digest) {
		if _, known := h.releases[name]; !known {
			h.releases[name] = id
		}
	}
	for _, e := range slices.Backward(s.entries) {
		r, err := h.get(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		for name := range r.Nodes {
			put(name, r.ID)
		}
		if e.Imported {
			continue
		}
		for name, id := range r.Earlier {
			if s.byID[id] != nil {
				put(name, id)
			}
		}
		break
	}
	return h, nil
}

// get returns a release; nil if the store no longer has it.
func (h *history) get(ctx context.Context, id store.Digest) (*Release, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, known := h.loaded[id]; known {
		return r, nil
	}
	r, err := h.archive.Get(ctx, id)
	if _, gone := errors.AsType[*store.NotFoundError](err); err != nil && !gone {
		return nil, fmt.Errorf("the release %s: %w", id, err)
	}
	h.loaded[id] = r
	return r, nil
}

// node returns the entry of a node in its last release.
func (h *history) node(ctx context.Context, name string) (n Node, known bool, err error) {
	id, known := h.releases[name]
	if !known {
		return n, false, nil
	}
	r, err := h.get(ctx, id)
	if err != nil || r == nil {
		return n, false, err
	}
	n, known = r.Nodes[name]
	return n, known, nil
}

// Short returns the beginning of an ID, for messages.
func Short(id store.Digest) string {
	const digits = 12
	return strings.TrimSpace(string(id[:min(digits, len(id))]))
}
