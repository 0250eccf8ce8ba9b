package cli

import (
	"fmt"
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
