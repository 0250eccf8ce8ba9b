package regexp

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
)

// A rubyCase is a line of testdata/ruby.jsonl, as testdata/record.rb writes it.
type rubyCase struct {
	Pattern  string       `json:"p"`
	Subjects []string     `json:"s"`
	Template string       `json:"t,omitempty"`
	Limit    int          `json:"l,omitempty"`
	Refused  bool         `json:"e,omitempty"`
	Groups   int          `json:"n,omitempty"`
	Names    []string     `json:"names,omitempty"`
	Results  []*rubyMatch `json:"r,omitempty"`
}

type rubyMatch struct {
	Matches    [][]int  `json:"m"`
	Sub        *string  `json:"sub"`
	Gsub       *string  `json:"gsub"`
	Split      []string `json:"split"`
	SplitLimit []string `json:"splitl"`
}

func readCases(t testing.TB, name string) []rubyCase {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []rubyCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c rubyCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestMatchesLikeRuby compares the package with the recorded results of Ruby.
func TestMatchesLikeRuby(t *testing.T) {
	t.Parallel()
	cases := readCases(t, "testdata/ruby.jsonl")
	if len(cases) < 300 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		for _, p := range compare(c) {
			t.Error(p)
		}
	}
}

// compare returns the differences between Ruby's results and this package's
// results.
func compare(c rubyCase) (problems []string) {
	bad := func(what string, subject string, got, want any) {
		line, _ := json.Marshal(struct {
			Pattern, Subject, What string
			Got, Want              any
		}{c.Pattern, subject, what, got, want})
		problems = append(problems, string(line))
	}
	r, err := Compile(c.Pattern)
	if c.Refused || err != nil {
		if c.Refused != (err != nil) {
			bad("refused", "", errText(err), c.Refused)
		}
		var perr *Error
		if err != nil && (!errors.As(err, &perr) || perr.Pos < 0 || perr.Pos > len(c.Pattern)) {
			bad("error", "", err, "an Error in the pattern")
		}
		return problems
	}
	if (len(r.pat.groups) - 1) != c.Groups {
		bad("groups", "", (len(r.pat.groups) - 1), c.Groups)
	}
	if !slices.Equal(r.Names(), c.Names) {
		bad("names", "", r.Names(), c.Names)
	}
	for i, s := range c.Subjects {
		want := c.Results[i]
		if want == nil {
			continue // Ruby timed out
		}
		r, _ := Compile(c.Pattern)
		var got [][]int
		for loc, err := range r.All(s) {
			if err != nil {
				bad("All", s, errText(err), want.Matches)
				break
			}
			got = append(got, loc)
		}
		if !slices.EqualFunc(got, want.Matches, slices.Equal) {
			bad("All", s, got, want.Matches)
			continue
		}
		if ok, err := r.Match(s); ok != (len(want.Matches) > 0) || err != nil {
			bad("Match", s, ok, want.Matches)
		}
		for _, all := range []bool{false, true} {
			text := want.Sub
			if all {
				text = want.Gsub
			}
			got, err := r.Replace(s, c.Template, all)
			if (text == nil) != (err != nil) || text != nil && got != *text {
				bad("Replace", s, got, text)
			}
		}
		if got, err := r.Split(s, 0); err != nil || !slices.Equal(got, want.Split) {
			bad("Split", s, got, want.Split)
		}
		limit := c.Limit
		if limit == 0 {
			limit = -1
		}
		if got, err := r.Split(s, limit); err != nil || !slices.Equal(got, want.SplitLimit) {
			bad("Split with limit", s, got, want.SplitLimit)
		}
		problems = append(problems, paths(c.Pattern, s, got)...)
	}
	return problems
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// paths checks that the matcher alone finds the same matches, if it finishes.
func paths(pattern, s string, want [][]int) []string {
	r, err := Compile(pattern)
	if err != nil {
		return []string{pattern + ": " + err.Error()}
	}
	r.linearOnce.Do(func() {}) // no translation
	var got [][]int
	for loc, err := range r.All(s) {
		if err != nil {
			return nil
		}
		got = append(got, loc)
	}
	if slices.EqualFunc(got, want, slices.Equal) {
		return nil
	}
	line, _ := json.Marshal([]any{"two ways", pattern, s, got, want})
	return []string{string(line)}
}
