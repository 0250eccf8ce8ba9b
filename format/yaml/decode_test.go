package yaml

import (
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
)

func whole(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

func TestPlainScalars(t *testing.T) {
	tests := map[string]any{
		"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
		"yes": true, "Yes": true, "on": true, "ON": true, "true": true, "True": true,
		"no": false, "off": false, "FALSE": false,
		"y": "y", "n": "n", "Y": "Y", "nil": "nil", "none": "none", "yesno": "yesno", "nullable": "nullable",
		"0": int64(0), "-0": int64(0), "22": int64(22), "+7": int64(7), "-7": int64(-7),
		"010": int64(8), "0o10": "0o10", "08": "08", "0x1F": int64(31), "-0x10": int64(-16), "0b101": int64(5), "0b102": "0b102",
		"1_000": int64(1000), "1,000": int64(1000), "1__0": "1__0", "0_7": int64(7),
		"12:30": int64(45000), "12:30:45": int64(45045), "190:20:30": int64(685230), "1:30.5": 5430.0, "12:75": "12:75",
		"1.5": 1.5, "1.": 1.0, ".5": 0.5, "-1.5": -1.5, "1_000.5": 1000.5, "1.0e+3": 1000.0, "1.0e3": "1.0e3", "1e3": "1e3",
		".": ".", "-.": "-.", "1.2.3": "1.2.3", "127.0.0.1": "127.0.0.1",
		".inf": math.Inf(1), "+.INF": math.Inf(1), "-.inf": math.Inf(-1),
		"9223372036854775807": int64(math.MaxInt64), "9223372036854775808": whole("9223372036854775808"), "-0x8000000000000001": whole("-9223372036854775809"),
		"99999999999999999999:20": whole("359999999999999999997600"), "1.5e400": "1.5e400", "1.5e+400": math.Inf(1),
		"a b": "a b", "fe80::1": "fe80::1", "web[01-03]": "web[01-03]", "/tmp": "/tmp", "-x": "-x", "=": "=", "<<": "<<",
		"2024-13-01": "2024-13-01", "2024": int64(2024), "v1": "v1", "0.10.0": "0.10.0",
	}
	for in, want := range tests {
		t.Run(in, func(t *testing.T) {
			got, refused := resolve(in)
			if refused != "" || !reflect.DeepEqual(got, want) {
				t.Errorf("resolve(%q) = %#v %q, want %#v", in, got, refused, want)
			}
		})
	}
	if v, _ := resolve(".nan"); !math.IsNaN(v.(float64)) {
		t.Errorf("resolve(.nan) = %v", v)
	}
	for in, want := range map[string]string{
		"2024-01-02": "date", "2024-1-2": "date", "2024-02-31": "date",
		"2024-01-02 03:04:05": "time", "2024-01-02T03:04:05Z": "time", "2024-01-02 03:04:05.5 +02:00": "time",
		":foo": "symbol", "::1": "symbol", ":'x'": "symbol",
	} {
		if v, refused := resolve(in); refused != want {
			t.Errorf("resolve(%q) = %v, refused %q, want %q", in, v, refused, want)
		}
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, in string
		want     any
	}{
		{"nothing", "", nil},
		{"only comments", "# hello\n", nil},
		{"document marker", "---\na: 1\n", ordered.Of("a", int64(1))},
		{"first document only", "a: 1\n---\nb: 2\n", ordered.Of("a", int64(1))},
		{"order", "b: 1\na: 2\n", ordered.Of("b", int64(1), "a", int64(2))},
		{"quoted is text", "a: '1'\nb: \"yes\"\nc: |\n  2024-01-02\n", ordered.Of("a", "1", "b", "yes", "c", "2024-01-02\n")},
		{"flow", "{a: [1, x, {b: ~}]}", ordered.Of("a", []any{int64(1), "x", ordered.Of("b", nil)})},
		{"null value", "targets:\n", ordered.Of("targets", nil)},
		{"last duplicate wins", "a: 1\nb: 2\na: 3\n", ordered.Of("a", int64(3), "b", int64(2))},
		{"keys of other types", "1: a\ntrue: b\n~: c\n1.5: d\n", ordered.Of("1", "a", "true", "b", "", "c", "1.5", "d")},
		{"collections as keys", "? [a, 1]\n: x\n? {b: ~}\n: y\n", ordered.Of(`["a", 1]`, "x", `{"b"=>nil}`, "y")},
		{"string tag", "a: !!str 1\n", ordered.Of("a", "1")},
		{"float tag", "a: !!float 1\n", ordered.Of("a", 1.0)},
		{"float tag of many digits", "a: !!float 99999999999999999999\n", ordered.Of("a", 1e20)},
		{"many digits as key", "99999999999999999999: 1\n", ordered.Of("99999999999999999999", int64(1))},
		{"merge key in quotes", "a: 1\n\"<<\": {b: 3}\n", ordered.Of("a", int64(1), "b", int64(3))},
		{"merge key as text", "!!str <<: {b: 3}\n", ordered.Of("<<", ordered.Of("b", int64(3)))},
		{"binary tag", "a: !!binary aGk=\n", ordered.Of("a", "hi")},
		{"merge key", "a: 1\n<<: {a: 2, b: 3}\n", ordered.Of("a", int64(2), "b", int64(3))},
		{"merge key with text", "<<: x\n", ordered.Of("<<", "x")},
		{"anchor without alias", "a: &x 1\n", ordered.Of("a", int64(1))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.in), "")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct {
		name, in     string
		line, column int
		alias        bool
		says         string
	}{
		{"unclosed list", "groups: [\n", 1, 9, false, "did not find"},
		{"alias", "a: &x {b: 1}\nc: *x\n", 2, 4, true, "*x"},
		{"unknown alias", "c: *x\n", 1, 4, true, "x"},
		{"date", "a: 1\nb: 2024-01-02\n", 2, 4, false, "date"},
		{"symbol", "a: :foo\n", 1, 4, false, "symbol"},
		{"symbol key", ":a: 1\n", 1, 1, false, "symbol"},
		{"ruby object", "a: !ruby/object:Object {}\n", 1, 4, false, "Ruby object"},
		{"tab", "a:\n\tb: 1\n", 2, 1, false, "cannot start"},
		{"bad binary", "a: !!binary '***'\n", 1, 4, false, "base64"},
		{"digits", "a: " + strings.Repeat("1", 2_000_000), 1, 4, false, "111… is a number of too many digits"},
		{"hours", "a: " + strings.Repeat("1", 2_000_000) + ":30", 1, 4, false, "number of too many digits"},
		{"deep", strings.Repeat("[", 600) + strings.Repeat("]", 600), 1, 502, false, "nested"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.in), "x.yaml")
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want *Error", err)
			}
			if e.File != "x.yaml" || e.Line != tt.line || e.Column != tt.column || e.Alias != tt.alias || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("got %+v: %v", e, e)
			}
		})
	}
}

