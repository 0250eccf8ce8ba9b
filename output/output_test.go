package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/output/layout"
	"bolt/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet makes targets.
func fleet(names ...string) []*inventory.Target {
	targets := make([]*inventory.Target, len(names))
	for i, n := range names {
		targets[i] = &inventory.Target{Name: n}
	}
	return targets
}

// printed returns a capture: text on standard output, or after "! " on
// standard error.
func printed(t testing.TB, parts ...string) *capture.Output {
	t.Helper()
	c := capture.New(capture.Options{Dir: t.TempDir()})
	for _, p := range parts {
		stream := capture.Stdout
		if rest, ok := strings.CutPrefix(p, "! "); ok {
			stream, p = capture.Stderr, rest
		}
		if _, err := io.WriteString(c.Stream(stream), p); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// command returns the result of a command that printed parts.
func command(t testing.TB, target *inventory.Target, exit int, parts ...string) *event.Result {
	t.Helper()
	r := &event.Result{Target: target, Action: "command", Object: "cmd", Output: printed(t, parts...), Elapsed: 250 * time.Millisecond}
	if exit != 0 {
		r.Status.Code = exit
		r.Err = &event.Error{Kind: "puppetlabs.tasks/command-error", Code: "COMMAND_ERROR", Class: event.ClassFailed, Command: true,
			Msg: "The command failed with exit code 3", Details: ordered.Of("exit_code", int64(exit))}
	}
	return r
}

// unreachable returns the result of a target that was not reached.
func unreachable(target *inventory.Target, msg string) *event.Result {
	return &event.Result{Target: target, Action: "command",
		Err: &event.Error{Kind: "puppetlabs.tasks/connect-error", Code: "CONNECT_ERROR", Class: transport.ClassConnect, Msg: msg}}
}

// show renders events.
func show(t testing.TB, o Options, targets []*inventory.Target, elapsed time.Duration, events ...event.Event) string {
	t.Helper()
	var b bytes.Buffer
	o.Out = &b
	r := newShown(t, o)
	if err := r.Start(event.ActionBegin{Action: "command", Object: "cmd", Targets: targets}); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := r.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.End(elapsed); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", strings.ReplaceAll(got, "\x1b", "␛"), strings.ReplaceAll(want, "\x1b", "␛"))
	}
}

func TestHuman(t *testing.T) {
	f := fleet("web1", "web2", "ssh://joe:secret@h:22")
	web1, web2, uri := f[0], f[1], f[2]
	verbose := Options{Verbose: true}
	tests := []struct {
		name    string
		o       Options
		targets []*inventory.Target
		elapsed time.Duration
		events  func(t *testing.T) []event.Event
		want    string
	}{
		{
			"completion order in blocks, target order in the summary", verbose, f[:2], 20 * time.Millisecond,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), started(web2),
					finished(command(t, web2, 0, "hi\n", "! err\n")), finished(command(t, web1, 0, "hi\n"))}
			},
			"Started on web1...\nStarted on web2...\nFinished on web2:\n  hi\n  err\nFinished on web1:\n  hi\n" +
				"Successful on 2 targets: web1,web2\nRan on 2 targets in 0.02 sec\n",
		},
		{
			"failures", verbose, f[:2], 1200 * time.Millisecond,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), started(web2),
					finished(command(t, web1, 3, "hi\n")), finished(unreachable(web2, "no route\nto web2"))}
			},
			"Started on web1...\nStarted on web2...\nFailed on web1:\n  The command failed with exit code 3\n  hi\n" +
				"Failed on web2:\n  no route\n  to web2\nFailed on 2 targets: web1,web2\nRan on 2 targets in 1.2 sec\n",
		},
		{
			"colours", Options{Verbose: true, Color: true, Terminal: true}, f[:2], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), finished(command(t, web1, 3, "hi\n")), started(web2), finished(command(t, web2, 0, "hi\n"))}
			},
			"\x1b[32mStarted on web1...\x1b[0m\n\x1b[31mFailed on web1:\x1b[0m\n\x1b[31m  The command failed with exit code 3\x1b[0m\n  hi\n" +
				"\x1b[32mStarted on web2...\x1b[0m\n\x1b[32mFinished on web2:\x1b[0m\n  hi\n" +
				"Successful on 1 target: web2\n\x1b[31mFailed on 1 target: web1\x1b[0m\nRan on 2 targets in 1.0 sec\n",
		},
		{
			"not verbose", Options{}, f[:2], 0,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), finished(command(t, web1, 3, "hi\n")), started(web2), finished(command(t, web2, 0, "hi\n"))}
			},
			"Failed on web1:\n  The command failed with exit code 3\n  hi\nSuccessful on 1 target: web2\nFailed on 1 target: web1\nRan on 2 targets in 0.0 sec\n",
		},
		{
			"folded and not verbose", Options{Fold: true}, f[:3], 0,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), finished(command(t, web1, 3, "hi\n")), finished(command(t, web2, 3, "hi\n")), finished(command(t, f[2], 0, "hi\n"))}
			},
			"Failed on web[1-2] (2 targets):\n  The command failed with exit code 3\n  hi\nSuccessful on 1 target: ssh://joe@h:22\nFailed on 2 targets: web[1-2]\nRan on 3 targets in 0.0 sec\n",
		},
		{
			"blank output", verbose, f[:1], time.Second,
			func(t *testing.T) []event.Event { return []event.Event{finished(command(t, web1, 0, " \n\n"))} },
			"Finished on web1:\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"no newline, empty lines, no UTF-8", verbose, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "a\n\ncaf\xe9 \xff"))}
			},
			"Finished on web1:\n  a\n  \n  caf\\xE9 \\xFF\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"bytes stay in a pipe", verbose, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "\x1b[2Ja\rb\x1b[31mred\n"))}
			},
			"Finished on web1:\n  \x1b[2Ja\rb\x1b[31mred\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"control sequences on a terminal", Options{Verbose: true, Terminal: true, Color: true}, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "\x1b[2Ja\rb\x1b[31mred\nmore\n"))}
			},
			"\x1b[32mFinished on web1:\x1b[0m\n  a\n  b\x1b[31mred\x1b[0m\n  \x1b[31mmore\x1b[0m\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"no colours on a terminal", Options{Verbose: true, Terminal: true}, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "\x1b]0;t\x07\x1b[31mred\n"))}
			},
			"Finished on web1:\n  red\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"message with a control sequence", Options{Verbose: true, Terminal: true}, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(unreachable(web1, "they said \x1b[2J\"no\""))}
			},
			"Failed on web1:\n  they said \"no\"\nFailed on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"message with a control sequence to a pipe", verbose, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(unreachable(web1, "they said \x1b[2J\"no\u202e\""))}
			},
			"Failed on web1:\n  they said \"no\"\nFailed on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"deceptive output on a terminal", Options{Verbose: true, Terminal: true}, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "a\u202eb\u2028c\n"))}
			},
			"Finished on web1:\n  abc\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"files", verbose, f[:2], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{
					finished(&event.Result{Target: web1, Action: "download", Value: ordered.Of("path", "/p/web1/hostname", "_output", "Downloaded 'a' to 'b'")}),
					finished(&event.Result{Target: web2, Action: "upload", Value: ordered.Of("_output", " ")})}
			},
			"Finished on web1:\n  Downloaded 'a' to 'b'\n  {\n    \"path\": \"/p/web1/hostname\"\n  }\n" +
				"Finished on web2:\n  Upload completed successfully with no result\n" +
				"Successful on 2 targets: web1,web2\nRan on 2 targets in 1.0 sec\n",
		},
		{
			"cut short by a timeout", verbose, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				r := command(t, web1, 0, "so far\n")
				r.Err = &event.Error{Kind: "k", Msg: "too long", Class: transport.ClassTimeout}
				return []event.Event{finished(r)}
			},
			"Failed on web1:\n  too long\n  so far\nFailed on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
		{
			"stopped", verbose, f[:2], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{finished(command(t, web1, 0, "hi\n")),
					finished(&event.Result{Target: web2, Action: "command", Err: &event.Error{Msg: "stopped", Class: event.ClassSkipped}})}
			},
			"Finished on web1:\n  hi\nSuccessful on 1 target: web1\nNot run on 1 target: web2\n  stopped\nRan on 1 target in 1.0 sec\n",
		},
		{
			"password in the name", verbose, f[2:], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{started(uri), finished(command(t, uri, 0))}
			},
			"Started on " + uri.SafeName() + "...\nFinished on " + uri.SafeName() + ":\n" +
				"Successful on 1 target: " + uri.SafeName() + "\nRan on 1 target in 1.0 sec\n",
		},
		{"no targets", verbose, nil, 0, func(t *testing.T) []event.Event { return nil }, "Ran on 0 targets in 0.0 sec\n"},
		{
			"rainbow without colours", Options{Format: Rainbow, Verbose: true}, f[:1], time.Second,
			func(t *testing.T) []event.Event {
				return []event.Event{started(web1), finished(command(t, web1, 0, "hi\n"))}
			},
			"Started on web1...\nFinished on web1:\n  hi\nSuccessful on 1 target: web1\nRan on 1 target in 1.0 sec\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, show(t, tt.o, tt.targets, tt.elapsed, tt.events(t)...), tt.want)
		})
	}
}

