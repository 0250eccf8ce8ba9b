package eval_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"bolt/puppet/value"
)

// TestOperatorsLikePuppet compares the operators of numbers and times with
// those of Puppet. The recorded results are those of the conversions in package
// value.
func TestOperatorsLikePuppet(t *testing.T) {
	f, err := os.Open("../value/testdata/conversions.jsonl.gz")
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
	n := 0
	for line := range bytes.Lines(text) {
		var c struct {
			Case, Op    string
			Args, Value json.RawMessage
			Error       bool
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.Case, "calc\t") {
			continue
		}
		n++
		in, err := value.UnmarshalRich(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		env := newEnv()
		env.Variables = args("a", in.(*value.Array).At(0), "b", in.(*value.Array).At(1))
		got, err := run(t, env, "$a "+c.Op+" $b")
		if err != nil || c.Error {
			if (err != nil) != c.Error {
				t.Errorf("%s: got %v, %v, want %s, error %v", c.Case, got, err, c.Value, c.Error)
			}
			continue
		}
		if rich, err := value.MarshalRich(got); err != nil || string(rich) != string(c.Value) {
			t.Errorf("%s: got %s, %v, want %s", c.Case, rich, err, c.Value)
		}
	}
	if n < 900 {
		t.Errorf("only %d answers", n)
	}
}
