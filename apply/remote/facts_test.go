package remote_test

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/remote/helpertest"
	"bolt/format/ordered"
	"bolt/transport"
)

// TestFacts checks that the helper returns the facts of this machine. The first call copies the helper.
func TestFacts(t *testing.T) {
	p := newPlace(t)
	for i, want := range []struct{ runs, puts int }{{2, 1}, {1, 0}} {
		p.runs, p.puts = 0, 0
		f, err := remote.Facts(t.Context(), p, &p.target)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range f.Notes {
			t.Errorf("%s is missing: %s", n.Fact, n.Reason)
		}
		identity, is := f.Facts.Value("identity").(*ordered.Map)
		if !is || identity.Value("uid") != int64(os.Getuid()) || f.Facts.Value("kernel") != "Linux" {
			t.Errorf("facts are %v", f.Facts)
		}
		if hardware := f.Facts.Value("os").(*ordered.Map).Value("hardware"); runtime.GOARCH == "amd64" && hardware != "x86_64" {
			t.Errorf("the hardware is %v", hardware)
		}
		if p.runs != want.runs || p.puts != want.puts {
			t.Errorf("turn %d took %d runs and %d copies, want %d and %d", i+1, p.runs, p.puts, want.runs, want.puts)
		}
	}
}

// TestLyingFacts: answers that are no facts are refused, and text that people read is safe to print.
func TestLyingFacts(t *testing.T) {
	for _, c := range []struct {
		name string
		rest func(w *frame.Writer) error
		want string
	}{
		{"facts", func(w *frame.Writer) error {
			return w.Message(frame.TypeFacts, &frame.Facts{Facts: ordered.Of("a", int64(1)), Notes: []frame.Note{{Fact: "b", Reason: "\x1b[31mred"}}})
		}, ""},
		{"nothing", nil, "ended in the middle"},
		{"null", func(w *frame.Writer) error { return w.Raw(frame.TypeFacts, []byte(`{"facts":null}`)) }, "has no facts"},
		{"a list", func(w *frame.Writer) error { return w.Raw(frame.TypeFacts, []byte(`{"facts":[1]}`)) }, "body of frame"},
		{"an unknown key", func(w *frame.Writer) error { return w.Raw(frame.TypeFacts, []byte(`{"facts":{},"x":1}`)) }, "unknown field"},
		{"a fate", func(w *frame.Writer) error { return w.Message(frame.TypeFate, &frame.Fate{}) }, "is not an answer"},
		{"facts twice", func(w *frame.Writer) error {
			if err := w.Message(frame.TypeFacts, &frame.Facts{Facts: &ordered.Map{}}); err != nil {
				return err
			}
			return w.Message(frame.TypeFacts, &frame.Facts{Facts: &ordered.Map{}})
		}, "came too late"},
		{"a failure", func(w *frame.Writer) error { return w.Message(frame.TypeDone, &frame.Done{Error: "too long"}) }, "it has no facts: too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
				if err := frames(run, out, c.rest); err != nil {
					return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Err: err}
				}
				return transport.Status{}, nil
			}}
			f, err := remote.Facts(t.Context(), l, &remote.Target{Helpers: helpertest.Of(t, nil), Label: "here"})
			switch {
			case c.want == "" && (err != nil || f.Facts.Len() != 1 || strings.Contains(f.Notes[0].Reason, "\x1b")):
				t.Errorf("%v, %v", f, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
