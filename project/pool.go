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

// Pool is the setting of the daemon that keeps connections between invocations.
// Puppet Bolt does not have it.
type Pool struct {
	Mode PoolMode
	// IdleTimeout, MaxConnections and MaxAge are for a daemon that bolt starts; 0
	// means the default.
	IdleTimeout    time.Duration
	MaxAge         time.Duration
	MaxConnections int
}

// PoolMode is a mode of using the daemon.
type PoolMode string

// The modes.
const (
	PoolAuto     PoolMode = "auto"     // bolt starts the daemon if necessary, and works without it if that fails
	PoolOff      PoolMode = "off"      // bolt does not use the daemon
	PoolRequired PoolMode = "required" // bolt fails if it cannot use the daemon
)

// PoolModes returns the modes for the command line.
func PoolModes() []string { return []string{string(PoolAuto), string(PoolOff), string(PoolRequired)} }

// ParsePoolMode parses the value of a flag or an environment variable.
func ParsePoolMode(s string) (PoolMode, error) {
	if slices.Contains(PoolModes(), s) {
		return PoolMode(s), nil
	}
	return "", fmt.Errorf("%q is none of %s", s, strings.Join(PoolModes(), ", "))
}

const poolKey = "pool"

// poolSchema describes the setting, which is a mode or a map. It accepts Booleans,
// because YAML reads the word off as false, and on as true.
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

// poolMap returns the setting as a map.
func poolMap(v any) *ordered.Map {
	if m, ok := v.(*ordered.Map); ok {
		return m
	}
	return ordered.Of("mode", v)
}

// mergePool merges the setting of two layers by its keys.
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
