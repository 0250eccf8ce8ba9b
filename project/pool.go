package project

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
)

// Pool says how connections are kept between invocations.
//
// Differs from Puppet: it keeps none, and does not know this setting.
type Pool struct {
	Mode PoolMode
	// IdleTimeout, MaxConnections and MaxAge are for a daemon that is
	// started; 0 if nobody says.
	IdleTimeout    time.Duration
	MaxAge         time.Duration
	MaxConnections int
}

// PoolMode says whether the daemon is used that keeps connections.
type PoolMode string

// The modes.
const (
	PoolAuto     PoolMode = "auto"     // if it can be had; it is started when missing
	PoolOff      PoolMode = "off"      // no
	PoolRequired PoolMode = "required" // nothing is done without it
)

// PoolModes lists them for the command line.
func PoolModes() []string { return []string{string(PoolAuto), string(PoolOff), string(PoolRequired)} }

// ParsePoolMode reads the value of a flag or an environment variable.
func ParsePoolMode(s string) (PoolMode, error) {
	if slices.Contains(PoolModes(), s) {
		return PoolMode(s), nil
	}
	return "", fmt.Errorf("%q is none of %s", s, strings.Join(PoolModes(), ", "))
}

const poolKey = "pool"

// poolSchema describes the setting: a mode alone, or a map. YAML reads the
// word off as false, and on as true.
func poolSchema() *schema.Schema {
	period := &schema.Schema{Type: schema.Integer | schema.String, Min: schema.Limit(1), Max: schema.Limit(math.MaxInt64 / int64(time.Second))}
	return &schema.Schema{Type: schema.String | schema.Boolean | schema.Hash, Enum: PoolModes(),
		Properties: map[string]*schema.Schema{
			"mode":            {Type: schema.String | schema.Boolean, Enum: PoolModes()},
			"idle-timeout":    period,
			"max-age":         period,
			"max-connections": {Type: schema.Integer, Min: schema.Limit(1)},
		}}
}

// poolMap is the setting in its long form.
func poolMap(v any) *ordered.Map {
	if m, ok := v.(*ordered.Map); ok {
		return m
	}
	return ordered.Of("mode", v)
}

// mergePool lets the mode of one layer stand beside the limits of another.
func mergePool(low, high any) any { return overlay(poolMap(low), poolMap(high), nil) }

// poolSettings reads the merged setting.
func (c *Config) poolSettings() (Pool, error) {
	m := poolMap(c.Settings.Value(poolKey))
	p := Pool{Mode: PoolAuto}
	switch mode := m.Value("mode").(type) {
	case string:
		p.Mode = PoolMode(mode)
	case bool:
		if !mode {
			p.Mode = PoolOff
		}
	}
	if n, ok := m.Value("max-connections").(int64); ok {
		p.MaxConnections = int(n)
	}
	for key, into := range map[string]*time.Duration{"idle-timeout": &p.IdleTimeout, "max-age": &p.MaxAge} {
		switch v := m.Value(key).(type) {
		case int64:
			*into = time.Duration(v) * time.Second
		case string:
			d, err := time.ParseDuration(v)
			if err != nil || d <= 0 {
				return p, fault.New("bolt/validation-error", "Value at 'pool.%s' (%s) must be a number of seconds or a time such as 90s, 15m or 2h", key, c.sources[poolKey])
			}
			*into = d
		}
	}
	return p, nil
}
