package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/remote/helpertest"
	"bolt/apply/report"
	"bolt/transport"
)

// A liar is a machine with the answers of a test.
type liar struct {
	answer func(run string, n int, out io.Writer) (transport.Status, error)
	n      int
	puts   []string
}

func (l *liar) Run(ctx context.Context, c *transport.Cmd) (transport.Status, error) {
	l.n++
	return l.answer(c.Argv[4], l.n, c.Stdout)
}

func (l *liar) Put(_ context.Context, _ transport.Tree, dst string, _ transport.FileOptions) error {
	l.puts = append(l.puts, dst)
	return nil
}

func (l *liar) Get(context.Context, string, string, transport.FileOptions) error {
	return errors.New("nothing is copied from the machine")
}
func (l *liar) Close() error { return nil }

// frames writes an answer: the greeting, a Hello, and further frames.
func frames(run string, out io.Writer, rest func(w *frame.Writer) error) error {
	w := frame.NewWriter(out)
	err := w.Greet(run)
	if err == nil {
		err = w.Message(frame.TypeHello, &frame.Hello{Protocol: frame.Protocol, Run: run, Dir: "/state"})
	}
	if err == nil && rest != nil {
		err = rest(w)
	}
	return err
}

// TestLiar checks that each lie is refused, and in a short time.
func TestLiar(t *testing.T) {
	drifted := func(w *frame.Writer) error {
		return w.Message(frame.TypeDone, &frame.Done{Refused: &frame.Refusal{Kind: frame.KindDrifted, Messages: []string{"no"}}})
	}
	done := func(w *frame.Writer, c frame.Counts) error { return w.Message(frame.TypeDone, &frame.Done{Counts: c}) }
	event := func(w *frame.Writer, r *frame.Result) error { return w.Message(frame.TypeEvent, r) }
	two := frame.Counts{Unchanged: 2}
	for _, c := range []struct {
		name string
		rest func(w *frame.Writer) error
		want string // "" if it is no lie
	}{
		{"nothing to do", func(w *frame.Writer) error { return done(w, two) }, ""},
		{"no end", nil, "ended in the middle"},
		{"wrong counts", func(w *frame.Writer) error { return done(w, frame.Counts{Changed: 2}) }, "it counts"},
		{"another resource", func(w *frame.Writer) error { return event(w, &frame.Result{Ref: "File[/x]", Status: report.Changed}) }, "not a resource of the catalog"},
		{"two results", func(w *frame.Writer) error {
			for range 2 {
				if err := event(w, &frame.Result{Ref: "File[/a]", Status: report.Changed}); err != nil {
					return err
				}
			}
			return done(w, frame.Counts{Changed: 2})
		}, "has two results"},
		{"an unknown status", func(w *frame.Writer) error { return event(w, &frame.Result{Ref: "File[/a]", Status: "great"}) }, "unknown status"},
		{"an unknown outcome", func(w *frame.Writer) error {
			return event(w, &frame.Result{Ref: "File[/a]", Status: report.Failed, Events: []report.Event{{Outcome: "so so"}}})
		}, "unknown outcome"},
		{"no reference", func(w *frame.Writer) error { return event(w, &frame.Result{Ref: "x", Status: report.Changed}) }, "not a reference"},
		{"a generated resource of nothing", func(w *frame.Writer) error {
			return event(w, &frame.Result{Ref: "File[/a/x]", Status: report.Changed, Generated: true, Parent: "File[/x]"})
		}, "cannot come from"},
		{"a generated resource of the catalog", func(w *frame.Writer) error {
			return event(w, &frame.Result{Ref: "File[/b]", Status: report.Changed, Generated: true, Parent: "File[/a]"})
		}, "cannot come from"},
		{"a generated resource", func(w *frame.Writer) error {
			if err := event(w, &frame.Result{Ref: "File[/a/x]", Status: report.Changed, Generated: true, Parent: "File[/a]"}); err != nil {
				return err
			}
			return done(w, two)
		}, ""},
		{"a refusal after the beginning", func(w *frame.Writer) error {
			if err := event(w, &frame.Result{Ref: "File[/a]", Status: report.Changed}); err != nil {
				return err
			}
			return w.Message(frame.TypeDone, &frame.Done{Refused: &frame.Refusal{Kind: frame.KindBusy}})
		}, "refused the catalog after it began"},
		{"drift without an expectation", drifted, "none is expected"},
		{"a need after the beginning", func(w *frame.Writer) error {
			if err := event(w, &frame.Result{Ref: "File[/a]", Status: report.Changed}); err != nil {
				return err
			}
			return w.Message(frame.TypeNeed, &frame.Need{Catalog: true})
		}, "after it began"},
		{"a need of another content", func(w *frame.Writer) error {
			return w.Message(frame.TypeNeed, &frame.Need{Contents: []string{strings.Repeat("a", 64)}})
		}, "which the catalog does not have"},
		{"a need without end", func(w *frame.Writer) error { return w.Message(frame.TypeNeed, &frame.Need{Catalog: true}) }, "requests contents that it already has"},
		{"a second greeting", func(w *frame.Writer) error { return w.Message(frame.TypeHello, &frame.Hello{}) }, "came too late"},
		{"frames behind the end", func(w *frame.Writer) error {
			if err := done(w, two); err != nil {
				return err
			}
			return done(w, two)
		}, "came too late"},
		{"input", func(w *frame.Writer) error { return w.Raw(frame.TypeCatalog, []byte("{}")) }, "is not an answer"},
		{"a fate", func(w *frame.Writer) error { return w.Message(frame.TypeFate, &frame.Fate{}) }, "is not an answer"},
		{"no JSON", func(w *frame.Writer) error { return w.Raw(frame.TypeEvent, []byte("{")) }, "body of frame"},
		{"an unknown key", func(w *frame.Writer) error { return w.Raw(frame.TypeEvent, []byte(`{"new":1}`)) }, "unknown field"},
		{"a level", func(w *frame.Writer) error { return w.Message(frame.TypeLog, &report.Log{Level: "shout"}) }, "unknown level"},
		{"a reason to stop", func(w *frame.Writer) error {
			return w.Message(frame.TypeDone, &frame.Done{Counts: two, Stopped: "tired"})
		}, "because of"},
		{"messages without end", func(w *frame.Writer) error {
			for {
				if err := w.Message(frame.TypeLog, &report.Log{Level: report.Info, Message: strings.Repeat("x", 1<<19)}); err != nil {
					return err
				}
			}
		}, "longer than 4194304 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
				if err := frames(run, out, c.rest); err != nil {
					return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Err: err}
				}
				return transport.Status{}, nil
			}}
			expectLie(t, l, c.want)
		})
	}
}

