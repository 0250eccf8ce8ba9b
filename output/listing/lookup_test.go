package listing

import (
	"bytes"
	"testing"

	"bolt/output/layout"
)

func TestPrintValue(t *testing.T) {
	for _, c := range []struct {
		format   layout.Format
		terminal bool
		want     string
	}{
		{layout.Human, false, "a\x1b[1m\n"}, {layout.Human, true, "a\n"}, {layout.Rainbow, false, "a\x1b[1m\n"}, {layout.JSON, false, "[1]\n"}, {layout.NDJSON, false, "[1]\n"},
	} {
		var b bytes.Buffer
		if err := PrintValue(&b, c.format, c.terminal, "a\x1b[1m\n", []any{int64(1)}); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.format, b.String(), c.want)
		}
	}
}
