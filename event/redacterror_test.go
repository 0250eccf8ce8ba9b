package event

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
)

func TestRedactError(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "hush", "***") }
	plain := errors.New("nothing to hide")
	if got := RedactError(plain, redact); got != plain {
		t.Errorf("got %v", got)
	}
	if got := RedactError(errors.New("it is hush"), redact); got.Error() != "it is ***" {
		t.Errorf("got %v", got)
	}
	for _, details := range []*ordered.Map{nil, ordered.Of("a", "b"), ordered.Of("a", []any{"hush"})} {
		got := RedactError(&fault.Error{Kind: "k", Msg: "m hush", Details: details, Err: plain}, redact)
		f, ok := errors.AsType[*fault.Error](got)
		if !ok || f.Msg != "m ***" || f.Kind != "k" || errors.Is(got, plain) {
			t.Errorf("got %#v", got)
		}
		if kept := f.Details != nil; kept != (details.Len() > 0 && details.Value("a") == "b") {
			t.Errorf("details are %v", f.Details)
		}
	}
}

// TestRedactFailedBy checks that the event of an error loses the details that
// contain a secret.
func TestRedactFailedBy(t *testing.T) {
	var got Event
	sink := Redact(Func(func(_ context.Context, e Event) error { got = e; return nil }), func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") })
	err := &fault.Error{Kind: "k", Msg: "it is hunter2", Details: ordered.Of("path", "/hunter2", "line", int64(1))}
	if err := sink.Event(t.Context(), FailedBy(err)); err != nil {
		t.Fatal(err)
	}
	f := got.(Failed)
	if text, err := f.Data.MarshalJSON(); f.Msg != "it is [redacted]" || err != nil || string(text) != `{"kind":"k","msg":"it is [redacted]","details":{}}` {
		t.Errorf("%q, %s, %v", f.Msg, text, err)
	}
}

// TestRedactFailedOfPlan checks that the calls and the hint of a plan's failure are redacted.
func TestRedactFailedOfPlan(t *testing.T) {
	var got Event
	sink := Redact(Func(func(_ context.Context, e Event) error { got = e; return nil }), func(s string) string { return strings.ReplaceAll(s, "hunter2", "*") })
	if err := sink.Event(t.Context(), Failed{Msg: "hunter2", Trace: "a hunter2", Hint: "b hunter2"}); err != nil {
		t.Fatal(err)
	}
	if f := got.(Failed); f.Msg != "*" || f.Trace != "a *" || f.Hint != "b *" {
		t.Errorf("%+v", f)
	}
}

// TestRedactExcerpt checks that an excerpt with a secret is removed, and another one is not.
func TestRedactExcerpt(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	for line, shown := range map[string]bool{"a: b": true, "a: hunter2": false} {
		cause := excerptError{errors.New("bad"), line}
		for _, err := range []error{cause, &fault.Error{Kind: "k", Msg: "bad", Err: cause}} {
			if got := FailedBy(RedactError(err, redact)); got.Excerpt(80) != "" != shown || got.Msg != "bad" {
				t.Errorf("%q: %q, %q", line, got.Msg, got.Excerpt(80))
			}
		}
		var got Event
		sink := Redact(Func(func(_ context.Context, e Event) error { got = e; return nil }), redact)
		if err := sink.Event(t.Context(), Failed{Msg: "bad", Cause: cause}); err != nil || got.(Failed).Excerpt(80) != "" != shown {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
}

type excerptError struct {
	error
	line string
}

func (e excerptError) Excerpt(int) string { return e.line }
