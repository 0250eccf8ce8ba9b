// Package semver implements semantic versions (semver.org) and ranges in the
// notation of npm, as modules of Puppet and its language use them.
package semver

import (
	"math"
	"strconv"
	"strings"
)

// A Version is a version as defined by semver.org: 1.2.3-rc.1+build.
type Version struct {
	Major, Minor, Patch int64
	pre                 []preID // identifiers of the pre-release
	hasPre              bool    // also true for the lowest version, whose pre is empty
	build               []string
}

// A preID is one identifier of a pre-release: a number or a string.
type preID struct {
	num   int64
	text  string
	isNum bool
}

func (p preID) String() string {
	if p.isNum {
		return strconv.FormatInt(p.num, 10)
	}
	return p.text
}

// Infinite is the major number of a version above all others.
const Infinite = math.MaxInt64

// The lowest and the highest version of ranges.
var (
	lowestVersion  = &Version{hasPre: true}
	highestVersion = &Version{Major: Infinite}
)

// Parse parses a version. The error is an *[Error].
func Parse(s string) (*Version, error) {
	v, rest, ok := scanVersion(s)
	if !ok || rest != "" && rest != "\n" {
		return nil, fail(Malformed, "%q is not a semantic version, such as 1.2.3 or 1.2.3-rc.1", clip(s))
	}
	return v.check()
}

// A rawVersion is a version whose identifiers are not parsed yet.
type rawVersion struct {
	nums       [3]string
	pre, build string
	hasPre     bool
	hasBuild   bool
}

// scanVersion reads a version at the beginning of s.
func scanVersion(s string) (v rawVersion, rest string, ok bool) {
	for i := range v.nums {
		if i > 0 {
			if s == "" || s[0] != '.' {
				return v, s, false
			}
			s = s[1:]
		}
		n := scanNumber(s)
		if n == 0 {
			return v, s, false
		}
		v.nums[i], s = s[:n], s[n:]
	}
	v.pre, v.build, v.hasPre, v.hasBuild, s = scanQualifier(s)
	return v, s, true
}

// scanQualifier reads -pre+build, both optional.
func scanQualifier(s string) (pre, build string, hasPre, hasBuild bool, rest string) {
	if strings.HasPrefix(s, "-") {
		if n := scanIdentifiers(s[1:]); n > 0 {
			pre, hasPre, s = s[1:n+1], true, s[n+1:]
		}
	}
	if strings.HasPrefix(s, "+") {
		if n := scanIdentifiers(s[1:]); n > 0 {
			build, hasBuild, s = s[1:n+1], true, s[n+1:]
		}
	}
	return pre, build, hasPre, hasBuild, s
}

