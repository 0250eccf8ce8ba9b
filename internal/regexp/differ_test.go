//go:build ruby

package regexp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Compare with the Ruby that is installed:
//
//	go test -tags ruby -run Ruby ./internal/regexp -args -patterns 20000 -seed 7
//
// and write testdata/ruby.jsonl anew from testdata/cases.jsonl:
//
//	go test -tags ruby -run Ruby ./internal/regexp -args -record
var (
	numPatterns = flag.Int("patterns", 5000, "number of generated patterns")
	seed        = flag.Uint64("seed", 1, "seed of the generator")
	record      = flag.Bool("record", false, "write the table")
)

// A recorder is a running record.rb.
type recorder struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
}

func startRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{cmd: exec.Command("ruby", "testdata/record.rb"), lines: make(chan []byte)}
	r.cmd.Stderr = os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			r.lines <- bytes.Clone(lines.Bytes())
		}
	}()
	return r
}

func (r *recorder) stop() {
	r.in.Close()
	_ = r.cmd.Process.Kill()
	for range r.lines {
	}
	_ = r.cmd.Wait()
}

// askRuby runs cases in Ruby. Ruby never finishes some patterns and cannot be
// interrupted; these cases are left out.
func askRuby(t *testing.T, cases []rubyCase) (answers []rubyCase) {
	t.Helper()
	r := startRecorder(t)
	defer func() { r.stop() }()
	for _, c := range cases {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.in.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		select {
		case line, ok := <-r.lines:
			var answer rubyCase
			if err := json.Unmarshal(line, &answer); !ok || err != nil {
				t.Logf("%s: Ruby gave no answer: %v", c.Pattern, err)
				r.stop()
				r = startRecorder(t)
				continue
			}
			answers = append(answers, answer)
		case <-time.After(5 * time.Second):
			t.Logf("%s: Ruby does not end", c.Pattern)
			r.stop()
			r = startRecorder(t)
		}
	}
	return answers
}

func TestRubyTable(t *testing.T) {
	answers := askRuby(t, readCases(t, "testdata/cases.jsonl"))
	var table bytes.Buffer
	for _, c := range answers {
		for _, p := range compare(c) {
			t.Error(p)
		}
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		table.Write(append(line, '\n'))
	}
	if *record {
		if err := os.WriteFile("testdata/ruby.jsonl", table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRubyGenerated(t *testing.T) {
	g := generator{rand: rand.New(rand.NewPCG(*seed, 0))}
	const batch = 1000
	refused, matched, differ := 0, 0, 0
	for done := 0; done < *numPatterns; done += batch {
		cases := make([]rubyCase, batch)
		for i := range cases {
			cases[i] = g.rubyCase()
		}
		for _, c := range askRuby(t, cases) {
			if problems := compare(c); len(problems) > 0 {
				differ++
				t.Log(problems)
			}
			if c.Refused {
				refused++
			}
			for _, r := range c.Results {
				if r != nil {
					matched += len(r.Matches)
				}
			}
		}
	}
	t.Logf("%d patterns, %d of them refused by Ruby, %d matches, %d patterns that differ", *numPatterns, refused, matched, differ)
	// Ruby keeps groups of abandoned paths, and tests the wrong character for
	// \b and ^ after an empty back-reference. That is rare.
	if differ > 1+*numPatterns/2500 {
		t.Errorf("%d patterns of %d differ", differ, *numPatterns)
	}
}

func (g *generator) rubyCase() rubyCase {
	c := rubyCase{Pattern: g.pattern(), Limit: 2 + g.rand.IntN(3)}
	c.Template = g.pick(`<\0>`, `\1-\2`, "[\\`|\\']", `\&\\x`, "", `\k<n>`)
	for range 4 {
		c.Subjects = append(c.Subjects, g.subject())
	}
	return c
}
