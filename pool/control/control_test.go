package control

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"bolt/format/fault"
)

func TestControlWithoutDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "pool", "pool.sock")
	env := map[string]string{"BOLT_POOL_SOCKET": socket}
	c, err := New(Options{Home: dir, Dir: dir, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil || c.Socket() != socket {
		t.Fatal(c, err)
	}
	if s, err := c.Status(t.Context()); s != nil || err != nil {
		t.Errorf("status %+v, %v", s, err)
	}
	for name, do := range map[string]func() (string, error){
		"stop":  func() (string, error) { return c.Stop(t.Context()) },
		"drain": func() (string, error) { return c.Drain(t.Context()) },
	} {
		if report, err := do(); report != "No pool daemon runs." || err != nil {
			t.Errorf("%s: %q, %v", name, report, err)
		}
	}
	if data, err := c.Metrics(t.Context()); !strings.HasSuffix(string(data), "\nbolt_pool_up 0\n") || err != nil {
		t.Errorf("metrics %q, %v", data, err)
	}
	log, err := c.Log(t.Context())
	if e, ok := errors.AsType[*fault.Error](err); log != nil || !ok || e.Kind != Kind {
		t.Errorf("log %v, %v", log, err)
	}
	env["BOLT_POOL_SOCKET"] = "relative"
	if c, err := New(c.o); c != nil || err == nil {
		t.Errorf("a relative socket: %v, %v", c, err)
	}
}
