package value

import (
	"hash/maphash"
	"math"
)

// seed is different in each process, so that an attacker cannot prepare keys
// that all have the same hash.
var (
	seed     = maphash.MakeSeed()
	seedBits = maphash.String(seed, "numbers")
)

// hashString returns the hash of a key that is a string.
func hashString(s string) uint64 { return maphash.String(seed, s) }

// hashKey returns the hash of a key. Keys that are [Same] have the same hash.
func hashKey(v Value) uint64 {
	switch v := v.(type) {
	case String:
		return hashString(string(v))
	case Int:
		return mix(uint64(v) ^ seedBits)
	case *BigInt:
		return mix(maphash.Bytes(seed, v.n.Bytes()) + uint64(v.n.Sign()))
	case Float:
		if v == 0 {
			v = 0 // -0.0 is the same key
		}
		return mix(math.Float64bits(float64(v)) + seedBits)
	case Undef:
		return 3
	case Default:
		return 5
	case Bool:
		if v {
			return 7
		}
		return 11
	case Timespan:
		return mix(uint64(v) - seedBits)
	case Timestamp:
		return mix(uint64(v.Unix())^seedBits) ^ uint64(v.Nanosecond())
	case *Array:
		h := uint64(len(v.elems)) + 17
		if !v.tooBig() {
			for _, e := range v.elems {
				h = mix(h ^ hashKey(e))
			}
		}
		return h
	case *Hash:
		h := uint64(len(v.entries)) + 19
		if !v.tooBig() {
			for _, e := range v.entries { // in any order
				h += mix(hashKey(e.Key) ^ mix(hashKey(e.Value)))
			}
		}
		return h
	case *Sensitive:
		return mix(hashKey(v.v) + 23)
	case *Regexp:
		return hashString(v.Source()) + 29
	case *Binary:
		return maphash.Bytes(seed, v.Bytes())
	case *Object:
		return hashObject(v)
	case *URI:
		return hashKey(v.Part("host")) ^ mix(hashKey(v.Part("path")))
	case *SemVer:
		return mix(uint64(v.Major)) ^ mix(uint64(v.Minor)+31) ^ mix(uint64(v.Patch)+37)
	case *SemVerRange:
		begin, _, ok := v.Begin()
		if !ok {
			return 59
		}
		return mix(hashKey(&SemVer{*begin}) + 61)
	case Type:
		return hashType(v)
	case *Runtime:
		return hashString(v.Name)
	}
	return 41
}

// mix spreads the bits of x.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// hashType returns the hash of a type. Types that are [Same] have the same
// hash.
func hashType(t Type) uint64 {
	h := hashString(t.Name())
	switch t := t.(type) {
	case *IntegerType:
		return h ^ mix(uint64(t.Min)) ^ mix(uint64(t.Max)+1)
	case *FloatType:
		return h ^ mix(math.Float64bits(t.Min)) ^ mix(math.Float64bits(t.Max)+1)
	case *BooleanType:
		if t.Value {
			h++
		}
		return h
	case *StringType:
		return h ^ hashString(t.Value) ^ hashSize(t.Size)
	case *EnumType:
		for _, s := range t.Values {
			h = mix(h ^ hashString(s))
		}
		return h
	case *PatternType:
		for _, p := range t.Patterns {
			h = mix(h ^ hashType(p))
		}
		return h
	case *RegexpType:
		if t.Pattern != nil {
			h ^= hashString(t.Pattern.Source())
		}
		return h
	case *ArrayType:
		return mix(h ^ hashType(t.Elem) ^ hashSize(t.Size))
	case *HashType:
		return mix(h ^ hashType(t.Key) ^ mix(hashType(t.Elem)) ^ hashSize(t.Size))
	case *TupleType:
		return hashTypes(h^hashSize(t.Size), t.Types)
	case *VariantType:
		return hashTypes(h, t.Types)
	case *StructType:
		for _, e := range t.Elements {
			h = mix(h^hashString(e.Name)) ^ hashType(e.Elem)
		}
		return h
	case *OptionalType:
		return hashInner(h, t.Type)
	case *NotUndefType:
		return hashInner(h, t.Type)
	case *TypeType:
		return hashInner(h, t.Type)
	case *SensitiveType:
		return hashInner(h, t.Type)
	case *IterableType:
		return hashInner(h, t.Elem)
	case *IteratorType:
		return hashInner(h, t.Elem)
	case *InitType:
		return hashInner(h, t.Type)
	case *ClassType:
		return h ^ hashString(t.Title)
	case *ResourceType:
		return mix(h^hashString(t.lower)) ^ hashString(t.Title)
	case *TimespanType:
		return h ^ mix(uint64(t.Min)) ^ mix(uint64(t.Max)+1)
	case *RuntimeType:
		return h ^ hashString(t.TypeOf)
	case *ReferenceType:
		return h ^ hashString(t.Text)
	}
	return h
}

func hashSize(t *IntegerType) uint64 {
	if t == nil {
		return 0
	}
	return mix(uint64(t.Min)+43) ^ mix(uint64(t.Max)+47)
}

func hashTypes(h uint64, types []Type) uint64 {
	for _, t := range types {
		h = mix(h ^ hashType(t))
	}
	return h
}

func hashInner(h uint64, t Type) uint64 {
	if t == nil {
		return h
	}
	return mix(h ^ hashType(t))
}
