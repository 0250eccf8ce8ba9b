package check

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"bolt/puppet/syntax"
)

// judge parses and checks a program. An error of the parser is returned as err.
func judge(src string, o Options) (Problems, error) {
	p, err := syntax.Parse(syntax.NewFile("x.pp", src), syntax.Options{Tasks: o.Tasks})
	if err != nil {
		return nil, err
	}
	return Program(p, o), nil
}

// TestProblems compares problems and their positions with those of Puppet 8's
// validator. The kinds are specific to this package.
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
				Kind         string
			}
			// Parse is the position where Puppet stops with an error of its
			// grammar or an error without a position. Here, this package or the
			// parser can report the error.
			Parse *struct{ Line, Column int }
		}
		if err := json.Unmarshal(in.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		found, err := judge(want.Src, Options{Tasks: want.Tasks})
		if want.Parse != nil {
			if err == nil {
				err = found.Err()
			}
			errs, _ := errors.AsType[syntax.Errors](err)
			switch {
			case len(errs) == 0:
				t.Errorf("%s\n is accepted, want an error at %d:%d", want.Src, want.Parse.Line, want.Parse.Column)
			case want.Parse.Line != 0:
				if pos := errs[0].Position(); pos.Line != want.Parse.Line || pos.Column != want.Parse.Column {
					t.Errorf("%s\n got %v\nwant it at %d:%d", want.Src, errs[0], want.Parse.Line, want.Parse.Column)
				}
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n does not parse: %v", want.Src, err)
			continue
		}
		var got, wanted, texts []string
		for _, x := range found {
			pos := x.Position()
			got = append(got, fmt.Sprintf("%v %d:%d %s", x.Severity, pos.Line, pos.Column, x.Kind))
			texts = append(texts, x.Msg)
		}
		for _, x := range want.Problems {
			wanted = append(wanted, fmt.Sprintf("%s %d:%d %s", x.Severity, x.Line, x.Column, x.Kind))
		}
		if strings.Join(got, ", ") != strings.Join(wanted, ", ") {
			t.Errorf("%s\n got %q (%q)\nwant %q", want.Src, got, texts, wanted)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestDefines checks the rule that a file of a module contains only one
// definition.
func TestDefines(t *testing.T) {
	for _, c := range []struct {
		rel, src string
		tasks    bool
		want     string // place and kind of each
	}{
		{"functions/f.pp", "function m::f() { 1 }", false, ""},
		{"functions/f.pp", "function M::F() { 1 }", false, "1:1 illegal-name"},
		{"functions/f.pp", "function m::ff() { 1 }", false, "1:1 wrong-definition"},
		{"functions/f.pp", "function m::g() { 1 }", false, "1:1 illegal-location"},
		{"functions/f.pp", "type M::F = String", false, "1:6 wrong-definition"},
		{"functions/f.pp", "class m::f {}", false, "1:1 wrong-definition"},
		{"functions/f.pp", "function m::f() { 1 }\nfunction m::f::g() { 1 }", false, "2:1 several-definitions"},
		{"functions/f.pp", "# nothing", false, ""},
		{"types/t.pp", "type M::T = String", false, ""},
		{"types/t.pp", "type M::S = String", false, "1:6 wrong-definition"},
		{"types/t.pp", "function m::t() { 1 }", false, "1:1 wrong-definition"},
		{"types/init.pp", "type M = String", false, ""},
		{"types/init_typeset.pp", "type M = TypeSet[{}]", false, ""},
		{"plans/p.pp", "plan m::p() { apply('x') { node default {} node a {} } }", true, ""},
		{"plans/init.pp", "plan m() {}", true, ""},
		{"plans/p.pp", "function m::p() { 1 }", true, "1:1 wrong-definition"},
		{"plans/p.pp", "type Foo = Integer", true, "1:6 wrong-definition"},
		{"manifests/c.pp", "class m::c {} class m::c::d {} define m::c::e() {}", false, ""},
	} {
		namespace, _ := Namespace("m", c.rel)
		found, err := judge(c.src, Options{Tasks: c.tasks, Namespace: namespace, Defines: Defines(c.rel)})
		if err != nil {
			t.Fatalf("%s: %v", c.src, err)
		}
		var got []string
		for _, p := range found {
			at := p.Position()
			got = append(got, fmt.Sprintf("%d:%d %s", at.Line, at.Column, p.Kind))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: %s\n got %s (%v)\nwant %s", c.rel, c.src, got, found.Err(), c.want)
		}
	}
}
