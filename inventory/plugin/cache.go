package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/readfile"
)

// A cache keeps results between invocations. Its file has Puppet Bolt's format:
// a JSON object with {"result", "mtime", "ttl"} for each reference. Each
// program computes the keys in its own way. The file contains secrets in plain
// text, so only its owner can read it.
//
// The file is read at the first use. save writes it under the lock of its
// directory, and keeps entries that other processes have added in the meantime.
type cache struct {
	file string // "" for none
	now  func() time.Time
	warn func(id, text string)

	mu      sync.Mutex
	opened  bool
	off     bool             // the file cannot be used
	entries map[string]entry // entries of the file and new entries
	added   map[string]entry
	stale   bool // the file has entries to remove, or other users can read it
}

type entry struct {
	result any
	at     time.Time
	ttl    time.Duration
	secret bool
}

// Limits of the file: the oldest entries are removed first.
const (
	maxEntries = 10_000
	maxBytes   = readfile.Language
)

// cacheWarning is the ID, for disable-warnings, of warnings about the file.
const cacheWarning = "plugin_cache"

// valid reports whether an entry can be used. An entry from the future cannot:
// the clock was set back, so the age of the entry is unknown.
func (e entry) valid(now time.Time) bool { return !e.at.After(now) && now.Sub(e.at) < e.ttl }

// get returns a result that is at most ttl old.
func (c *cache) get(ctx context.Context, key string, ttl time.Duration) (v any, secret, ok bool) {
	if c.file == "" {
		return nil, false, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened {
		var err error
		c.entries, c.stale, err = c.read(ctx)
		if ctx.Err() != nil {
			return nil, false, false
		}
		c.opened = true
		switch _, damaged := errors.AsType[*damagedError](err); {
		case damaged:
			c.stale = true
			c.warn(cacheWarning, fmt.Sprintf("The plugin cache %s is damaged and is created again: %v", c.file, err))
		case err != nil:
			c.off = true
			c.warn(cacheWarning, fmt.Sprintf("The plugin cache %s is not used: %v", c.file, fault.WithoutPath(err)))
		}
	}
	e, ok := c.entries[key]
	e.ttl = min(e.ttl, ttl) // this reference may have a shorter ttl than the entry
	if !ok || !e.valid(c.now()) {
		return nil, false, false
	}
	return ordered.CloneValue(e.result), e.secret, true
}

// put adds a result to the cache, if the file can hold it.
func (c *cache) put(key string, result any, secret bool, ttl time.Duration) {
	if c.file == "" || !storable(result) {
		return
	}
	e := entry{ordered.CloneValue(result), c.now(), ttl, secret}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.added == nil {
		c.added = make(map[string]entry)
	}
	c.added[key] = e
}

// lockTime is how long save waits for other processes: they need milliseconds.
const lockTime = 10 * time.Second

// save writes the file if there are changes.
func (c *cache) save(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == "" || c.off || len(c.added) == 0 && !c.stale {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another process is writing it"))
	defer cancel()
	if err := c.write(ctx); err != nil {
		return fmt.Errorf("the plugin cache %s: %w", c.file, err)
	}
	c.added, c.stale = nil, false
	return nil
}

func (c *cache) write(ctx context.Context) error {
	unlock, err := filelock.Dir(ctx, filepath.Dir(c.file))
	if err != nil {
		return err
	}
	defer unlock()
	entries, _, err := c.read(ctx)
	if _, damaged := errors.AsType[*damagedError](err); err != nil && !damaged {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if entries == nil {
		entries = make(map[string]entry)
	}
	for key, e := range c.added {
		if old, ok := entries[key]; !ok || e.at.After(old.at) {
			entries[key] = e
		}
	}
	text, err := encode(entries)
	if err != nil {
		return err
	}
	// Puppet Bolt's file is readable for all users.
	return atomicfile.WriteUnsynced(c.file, text, 0o600)
}

// A damagedError is the error of a file that can be read but not parsed.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return e.err.Error() }

// read returns the valid entries of the file. stale is set if there are invalid
// entries, or if other users can read the file.
func (c *cache) read(ctx context.Context) (entries map[string]entry, stale bool, err error) {
	info, err := os.Lstat(c.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, errors.New("it is not a regular file")
	}
	data, err := readfile.Read(ctx, c.file, maxBytes)
	if large, ok := errors.AsType[*readfile.LargeError](err); ok {
		return nil, false, &damagedError{large}
	}
	if err != nil {
		return nil, false, err
	}
	entries, all, err := decode(data, c.now())
	if err != nil {
		return nil, false, &damagedError{err}
	}
	return entries, !all || info.Mode().Perm()&0o077 != 0, nil
}

// decode returns the valid entries; all is set if every entry is valid.
func decode(data []byte, now time.Time) (entries map[string]entry, all bool, err error) {
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, false, err
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return nil, false, errors.New("it is not a JSON object")
	}
	entries, all = make(map[string]entry, m.Len()), true
	for key, v := range m.All() {
		e, ok := decodeEntry(v)
		if !ok || !e.valid(now) {
			all = false
			continue
		}
		entries[key] = e
	}
	return entries, all, nil
}

// rubyTime is the format in which Puppet Bolt writes times.
const rubyTime = "2006-01-02 15:04:05 -0700"

func decodeEntry(v any) (e entry, ok bool) {
	m, ok := v.(*ordered.Map)
	if !ok {
		return e, false
	}
	if e.result, ok = m.Get("result"); !ok {
		return e, false
	}
	text, _ := m.Value("mtime").(string)
	var err error
	if e.at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		if e.at, err = time.Parse(rubyTime, text); err != nil {
			return e, false
		}
	}
	e.secret = m.Value("secret") == true
	e.ttl, ok = seconds(m.Value("ttl"))
	return e, ok
}

// seconds parses a time to live.
func seconds(v any) (time.Duration, bool) {
	var n float64
	switch v := v.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return 0, false
	}
	if math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if limit := float64(math.MaxInt64 / time.Second); n >= limit {
		return math.MaxInt64, true
	}
	return time.Duration(n * float64(time.Second)), true
}

