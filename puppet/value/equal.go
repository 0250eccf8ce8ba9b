package value

import (
	"cmp"
	"fmt"
	"math"
)

// Equal implements the operator ==. It compares strings without regard to the
// case of ASCII letters, numbers by value, and arrays and hashes by content.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case String:
		b, ok := b.(String)
		return ok && len(a) == len(b) && foldCompare(string(a), string(b)) == 0
	case Int, *BigInt, Float, Timespan, Timestamp:
		return equalNumbers(a, b)
	case *Array:
		b, ok := b.(*Array)
		return ok && equalArrays(a, b)
	case *Hash:
		b, ok := b.(*Hash)
		return ok && equalHashes(a, b)
	case *URI:
		b, ok := b.(*URI)
		return ok && sameURI(a, b, true)
	case Type:
		b, ok := b.(Type)
		return ok && typeEquality{loose: true}.equal(a, b)
	}
	return Same(a, b)
}

func equalArrays(a, b *Array) bool {
	if len(a.elems) != len(b.elems) || a.tooBig() {
		return false
	}
	for i := range a.elems {
		if !Equal(a.elems[i], b.elems[i]) {
			return false
		}
	}
	return true
}

// equalHashes compares the values of all keys. A missing key is equal to a key
// with the value undef if both hashes have the same number of keys.
func equalHashes(a, b *Hash) bool {
	if len(a.entries) != len(b.entries) || a.tooBig() {
		return false
	}
	for _, e := range a.entries {
		v, ok := b.Get(e.Key)
		if !ok {
			v = Undef{}
		}
		if !Equal(v, e.Value) {
			return false
		}
	}
	return true
}

// equalNumbers compares numbers, Timespans and Timestamps. A Timespan is not
// equal to a Timestamp. An integer is equal to a time with the same number of
// whole seconds. This is as in Puppet, whose < also compares the fraction.
func equalNumbers(a, b Value) bool {
	if n, ok := b.(Int); ok {
		a, b = n, a
	}
	if n, ok := a.(Int); ok {
		if seconds, timed := wholeSeconds(b); timed {
			return seconds == int64(n)
		}
	}
	switch a.(type) {
	case Timespan:
		if _, ok := b.(Timestamp); ok {
			return false
		}
	case Timestamp:
		if _, ok := b.(Timespan); ok {
			return false
		}
	}
	x, okA := numberOf(a)
	y, okB := numberOf(b)
	return okA && okB && x.compare(y) == 0
}

// wholeSeconds returns the seconds of a time, rounded down.
func wholeSeconds(v Value) (n int64, timed bool) {
	switch v := v.(type) {
	case Timespan:
		return floorSeconds(int64(v)).Int64(), true
	case Timestamp:
		return v.Unix(), true
	}
	return 0, false
}

// Same reports whether a and b are the same key of a hash. They must have the
// same kind and be exactly equal, so that 1 and 1.0 differ.
//
// Differs from Puppet: there a Timespan or a Timestamp is the same key only if
// it is the same object.
func Same(a, b Value) bool {
	switch a := a.(type) {
	case String:
		b, ok := b.(String)
		return ok && a == b
	case Int:
		b, ok := b.(Int)
		return ok && a == b
	case *BigInt:
		b, ok := b.(*BigInt)
		return ok && a.n.Cmp(b.n) == 0
	case Float:
		b, ok := b.(Float)
		return ok && a == b
	case Bool:
		b, ok := b.(Bool)
		return ok && a == b
	case Timespan:
		b, ok := b.(Timespan)
		return ok && a == b
	case Undef, Default:
		return a == b
	case Timestamp:
		b, ok := b.(Timestamp)
		return ok && a.Time.Equal(b.Time)
	case *Array:
		b, ok := b.(*Array)
		return ok && sameArrays(a, b)
	case *Hash:
		b, ok := b.(*Hash)
		return ok && sameHashes(a, b)
	case Type:
		b, ok := b.(Type)
		return ok && sameType(a, b)
	case *Object:
		b, ok := b.(*Object)
		return ok && sameObjects(a, b)
	case *Sensitive:
		b, ok := b.(*Sensitive)
		return ok && Same(a.v, b.v)
	case *Regexp:
		b, ok := b.(*Regexp)
		return ok && a.Source() == b.Source()
	case *Binary:
		b, ok := b.(*Binary)
		return ok && string(a.Bytes()) == string(b.Bytes())
	case *SemVer:
		b, ok := b.(*SemVer)
		return ok && a.Equal(b)
	case *SemVerRange:
		b, ok := b.(*SemVerRange)
		return ok && sameRange(a, b)
	case *URI:
		b, ok := b.(*URI)
		return ok && sameURI(a, b, false)
	case *Runtime:
		b, ok := b.(*Runtime)
		return ok && a == b
	case *Iterator:
		b, ok := b.(*Iterator)
		return ok && a == b
	}
	return false
}

