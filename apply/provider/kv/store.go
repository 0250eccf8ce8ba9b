package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/apply/resource"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/ownfile"
)

// The store is one file, a JSON object: {"keys":{"KEY":{"value":"TEXT","secret":true}}}. A file with other contents is never
// changed.

// An entry is a value of the store.
type entry struct {
	Value  string `json:"value"`
	Secret bool   `json:"secret,omitzero"` // it was once given by a secret parameter
}

const fileName = "kv.json"

// The limits of the store, in bytes.
const (
	maxValue = 1 << 20
	maxFile  = 64 << 20
)

// load reads the store. A missing file is an empty store.
func load(h *resource.Host) (map[string]entry, error) {
	if h.State == "" {
		return nil, errors.New("this host has no state directory for keys")
	}
	name := filepath.Join(h.State, fileName)
	f, err := ownfile.OpenOwn(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	keys, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a store of keys, and is left as it is: %w", name, err)
	}
	return keys, nil
}

// parse reads the text of a store.
func parse(text []byte) (map[string]entry, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it has more than %d MiB", maxFile>>20)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var file struct {
		Keys map[string]entry `json:"keys"`
	}
	if err := d.Decode(&file); err != nil {
		// The error of the decoder can have a part of a value in it.
		return nil, errors.New("it is not valid JSON of this form")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON")
	}
	if file.Keys == nil {
		return nil, errors.New("it has no keys")
	}
	return file.Keys, nil
}

// change changes the store under its lock, so that other processes lose nothing.
func change(ctx context.Context, h *resource.Host, edit func(keys map[string]entry)) error {
	if h.State == "" {
		return errors.New("this host has no state directory for keys")
	}
	unlock, err := filelock.Dir(ctx, h.State)
	if err != nil {
		return err
	}
	defer unlock()
	keys, err := load(h)
	if err != nil {
		return err
	}
	edit(keys)
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return err
	}
	if len(text) >= maxFile {
		return fmt.Errorf("the store of keys would have more than %d MiB", maxFile>>20)
	}
	return atomicfile.WriteOwn(filepath.Join(h.State, fileName), append(text, '\n'), 0o600)
}
