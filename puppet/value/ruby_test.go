package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFormatsLikeRuby compares features that come from Ruby with recorded
// results of Ruby: formats of numbers and times, time zones, ranges of
// versions, URIs, base 64.
func TestFormatsLikeRuby(t *testing.T) {
	counts := map[string]int{}
	for line := range bytes.Lines(readGzip(t, "testdata/ruby.jsonl.gz")) {
		var raw []json.RawMessage
		if err := json.Unmarshal(line, &raw); err != nil {
			t.Fatal(err)
		}
		var kind string
		fields := make([]any, len(raw)-1)
		json.Unmarshal(raw[0], &kind)
		for i := range fields {
			json.Unmarshal(raw[i+1], &fields[i])
		}
		counts[kind]++
		got, want := rubyCase(t, kind, fields, raw[1:])
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%sgot %v", line, got)
		}
	}
	if len(counts) != 8 {
		t.Errorf("kinds of cases: %v", counts)
	}
}

// rubyCase returns the result of a case and the expected result.
func rubyCase(t *testing.T, kind string, f []any, raw []json.RawMessage) (got, want any) {
	text := func(i int) string { s, _ := f[i].(string); return s }
	switch kind {
	case "float":
		bits, _ := strconv.ParseUint(text(1), 16, 64)
		x := math.Float64frombits(bits)
		s, err := Sprintf(text(0), []Value{Float(x)}, nil)
		return fmt.Sprint(s, floatString(x), err), fmt.Sprint(text(2), text(3), nil)
	case "strftime":
		at := NewTimestamp(time.Unix(int64(f[1].(float64)), int64(f[2].(float64))))
		s, err := at.Format(text(0), text(3))
		return orNil(s, err), f[4]
	case "strptime", "zone": // package timeformat tests them
		return nil, nil
	case "sprintf":
		v, err := FromJSON(raw[1])
		if err != nil {
			t.Fatal(err)
		}
		s, err := Sprintf(text(0), []Value{v}, nil)
		return orNil(s, err), f[2]
	case "range":
		r, err := parseSemVerRange(text(0))
		if err != nil {
			return nil, f[1]
		}
		var in []string
		for _, s := range strings.Fields("0.0.1 0.1.2 0.1.5 1.0.0 1.0.0-rc1 1.0.0-rc2 1.2.3 1.2.4 1.9.9 2.0.0-a.1 2.0.0-a.2 2.0.0 3.0.0 4.5.6") {
			if v, err := ParseSemVer(s); err == nil && r.Includes(v) {
				in = append(in, s)
			}
		}
		return r.Canonical() + ": " + strings.Join(in, " "), fmt.Sprintf("%v: %v", f[1], f[2])
	case "uri":
		u, err := ParseURI(text(0))
		if err != nil {
			return nil, f[1]
		}
		parts := []any{u.String()}
		for _, name := range uriParts {
			switch v := u.Part(name).(type) {
			case String:
				parts = append(parts, string(v))
			case Int:
				parts = append(parts, int64(v))
			default:
				parts = append(parts, nil)
			}
		}
		return parts, f[1]
	case "base64":
		decoded := func(b *Binary, err error) any {
			if err != nil {
				return nil
			}
			return fmt.Sprint(b.Bytes())
		}
		strict, err := parseBase64(text(0))
		url, urlErr := parseBase64URL(text(0))
		return []any{decoded(strict, err), decoded(url, urlErr), decoded(parseBase64Loose(text(0)), nil)}, f[1:]
	}
	t.Fatalf("unknown kind %s", kind)
	return nil, nil
}

func orNil(s string, err error) any {
	if err != nil {
		return nil
	}
	return s
}
