package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"bolt/puppet/syntax"
)

// TestProblems compares with what Puppet 8's validator finds, and where.
func TestProblems(t *testing.T) {
	f, err := os.Open("testdata/problems.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		var want struct {
			Src      string
			Tasks    bool
			Problems []struct {
				Severity     string
				Line, Column int
			}
			Parse *struct{ Line, Column int }
		}
		if err := json.Unmarshal(in.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		p, err := syntax.Parse(syntax.NewFile("", want.Src), syntax.Options{Tasks: want.Tasks})
		if want.Parse != nil {
			if err == nil && Program(p, Options{Tasks: want.Tasks}).Err() == nil {
				t.Errorf("%s\n is accepted, want an error at %d:%d", want.Src, want.Parse.Line, want.Parse.Column)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n does not parse: %v", want.Src, err)
			continue
		}
		var got, wanted, texts []string
		for _, x := range Program(p, Options{Tasks: want.Tasks}) {
			pos := x.Position()
			got = append(got, fmt.Sprintf("%v %d:%d", x.Severity, pos.Line, pos.Column))
			texts = append(texts, x.Msg)
		}
		for _, x := range want.Problems {
			wanted = append(wanted, fmt.Sprintf("%s %d:%d", x.Severity, x.Line, x.Column))
		}
		if strings.Join(got, ", ") != strings.Join(wanted, ", ") {
			t.Errorf("%s\n got %q (%q)\nwant %q", want.Src, got, texts, wanted)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
}
