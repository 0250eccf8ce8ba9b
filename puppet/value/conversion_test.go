package value

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// A conversionCase is a line of testdata/conversions.jsonl.gz.
type conversionCase struct {
	Case   string
	Args   json.RawMessage
	Value  json.RawMessage
	Type   string
	String string
	Error  bool
}

// readGzip returns the content of a compressed file.
func readGzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil || len(b) == 0 {
		t.Fatalf("%s: %d bytes: %v", name, len(b), err)
	}
	return b
}

// run runs the case.
func (c *conversionCase) run(args []Value) (Value, error) {
	kind, _, _ := strings.Cut(c.Case, "\t")
	if kind == "text" {
		s, err := Text(args[0])
		return String(s), err
	}
	name, _ := strings.CutPrefix(kind, "new ")
	t, err := parseTypeWith(name, func(name string) (Type, bool) {
		if name == "Error" {
			return ErrorType(), true
		}
		return nil, false
	})
	if err != nil {
		return nil, err
	}
	return New(t, args)
}

// TestConversions compares conversions and interpolations with recorded results
// of Puppet.
func TestConversions(t *testing.T) {
	for line := range bytes.Lines(readGzip(t, "testdata/conversions.jsonl.gz")) {
		var c conversionCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if strings.HasPrefix(c.Case, "calc\t") {
			continue // package eval has the operators, and looks at these
		}
		in, err := UnmarshalRich(c.Args)
		if err != nil {
			t.Errorf("%s: arguments: %v", c.Case, err)
			continue
		}
		got, err := c.run(in.(*Array).Elems())
		if err != nil || c.Error {
			if (err != nil) != c.Error {
				t.Errorf("%s: got %s, error %v, want %s, error %v", c.Case, show(got), err, c.Value, c.Error)
			}
			continue
		}
		rich, err := MarshalRich(got)
		if err != nil {
			t.Errorf("%s: %v", c.Case, err)
			continue
		}
		if string(rich) != string(c.Value) {
			t.Errorf("%s: got %s, want %s", c.Case, rich, c.Value)
			continue
		}
		if typ := Describe(Infer(got)); typ != c.Type {
			t.Errorf("%s: type %s, want %s", c.Case, typ, c.Type)
		}
		if s, err := Format(got, Default{}); string(s) != c.String || err != nil {
			t.Errorf("%s: string %q, error %v, want %q", c.Case, s, err, c.String)
		}
	}
}

func show(v Value) string {
	if v == nil {
		return "nothing"
	}
	return Inspect(v)
}

// TestFormatPaths checks that the fast paths of [Format] have the same result
// as the general path.
func TestFormatPaths(t *testing.T) {
	n := 0
	for line := range bytes.Lines(readGzip(t, "testdata/conversions.jsonl.gz")) {
		var c conversionCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		in, err := UnmarshalRich(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		args := in.(*Array)
		for _, v := range args.All() {
			long := converter{budget: maxText}
			want, wantErr := long.convert(v, usualFormats(), indentation{first: true})
			got, err := Format(v, Default{})
			if string(got) != string(want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s: %q, error %v, want %q, error %v", Inspect(v), got, err, want, wantErr)
			}
		}
		if !strings.HasPrefix(c.Case, "new String\t") || args.Len() != 2 {
			continue
		}
		f, ok := args.At(1).(String)
		user, err := userFormats(args.At(0), f)
		if !ok || err != nil {
			continue
		}
		n++
		long := converter{budget: maxText}
		want, wantErr := long.convert(args.At(0), mergeFormats(usualFormats(), user), indentation{first: true})
		got, err := Format(args.At(0), f)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %q, error %v, want %q, error %v", c.Case, got, err, want, wantErr)
		}
	}
	if n < 1000 {
		t.Errorf("compared %d formats", n)
	}
}
