// Package release keeps releases: each fixes the catalogs of a set of nodes, and all contents
// that these catalogs need. A release is never changed, and does not depend on the files from which
// it was made.
//
// A [Release] is a JSON document. Its ID is the SHA-256 of the document. The document names
// catalogs and contents by their digests, so the ID stands for all of them. An [Archive] holds the releases of
// a store: the documents, catalogs and contents are contents of the store, and the log "releases" has an event
// for each release that was created, signed, imported or removed.
//
// Each release has a sequence number, which is higher than the number of each release before it. A
// machine can therefore refuse to go back to an old release by mistake.
//
// # Catalogs
//
// A node has two digests: the digest of its catalog (catalog.Digest) and the digest of the stored JSON. The
// digests of two catalogs are equal if and only if both describe the same state. The secrets in the stored JSON
// are encrypted (package catalog/seal). If the digest of a catalog is the same as in the last release of the
// node, the stored JSON of that release is used again.
//
// The digest of a catalog depends on its secrets. A person with the release can guess a short secret and check
// the guess.
package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bolt/store"
)

// format is the version of the document. A document of another version is not read.
const format = 1

// maxSequence is the highest sequence number. All JSON parsers can read it.
const maxSequence = 1 << 52

// A Release is a document with its ID.
type Release struct {
	ID store.Digest // SHA-256 of Text
	Document
	Text []byte // the document as it is stored, and as it is signed
}

// A Document is the content of a release.
type Document struct {
	Format      int          `json:"format"`
	Sequence    uint64       `json:"sequence"` // from 1
	Parent      store.Digest `json:"parent,omitempty"`
	Time        time.Time    `json:"time"` // of the creation, in UTC, in seconds
	Author      string       `json:"author"`
	Environment string       `json:"environment,omitempty"` // of all nodes; "" if they have different ones
	Code        *Code        `json:"code,omitempty"`        // nil if the version is unknown
	// Nodes are the nodes of the release, by their names.
	Nodes map[string]Node `json:"nodes"`
	// Contents are the digests of the files that catalogs need, sorted.
	Contents []store.Digest `json:"contents"`
	// Changes are the differences of changed nodes from their last releases, without values.
	Changes []Group `json:"changes"`
	// Earlier has the last releases of nodes that this release does not have.
	Earlier map[string]store.Digest `json:"earlier,omitempty"`
}

// Code is the version of the Puppet code.
type Code struct {
	Commit string `json:"commit"` // of git
	Dirty  bool   `json:"dirty"`  // files differ from the commit
}

// EnginePuppet is the Node.Engine of the Puppet that is installed on the node.
const EnginePuppet = "puppet"

// A Node is the part of a release for one machine.
type Node struct {
	Catalog store.Digest `json:"catalog"` // what is applied (catalog.Digest)
	Blob    store.Digest `json:"blob"`    // the catalog in the store
	Changed bool         `json:"changed"` // from the last release of the node; also if it has none
	// Compiler is the program that made the catalog: bolt, puppet or puppetserver. It is "" if the program is not known.
	Compiler string `json:"compiler,omitempty"`
	// Engine is the program that applies the catalog: EnginePuppet, or "" for bolt.
	Engine string `json:"engine,omitempty"`
	// Plugins is the content with the Ruby code of modules (package plugins) for EnginePuppet; "" for none.
	Plugins store.Digest `json:"plugins,omitempty"`
}

// Applied identifies all that is applied to the node: the catalog, and the engine with its Ruby code. It is the digest of the
// catalog if bolt applies it.
func (n Node) Applied() store.Digest {
	if n.Engine == "" {
		return n.Catalog
	}
	return store.DigestOf([]byte(strings.Join([]string{"engine " + n.Engine, "plugins " + string(n.Plugins), "catalog " + string(n.Catalog)}, "\n")))
}

// A Group has the nodes that have changed in the same way.
type Group struct {
	Nodes   []string `json:"nodes"`
	Changes []Change `json:"changes"`
}

// A Change describes how a resource has changed. It has no values, because they can be long or secret.
type Change struct {
	// Change is a diff.Kind, or "engine" for another engine, or "plugins" for other Ruby code of modules.
	Change     string   `json:"change"`
	Resource   string   `json:"resource,omitempty"` // Type[title]; "" if the change is not one of a resource
	Parameters []string `json:"parameters,omitempty"`
}

// Parse reads a document.
func Parse(text []byte) (*Release, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("the document of the release is not JSON: %w", err)
	}
	if version.Format != format {
		return nil, fmt.Errorf("the document of the release has the format %d, but this version of bolt reads the format %d", version.Format, format)
	}
	r := &Release{ID: store.DigestOf(text), Text: text}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.Document); err != nil {
		return nil, fmt.Errorf("the document of the release: %w", err)
	}
	return r, r.check()
}

// check returns an error for a document that this package cannot have written.
func (d *Document) check() error {
	if d.Sequence == 0 || d.Sequence > maxSequence {
		return fmt.Errorf("the document of the release has the sequence number %d, which is not between 1 and %d", d.Sequence, uint64(maxSequence))
	}
	if len(d.Nodes) == 0 {
		return errors.New("the release has no nodes")
	}
	digests := slices.Clone(d.Contents)
	if d.Parent != "" {
		digests = append(digests, d.Parent)
	}
	for name, n := range d.Nodes {
		if name == "" {
			return errors.New("the release has a node without a name")
		}
		digests = append(digests, n.Catalog, n.Blob)
		if n.Plugins != "" {
			digests = append(digests, n.Plugins)
		}
		if n.Engine != "" && n.Engine != EnginePuppet {
			return fmt.Errorf("the release has the unknown engine %q for the node %s. A newer version of bolt may support it", n.Engine, name)
		}
	}
	for _, g := range digests {
		if _, err := store.ParseDigest(string(g)); err != nil {
			return fmt.Errorf("the document of the release: %w", err)
		}
	}
	return nil
}

// text returns the canonical form of a document.
func (d *Document) text() ([]byte, error) {
	text, err := json.Marshal(d) // the keys of maps are sorted
	return append(text, '\n'), err
}

// Names returns the names of the nodes, sorted.
func (d *Document) Names() []string { return slices.Sorted(maps.Keys(d.Nodes)) }

// Changed returns the number of nodes that have changed.
func (d *Document) Changed() int {
	n := 0
	for _, node := range d.Nodes {
		if node.Changed {
			n++
		}
	}
	return n
}

// needs returns the contents of the store that a release needs, without its document. Each is
// in the list once, sorted.
func (d *Document) needs() []store.Digest {
	list := slices.Clone(d.Contents)
	for _, n := range d.Nodes {
		list = append(list, n.Blob)
		if n.Plugins != "" {
			list = append(list, n.Plugins)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