func TestRainbow(t *testing.T) {
	f := fleet("web1", "web2")
	o := Options{Verbose: true, Color: true, Terminal: true}
	events := func() []event.Event {
		return []event.Event{started(f[0]), finished(command(t, f[0], 0, "hi\n")), finished(command(t, f[1], 3, "no\n"))}
	}
	plain := show(t, o, f, time.Second, events()...)
	o.Format = Rainbow
	got := show(t, o, f, time.Second, events()...)
	if uncolored(got) != uncolored(plain) {
		t.Errorf("the text differs from human's:\n%s", uncolored(got))
	}
	for line := range strings.Lines(got) {
		wantHues := strings.Contains(uncolored(line), "Started") || strings.Contains(uncolored(line), "Finished") ||
			strings.Contains(uncolored(line), "Successful") || strings.Contains(uncolored(line), "Ran on")
		if hues := strings.Count(line, "\x1b[38;5;"); (hues > 3) != wantHues {
			t.Errorf("%q has %d hues", line, hues)
		}
	}
	if !strings.Contains(got, "\x1b[31mFailed on web2:\x1b[0m") {
		t.Error("a failure is not red")
	}
}

// uncolored removes all colours.
func uncolored(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func TestStream(t *testing.T) {
	f := fleet("web1", "web2")
	web1, web2 := f[0], f[1]
	long := strings.Repeat("é", maxLine/2)
	tests := []struct {
		name   string
		o      Options
		events []event.Event
		want   string
	}{
		{
			"lines do not mix", Options{},
			[]event.Event{arrived(web1, capture.Stdout, "on"), arrived(web2, capture.Stdout, "two\nthr"), arrived(web1, capture.Stderr, "oops\n"),
				arrived(web1, capture.Stdout, "e\n\n"), arrived(web2, capture.Stdout, "ee")},
			"[web2] out: two\n[web1] err: oops\n[web1] out: one\n[web1] out: \n",
		},
		{"end of a target", Options{}, []event.Event{arrived(web1, capture.Stdout, "out"), arrived(web1, capture.Stderr, "err"), finished(command(t, web1, 0))},
			"[web1] out: out\n[web1] err: err\n"},
		{"not UTF-8, cut in a sequence", Options{}, []event.Event{arrived(web1, capture.Stdout, "h\xc3"), arrived(web1, capture.Stdout, "\xa9 \xff\r\n")},
			"[web1] out: hé \\xFF\r\n"},
		{"progress bar on a terminal", Options{Terminal: true},
			[]event.Event{arrived(web1, capture.Stdout, "10%\r20%\r"), arrived(web1, capture.Stdout, "\ndone\r\nx\x1b[2J\r")},
			"[web1] out: 10%\n[web1] out: 20%\n[web1] out: done\n[web1] out: x\n"},
		{"colours stay in their line", Options{Terminal: true, Color: true}, []event.Event{arrived(web1, capture.Stdout, "\x1b[31mred\nmore\n")},
			"[web1] out: \x1b[31mred\x1b[0m\n[web1] out: more\n"},
		{"endless line", Options{}, []event.Event{arrived(web1, capture.Stdout, "x"+long), arrived(web1, capture.Stdout, "y\n")},
			"[web1] out: x" + long[:len(long)-2] + "\n[web1] out: éy\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Stream = true
			got := show(t, tt.o, f, 0, tt.events...)
			got, _, _ = strings.Cut(got, "Successful")
			got, _, _ = strings.Cut(got, "Ran on")
			equal(t, got, tt.want)
		})
	}
}