func TestReadMap(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, text, says string
	}{
		{"good", "a: 1\n", ""},
		{"empty", "", ""},
		{"list", "- a\n", "not Array"},
		{"text", "hello\n", "not String"},
		{"broken", "a: [\n", "line 1"},
		{"alias", "a: &x 1\nb: *x\n", "Aliases"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, tt.name+".yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := ReadMap(t.Context(), path, "inventory")
			if tt.says == "" {
				if err != nil || m == nil {
					t.Fatalf("got %v, %v", m, err)
				}
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != "bolt/file-error" || f.Details.Value("path") != path || !strings.Contains(f.Msg, tt.says) || !strings.Contains(f.Msg, path) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := ReadMap(t.Context(), filepath.Join(dir, "none"), "inventory"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a missing file", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a: 1\n", "- [x, {y: ~}]\n", "a: &x 1\nb: *x\n", "? [1]\n: {2: 3}\n", "<<: {a: 1}\n", "a: !!binary aGk=\n", "1:30: 0x1_f\n", "a: |\n  x\n", ":a: 2024-01-01\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data, "f")
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		checkTypes(t, v)
	})
}

func checkTypes(t *testing.T, v any) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
	case []any:
		for _, e := range v {
			checkTypes(t, e)
		}
	case *ordered.Map:
		for _, e := range v.All() {
			checkTypes(t, e)
		}
	default:
		t.Fatalf("value of type %T", v)
	}
}

// FuzzMarshal checks that what Marshal writes for a string, as a value and as
// a key, is read back as that string.
func FuzzMarshal(f *testing.F) {
	for _, s := range []string{"", "a", "y", "1", " x ", "a: b", "x\n", "x\ny", "\n", "\x1b", "it's", "- a", "é", "# c", "1:30", strings.Repeat("ab ", 60)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !validText(s) {
			return
		}
		want := ordered.Of("k", s, "l", []any{s, ordered.Of("m", s)}, "z", int64(1))
		got, err := Decode(Marshal(want), "")
		if err != nil {
			t.Fatalf("%v\n%s", err, Marshal(want))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v\nfrom\n%s", got, Marshal(want))
		}
	})
}

// validText excludes what has no unescaped or no portable form.
func validText(s string) bool {
	for _, r := range s {
		if r == '\uFFFD' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || !printable(r) && r > 0xffff {
			return false
		}
	}
	return true
}
