package syntax

import (
	"os"
	"strings"
	"testing"
)

// TestPrettyLikePuppet compares indented trees with the output of "puppet
// parser dump --pretty" of Puppet 8.
func TestPrettyLikePuppet(t *testing.T) {
	src, err := os.ReadFile("testdata/pretty.pp")
	if err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]Format{"testdata/pretty.pn": PrettyPN, "testdata/pretty.json": PrettyJSON} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(NewFile("pretty.pp", string(src)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := Dump(&got, p, format); err != nil || got.String()+"\n" != string(want) {
			t.Errorf("%s: %v, is\n%s\nwant\n%s", name, err, got.String(), want)
		}
	}
	for src, want := range map[string]string{"": "(nop)", "1": "1", "[]": "(array)"} {
		p, err := Parse(NewFile("p.pp", src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := Dump(&got, p, PrettyPN); err != nil || got.String() != want {
			t.Errorf("%q: %v, is %q, want %q", src, err, got.String(), want)
		}
	}
}
