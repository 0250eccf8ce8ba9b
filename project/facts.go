package project

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/schema"
)

// factCacheKey is the setting of the cache of facts, which Puppet Bolt does not have.
const factCacheKey = "fact-cache"

// DefaultFactAge is the default age from which cached facts are outdated.
const DefaultFactAge = 7 * 24 * time.Hour

func factCacheSchema() *schema.Schema {
	return &schema.Schema{Type: schema.Hash, Properties: map[string]*schema.Schema{
		"max-age": {Type: schema.Integer | schema.String, Min: schema.Limit(1), Max: schema.Limit(maxSeconds)},
	}}
}

// factAge reads the merged setting.
func (c *Config) factAge() (time.Duration, error) {
	switch v := c.hash(factCacheKey).Value("max-age").(type) {
	case int64:
		return time.Duration(v) * time.Second, nil
	case string:
		d, err := ParseAge(v)
		if err != nil || d == 0 {
			return 0, fault.New("bolt/validation-error", "Value at 'fact-cache.max-age' (%s) must be a number of seconds or a time such as 12h, 7d or 4w", c.sources[factCacheKey])
		}
		return d, nil
	}
	return DefaultFactAge, nil
}

// ages are the units of ParseAge.
var ages = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseAge parses an age: a number of seconds, or whole numbers with the units s, m,
// h, d and w, such as 12h or 1d12h.
func ParseAge(s string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not an age: give seconds, or a time such as 12h, 7d or 4w", s)
	var total time.Duration
	for rest := s; ; {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		unit := time.Second
		if end >= 0 {
			unit = ages[rest[end]]
		} else if end = len(rest); rest != s {
			return 0, wrong // "1h30"
		}
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		if err != nil || unit == 0 || n > int64((math.MaxInt64-total)/unit) {
			return 0, wrong
		}
		total += time.Duration(n) * unit
		if end >= len(rest)-1 {
			return total, nil
		}
		rest = rest[end+1:]
	}
}

// UserCache returns the directory of a name in the user's cache (XDG Base Directory
// Specification). xdg is the value of XDG_CACHE_HOME, and home the home directory. It
// returns "" if xdg is not absolute and home is "".
func UserCache(xdg, home, name string) string {
	if !filepath.IsAbs(xdg) {
		if home == "" {
			return ""
		}
		xdg = filepath.Join(home, ".cache")
	}
	return filepath.Join(xdg, "bolt", name)
}