// expectLie applies a catalog of two resources. The error has a text in it; none is expected if that is "".
func expectLie(t *testing.T, l *liar, want string) {
	t.Helper()
	job := &remote.Job{Catalog: parse(t, nil, file("/a", ""), file("/b", "")), Node: "n1"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := remote.Apply(ctx, l, &remote.Target{Helpers: helpertest.Of(t, nil), Label: "here", MaxOutput: 4 << 20}, job)
	switch {
	case want == "" && (err != nil || !out.OK()):
		t.Errorf("%+v, %v", out, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

// TestLyingFate checks answers to a question about a run.
func TestLyingFate(t *testing.T) {
	fate := func(f frame.Fate) func(w *frame.Writer) error {
		return func(w *frame.Writer) error { return w.Message(frame.TypeFate, &f) }
	}
	for _, c := range []struct {
		name string
		rest func(w *frame.Writer) error
		want string // "" if it is no lie
	}{
		{"the end", fate(frame.Fate{State: frame.StateEnded, Done: &frame.Done{}, Ended: []frame.Ended{{Ref: "File[/a]", Status: report.Changed}}}), ""},
		{"a refusal", func(w *frame.Writer) error {
			return w.Message(frame.TypeDone, &frame.Done{Refused: &frame.Refusal{Kind: frame.KindState, Messages: []string{"no"}}})
		}, "refused the run"},
		{"the result of an apply", func(w *frame.Writer) error { return w.Message(frame.TypeDone, &frame.Done{}) }, "does not know the fate"},
		{"a negative count", fate(frame.Fate{State: frame.StateEnded, Done: &frame.Done{Counts: frame.Counts{Changed: -1, Failed: 1}}}), "it counts"},
		{"an end without a result", fate(frame.Fate{State: frame.StateEnded}), "without a result"},
		{"an unknown state", fate(frame.Fate{State: "asleep"}), "unknown state"},
		{"an unknown status", fate(frame.Fate{State: frame.StateBroken, Ended: []frame.Ended{{Ref: "File[/a]", Status: "great"}}}), "unknown status"},
		{"an escape sequence", fate(frame.Fate{State: frame.StateBroken, Progress: []string{"Exec[\x1b[2J]"}}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
				return transport.Status{}, frames(run, out, c.rest)
			}}
			f, err := remote.Asked(t.Context(), l, &remote.Target{Helpers: helpertest.Of(t, nil), Label: "here"}, "id")
			switch {
			case c.want == "" && (err != nil || f == nil || strings.Contains(strings.Join(f.Progress, " "), "\x1b")):
				t.Errorf("%+v, %v", f, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestLyingBytes checks answers that are no frames.
func TestLyingBytes(t *testing.T) {
	for _, c := range []struct {
		name, want string
		answer     func(run string) string
	}{
		{"nothing", "does not start", func(string) string { return "" }},
		{"noise", "came before the greeting", func(string) string { return strings.Repeat("noise\n", 100_000) }},
		{"another run", "does not start", func(string) string { return frame.Greeting("other") }},
		{"an unknown frame", "unknown type", func(run string) string { return frame.Greeting(run) + "\x00\x00\x00\x00Z" }},
		{"a long frame", "longer than the limit", func(run string) string { return frame.Greeting(run) + "\xff\xff\xff\xffH" }},
		{"half a frame", "ended in the middle", func(run string) string { return frame.Greeting(run) + "\x00\x00\xff\xffHxx" }},
		{"half a header", "ended in the middle", func(run string) string { return frame.Greeting(run) + "\x00\x00" }},
		{"an event first", "before its greeting", func(run string) string { return frame.Greeting(run) + "\x00\x00\x00\x02E{}" }},
		{"another version", "version 9", func(run string) string {
			body := fmt.Sprintf(`{"protocol":9,"build":"","run":%q,"dir":""}`, run)
			return frame.Greeting(run) + "\x00\x00\x00" + string(rune(len(body))) + "H" + body
		}},
		{"an unknown system", "no helper for the system", func(run string) string { return "bolt-cannot " + run + " absent Plan9 mips\n/x\n" }},
		{"an unknown reason", "does not start", func(run string) string { return "bolt-cannot " + run + " mood \x1b[31m\n/x\n" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
				if _, err := io.WriteString(out, c.answer(run)); err != nil {
					return transport.Status{}, &transport.Error{Class: transport.ClassCancelled, Err: err}
				}
				return transport.Status{Code: 1}, nil
			}}
			expectLie(t, l, c.want)
			if len(l.puts) > 0 || l.n > 3 {
				t.Errorf("%d runs, copies to %q", l.n, l.puts)
			}
		})
	}
}

// TestNoise checks that output of start-up files in front of the greeting does no harm.
func TestNoise(t *testing.T) {
	l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
		_, err := io.WriteString(out, "Welcome!\nbolt-frames other\nno end of line")
		if err == nil {
			err = frames(run, out, func(w *frame.Writer) error {
				return w.Message(frame.TypeDone, &frame.Done{Counts: frame.Counts{Unchanged: 2}})
			})
		}
		return transport.Status{}, err
	}}
	expectLie(t, l, "")
}

// TestLost checks that the error of a connection that is lost in the middle is the connection's.
func TestLost(t *testing.T) {
	lost := &transport.Error{Class: transport.ClassLost, Msg: "the connection was lost"}
	l := &liar{answer: func(run string, _ int, out io.Writer) (transport.Status, error) {
		err := frames(run, out, func(w *frame.Writer) error {
			return w.Message(frame.TypeEvent, &frame.Result{Ref: "File[/a]", Status: report.Changed})
		})
		return transport.Status{}, errors.Join(err, lost)
	}}
	expectLie(t, l, "the connection was lost")
}

// FuzzAnswer lets a machine answer with any bytes. Apply must return, and a result that it reports
// must be of the catalog.
func FuzzAnswer(f *testing.F) {
	seed := func(rest func(w *frame.Writer) error) {
		var b bytes.Buffer
		if err := frames("id", &b, rest); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	seed(nil)
	seed(func(w *frame.Writer) error {
		return errors.Join(w.Message(frame.TypeEvent, &frame.Result{Ref: "File[/a]", Status: report.Changed, Events: []report.Event{{Property: "content", Outcome: report.Success}}}),
			w.Message(frame.TypeLog, &report.Log{Level: report.Info, Message: "x"}),
			w.Message(frame.TypeDone, &frame.Done{Counts: frame.Counts{Changed: 1, Unchanged: 1}}))
	})
	seed(func(w *frame.Writer) error {
		return w.Message(frame.TypeDone, &frame.Done{Refused: &frame.Refusal{Kind: frame.KindBusy, Messages: []string{"x"}, Holder: &frame.Holder{}}})
	})
	seed(func(w *frame.Writer) error { return w.Message(frame.TypeNeed, &frame.Need{Catalog: true}) })
	f.Add([]byte("bolt-cannot id absent Linux x86_64\n/x\n"))
	f.Add([]byte("bolt-cannot id owner a\nb\n/x\n"))
	target := &remote.Target{Helpers: helpertest.Of(f, nil), Label: "here"}
	f.Fuzz(func(t *testing.T, answer []byte) {
		l := &liar{answer: func(run string, n int, out io.Writer) (transport.Status, error) {
			_, err := out.Write(answer)
			return transport.Status{Code: n}, err
		}}
		job := &remote.Job{Catalog: parse(t, nil, file("/a", ""), file("/b", "")), Node: "n1", Run: "id"}
		seen := make(map[string]bool)
		job.Result = func(r *report.Result) {
			if seen[r.Ref.String()] || !r.Generated && r.Ref.Title != "/a" && r.Ref.Title != "/b" {
				t.Errorf("%+v", r)
			}
			seen[r.Ref.String()] = true
		}
		out, err := remote.Apply(t.Context(), l, &remote.Target{Helpers: helpertest.Of(t, nil), Label: "here", MaxOutput: 4 << 20}, job)
		if err == nil && (!seen["File[/a]"] || !seen["File[/b]"]) {
			t.Errorf("%+v without all results", out)
		}
		if _, err := remote.Asked(t.Context(), l, target, "id"); err == nil && !bytes.Contains(answer, []byte("F")) && !bytes.HasPrefix(answer, []byte("bolt-cannot")) {
			t.Error("an answer without a fate")
		}
	})
}
