package value

import (
	"errors"

	"bolt/puppet/semver"
)

// A SemVer is a version as defined by semver.org: 1.2.3-rc.1+build.
type SemVer struct{ semver.Version }

func (*SemVer) value() {}

// ParseSemVer parses a version. The error is a *[ConversionError].
func ParseSemVer(s string) (*SemVer, error) {
	v, err := semver.Parse(s)
	if err != nil {
		return nil, versionError(err)
	}
	return &SemVer{*v}, nil
}

// versionError converts an error of package semver to an error of this package.
func versionError(err error) error {
	e, ok := errors.AsType[*semver.Error](err)
	if !ok {
		return err
	}
	kind := KindValue
	switch e.Reason {
	case semver.TooLarge:
		kind = KindRange
	case semver.TooLong:
		kind = KindLimit
	}
	return &ConversionError{kind, e.Msg}
}

// NewSemVer returns a version with these parts, as semver.New does.
func NewSemVer(major, minor, patch int64, pre, build string) *SemVer {
	return &SemVer{*semver.New(major, minor, patch, pre, build)}
}

// Compare compares versions. It ignores the build.
func (v *SemVer) Compare(o *SemVer) int { return v.Version.Compare(&o.Version) }

// Equal reports whether the versions are identical, including the build.
func (v *SemVer) Equal(o *SemVer) bool { return v.Version.Equal(&o.Version) }

// A SemVerRange is a set of versions: ">=1.2.0 <2.0.0", "1.x || ~2.3".
type SemVerRange struct{ semver.Range }

func (*SemVerRange) value() {}

// parseSemVerRange parses a range. The error is a *[ConversionError].
func parseSemVerRange(s string) (*SemVerRange, error) {
	r, err := semver.ParseRange(s)
	if err != nil {
		return nil, versionError(err)
	}
	return &SemVerRange{*r}, nil
}

// makeSemVerRange returns the range from begin to end. nil stands for the
// lowest and for the highest possible version.
func makeSemVerRange(begin, end *SemVer, excludeEnd bool) *SemVerRange {
	of := func(v *SemVer) *semver.Version {
		if v == nil {
			return nil
		}
		return &v.Version
	}
	return &SemVerRange{*semver.NewRange(of(begin), of(end), excludeEnd)}
}

// Includes reports whether v is in the range, as semver.Range.Includes does.
func (r *SemVerRange) Includes(v *SemVer) bool { return r.Range.Includes(&v.Version) }

// Equal reports whether both ranges contain the same versions in the same form.
func (r *SemVerRange) Equal(o *SemVerRange) bool { return r.Range.Equal(&o.Range) }

// coveredBy is semver.Range.CoveredBy.
func (r *SemVerRange) coveredBy(o *SemVerRange) (covered, ok bool) {
	return r.Range.CoveredBy(&o.Range)
}

// overlap returns the versions in both ranges.
func (r *SemVerRange) overlap(o *SemVerRange) *SemVerRange {
	return &SemVerRange{*r.Range.Overlap(&o.Range)}
}