// encode encodes entries, newest first, up to the size limits.
func encode(entries map[string]entry) ([]byte, error) {
	keys := make([]string, 0, len(entries))
	for k := range entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return entries[b].at.Compare(entries[a].at) })
	var out, one bytes.Buffer
	out.WriteString("{")
	for i, k := range keys[:min(len(keys), maxEntries)] {
		e := entries[k]
		one.Reset()
		ttl := any(int64(e.ttl / time.Second))
		if e.ttl%time.Second != 0 {
			ttl = e.ttl.Seconds()
		}
		fields := ordered.Of("result", e.result, "mtime", e.at.UTC().Format(time.RFC3339Nano), "ttl", ttl)
		if e.secret {
			fields.Set("secret", true)
		}
		if err := safejson.Write(&one, ordered.Of(k, fields)); err != nil {
			return nil, err
		}
		if out.Len()+one.Len() > maxBytes {
			break
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		text := one.Bytes()
		out.Write(text[1 : len(text)-1]) // without the braces of the object
	}
	out.WriteString("}\n")
	return out.Bytes(), nil
}

// storable reports whether v is unchanged after encoding to JSON and decoding.
func storable(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64, *big.Int:
		return true
	case float64:
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !storable(e) })
	case *ordered.Map:
		for k, e := range v.All() {
			if !utf8.ValidString(k) || !storable(e) {
				return false
			}
		}
		return true
	}
	return false
}

// ttl returns how long the result of a reference is cached; 0 means that it is
// not cached.
func (p *Plugins) ttl(ref *ordered.Map) (time.Duration, error) {
	v := ref.Value(cacheKey)
	if v == nil {
		return p.opts.CacheTTL, nil
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		var text bytes.Buffer
		if err := safejson.Write(&text, v); err != nil {
			return 0, invalid("%s must be a Hash, received %s", cacheKey, typeName(v))
		}
		return 0, invalid("%s must be a Hash, received %s: %s", cacheKey, typeName(v), text.Bytes())
	}
	ttl, ok := m.Get("ttl")
	if !ok {
		return 0, invalid("%s must set 'ttl' key.", cacheKey)
	}
	switch n := ttl.(type) {
	case int64:
		ok = n >= 0
	case float64:
		ok = n >= 0
	default:
		return 0, invalid("'ttl' key under '%s' must be a number of seconds.", cacheKey)
	}
	if !ok {
		return 0, invalid("'ttl' key under '%s' must be a minimum of 0.", cacheKey)
	}
	d, _ := seconds(ttl)
	return d, nil
}

// typeName returns the name of v's type in the Puppet language.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "Undef"
	case string:
		return "String"
	case bool:
		return "Boolean"
	case int64:
		return "Integer"
	case float64:
		return "Float"
	case []any:
		return "Array"
	}
	return "Hash"
}
