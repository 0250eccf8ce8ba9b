package release

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/format/fault"
	"bolt/release/signature"
	"bolt/store"
)

// The entries of an exported release: a tar file (POSIX ustar).
const (
	documentEntry   = "release.json"
	signatureFolder = "signatures/" // 1.sig, 2.sig …
	blobFolder      = "blobs/"      // catalogs and contents, named by their digests
)

// Limits of an import.
const (
	maxDocument   = 256 << 20
	maxSignature  = 64 << 10
	maxSignatures = 100
)

// Export writes a release with its signatures, catalogs and contents as a tar file. Equal releases become equal
// bytes.
func (a *Archive) Export(ctx context.Context, e Entry, w io.Writer) error {
	r, err := a.Get(ctx, e.ID)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	add := func(name string, data []byte) error {
		err := out.WriteHeader(&tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: r.Time})
		if err == nil {
			_, err = out.Write(data)
		}
		return err
	}
	if err := add(documentEntry, r.Text); err != nil {
		return err
	}
	for i, s := range e.Signatures {
		if err := add(fmt.Sprintf("%s%d.sig", signatureFolder, i+1), []byte(s)); err != nil {
			return err
		}
	}
	for _, d := range r.needs() {
		data, err := a.store.Get(ctx, d)
		if err == nil {
			err = add(blobFolder+string(d), data)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// Import adds an exported release. It verifies that all contents are there, that each content has the digest in
// the document, and that the signatures match the document. If the archive already has the release, only new
// signatures are added. author is the name of the user, for messages; waiting is like Options.Waiting.
func (a *Archive) Import(ctx context.Context, in io.Reader, author string, waiting func(author string)) (*Release, error) {
	var made *Release
	err := a.hold(ctx, author, waiting, func(ctx context.Context, fence store.Fence) error {
		r, signatures, err := unpack(ctx, in, a.receive)
		if err != nil {
			return err
		}
		for _, d := range r.needs() {
			if has, err := a.store.Has(ctx, d); err != nil {
				return err
			} else if !has {
				return refused("it does not have the content %s", d)
			}
		}
		if _, err := a.store.Put(ctx, r.Text); err != nil {
			return err
		}
		s, err := a.load(ctx)
		if err != nil {
			return err
		}
		var events []event
		if s.byID[r.ID] == nil {
			events = append(events, event{Type: imported, Release: r.ID, Sequence: r.Sequence})
		}
		for _, text := range signatures {
			if old := s.byID[r.ID]; old == nil || !slices.Contains(old.Signatures, text) {
				events = append(events, event{Type: signed, Release: r.ID, Signature: text})
			}
		}
		made = r
		return a.append(ctx, s, fence, events...)
	})
	return made, err
}

// receive stores a content that a release needs.
func (a *Archive) receive(ctx context.Context, data []byte, isCatalog bool) error {
	if isCatalog {
		if _, err := catalog.Parse(data); err != nil {
			return refused("the catalog %s: %v", store.DigestOf(data), err)
		}
	}
	_, err := a.store.Put(ctx, data)
	return err
}

func refused(format string, args ...any) error {
	return fault.New(Kind, "The file is not an exported release that can be imported: %s.", fmt.Sprintf(format, args...))
}

// unpack reads an exported release. It calls receive for each content.
func unpack(ctx context.Context, in io.Reader, receive func(ctx context.Context, data []byte, isCatalog bool) error) (*Release, []string, error) {
	entries := tar.NewReader(in)
	name, text, err := next(ctx, entries)
	if err == io.EOF || err == nil && name != documentEntry {
		return nil, nil, refused("it does not begin with %s", documentEntry)
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := Parse(text)
	if err != nil {
		return nil, nil, refused("%v", err)
	}
	if r.Sequence > maxSequence/2 { // later releases have higher numbers
		return nil, nil, refused("its sequence number is %d", r.Sequence)
	}
	wanted := make(map[store.Digest]bool) // is it a catalog?
	for _, d := range r.Contents {
		wanted[d] = false
	}
	for _, n := range r.Nodes {
		if n.Plugins != "" {
			wanted[n.Plugins] = false
		}
	}
	for _, n := range r.Nodes {
		wanted[n.Blob] = true
	}
	var signatures []string
	for {
		name, data, err := next(ctx, entries)
		if err == io.EOF {
			return r, signatures, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(name, signatureFolder) {
			if name != fmt.Sprintf("%s%d.sig", signatureFolder, len(signatures)+1) || len(signatures) == maxSignatures {
				return nil, nil, refused("the entry %q is not expected", name)
			}
			if _, err := signature.Check(string(data), r.Text, Namespace); err != nil {
				return nil, nil, refused("%s: %v", name, err)
			}
			signatures = append(signatures, string(data))
			continue
		}
		d, isBlob := strings.CutPrefix(name, blobFolder)
		isCatalog, known := wanted[store.Digest(d)]
		if !isBlob || !known {
			return nil, nil, refused("the entry %q is not expected", name)
		}
		delete(wanted, store.Digest(d)) // a second entry is not expected
		if got := store.DigestOf(data); string(got) != d {
			return nil, nil, refused("the content %s is damaged", d)
		}
		if err := receive(ctx, data, isCatalog); err != nil {
			return nil, nil, err
		}
	}
}

// next returns the next entry: io.EOF at the end. Only regular files of the format
// ustar, without extensions, are accepted: extensions can describe files with holes, which are
// larger than the tar file.
func next(ctx context.Context, entries *tar.Reader) (name string, data []byte, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", nil, err
	}
	h, err := entries.Next()
	if err == io.EOF {
		return "", nil, err
	}
	if err != nil {
		return "", nil, refused("%v", err)
	}
	limit := int64(maxContent)
	switch {
	case h.Typeflag != tar.TypeReg || h.Format != tar.FormatUSTAR || len(h.PAXRecords) > 0:
		return "", nil, refused("the entry %q is not a regular file", h.Name)
	case h.Name == documentEntry:
		limit = maxDocument
	case strings.HasPrefix(h.Name, signatureFolder):
		limit = maxSignature
	}
	if h.Size > limit {
		return "", nil, refused("the entry %q has %d bytes, and at most %d are allowed", h.Name, h.Size, limit)
	}
	var b bytes.Buffer // grows with the data, and not to the size that the entry claims
	if _, err := io.Copy(&b, entries); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return "", nil, refused("%v", err)
	}
	return h.Name, b.Bytes(), nil
}
