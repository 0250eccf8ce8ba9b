package hiera

import (
	"path"
	"sync"

	"bolt/puppet/value"
)

// fileCache keeps what has been made of files, by path and stamp. Each file
// is read once, also when many goroutines ask for it at the same time.
type fileCache struct {
	files Files

	mu      sync.Mutex // guards entries
	entries map[fileKey]*cachedFile
}

type fileKey struct {
	path   string
	format string // "yaml", "json", "hocon", "hiera.yaml" of a layer, or "" for the text itself
}

type cachedFile struct {
	stamp Stamp
	once  sync.Once
	data  *fileData
	err   error
}

// fileData is a data file, decoded.
type fileData struct {
	hash   *value.Hash // of a data file
	text   string      // of the text itself
	config *config     // of a hiera.yaml
	// traits tells, for keys whose values need it, what lookups would find out
	// again and again.
	traits map[string]trait
	// notHash: the file is empty or false, which is as good as an empty hash
	// but worth a warning.
	notHash bool
}

type trait uint8

const (
	traitInterpolates trait = 1 << iota // there is a %{ in it
	traitIllegal                        // it is not what a lookup may return
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

// load returns what make makes of a file, from the cache if the file has not
// changed.
func (c *fileCache) load(path, format string, make func(text []byte) (*fileData, error)) (*fileData, error) {
	stamp, _ := c.files.Stat(path)
	key := fileKey{path, format}
	c.mu.Lock()
	f := c.entries[key]
	if f == nil || f.stamp != stamp {
		f = &cachedFile{stamp: stamp}
		if c.entries == nil {
			c.entries = map[fileKey]*cachedFile{}
		}
		c.entries[key] = f
	}
	c.mu.Unlock()
	f.once.Do(func() {
		defer func() {
			if f.data == nil && f.err == nil { // make panicked; whoever comes next must not take it for data
				f.err = &Error{Kind: "data", File: path, Msg: "reading the file failed"}
			}
		}()
		text, err := c.files.ReadFile(path)
		if err != nil {
			f.err = &Error{Kind: "data", File: path, Msg: err.Error(), Err: err}
			return
		}
		f.data, f.err = make(text)
	})
	return f.data, f.err
}

// data returns a data file as a hash.
func (h *Hiera) data(path, format string) (*fileData, error) {
	return h.files.load(path, format, func(text []byte) (*fileData, error) {
		decode := map[string]Decoder{"yaml": h.o.YAML, "json": h.o.JSON, "hocon": h.o.HOCON}[format]
		if decode == nil {
			return nil, &Error{Kind: "data", File: path, Msg: "files of the format " + format + " cannot be read here"}
		}
		v, err := decode(text, path)
		if err != nil {
			return nil, &Error{Kind: "data", Msg: err.Error(), Err: err}
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

// text returns the text of a file.
func (h *Hiera) text(path string) (string, error) {
	d, err := h.files.load(path, "", func(text []byte) (*fileData, error) { return &fileData{text: string(text)}, nil })
	if err != nil {
		return "", err
	}
	return d.text, nil
}

// config reads the hiera.yaml at file for a layer; nil if there is none.
func (h *Hiera) config(file, place string) (*config, error) {
	if _, ok := h.o.Files.Stat(file); !ok {
		return nil, nil
	}
	d, err := h.files.load(file, "hiera.yaml "+place, func(text []byte) (*fileData, error) {
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
		return nil, &Error{Kind: "config", Msg: err.Error(), Err: err}
	}
	r := &configReader{file: file, at: at, place: place}
	return r.read(v)
}

// join is the path of name in dir, unless it is absolute.
func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