func TestStreamBesideJSON(t *testing.T) {
	f := fleet("web1")
	var lines bytes.Buffer
	got := show(t, Options{Format: JSON, Stream: true, Err: &lines}, f, 0, arrived(f[0], capture.Stdout, "hi"), finished(command(t, f[0], 0, "hi")))
	equal(t, lines.String(), "[web1] out: hi\n")
	if strings.Contains(got, "[web1]") {
		t.Errorf("a streamed line is in the document:\n%s", got)
	}
}

func TestFold(t *testing.T) {
	f := fleet("web01", "web02", "web03", "db1", "db2", "gone7", "gone8")
	f[5].URI, f[6].URI = "ssh://root@10.0.0.7:22", "10.0.0.8"
	events := []event.Event{started(f[0])}
	for _, target := range f[:3] {
		events = append(events, finished(command(t, target, 0, "Debian\n")))
	}
	events = append(events,
		finished(unreachable(f[5], "connect to gone7: dial 10.0.0.7:22: refused")),
		finished(command(t, f[4], 3, "no\n")),
		finished(command(t, f[3], 0, "Fedora\n")),
		finished(unreachable(f[6], "connect to gone8: dial 10.0.0.8:22: refused")))
	want := `Finished on web[01-03] (3 targets):
  Debian
Failed on gone[7-8] (2 targets):
  connect to <target>: dial <target>:22: refused
Finished on db1:
  Fedora
Failed on db2:
  The command failed with exit code 3
  no
Successful on 4 targets: web[01-03],db1
Failed on 3 targets: db2,gone[7-8]
Ran on 7 targets in 2.0 sec
`
	equal(t, show(t, Options{Verbose: true, Fold: true}, f, 2*time.Second, events...), want)
}