// scanNumber returns the number of bytes at the beginning of s that are a
// number without leading zeros.
func scanNumber(s string) int {
	if s == "" || !isDigit(s[0]) {
		return 0
	}
	if s[0] == '0' {
		return 1
	}
	n := 1
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// scanIdentifiers returns the number of bytes at the beginning of s that are
// identifiers, separated by dots.
func scanIdentifiers(s string) int {
	n, end := 0, 0
	for {
		start := n
		for n < len(s) && isIdentifierByte(s[n]) {
			n++
		}
		if n == start {
			return end
		}
		end = n
		if n == len(s) || s[n] != '.' {
			return end
		}
		n++
	}
}

// IsQualifier reports whether s is valid after - or + in a version. A newline
// at the end is allowed.
func IsQualifier(s string) bool {
	n := scanIdentifiers(s)
	return n > 0 && (n == len(s) || s[n:] == "\n")
}

func isIdentifierByte(c byte) bool {
	return isDigit(c) || c == '-' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// check converts the parsed strings to a version.
func (r rawVersion) check() (*Version, error) {
	v := &Version{hasPre: r.hasPre}
	for i, p := range []*int64{&v.Major, &v.Minor, &v.Patch} {
		if r.nums[i] == "" {
			continue
		}
		n, err := versionNumber(r.nums[i])
		if err != nil {
			return nil, err
		}
		*p = n
	}
	if r.hasPre {
		pre, err := parsePre(r.pre)
		if err != nil {
			return nil, err
		}
		v.pre = pre
	}
	if r.hasBuild {
		v.build = strings.Split(r.build, ".")
	}
	return v, nil
}

// versionNumber converts digits to a number. Differs from Puppet: numbers must
// be less than 2^63-1.
func versionNumber(digits string) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n == Infinite {
		return 0, fail(TooLarge, "number %s of a version is too large", clip(digits))
	}
	return n, nil
}

func parsePre(s string) ([]preID, error) {
	parts := strings.Split(s, ".")
	ids := make([]preID, len(parts))
	for i, p := range parts {
		if !allDigits(p) {
			ids[i].text = p
			continue
		}
		if len(p) > 1 && p[0] == '0' {
			return nil, fail(Malformed, "number %s of a pre-release begins with a zero", clip(p))
		}
		n, err := versionNumber(p)
		if err != nil {
			return nil, err
		}
		ids[i] = preID{num: n, isNum: true}
	}
	return ids, nil
}

// New returns a version with these parts. Pre-release and build can be empty.
// They are used literally, without parsing numbers in them.
func New(major, minor, patch int64, pre, build string) *Version {
	v := &Version{Major: major, Minor: minor, Patch: patch}
	if pre != "" {
		v.hasPre, v.pre = true, []preID{{text: pre}}
	}
	if build != "" {
		v.build = []string{build}
	}
	return v
}

// String returns the version in the notation of semver.org.
func (v *Version) String() string { return string(v.Append(nil)) }

// Append appends String.
func (v *Version) Append(b []byte) []byte {
	if v.Major == Infinite {
		b = append(b, "Infinity"...)
	} else {
		b = strconv.AppendInt(b, v.Major, 10)
	}
	b = append(b, '.')
	b = strconv.AppendInt(b, v.Minor, 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, v.Patch, 10)
	if v.hasPre {
		b = append(b, '-')
		b = append(b, v.prerelease()...)
	}
	if v.build != nil {
		b = append(b, '+')
		b = append(b, v.Build()...)
	}
	return b
}

// prerelease returns the text after the - of the version, or "".
func (v *Version) prerelease() string {
	parts := make([]string, len(v.pre))
	for i, p := range v.pre {
		parts[i] = p.String()
	}
	return strings.Join(parts, ".")
}

// Build returns the text after the + of the version, or "".
func (v *Version) Build() string { return strings.Join(v.build, ".") }

// stable reports whether the version is not a pre-release.
func (v *Version) stable() bool { return len(v.pre) == 0 }

// Compare orders versions and ignores their builds.
func (v *Version) Compare(o *Version) int {
	for _, p := range [3][2]int64{{v.Major, o.Major}, {v.Minor, o.Minor}, {v.Patch, o.Patch}} {
		if p[0] != p[1] {
			return order(p[0] < p[1])
		}
	}
	if v.hasPre != o.hasPre {
		return order(v.hasPre)
	}
	for i, p := range v.pre {
		if i >= len(o.pre) {
			return 1
		}
		if c := p.compare(o.pre[i]); c != 0 {
			return c
		}
	}
	return order(len(v.pre) < len(o.pre)) * boolInt(len(v.pre) != len(o.pre))
}

func (p preID) compare(o preID) int {
	switch {
	case p == o:
		return 0
	case p.isNum != o.isNum:
		return order(p.isNum)
	case p.isNum:
		return order(p.num < o.num)
	}
	return strings.Compare(p.text, o.text)
}

// Equal reports whether the versions are identical, including the build.
func (v *Version) Equal(o *Version) bool {
	return v.Compare(o) == 0 && v.Build() == o.Build() && len(v.build) == len(o.build) && len(v.pre) == len(o.pre)
}

// next returns the version with the patch number incremented.
func (v *Version) next() *Version {
	return &Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}
}

// order returns -1 if less is set, otherwise 1.
func order(less bool) int {
	if less {
		return -1
	}
	return 1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
