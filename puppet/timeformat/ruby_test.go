package timeformat

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestParsesLikeRuby compares parsed times and time zones with recorded results
// of Ruby.
func TestParsesLikeRuby(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "value", "testdata", "ruby.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[any]int{}
	for line := range bytes.Lines(text) {
		var f []any
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		text := func(i int) string { s, _ := f[i].(string); return s }
		var got, want any
		switch f[0] {
		case "strptime":
			got, want = strptimeCase(text(1), text(2), f[3])
		case "zone":
			want = f[2]
			if n := scanZone(text(1)); n > 0 {
				if offset, ok := lookupZone(text(1)[:n]); ok {
					got = offset
				}
			}
		default:
			continue
		}
		counts[f[0]]++
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%sgot %v", line, got)
		}
	}
	if len(counts) != 2 {
		t.Errorf("kinds of cases: %v", counts)
	}
}

// strptimeCase compares the parts of a time. A missing part is 0.
func strptimeCase(s, format string, want any) (any, any) {
	p, ok := strptime(s, format)
	list, _ := want.([]any)
	if !ok || list == nil {
		if ok {
			return p, want
		}
		return nil, want
	}
	number := func(i int) float64 { n, _ := list[i].(float64); return n }
	fraction := float64(p.nanos) / 1e9
	if p.negativeFraction {
		fraction = -fraction
	}
	year := p.year
	if !p.hasYear {
		year = 0
	}
	zone, _ := list[7].(string)
	const form = "%d-%d-%d %d:%d:%d+%.8f %s %v"
	return fmt.Sprintf(form, year, p.month, p.day, p.hour, p.min, p.sec, fraction, p.zone, p.leftover),
		fmt.Sprintf(form, int(number(0)), int(number(1)), int(number(2)), int(number(3)), int(number(4)), int(number(5)), number(6), zone, list[8])
}