// TestFoldKeepsApart lists pairs of results that must not be folded.
func TestFoldKeepsApart(t *testing.T) {
	f := fleet("a1", "a2")
	pairs := map[string][2]*event.Result{
		"output":      {command(t, f[0], 0, "x"), command(t, f[1], 0, "y")},
		"exit status": {command(t, f[0], 0, "x"), command(t, f[1], 3, "x")},
		"message":     {unreachable(f[0], "refused"), unreachable(f[1], "reset")},
		"longer name": {unreachable(f[0], "lookup a1.example"), unreachable(f[1], "lookup a2.example")},
		"value":       {{Target: f[0], Action: "upload", Value: ordered.Of("_output", "x")}, {Target: f[1], Action: "upload", Value: ordered.Of("_output", "y")}},
	}
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			got := show(t, Options{Verbose: true, Fold: true}, f, 0, finished(pair[0]), finished(pair[1]))
			if !strings.Contains(got, " on a1:\n") || !strings.Contains(got, " on a2:\n") {
				t.Errorf("folded:\n%s", got)
			}
		})
	}
}

func TestReplaceWord(t *testing.T) {
	tests := []struct{ s, word, want string }{
		{"web1: web1 (web1.)", "web1", "<target>: <target> (<target>.)"},
		{"web10 web1-b xweb1 web1.example.com a.web1", "web1", "web10 web1-b xweb1 web1.example.com a.web1"},
		{"web1web1 web1", "web1", "web1web1 <target>"},
		{"'10.0.0.1:/tmp' 110.0.0.1 10.0.0.12", "10.0.0.1", "'<target>:/tmp' 110.0.0.1 10.0.0.12"},
		{"anything", "", "anything"},
	}
	for _, tt := range tests {
		if got := replaceWord(tt.s, tt.word); got != tt.want {
			t.Errorf("replaceWord(%q, %q) = %q, want %q", tt.s, tt.word, got, tt.want)
		}
	}
	for uri, want := range map[string]string{"ssh://u:p@h.example:22/x": "h.example", "h": "h", "u@[::1]:22": "::1", "": "", "ssh://[fe80::1]": "fe80::1"} {
		if got := uriHost(uri); got != want {
			t.Errorf("uriHost(%q) = %q, want %q", uri, got, want)
		}
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 sec", 14 * time.Millisecond: "0.01 sec", 300 * time.Millisecond: "0.3 sec", 1236 * time.Millisecond: "1.24 sec",
		59 * time.Second: "59.0 sec", time.Minute: "1 min, 0 sec", 125*time.Second + 600*time.Millisecond: "2 min, 6 sec",
		time.Hour + 9*time.Second: "1 hr, 0 min, 9 sec", 30*time.Hour + 61*time.Second: "30 hr, 1 min, 1 sec",
	} {
		if got := layout.Duration(d); got != want {
			t.Errorf("durationText(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestFatalHuman(t *testing.T) {
	var b bytes.Buffer
	f := fleet("web1")
	r := newShown(t, Options{Out: &b, Verbose: true, Color: true, Fold: true})
	if err := errors.Join(r.Start(event.ActionBegin{Targets: f}), r.Event(finished(command(t, f[0], 0, "hi"))), r.Fatal(errors.New("it broke"))); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "\x1b[32mFinished on web1:\x1b[0m\n  hi\n\x1b[31mit broke\x1b[0m\n")
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"unknown format": {Out: io.Discard, Format: Format{Name: "xml"}},
		"fold in json":   {Out: io.Discard, Format: JSON, Fold: true},
		"no writer":      {},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestPrintError(t *testing.T) {
	cause := fault.New("bolt/file-error", "file %s: no such file", "x")
	cause.Details = ordered.Of("path", "x")
	tests := []struct {
		name   string
		format Format
		color  bool
		err    error
		want   string
	}{
		{"human", Human, false, cause, "file x: no such file\n"},
		{"color", Human, true, cause, "\x1b[31mfile x: no such file\x1b[0m\n"},
		{"human with an excerpt", Human, false, &fault.Error{Msg: "file x: bad", Err: placedError{}}, "file x: bad\n  a: b: c\n      ^\n"},
		{"json with an excerpt", JSON, false, &fault.Error{Kind: "k", Msg: "bad", Err: placedError{}}, `{"kind":"k","msg":"bad","details":{}}` + "\n"},
		{"json", JSON, false, cause, `{"kind":"bolt/file-error","msg":"file x: no such file","details":{"path":"x"}}` + "\n"},
		{"json without a kind", JSON, false, errors.New("odd"), `{"kind":"bolt/internal-error","msg":"odd","details":{}}` + "\n"},
		{"ndjson", NDJSON, false, cause,
			`{"event":"error","time":"T","error":{"kind":"bolt/file-error","msg":"file x: no such file","details":{"path":"x"}}}` + "\n"},
	}
	times := regexp.MustCompile(`"time":"[-0-9T:.]+Z"`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := PrintError(Options{Out: &b, Format: tt.format, Color: tt.color}, tt.err); err != nil {
				t.Fatal(err)
			}
			equal(t, times.ReplaceAllString(b.String(), `"time":"T"`), tt.want)
		})
	}
}

// placedError is an error with an excerpt.
type placedError struct{ error }

func (placedError) Excerpt(int) string { return "a: b: c\n    ^" }

func TestPrintErrorCutsExcerptToWidth(t *testing.T) {
	_, err := yaml.Decode([]byte("a: "+strings.Repeat("b: ", 100)), "f")
	var b bytes.Buffer
	if err := PrintError(Options{Out: &b, Width: 40}, err); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(b.String(), "\n")
	if line, _, _ := strings.Cut(shown, "\n"); len([]rune(line)) > 40 || !strings.HasSuffix(line, "…") {
		t.Errorf("the line is %q", line)
	}
}

func TestPrintErrorReturnsWriteErrors(t *testing.T) {
	if err := PrintError(Options{Out: &brokenPipe{}, Format: Human}, io.ErrUnexpectedEOF); err == nil {
		t.Error("no error")
	}
}

// brokenPipe fails from its nth write on.
type brokenPipe struct {
	n     int
	after int
}

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.n == 0 {
		p.after++
		return 0, io.ErrClosedPipe
	}
	p.n--
	return len(b), nil
}

