package listing

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bolt/facts"
	"bolt/format/ordered"
	"bolt/output/layout"
)

func someFacts(list []facts.Entry, err error) *facts.View {
	return &facts.View{Columns: []string{"OS", "virtual", "note"}, MaxAge: 26 * time.Hour, Dir: "/cache", Targets: func(yield func(facts.Entry, error) bool) {
		for _, t := range list {
			if !yield(t, nil) {
				return
			}
		}
		if err != nil {
			yield(facts.Entry{}, err)
		}
	}}
}

func TestFacts(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	list := []facts.Entry{
		{Name: "ssh://u:pw@a", SafeName: "ssh://u@a", Collected: noon, Age: 26*time.Hour + time.Second, Source: "task", Values: []any{"Debian 12", nil, "two\nlines\x1b[31m\tred"}, Facts: ordered.Of("os", "Debian")},
		{Name: "web1", SafeName: "web1"},
		{Name: "b", SafeName: "b", Collected: noon, Age: 90 * time.Second, Source: "puppetdb", Values: []any{nil, nil, []any{strings.Repeat("x", 100)}}, Facts: &ordered.Map{}},
		{Name: "web2", SafeName: "web2"},
	}
	for _, c := range []struct {
		format layout.Format
		list   []facts.Entry
		want   string
	}{
		{layout.Human, list, `Facts
  Target     Age    OS         note
  ssh://u@a  1d2h   Debian 12  two\nlines red
  b          1m30s             ["` + strings.Repeat("x", 57) + `…

Targets without facts
  web[1-2] (2 targets)

Where facts are kept
  /cache

Target count
  4 total, 2 with facts, 1 of them older than 1d2h, the oldest from 1d2h ago
`},
		{layout.Human, nil, `Facts
  No facts

Where facts are kept
  /cache

Target count
  0 total, 0 with facts
`},
		{layout.JSON, list, `{"targets":[{"target":"ssh://u:pw@a","collected":"2026-11-01T12:00:00Z","age":93601,"source":"task","facts":{"os":"Debian"}},` +
			`{"target":"b","collected":"2026-11-01T12:00:00Z","age":90,"source":"puppetdb","facts":{}}],"missing":["web1","web2"],"directory":"/cache"}` + "\n"},
		{layout.JSON, nil, `{"targets":[],"missing":[],"directory":"/cache"}` + "\n"},
	} {
		var b strings.Builder
		if err := PrintFacts(&b, Options{Format: c.format}, someFacts(c.list, nil)); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), c.want)
		}
		broken := errors.New("broken")
		if err := PrintFacts(&b, Options{Format: c.format}, someFacts(c.list, broken)); err != broken {
			t.Error(err)
		}
	}
}

func TestForgotten(t *testing.T) {
	for format, want := range map[layout.Format]string{layout.Human: "The facts of 1 target were forgotten.\n", layout.JSON: `{"forgotten":1}` + "\n"} {
		var b strings.Builder
		if err := PrintForgotten(&b, Options{Format: format}, 1); err != nil || b.String() != want {
			t.Errorf("%q, %v", b.String(), err)
		}
	}
}
