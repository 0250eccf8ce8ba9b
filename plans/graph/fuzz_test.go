package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bolt/puppet/syntax"
)

// FuzzPictures checks that every valid plan has well-formed pictures without
// overlapping boxes.
func FuzzPictures(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pp")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, code := range []string{
		"$a = background() || { run_command('a', $t) }\n$b = background() || { background() || { run_command('b', $t) } }\nwait()\nwait($a)",
		"$t.each |$x| { if $x { next() } elsif $y { break() } run_command('a', $x) }",
		`run_command("\u0007 & \" \\ \\N ]]> ${t} $x <b>", 'x'.y(Sensitive('z')))`,
		"case $x { 1, 'a b': { return Sensitive('a') } default: { } }\n$x ? { 1 => run_task('a', $t), default => fail_plan('b') }",
		"$x and run_plan('p') or $y.lest || { fail_plan('x') }",
		"apply($t) { class { 'a': } -> file { '/b': } }\nrun_command(@(E), $t)\n  a\n  | E\n",
		"ctrl::do_until() || { return 1 }",
	} {
		f.Add(plan(code))
	}
	f.Fuzz(func(t *testing.T, src string) {
		subplan := func(string) (*syntax.Program, error) {
			return syntax.Parse(syntax.NewFile("", src), syntax.Options{Tasks: true})
		}
		g, err := parsed("p.pp", src, Options{Subplan: subplan})
		if err != nil {
			return // not a plan
		}
		dot, svg := pictures(t, g)
		if err := wellFormed(svg); err != nil {
			t.Errorf("%v:\n%s", err, svg)
		}
		if err := checkDot(dot); err != nil {
			t.Errorf("%v:\n%s", err, dot)
		}
		if err := sequenceBox(g.Body).check(); err != nil {
			t.Errorf("%v:\n%s", err, svg)
		}
	})
}

// wellFormed parses a whole XML document.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var (
	dotString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	dotNode   = regexp.MustCompile(`^ *([fx]?n\d+) \[`)
	dotEdge   = regexp.MustCompile(`^ *(\w+) -> (\w+)(?: \[(.*)\])?$`)
	dotFrame  = regexp.MustCompile(`^ *subgraph (\w+) \{$`)
	dotEnd    = regexp.MustCompile(`[lh](?:tail|head)=(\w+)`)
	entity    = regexp.MustCompile(`&(?:amp;)?`)
)

// checkDot parses the part of the language of Graphviz that WriteDot uses: each
// line is a statement, strings are complete, and the ends of arrows exist.
func checkDot(text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	nodes := map[string]bool{}
	frames := map[string]bool{}
	depth := 0
	for _, l := range lines {
		for _, amp := range entity.FindAllString(l, -1) {
			if amp == "&" {
				return fmt.Errorf("an entity in %s", l)
			}
		}
		bare := dotString.ReplaceAllString(l, "S")
		if strings.ContainsAny(bare, `"\`) {
			return fmt.Errorf("a string does not end: %s", l)
		}
		if m := dotFrame.FindStringSubmatch(bare); m != nil {
			frames[m[1]] = true
		} else if m := dotNode.FindStringSubmatch(bare); m != nil {
			if nodes[m[1]] {
				return fmt.Errorf("%s is there twice", m[1])
			}
			nodes[m[1]] = true
		}
		depth += strings.Count(bare, "{") - strings.Count(bare, "}")
	}
	if depth != 0 {
		return fmt.Errorf("%d braces are open", depth)
	}
	for _, l := range lines {
		m := dotEdge.FindStringSubmatch(dotString.ReplaceAllString(l, "S"))
		if m == nil {
			continue
		}
		if !nodes[m[1]] || !nodes[m[2]] {
			return fmt.Errorf("one end is not there: %s", l)
		}
		for _, end := range dotEnd.FindAllStringSubmatch(m[3], -1) {
			if !frames[end[1]] {
				return fmt.Errorf("the frame is not there: %s", l)
			}
		}
	}
	return nil
}

// check checks that the children of a box are within it and do not overlap.
func (b *box) check() error {
	if b.mid < 0 || b.mid > b.w || b.w < 0 || b.h < 0 {
		return fmt.Errorf("a box of %d × %d has its middle at %d", b.w, b.h, b.mid)
	}
	for i := range b.kids {
		k := &b.kids[i]
		if k.x < 0 || k.y < 0 || k.x+k.w > b.w || k.y+k.h > b.h {
			return fmt.Errorf("%d × %d at %d, %d is not within %d × %d", k.w, k.h, k.x, k.y, b.w, b.h)
		}
		for j := range b.kids[:i] {
			o := &b.kids[j]
			if k.x < o.x+o.w && o.x < k.x+k.w && k.y < o.y+o.h && o.y < k.y+k.h {
				return fmt.Errorf("%d × %d at %d, %d and %d × %d at %d, %d overlap", k.w, k.h, k.x, k.y, o.w, o.h, o.x, o.y)
			}
		}
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}
