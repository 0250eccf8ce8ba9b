package hiera

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
	"syscall"

	"bolt/puppet/value"
)

// fileCache caches the decoded content of files, by path and stamp. Each file
// is read once, also if many goroutines request it at the same time.
type fileCache struct {
	files Files

	mu      sync.Mutex // guards entries
	entries map[fileKey]*cachedFile
}

type fileKey struct {
	path   string
	format string // "yaml", "json", "hocon", "hiera.yaml" of a layer, or "" for the text itself
}

// A cachedFile is the result of reading a file. The fields below done must be
// read only after done is closed.
type cachedFile struct {
	stamp Stamp
	done  chan struct{}
	data  *fileData
	err   error
	ended bool // by the context of the reader; not a result for others
}

// fileData is a decoded file.
type fileData struct {
	hash   *value.Hash // of a data file
	text   string      // for a text file
	config *config     // of a hiera.yaml
	// traits caches, for the keys that need it, what each lookup would
	// otherwise determine again.
	traits map[string]trait
	// notHash is set if the file is empty or false. It is treated as an empty
	// hash, with a warning.
	notHash bool
}

type trait uint8

const (
	traitInterpolates trait = 1 << iota // it contains a %{
	traitIllegal                        // a lookup must not return it
)

func newFileData(h *value.Hash) *fileData {
	d := &fileData{hash: h}
	for k, v := range h.All() {
		var t trait
		if interpolates(v) {
			t |= traitInterpolates
		}
		if !isRichData(v) {
			t |= traitIllegal
		}
		if s, ok := k.(value.String); ok && t != 0 {
			if d.traits == nil {
				d.traits = map[string]trait{}
			}
			d.traits[string(s)] = t
		}
	}
	return d
}

// load returns the result of make for a file. If the file has not changed, the
// result is from the cache.
func (c *fileCache) load(ctx context.Context, path, format string, make func(text []byte) (*fileData, error)) (*fileData, error) {
	for {
		f, mine := c.entry(path, format)
		if mine {
			c.read(ctx, path, format, f, make)
			return f.data, f.err
		}
		select {
		case <-f.done:
		default:
			select {
			case <-f.done:
			case <-ctx.Done():
				return nil, ended(ctx, path)
			}
		}
		if !f.ended {
			return f.data, f.err
		}
	}
}

// entry returns the entry of a file in its present state. If mine is set, the
// caller must read the file.
func (c *fileCache) entry(path, format string) (f *cachedFile, mine bool) {
	stamp, _ := c.files.Stat(path)
	key := fileKey{path, format}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.entries[key]; f != nil && f.stamp == stamp {
		return f, false
	}
	f = &cachedFile{stamp: stamp, done: make(chan struct{})}
	if c.entries == nil {
		c.entries = map[fileKey]*cachedFile{}
	}
	c.entries[key] = f
	return f, true
}

func (c *fileCache) read(ctx context.Context, path, format string, f *cachedFile, make func(text []byte) (*fileData, error)) {
	// This error is the result if make panics, so that other callers do not
	// treat the entry as data.
	f.err = &Error{Kind: "data", File: path, Msg: "reading the file failed"}
	defer func() {
		if f.err != nil { // the fault can be fixed without a new stamp, such as its mode or a disk
			c.forget(fileKey{path, format}, f)
		}
		close(f.done)
	}()
	text, err := c.files.ReadFile(ctx, path)
	switch {
	case err == nil:
		f.data, f.err = make(text)
	case ctx.Err() != nil:
		f.err, f.ended = ended(ctx, path), true
	default:
		f.err = unreadable(path, err)
	}
}

func (c *fileCache) forget(key fileKey, f *cachedFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] == f {
		delete(c.entries, key)
	}
}

// ended returns the error of a file that was not read before the context was
// done.
func ended(ctx context.Context, path string) error {
	return &Error{Kind: "canceled", Msg: "the lookup was ended, reading " + path + ": " + context.Cause(ctx).Error(), Err: ctx.Err()}
}

// unreadable returns the error of a file that could not be read.
func unreadable(path string, err error) error {
	why := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err // the message contains the path already
	}
	msg := why.Error()
	if errors.Is(err, syscall.EISDIR) {
		msg = "this is a directory, and data is read from files"
	}
	return &Error{Kind: "data", File: path, Msg: msg, Err: err}
}

// decoding returns the error of a decoder. The error contains the name of the
// file, either in the fields of an *Error or in its message.
func decoding(kind string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		out := *e
		out.Kind = kind
		return &out
	}
	return &Error{Kind: kind, Msg: err.Error(), Err: err}
}

// data returns a data file as a hash.
func (h *Hiera) data(ctx context.Context, path, format string) (*fileData, error) {
	return h.files.load(ctx, path, format, func(text []byte) (*fileData, error) {
		decode := map[string]Decoder{"yaml": h.o.YAML, "json": h.o.JSON, "hocon": h.o.HOCON}[format]
		if decode == nil {
			return nil, &Error{Kind: "data", File: path, Msg: "files of the format " + format + " cannot be read here"}
		}
		v, err := decode(text, path)
		if err != nil {
			return nil, decoding("data", err)
		}
		if h, ok := v.(*value.Hash); ok {
			return newFileData(h), nil
		}
		if format == "yaml" && !value.Truthy(v) {
			return &fileData{hash: value.NewHash(), notHash: true}, nil
		}
		return nil, &Error{Kind: "data", File: path, Line: 1, Msg: "a data file must be a hash of keys and values, not " + typeName(v)}
	})
}

// text returns the content of a file.
func (h *Hiera) text(ctx context.Context, path string) (string, error) {
	d, err := h.files.load(ctx, path, "", func(text []byte) (*fileData, error) { return &fileData{text: string(text)}, nil })
	if err != nil {
		return "", err
	}
	return d.text, nil
}

// config reads the hiera.yaml at file for a layer. If the file does not exist,
// it returns nil.
func (h *Hiera) config(ctx context.Context, file, place string) (*config, error) {
	if _, ok := h.o.Files.Stat(file); !ok {
		return nil, nil
	}
	d, err := h.files.load(ctx, file, "hiera.yaml "+place, func(text []byte) (*fileData, error) {
		c, err := h.readConfig(text, file, place)
		return &fileData{config: c}, err
	})
	if err != nil {
		return nil, err
	}
	return d.config, nil
}

func (h *Hiera) readConfig(text []byte, file, place string) (*config, error) {
	read := h.o.Config
	if read == nil {
		if h.o.YAML == nil {
			return nil, &Error{Kind: "config", File: file, Msg: "files of the format yaml cannot be read here"}
		}
		read = func(text []byte, file string) (value.Value, Locator, error) {
			v, err := h.o.YAML(text, file)
			return v, nil, err
		}
	}
	v, at, err := read(text, file)
	if err != nil {
		return nil, decoding("config", err)
	}
	r := &configReader{file: file, at: at, place: place}
	return r.read(v)
}

// join returns the path of name in dir. If name is absolute, it returns name.
func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
