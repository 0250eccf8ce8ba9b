package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ParseCount reads a whole number as Ruby's optparse does: decimal, 0x…, 0….
func ParseCount(s string) (int, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 32)
	return int(n), err
}

// ParseTimeout reads a number of seconds, or a duration with units. It must be positive.
func ParseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseFloat(s, 64); nerr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not positive", s)
	}
	return d, err
}

// Count is a Flag.Check that refuses texts that are not a whole number.
func Count(f *Flag, text string) error {
	if _, err := ParseCount(text); err != nil {
		return Invalid(f.Name, text)
	}
	return nil
}

// String is a Flag.Setting for strings.
func String(text string) any { return text }

// Bool is a Flag.Setting for switches.
func Bool(text string) any { return text == "true" }

// Int is a Flag.Setting for numbers. It returns nil for values that Check accepted
// although they are not a number.
func Int(text string) any {
	n, err := ParseCount(text)
	if err != nil {
		return nil
	}
	return int64(n)
}

// AbsolutePath is a Flag.Absolute for a path. It does not change a path that begins
// with the home directory.
func AbsolutePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "~" && !strings.HasPrefix(path, "~/") {
		return abs
	}
	return path
}

// AbsolutePaths is AbsolutePath for a list of paths, separated by colons.
func AbsolutePaths(list string) string {
	paths := filepath.SplitList(list)
	for i, path := range paths {
		paths[i] = AbsolutePath(path)
	}
	return strings.Join(paths, string(filepath.ListSeparator))
}
