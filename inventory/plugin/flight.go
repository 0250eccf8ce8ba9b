package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"math/big"
	"slices"

	"bolt/format/ordered"
)

// A flight is one resolution of a reference; all callers with the same
// reference share its result.
type flight struct {
	done chan struct{} // closed when the rest is set

	value any
	err   error
	again bool // its caller was canceled, so there is no result
}

// once calls work unless this was done or is in progress for the same key. In
// that case it waits and returns the same result. first is set for the caller
// whose work was called. The caller owns the returned value.
func (p *Plugins) once(ctx context.Context, key string, work func() (any, error)) (v any, first bool, err error) {
	for {
		p.mu.Lock()
		f, known := p.flights[key]
		if !known {
			f = &flight{done: make(chan struct{})}
			p.flights[key] = f
		}
		p.mu.Unlock()
		if !known {
			f.value, f.err = work()
			if f.err != nil && ctx.Err() != nil {
				f.again = true
				p.mu.Lock()
				delete(p.flights, key)
				p.mu.Unlock()
			}
			close(f.done)
			return ordered.CloneValue(f.value), true, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		if !f.again {
			return ordered.CloneValue(f.value), false, f.err
		}
	}
}

// cacheKey is the key of a reference that sets how long its result is cached.
// It does not change the result.
const cacheKey = "_cache"

// digest returns a key that identifies a reference together with the
// configuration of its plugin, references in it unresolved. ok is false if the
// reference contains values that digest cannot distinguish.
func digest(plugin string, ref *ordered.Map, config any) (key string, ok bool) {
	d := digester{sha256.New()}
	if !d.value(plugin) || !d.value(config) {
		return "", false
	}
	keys := slices.DeleteFunc(ref.Keys(), func(k string) bool { return k == cacheKey })
	slices.Sort(keys)
	for _, k := range keys {
		if !d.value(k) || !d.value(ref.Value(k)) {
			return "", false
		}
	}
	return hex.EncodeToString(d.Sum(nil)), true
}

// A digester hashes values so that different values never have the same hash
// input: the type and the length of each value are written before it.
type digester struct{ hash.Hash }

func (d digester) begin(kind byte, n uint64) {
	_, _ = d.Write(binary.BigEndian.AppendUint64([]byte{kind}, n)) // Write of a hash never fails
}

func (d digester) text(kind byte, s string) {
	d.begin(kind, uint64(len(s)))
	_, _ = d.Write([]byte(s))
}

func (d digester) value(v any) bool {
	switch v := v.(type) {
	case nil:
		d.begin('0', 0)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		d.begin('b', n)
	case int64:
		d.begin('i', uint64(v))
	case float64:
		d.begin('f', math.Float64bits(v))
	case *big.Int:
		d.text('I', v.String())
	case string:
		d.text('s', v)
	case []any:
		d.begin('a', uint64(len(v)))
		for _, e := range v {
			if !d.value(e) {
				return false
			}
		}
	case *ordered.Map:
		d.begin('h', uint64(v.Len()))
		for k, e := range v.All() {
			d.text('k', k)
			if !d.value(e) {
				return false
			}
		}
	default:
		return false
	}
	return true
}
