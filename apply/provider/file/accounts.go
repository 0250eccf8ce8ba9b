package file

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bolt/apply/resource"
	"bolt/internal/filestamp"
)

// accounts finds the numbers of users and groups by name, and the other way round. Static programs
// cannot use the system's own functions (NSS), so accounts reads /etc/passwd and /etc/group, and queries the
// program getent for the rest. Answers are cached until the file changes, because resources of the same run can
// add users.
type accounts struct {
	etc    string // the directory of passwd and group, "" for /etc
	mu     sync.Mutex
	tables [2]table // by database
}

type database int

const (
	users database = iota
	groups
)

func (d database) name() string { return [...]string{"passwd", "group"}[d] }

type table struct {
	stamp filestamp.Stamp
	ids   map[string]int // -1 for a name that nothing knows
	names map[int]string // "" for a number that nothing knows
}

// load returns the table of a database. The caller holds the lock.
func (a *accounts) load(h *resource.Host, d database) *table {
	path := h.Path(filepath.Join(cmp.Or(a.etc, "/etc"), d.name()))
	t := &a.tables[d]
	stamp := filestamp.At(path)
	if t.ids != nil && stamp == t.stamp && !stamp.Fresh() {
		return t
	}
	*t = table{stamp: stamp, ids: make(map[string]int), names: make(map[int]string)}
	data, err := os.ReadFile(path)
	if err != nil {
		return t
	}
	for line := range strings.Lines(string(data)) {
		t.add(strings.TrimRight(line, "\n"))
	}
	return t
}

// add adds a line "name:password:number:…"; if several lines have the same name or number, the first line takes
// effect.
func (t *table) add(line string) {
	fields := strings.SplitN(line, ":", 4)
	if len(fields) < 3 || fields[0] == "" {
		return
	}
	id, err := strconv.Atoi(fields[2])
	if err != nil {
		return
	}
	if old, known := t.ids[fields[0]]; !known || old < 0 {
		t.ids[fields[0]] = id
	}
	if t.names[id] == "" {
		t.names[id] = fields[0]
	}
}

// id returns the number of a name, or of a number that is written in digits.
func (a *accounts) id(ctx context.Context, h *resource.Host, d database, name string) (id int, found bool) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.load(h, d)
	if id, known := t.ids[name]; known {
		return id, id >= 0
	}
	t.ask(ctx, h, d, name)
	id, found = t.ids[name]
	if !found {
		t.ids[name] = -1
	}
	return id, found
}

// name returns the name of a number, or its digits.
func (a *accounts) name(ctx context.Context, h *resource.Host, d database, id int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.load(h, d)
	name, known := t.names[id]
	if !known {
		t.ask(ctx, h, d, strconv.Itoa(id))
		name = t.names[id]
		t.names[id] = name
	}
	if name == "" {
		return strconv.Itoa(id)
	}
	return name
}

// ask adds getent's answer for a name or a number.
func (t *table) ask(ctx context.Context, h *resource.Host, d database, key string) {
	if h.Root != "" || strings.HasPrefix(key, "-") {
		return
	}
	getent := h.Find("getent")
	if getent == "" {
		return
	}
	out, err := h.Run(ctx, &resource.Command{Argv: []string{getent, d.name(), key}, Env: h.Environ(), Timeout: resource.QueryLimit})
	if err == nil && out.Code == 0 {
		line, _, _ := strings.Cut(string(out.Stdout), "\n")
		t.add(line)
	}
}