func sameArrays(a, b *Array) bool {
	if a == b {
		return true
	}
	if len(a.elems) != len(b.elems) || a.tooBig() {
		return false
	}
	for i := range a.elems {
		if !Same(a.elems[i], b.elems[i]) {
			return false
		}
	}
	return true
}

func sameHashes(a, b *Hash) bool {
	if a == b {
		return true
	}
	if len(a.entries) != len(b.entries) || a.tooBig() {
		return false
	}
	for _, e := range a.entries {
		if v, ok := b.Get(e.Key); !ok || !Same(v, e.Value) {
			return false
		}
	}
	return true
}

func sameRange(a, b *SemVerRange) bool { return a.Equal(b) }

// uriParts are the components of a URI.
var uriParts = [...]string{"scheme", "userinfo", "host", "port", "path", "query", "fragment", "opaque"}

// sameURI compares URIs by component. If fold is set, the case of scheme and
// host does not matter.
func sameURI(a, b *URI, fold bool) bool {
	for _, name := range uriParts {
		x, y := a.Part(name), b.Part(name)
		if fold && (name == "scheme" || name == "host") {
			if !Equal(x, y) {
				return false
			}
		} else if !Same(x, y) {
			return false
		}
	}
	return true
}

// Compare returns the order of a and b: -1, 0 or 1. Numbers, Timespans and
// Timestamps, strings (without regard to case), and versions have an order. If
// a and b have no order, Compare returns an error.
func Compare(a, b Value) (int, error) {
	switch x := a.(type) {
	case String:
		if y, ok := b.(String); ok {
			return foldCompare(string(x), string(y)), nil
		}
	case Int, *BigInt, Float:
		return compareNumbers(a, b)
	case Timespan:
		if _, ok := b.(Timestamp); !ok {
			return compareNumbers(a, b)
		}
	case Timestamp:
		if _, ok := b.(Timespan); !ok {
			return compareNumbers(a, b)
		}
	case *SemVer:
		if y, ok := b.(*SemVer); ok {
			return x.Compare(y), nil
		}
	case Default:
		if _, ok := b.(Default); ok {
			return 0, nil
		}
	}
	return 0, notComparable(a, b)
}

func compareNumbers(a, b Value) (int, error) {
	x, okA := numberOf(a)
	y, okB := numberOf(b)
	if !okA || !okB {
		return 0, notComparable(a, b)
	}
	return x.compare(y), nil
}

func notComparable(a, b Value) error {
	return fmt.Errorf("%s and %s have no order", kindName(a), kindName(b))
}

// kindName returns the kind of v for messages.
func kindName(v Value) string {
	if t, ok := v.(Type); ok {
		return "Type[" + t.Name() + "]"
	}
	return Infer(v).Name()
}

// A number is an integer, a rational number of nanoseconds, or a float.
type number struct {
	kind uint8 // 'i', 'b', 'f' or 't'
	i    int64 // the integer; for 't', the seconds
	nsec int64 // for 't': 0 to 999999999
	f    float64
	big  *BigInt // for 'b'
}

func numberOf(v Value) (number, bool) {
	switch v := v.(type) {
	case Int:
		return number{kind: 'i', i: int64(v)}, true
	case *BigInt:
		return number{kind: 'b', big: v}, true
	case Float:
		return number{kind: 'f', f: float64(v)}, true
	case Timespan:
		sec, nsec := int64(v)/1e9, int64(v)%1e9
		if nsec < 0 {
			sec, nsec = sec-1, nsec+1e9
		}
		return number{kind: 't', i: sec, nsec: nsec}, true
	case Timestamp:
		return number{kind: 't', i: v.Unix(), nsec: int64(v.Nanosecond())}, true
	}
	return number{}, false
}

func (a number) compare(b number) int {
	switch {
	case a.kind == 'b':
		return a.big.compare(b)
	case b.kind == 'b':
		return -b.big.compare(a)
	}
	if a.kind == 'f' && b.kind == 'f' {
		return compareFloats(a.f, b.f)
	}
	if a.kind == 'f' {
		return -b.compareFloat(a.f)
	}
	if b.kind == 'f' {
		return a.compareFloat(b.f)
	}
	if c := cmp.Compare(a.i, b.i); c != 0 {
		return c
	}
	return cmp.Compare(a.nsec, b.nsec)
}

// compareFloats orders floats. NaN is greater than all others and is not equal
// to itself.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b, math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return 0
}

// compareFloat compares a, which is not a float, with f, without rounding.
func (a number) compareFloat(f float64) int {
	if math.IsNaN(f) || f >= 1<<63 {
		return -1
	}
	if f < -1<<63 {
		return 1
	}
	if a.kind == 't' {
		return compareFloats(float64(a.i)+float64(a.nsec)/1e9, f)
	}
	whole := math.Floor(f)
	if c := cmp.Compare(a.i, int64(whole)); c != 0 {
		return c
	}
	if f > whole {
		return -1
	}
	return 0
}

// foldCompare compares strings, with ASCII letters as lower case.
func foldCompare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if c := cmp.Compare(lower(a[i]), lower(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
