package facts

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected facts in testdata")

// A machine is a recorded tree of files in testdata, with what the kernel answers. Its text starts with
// the line "uname RELEASE MACHINE". The file network has what the kernel's network tables have, and
// statfs lines with the size, the free and the available bytes of file systems. NUL is written as U+2400.
type machine struct {
	archive *txtar.Archive
	path    string
	root    string
	sys     system
}

func readMachine(t *testing.T, path string) *machine {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{archive: archive, path: path, root: t.TempDir()}
	words := strings.Fields(string(archive.Comment))
	m.sys = quietSystem(words[1], words[2])
	for _, f := range archive.Files {
		text := strings.ReplaceAll(string(f.Data), "␀", "\x00")
		switch {
		case f.Name == "network":
			m.sys.dump = dumps(t, text)
		case f.Name == "statfs":
			m.sys.statfs = m.sizes(text)
		case strings.HasSuffix(f.Name, ".json"):
		default:
			write(t, filepath.Join(m.root, f.Name), text)
		}
	}
	return m
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

// quietSystem is a kernel that knows little.
func quietSystem(release, machine string) system {
	return system{
		uname:  func() (uts, error) { return uts{"Linux", "web1", release, "#1 SMP", machine}, nil },
		statfs: func(string) (fsSize, error) { return fsSize{}, nil },
		dump:   func(int) ([]byte, error) { return nil, nil },
		ids:    func() (int, int) { return 0, 0 },
		cpuid:  func() string { return "" },
		lookup: func(*collector, string) string { return "" },
	}
}

func (m *machine) sizes(text string) func(string) (fsSize, error) {
	sizes := map[string]fsSize{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		n := len(f) - 3
		var v [3]uint64
		for i := range v {
			v[i], _ = strconv.ParseUint(f[n+i], 10, 64)
		}
		sizes[filepath.Join(m.root, strings.Join(f[:n], " "))] = fsSize{v[0], v[1], v[2]}
	}
	return func(path string) (fsSize, error) {
		s, is := sizes[path]
		if !is {
			return s, fs.ErrNotExist
		}
		return s, nil
	}
}

// dumps makes the kernel's messages from lines: "link INDEX NAME MTU [MAC [MASTER]]",
// "addr INDEX PREFIX [LABEL]" and "route PREFIX|default INDEX [SOURCE]".
func dumps(t testing.TB, text string) func(int) ([]byte, error) {
	t.Helper()
	tables := map[int][]byte{}
	native := binary.NativeEndian
	u32 := func(s string) []byte {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return native.AppendUint32(nil, uint32(n))
	}
	attr := func(b []byte, kind uint16, value []byte) []byte {
		b = native.AppendUint16(b, uint16(4+len(value)))
		b = append(native.AppendUint16(b, kind), value...)
		return append(b, make([]byte, aligned(len(b))-len(b))...)
	}
	add := func(table int, kind uint16, body []byte) {
		b := native.AppendUint32(nil, uint32(16+len(body)))
		b = append(native.AppendUint16(b, kind), make([]byte, 10)...)
		tables[table] = append(tables[table], append(b, body...)...)
	}
	family := func(a netip.Addr) byte {
		if a.Is4() {
			return familyIPv4
		}
		return familyIP6
	}
	for line := range strings.Lines(text) {
		f := append(strings.Fields(line), "", "", "")
		switch f[0] {
		case "link":
			body := append(make([]byte, 4), u32(f[1])...)
			body = attr(append(body, make([]byte, 8)...), linkName, []byte(f[2]+"\x00"))
			body = attr(body, linkMTU, u32(f[3]))
			var mac []byte
			for octet := range strings.SplitSeq(f[4], ":") {
				if n, err := strconv.ParseUint(octet, 16, 8); err == nil {
					mac = append(mac, byte(n))
				}
			}
			if mac != nil {
				body = attr(body, linkAddress, mac)
			}
			if f[5] != "" {
				body = attr(body, linkMaster, u32(f[5]))
			}
			add(getLink, newLink, body)
		case "addr":
			p := netip.MustParsePrefix(f[2])
			body := append([]byte{family(p.Addr()), byte(p.Bits()), 0, 0}, u32(f[1])...)
			body = attr(body, addrAddress, p.Addr().AsSlice())
			if f[3] != "" {
				body = attr(body, addrLabel, []byte(f[3]+"\x00"))
			}
			add(getAddr, newAddr, body)
		case "route":
			body := append([]byte{familyIPv4, 0, 0, 0, mainTable, 0, 0, 0}, make([]byte, 4)...)
			if f[1] != "default" {
				p := netip.MustParsePrefix(f[1])
				body[0], body[1] = family(p.Addr()), byte(p.Bits())
				body = attr(body, routeDst, p.Addr().AsSlice())
			}
			body = attr(body, routeDevice, u32(f[2]))
			if f[3] != "" {
				body = attr(body, routeSource, netip.MustParseAddr(f[3]).AsSlice())
			}
			add(getRoute, newRoute, body)
		}
	}
	return func(what int) ([]byte, error) { return tables[what], nil }
}

// check compares facts with a file of the machine, or rewrites it.
func (m *machine) check(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.archive.Files {
		f := &m.archive.Files[i]
		if f.Name != name {
			continue
		}
		if *update {
			f.Data = append(text, '\n')
			if err := os.WriteFile(m.path, txtar.Format(m.archive), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(string(bytes.TrimSpace(f.Data)), string(text)); diff != "" {
			t.Errorf("facts differ (-want +got):\n%s", diff)
		}
		return
	}
	t.Fatalf("%s has no file %s", m.path, name)
}

func machines(t *testing.T, pattern string, each func(t *testing.T, m *machine)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { each(t, readMachine(t, file)) })
	}
}

// TestMachines: all facts of recorded machines.
func TestMachines(t *testing.T) {
	machines(t, "testdata/machines/*.txtar", func(t *testing.T, m *machine) {
		if strings.Contains(m.path, "podman") {
			m.sys.ids = func() (int, int) { return 1000, 1000 }
		}
		o := Options{Root: m.root, sys: m.sys, Env: []string{"PATH=/usr/bin:/bin"}, Note: func(fact string, err error) { t.Errorf("%s: %v", fact, err) }}
		m.check(t, "facts.json", Collect(t.Context(), o))
	})
}

// TestDistributions: the fact os of many distributions, as facter has it there.
func TestDistributions(t *testing.T) {
	machines(t, "testdata/os/*.txtar", func(t *testing.T, m *machine) {
		o := Options{Root: m.root, sys: m.sys, Env: []string{"PATH=/usr/bin"}, Note: func(fact string, err error) { t.Errorf("%s: %v", fact, err) }}
		m.check(t, "os.json", Collect(t.Context(), o).Value("os"))
	})
}
