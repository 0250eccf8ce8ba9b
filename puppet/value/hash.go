package value

import (
	"iter"
	"slices"
)

// A Hash maps keys to values and keeps the order in which the keys were added.
// It is immutable.
type Hash struct {
	entries []Entry
	index   []uint32 // open addressing: entry number + 1, or 0; nil in small hashes
	shape
}

// An Entry is a key and its value.
type Entry struct {
	Key, Value Value
}

// indexFrom is the smallest number of entries for which an index is faster.
const indexFrom = 9

var emptyHash = &Hash{shape: shape{1, 1}}

// NewHash returns the hash of entries. If several keys are equal (see [Same]),
// the last value is used, at the position of the first key.
func NewHash(entries ...Entry) *Hash {
	b := HashBuilder{entries: make([]Entry, 0, len(entries))}
	for _, e := range entries {
		b.Put(e.Key, e.Value)
	}
	return b.Build()
}

// Len returns the number of entries.
func (h *Hash) Len() int { return len(h.entries) }

// At returns entry i, which must be in range.
func (h *Hash) At(i int) Entry { return h.entries[i] }

// Get returns the value of a key.
func (h *Hash) Get(k Value) (Value, bool) {
	if i := find(h.entries, h.index, k); i >= 0 {
		return h.entries[i].Value, true
	}
	return nil, false
}

// GetString returns the value of a key that is a string.
func (h *Hash) GetString(k string) (Value, bool) {
	if i := findString(h.entries, h.index, k); i >= 0 {
		return h.entries[i].Value, true
	}
	return nil, false
}

// All returns an iterator over keys and values in order.
func (h *Hash) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		for _, e := range h.entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Keys returns the keys in order.
func (h *Hash) Keys() *Array {
	keys := make([]Value, len(h.entries))
	for i, e := range h.entries {
		keys[i] = e.Key
	}
	return NewArray(keys...)
}

// Values returns the values in the order of their keys.
func (h *Hash) Values() *Array {
	values := make([]Value, len(h.entries))
	for i, e := range h.entries {
		values[i] = e.Value
	}
	return NewArray(values...)
}

// With returns the hash with k set to v.
func (h *Hash) With(k, v Value) *Hash {
	b := h.builder(1)
	b.Put(k, v)
	return b.Build()
}

// Without returns the hash without the key k.
func (h *Hash) Without(k Value) *Hash {
	i := find(h.entries, h.index, k)
	if i < 0 {
		return h
	}
	b := HashBuilder{entries: make([]Entry, 0, len(h.entries))}
	for j, e := range h.entries {
		if i != j {
			b.Put(e.Key, e.Value)
		}
	}
	return b.Build()
}

// Merge returns the hash with all entries of o added. Values of o replace those
// of h.
func (h *Hash) Merge(o *Hash) *Hash {
	if len(o.entries) == 0 {
		return h
	}
	if len(h.entries) == 0 {
		return o
	}
	b := h.builder(len(o.entries))
	for _, e := range o.entries {
		b.Put(e.Key, e.Value)
	}
	return b.Build()
}

// builder returns a builder that contains the entries of the hash.
func (h *Hash) builder(more int) *HashBuilder {
	b := &HashBuilder{entries: make([]Entry, len(h.entries), len(h.entries)+more)}
	copy(b.entries, h.entries)
	if h.index != nil {
		b.index = append([]uint32(nil), h.index...)
	}
	return b
}

// A HashBuilder makes a hash entry by entry. Its zero value is ready for use.
type HashBuilder struct {
	entries []Entry
	index   []uint32
}

// Grow allocates memory for n more entries.
func (b *HashBuilder) Grow(n int) { b.entries = slices.Grow(b.entries, n) }

// Len returns the number of entries so far.
func (b *HashBuilder) Len() int { return len(b.entries) }

// Get returns the value that was last put for k.
func (b *HashBuilder) Get(k Value) (Value, bool) {
	if i := find(b.entries, b.index, k); i >= 0 {
		return b.entries[i].Value, true
	}
	return nil, false
}

// Put sets k to v.
func (b *HashBuilder) Put(k, v Value) {
	if i := find(b.entries, b.index, k); i >= 0 {
		b.entries[i].Value = v
		return
	}
	b.entries = append(b.entries, Entry{k, v})
	n := len(b.entries)
	switch {
	case n < indexFrom:
	case n*4 > len(b.index)*3:
		b.index = makeIndex(b.entries)
	default:
		b.index[slot(b.index, hashKey(k))] = uint32(n)
	}
}

// Build returns the hash. The builder is empty afterwards.
func (b *HashBuilder) Build() *Hash {
	if len(b.entries) == 0 {
		return emptyHash
	}
	var s shape
	for _, e := range b.entries {
		s.add(e.Key)
		s.add(e.Value)
	}
	h := &Hash{b.entries, b.index, s.close()}
	*b = HashBuilder{}
	return h
}

// makeIndex returns a new index of entries. At most half of its slots are used.
func makeIndex(entries []Entry) []uint32 {
	size := 32
	for size < len(entries)*2 {
		size *= 2
	}
	index := make([]uint32, size)
	for i, e := range entries {
		index[slot(index, hashKey(e.Key))] = uint32(i) + 1
	}
	return index
}

// slot returns the first free slot of the index for hash.
func slot(index []uint32, hash uint64) int {
	mask := len(index) - 1
	i := int(hash) & mask
	for index[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// find returns the index of the entry with the key k, or -1.
func find(entries []Entry, index []uint32, k Value) int {
	if s, ok := k.(String); ok {
		return findString(entries, index, string(s))
	}
	if index == nil {
		for i := range entries {
			if Same(entries[i].Key, k) {
				return i
			}
		}
		return -1
	}
	mask := len(index) - 1
	for i := int(hashKey(k)) & mask; index[i] != 0; i = (i + 1) & mask {
		if n := int(index[i]) - 1; Same(entries[n].Key, k) {
			return n
		}
	}
	return -1
}

// findString is find for a string that is not a Value.
func findString(entries []Entry, index []uint32, k string) int {
	if index == nil {
		for i := range entries {
			if s, ok := entries[i].Key.(String); ok && string(s) == k {
				return i
			}
		}
		return -1
	}
	mask := len(index) - 1
	for i := int(hashString(k)) & mask; index[i] != 0; i = (i + 1) & mask {
		n := int(index[i]) - 1
		if s, ok := entries[n].Key.(String); ok && string(s) == k {
			return n
		}
	}
	return -1
}
