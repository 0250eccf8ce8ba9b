// Package record keeps records in text files with one record a line, such as the hosts file.
//
// A Store is the part that types of such resources share: it reads and replaces each file once for many
// resources. Lines that are not records, and records that no resource is about, stay as they are.
//
// If several lines have the name of a resource, its properties are those of the last line, as in Puppet. All of
// them are removed with the resource.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// Values are the properties of a record, as text; an absent one is "".
type Values map[string]string

// A Format is the syntax of the lines.
type Format struct {
	// Parse reads the lines of a file, which have no line ends (but can end with \r). It returns a record for each, with an empty name
	// for lines that are not records.
	Parse func(path string, lines []string) []Record
	// Line writes a record. The error is for values that are missing.
	Line func(Record) (string, error)
	// Mode is that of a new file.
	Mode fs.FileMode
}

// A Record is the parsed content of a line.
type Record struct {
	Name   string
	Values Values
}

// A Place is a file that has records.
type Place struct {
	Path string
	// As is the user with whose rights the file is read and written, nil for those of the process. Such a file is
	// made private (mode 0600), and so is its directory (0700) if it is new.
	As *textfile.Identity
	// Refuse is the reason for which the file must not be changed, nil if it can be.
	Refuse error
}

// A Property is the wanted value of a property.
type Property struct{ Name, Value string }

// An Item is a resource of a Store.
type Item struct {
	Store  *Store
	Type   string // of the resource, in lower case
	Name   string // of the record
	Absent bool
	Want   []Property
	// Places returns the files that can have the record; a new record is written to the last one. After an error,
	// the record is absent and cannot be made.
	Places func(ctx context.Context, h *resource.Host) ([]Place, error)
	// Written, if it is not nil, is called after a file was written for the item, with the rights that the process has.
	Written func(ctx context.Context, h *resource.Host, path string) error

	places []Place
	err    error
	found  Values // nil if there is no record
	at     Place  // of found
}

// A Store applies the items of a resource type. It implements resource.Reader and resource.Doer.
type Store struct{ Format Format }

// A file is one that is read or changed.
type file struct {
	place   Place
	exists  bool
	lines   []string
	records []Record
	changed bool
	items   []*Item // whose changes are in it
	err     error
}

// files are the files of one batch of resources.
type files map[string]*file

func (s *Store) open(ctx context.Context, files files, p Place) (*file, error) {
	key := textfile.Same(p.Path)
	if f := files[key]; f != nil {
		return f, f.err
	}
	f := &file{place: p}
	files[key] = f
	var text string
	f.err = textfile.As(p.As, func() (err error) {
		text, f.exists, err = textfile.Read(ctx, p.Path)
		return err
	})
	for _, line := range textfile.Lines(text) {
		f.lines = append(f.lines, strings.TrimSuffix(line, "\n"))
	}
	f.records = s.Format.Parse(p.Path, f.lines)
	return f, f.err
}

// last returns the index of the last line with a record of this name, -1 if there is none.
func (f *file) last(name string) int {
	for i, r := range slices.Backward(f.records) {
		if r.Name == name {
			return i
		}
	}
	return -1
}

// remove removes the lines from an index on that have a name.
func (f *file) remove(name string, from int) {
	for i := len(f.lines) - 1; i >= from; i-- {
		if f.records[i].Name == name {
			f.lines, f.records = slices.Delete(f.lines, i, i+1), slices.Delete(f.records, i, i+1)
		}
	}
	f.changed = true
}

// ReadAll implements resource.Reader.
func (s *Store) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	errs := make([]error, len(items))
	files := make(files)
	for i, it := range items {
		errs[i] = it.(Holder).Entry().read(ctx, h, files)
	}
	return errs
}

// A Holder is an Item, or embeds one.
type Holder interface{ Entry() *Item }

// Entry implements Holder.
func (i *Item) Entry() *Item { return i }

func (i *Item) read(ctx context.Context, h *resource.Host, files files) error {
	i.found = nil
	if i.places, i.err = i.Places(ctx, h); i.err != nil {
		return nil
	}
	for _, p := range i.places {
		f, err := i.Store.open(ctx, files, p)
		if err != nil {
			return err
		}
		if at := f.last(i.Name); at >= 0 {
			i.found, i.at = f.records[at].Values, p
		}
	}
	return nil
}

// Read implements resource.Item.
func (i *Item) Read(ctx context.Context, h *resource.Host) error { return i.read(ctx, h, make(files)) }

