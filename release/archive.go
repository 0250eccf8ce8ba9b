package release

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/bundle"
	"bolt/catalog"
	"bolt/catalog/seal"
	"bolt/format/fault"
	"bolt/store"
	"bolt/store/hold"
)

// Kind is the kind of the errors of this package that users can correct.
const Kind = "bolt/release-error"

// logName is the log with the events of releases. A process that adds releases or removes
// contents has a lease of the same name.
const logName = "releases"

// An Archive holds the releases of a store.
type Archive struct{ store store.Store }

// In returns the releases of a store.
func In(s store.Store) *Archive { return &Archive{s} }

// The types of events.
const (
	created  = "created"
	imported = "imported"
	signed   = "signed"
	removed  = "removed"
)

type event struct {
	Type      string       `json:"type"`
	Release   store.Digest `json:"release"`
	Sequence  uint64       `json:"sequence,omitempty"`
	Signature string       `json:"signature,omitempty"` // armored
}

// An Entry is a release of an archive.
type Entry struct {
	ID         store.Digest
	Sequence   uint64
	Imported   bool
	Signatures []string // as "ssh-keygen -Y sign" writes them
}

// A state is the result of all events of the log.
type state struct {
	entries  []*Entry // the oldest first
	byID     map[store.Digest]*Entry
	sequence uint64 // the highest
	revision store.Revision
}

func (a *Archive) load(ctx context.Context) (*state, error) {
	s := &state{byID: make(map[store.Digest]*Entry)}
	for e, err := range a.store.Events(ctx, logName, 0) {
		if err != nil {
			return nil, err
		}
		s.revision = e.Revision
		var ev event
		if err := json.Unmarshal(e.Data, &ev); err != nil {
			return nil, fmt.Errorf("event %d of the log %s: %w", e.Revision, logName, err)
		}
		s.add(&ev)
	}
	return s, nil
}

func (s *state) add(e *event) {
	entry := s.byID[e.Release]
	switch e.Type {
	case created, imported:
		s.sequence = max(s.sequence, e.Sequence)
		if entry == nil {
			entry = &Entry{ID: e.Release, Sequence: e.Sequence, Imported: e.Type == imported}
			s.byID[e.Release] = entry
			s.entries = append(s.entries, entry)
		}
	case signed:
		if entry != nil && !slices.Contains(entry.Signatures, e.Signature) {
			entry.Signatures = append(entry.Signatures, e.Signature)
		}
	case removed:
		delete(s.byID, e.Release)
		s.entries = slices.DeleteFunc(s.entries, func(x *Entry) bool { return x == entry })
	}
}

// append records events. fence is the fence of the lease; 0 for a signature, which needs no lease.
func (a *Archive) append(ctx context.Context, s *state, fence store.Fence, events ...event) error {
	data := make([]json.RawMessage, len(events))
	for i, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		data[i] = text
	}
	for {
		_, err := a.store.Append(ctx, logName, s.revision, fence, data...)
		if _, conflict := errors.AsType[*store.ConflictError](err); !conflict {
			return err
		}
		// Only signatures are added without the lease, and signatures do not change this result.
		if s, err = a.load(ctx); err != nil {
			return err
		}
	}
}

// List returns all releases, the oldest first.
func (a *Archive) List(ctx context.Context) ([]Entry, error) {
	s, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(s.entries))
	for i, e := range s.entries {
		list[i] = *e
	}
	return list, nil
}

// Last is the name of the release that was created or imported last.
const Last = "last"

// Find returns the release with a name: its ID, at least four of the first digits of its ID, its sequence
// number, or Last. The error is a *fault.Error.
func (a *Archive) Find(ctx context.Context, name string) (Entry, error) {
	const fewest = 4 // digits
	s, err := a.load(ctx)
	if err != nil {
		return Entry{}, err
	}
	if len(s.entries) == 0 {
		return Entry{}, hinted(fault.New(Kind, "No release was created."), "Run \"bolt release create\".")
	}
	if name == Last {
		return *s.entries[len(s.entries)-1], nil
	}
	var found []*Entry
	number, err := strconv.ParseUint(name, 10, 64)
	for _, e := range s.entries {
		if err == nil && e.Sequence == number {
			found = append(found, e)
		}
	}
	if found == nil && len(name) >= fewest {
		for _, e := range s.entries {
			if strings.HasPrefix(string(e.ID), strings.ToLower(name)) {
				found = append(found, e)
			}
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, hinted(fault.New(Kind, "The release '%s' does not exist.", name), "Run \"bolt release list\". Name a release by its sequence number, by the beginning of its ID, or by 'last'.")
	case 1:
		return *found[0], nil
	}
	return Entry{}, hinted(fault.New(Kind, "'%s' matches %d releases.", name, len(found)), "Give more digits of the ID.")
}

func hinted(e *fault.Error, hint string) *fault.Error {
	e.Hint = hint
	return e
}

// Get returns a release.
func (a *Archive) Get(ctx context.Context, id store.Digest) (*Release, error) {
	text, err := a.store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Catalog returns the catalog of a node with its secrets decrypted. It is an error if the catalog does not have the
// digest n.Catalog: a release from elsewhere could hide a change in this way.
func (a *Archive) Catalog(ctx context.Context, n Node, v seal.Vault) (*catalog.Catalog, error) {
	text, err := a.store.Get(ctx, n.Blob)
	if err != nil {
		return nil, err
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the catalog %s in the store: %w", n.Blob, err)
	}
	if c, err = v.Open(ctx, c); err != nil {
		return nil, err
	}
	if got := store.Digest(c.Digest()); got != n.Catalog {
		return nil, fmt.Errorf("the catalog %s in the store has the digest %s, and not %s as in the release", n.Blob, got, n.Catalog)
	}
	return c, nil
}

// Content returns a file that catalogs need.
func (a *Archive) Content(ctx context.Context, d store.Digest) ([]byte, error) {
	return a.store.Get(ctx, d)
}

// Open returns the function that opens a file that a catalog needs. The end of ctx does not end it.
func (a *Archive) Open(ctx context.Context) func(c bundle.Content) (io.ReadCloser, error) {
	return func(c bundle.Content) (io.ReadCloser, error) {
		text, err := a.Content(context.WithoutCancel(ctx), store.Digest(c.Sum))
		return io.NopCloser(bytes.NewReader(text)), err
	}
}

// Whole returns an error if a part of a release is missing or damaged.
func (a *Archive) Whole(ctx context.Context, r *Release) error {
	for _, d := range r.needs() {
		if _, err := a.store.Get(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// hold calls a function with the lease of the archive. It waits for another holder, and calls
// waiting once before it does.
func (a *Archive) hold(ctx context.Context, holder string, waiting func(holder string), f func(context.Context, store.Fence) error) error {
	return hold.While(ctx, a.store, logName, cmp.Or(holder, "an unnamed user"), func(e *store.HeldError) error {
		if waiting != nil {
			waiting(e.Holder)
		}
		return nil
	}, f)
}
