// Package embedded has the helpers for the machines that bolt changes: programs for several
// architectures, compressed, as files of this program.
//
// The file "sums" of a set has a line for each helper: its SHA-256, a blank, and its system,
// such as linux-amd64. The helper is in the file bolt-helper-SYSTEM.gz.
package embedded

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
)

//go:embed data
var data embed.FS

// A Set is the helpers for some systems. It is safe for concurrent use.
type Set struct{ helpers map[string]*Helper }

// A Helper is a program for one system.
type Helper struct {
	System string // such as linux-amd64
	Sum    string // SHA-256, hexadecimal
	read   func() ([]byte, error)
	packed func() ([]byte, error)
}

// maxSize is the length that a helper can have.
const maxSize = 64 << 20

// Built returns the helpers that are part of this program.
func Built() (*Set, error) {
	files, err := fs.Sub(data, "data")
	if err != nil {
		return nil, err
	}
	s, err := Load(files)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this bolt was built without its helpers: build it with 'make build'")
	}
	return s, err
}

// Load returns the helpers in a file system.
func Load(files fs.FS) (*Set, error) {
	text, err := fs.ReadFile(files, "sums")
	if err != nil {
		return nil, err
	}
	s := &Set{helpers: make(map[string]*Helper)}
	for line := range strings.Lines(string(text)) {
		sum, system, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("the list of helpers has the line %q", line)
		}
		packed := func() ([]byte, error) { return fs.ReadFile(files, "bolt-helper-"+system+".gz") }
		s.helpers[system] = &Helper{system, sum, sync.OnceValues(func() ([]byte, error) { return unpack(packed, system, sum) }), packed}
	}
	return s, nil
}

// Find returns the helper for a system, nil if there is none.
func (s *Set) Find(system string) *Helper { return s.helpers[system] }

// Program returns the program. Callers must not change it.
func (h *Helper) Program() ([]byte, error) { return h.read() }

// Packed returns the program as a file of gzip. Its digest is not checked.
func (h *Helper) Packed() ([]byte, error) { return h.packed() }

func unpack(read func() ([]byte, error), system, sum string) ([]byte, error) {
	packed, err := read()
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	program, err := io.ReadAll(io.LimitReader(z, maxSize))
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(program); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("the helper for %s is damaged", system)
	}
	return program, nil
}
