package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"bolt/format/ordered"
	"bolt/inventory/file"
)

// An InventorySource is the file or environment variable with the inventory of a
// project. It is safe for concurrent use.
type InventorySource struct {
	Name string // the path of the file, or the name of the environment variable

	project *Project
	text    string // the value of the variable; "" for a file
	given   bool   // whether an option or a setting names the file, so that it must exist

	once sync.Once
	data *ordered.Map
	err  error
}

// Inventory returns the source of the inventory: text, the value of the environment
// variable, or the file named, or the file of the project. text and named can be "".
func (p *Project) Inventory(variable, text, named string) *InventorySource {
	switch {
	case text != "":
		return &InventorySource{Name: variable, project: p, text: text}
	case named != "":
		return &InventorySource{Name: named, project: p, given: true}
	}
	return &InventorySource{Name: p.InventoryFile(), project: p}
}

// Read returns the unprocessed data of the inventory. It reads the data once. If the file
// of the project does not exist, the inventory is empty. If this process cannot read the
// file, Read returns the result of refused.
func (s *InventorySource) Read(ctx context.Context, warn Warn, refused func(error) error) (*ordered.Map, error) {
	s.once.Do(func() { s.data, s.err = s.read(ctx, warn, refused) })
	return s.data, s.err
}

func (s *InventorySource) read(ctx context.Context, warn Warn, refused func(error) error) (*ordered.Map, error) {
	if s.text != "" {
		return file.Parse(s.text, "$"+s.Name)
	}
	if _, err := os.Stat(s.Name); !s.given && errors.Is(err, fs.ErrNotExist) {
		s.warnUnused(warn)
		return &ordered.Map{}, nil
	}
	if err := CheckFile("inventoryfile", s.Name); err != nil {
		return nil, refused(err)
	}
	return file.Read(ctx, s.Name, warn)
}

// Missing reports whether the inventory is a file that does not exist.
func (s *InventorySource) Missing() bool {
	if s.text != "" {
		return false
	}
	_, err := os.Stat(s.Name)
	return errors.Is(err, fs.ErrNotExist)
}

// warnUnused warns of an inventory in the working directory that is not used, because
// the directory is not the project.
func (s *InventorySource) warnUnused(warn Warn) {
	here, err := filepath.Abs("inventory.yaml")
	if err != nil || here == s.Name {
		return
	}
	if _, err := os.Stat(here); err == nil {
		warn("unused_inventory", fmt.Sprintf("%s is not used: the project is %s. "+
			"Make an empty bolt-project.yaml beside it, or name it with --inventoryfile.", here, s.project.Dir))
	}
}
