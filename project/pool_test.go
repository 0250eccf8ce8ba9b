package project

import (
	"testing"
	"time"

	"bolt/format/ordered"
)

func TestPool(t *testing.T) {
	const user, own = "home/.puppetlabs/etc/bolt/bolt-defaults.yaml", "cwd/bolt-project.yaml"
	for _, c := range []struct {
		name  string
		files map[string]string
		flags *ordered.Map
		want  Pool
	}{
		{"default", nil, nil, Pool{Mode: PoolAuto}},
		{"a word", map[string]string{own: "pool: required"}, nil, Pool{Mode: PoolRequired}},
		{"YAML's off", map[string]string{own: "pool: off"}, nil, Pool{Mode: PoolOff}},
		{"YAML's on", map[string]string{own: "pool: on"}, nil, Pool{Mode: PoolAuto}},
		{"limits", map[string]string{own: "pool: {idle-timeout: 90, max-age: 2h, max-connections: 7}"}, nil,
			Pool{Mode: PoolAuto, IdleTimeout: 90 * time.Second, MaxAge: 2 * time.Hour, MaxConnections: 7}},
		{"mode and limits of two files", map[string]string{user: "pool: off", own: "pool: {max-age: 1m30s}"}, nil,
			Pool{Mode: PoolOff, MaxAge: 90 * time.Second}},
		{"mode above limits", map[string]string{user: "pool: {mode: required, max-connections: 3}", own: "pool: auto"}, nil,
			Pool{Mode: PoolAuto, MaxConnections: 3}},
		{"flag above files", map[string]string{own: "pool: {mode: required, max-age: 5}"}, ordered.Of("pool", "off"),
			Pool{Mode: PoolOff, MaxAge: 5 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.files)
			got, ids, err := w.load(w.sources(), c.flags)
			if err != nil || ids != nil {
				t.Fatal(err, ids)
			}
			if got.Pool != c.want {
				t.Errorf("got %+v, want %+v", got.Pool, c.want)
			}
		})
	}
}

func TestPoolMistakes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		parts      []string
	}{
		{"unknown mode", "pool: sometimes", []string{"Value at 'pool' must be one of auto, off, required"}},
		{"unknown mode in a map", "pool: {mode: x}", []string{"Value at 'pool.mode' must be one of"}},
		{"no time", "pool: {max-age: soon}", []string{"pool.max-age", "90s, 15m"}},
		{"negative time", "pool: {max-age: -5s}", []string{"pool.max-age"}},
		{"more seconds than a time can hold", "pool: {idle-timeout: 10000000000}", []string{"'pool.idle-timeout' must be a maximum of"}},
		{"no connections", "pool: {max-connections: 0}", []string{"'pool.max-connections' must be a minimum of 1"}},
		{"list", "pool: []", []string{"Value at 'pool' must be of type"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": c.text})
			_, _, err := w.load(w.sources(), nil)
			w.wantError(err, "bolt/validation-error", c.parts...)
		})
	}
}