// Plan implements resource.Item.
func (i *Item) Plan() (changes []resource.Change, err error) {
	switch {
	case i.Absent && i.found != nil:
		return resource.Removed(i.Type), nil
	case i.Absent:
		return nil, nil
	case i.found == nil:
		return resource.Created(i.Type), nil
	}
	for _, p := range i.Want {
		if is := i.found[p.Name]; is != p.Value {
			changes = append(changes, resource.Change{Property: p.Name, Is: is, Should: p.Value})
		}
	}
	if target := i.places[len(i.places)-1].Path; target != i.at.Path {
		changes = append(changes, resource.Change{Property: "target", Is: i.at.Path, Should: target})
	}
	return changes, nil
}

// Do implements resource.Item.
func (i *Item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return i.Store.DoAll(ctx, h, []resource.Work{{Item: i, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer.
func (s *Store) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	files := make(files)
	for n, w := range works {
		i := w.Item.(Holder).Entry()
		errs[n] = i.change(ctx, files, w.Changes)
	}
	failed := make(map[*Item]error)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		if !f.changed {
			continue
		}
		err := s.write(ctx, h, f)
		for _, i := range f.items {
			if err == nil && i.Written != nil {
				err = i.Written(ctx, h, f.place.Path)
			}
			failed[i] = cmp.Or(failed[i], err)
		}
	}
	for n, w := range works {
		errs[n] = cmp.Or(errs[n], failed[w.Item.(Holder).Entry()])
	}
	return errs
}

// change makes the changes of an item in the lines of files.
func (i *Item) change(ctx context.Context, files files, changes []resource.Change) error {
	if i.err != nil {
		return i.err
	}
	for _, p := range i.places {
		if p.Refuse != nil {
			return p.Refuse
		}
	}
	target, err := i.Store.open(ctx, files, i.places[len(i.places)-1])
	if err != nil {
		return err
	}
	if i.found == nil {
		r := Record{Name: i.Name, Values: make(Values)}
		for _, p := range i.Want {
			r.Values[p.Name] = p.Value
		}
		return i.add(target, r)
	}
	from, err := i.Store.open(ctx, files, i.at)
	if err != nil {
		return err
	}
	at := from.last(i.Name)
	switch {
	case i.Absent:
		from.remove(i.Name, 0)
		from.items = append(from.items, i)
		return nil
	case at < 0:
		return errors.New("the record has disappeared since it was read")
	}
	r := Record{Name: i.Name, Values: maps.Clone(from.records[at].Values)}
	move := false
	for _, c := range changes {
		if c.Property == "target" {
			move = true
		}
		for _, p := range i.Want {
			if p.Name == c.Property {
				r.Values[p.Name] = p.Value
			}
		}
	}
	if move {
		if err := i.add(target, r); err != nil {
			return err
		}
		from.remove(i.Name, at)
		from.items = append(from.items, i)
		return nil
	}
	line, err := i.Store.Format.Line(r)
	if err != nil {
		return err
	}
	from.lines[at], from.records[at], from.changed = line, r, true
	from.items = append(from.items, i)
	return nil
}

func (i *Item) add(f *file, r Record) error {
	line, err := i.Store.Format.Line(r)
	if err != nil {
		return err
	}
	f.lines, f.records = append(f.lines, line), append(f.records, r)
	f.changed, f.items = true, append(f.items, i)
	return nil
}

// write replaces a file.
func (s *Store) write(ctx context.Context, h *resource.Host, f *file) error {
	if f.exists {
		if err := h.Backup(f.place.Path); err != nil {
			return fmt.Errorf("the file was not changed, because a backup cannot be made: %w", err)
		}
	}
	var text []byte
	for _, line := range f.lines {
		text = append(append(text, line...), '\n')
	}
	path := f.place.Path
	return textfile.As(f.place.As, func() error {
		if f.place.As == nil {
			return textfile.Write(path, string(text), s.Format.Mode)
		}
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := textfile.Write(path, string(text), 0o600); err != nil {
			return err
		}
		return os.Chmod(path, 0o600)
	})
}

// All returns the records of a file, the last one of each name.
func (s *Store) All(ctx context.Context, path string) ([]Record, error) {
	f, err := s.open(ctx, make(files), Place{Path: path})
	if err != nil {
		return nil, err
	}
	last := make(map[string]int)
	for i, r := range f.records {
		last[r.Name] = i
	}
	var list []Record
	for i, r := range f.records {
		if r.Name != "" && last[r.Name] == i {
			list = append(list, r)
		}
	}
	return list, nil
}

// Watch implements resource.Watcher. The files of an item whose places are not known are read from time to time.
func (i *Item) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	places, err := i.Places(ctx, h)
	if err != nil {
		return []resource.Watch{{Poll: true}}
	}
	var list []resource.Watch
	for _, p := range places {
		list = append(list, resource.Watch{Path: p.Path})
	}
	return list
}
