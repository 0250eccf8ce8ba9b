package puppetdb

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"bolt/format/ordered"
)

// FuzzRows: rows are those of the document, however it comes, and large ones
// are not kept.
func FuzzRows(f *testing.F) {
	for _, s := range []string{`[]`, ` [ {"a": [1, 2.5, null]}, "x", -0 ] `, `[1,]`, `[1 2]`, `{}`, ``, `[`, `]`, `[]]`, `[{"a":1,"a":2}]`,
		`["` + strings.Repeat("x", 200) + `"]`, `[1e999]`, `["\ud800", 123456789012345678901234567890]`, "[\"\xff\"]", strings.Repeat(" ", 200) + `[]`, `[` + strings.Repeat(" ", 200) + `]`, `nul`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 100
		got := []any{}
		err := decodeRows(iotest.HalfReader(bytes.NewReader(data)), most, func(v any) error {
			got = append(got, v)
			return nil
		})
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 500 {
			return // the whole may be nested too deep where no row is
		}
		whole, wrong := ordered.ParseJSON(data)
		list, isList := whole.([]any)
		switch {
		case err == nil && (wrong != nil || !isList || asJSON(t, got) != asJSON(t, list)):
			t.Errorf("%q: got %v, want %v, %v", data, got, whole, wrong)
		case err != nil && wrong == nil && isList && len(data) <= most:
			t.Errorf("%q: %v", data, err)
		}
	})
}