// TestBrokenPipe checks that the error is returned immediately, and that no
// write is tried again.
func TestBrokenPipe(t *testing.T) {
	f := fleet("web1")
	for _, format := range []Format{Human, JSON, NDJSON} {
		t.Run(format.Name, func(t *testing.T) {
			w := &brokenPipe{n: 1}
			r := newShown(t, Options{Out: w, Format: format, Verbose: true})
			_ = r.Start(event.ActionBegin{Targets: f})
			err1 := errors.Join(r.Event(started(f[0])), r.Event(finished(command(t, f[0], 0, "hi"))))
			err2 := r.Event(finished(command(t, f[0], 0, strings.Repeat("more\n", 10_000))))
			err3 := r.End(0)
			if !errors.Is(err1, io.ErrClosedPipe) || !errors.Is(err2, io.ErrClosedPipe) || !errors.Is(err3, io.ErrClosedPipe) {
				t.Errorf("errors are %v, %v, %v", err1, err2, err3)
			}
			if w.after != 1 {
				t.Errorf("written %d times to a broken pipe", w.after)
			}
		})
	}
}

// TestCapturesAreClosed checks that the output of each result is closed as
// soon as it is not needed any more, also if writing fails.
func TestCapturesAreClosed(t *testing.T) {
	f := fleet("web1", "web2", "db1")
	closed := func(r *event.Result) bool { return r.Output.WriteMerged(io.Discard) != nil }
	for name, o := range map[string]Options{
		"human": {Verbose: true}, "quiet": {}, "stream": {Verbose: true, Stream: true}, "fold": {Verbose: true, Fold: true},
		"quiet fold": {Fold: true}, "json": {Format: JSON}, "json, stream": {Format: JSON, Stream: true}, "ndjson": {Format: NDJSON},
	} {
		for _, broken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, broken %v", name, broken), func(t *testing.T) {
				o.Out, o.Err = io.Discard, io.Discard
				if broken {
					o.Out, o.Err = &brokenPipe{}, &brokenPipe{}
				}
				r := newShown(t, o)
				results := []*event.Result{command(t, f[0], 0, "same\n"), command(t, f[1], 0, "same\n"), command(t, f[2], 3, "other\n")}
				_ = r.Start(event.ActionBegin{Targets: f})
				for i, result := range results {
					_ = r.Event(arrived(result.Target, capture.Stdout, "x"))
					err := r.Event(finished(result))
					if broken && name != "quiet" && !o.Fold && err == nil {
						t.Error("no error")
					}
					if want := !o.Fold || i == 1 || !o.Verbose && i == 0; closed(result) != want { // the second is like the first; without verbose only failures wait
						t.Errorf("output of %s closed: %v, want %v", result.Target, !want, want)
					}
				}
				if err := r.End(0); (err != nil) != broken {
					t.Errorf("end: %v", err)
				}
				for _, result := range results {
					if !closed(result) {
						t.Errorf("output of %s is never closed", result.Target)
					}
				}
			})
		}
	}
}
