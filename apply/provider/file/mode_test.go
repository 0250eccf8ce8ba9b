package file

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/modes.tsv was written by Puppet's own function: a mode, the mode before, whether the file is a directory, and the
// mode after, "error", or "invalid" for a mode that the type refuses.
func TestModesOfPuppet(t *testing.T) {
	data, err := os.ReadFile("testdata/modes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if got := applied(t, c[0], c[1], c[2] == "d"); got != c[3] {
			t.Errorf("%s applied to %s (%s) is %s, want %s", c[0], c[1], c[2], got, c[3])
		}
	}
}

func applied(t *testing.T, text, from string, dir bool) string {
	t.Helper()
	m, ok := parseMode(text)
	if !ok {
		return "invalid"
	}
	n, err := strconv.ParseUint(from, 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := m.apply(uint32(n), dir)
	if err != nil {
		return "error"
	}
	return strconv.FormatUint(uint64(bits), 8)
}

func TestModeOfDirectory(t *testing.T) {
	for _, c := range [][2]string{{"0640", "750"}, {"644", "755"}, {"0200", "200"}, {"7444", "7555"}} {
		if got := applied(t, c[0], "0", true); got != c[1] {
			t.Errorf("%s of a directory is %s, want %s", c[0], got, c[1])
		}
	}
}

func FuzzMode(f *testing.F) {
	f.Add("u=rw,go+rX", uint32(0o755), true)
	f.Add("07777", uint32(0), false)
	f.Add("g=u,o-s,+t", uint32(0o4711), false)
	f.Fuzz(func(t *testing.T, text string, from uint32, dir bool) {
		from &= 0o7777
		m, ok := parseMode(text)
		if !ok {
			return
		}
		bits, err := m.apply(from, dir)
		if err != nil {
			return
		}
		if bits&^0o7777 != 0 {
			t.Errorf("%q applied to %o is %o", text, from, bits)
		}
		again, ok := parseMode(m.String())
		if !ok || !m.octal && again != m || again.bits != m.bits {
			t.Errorf("%q is written as %q", text, m)
		}
	})
}
