package output

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/fault"
)

func TestJSON(t *testing.T) {
	f := fleet("l1", "l2")
	tests := []struct {
		name    string
		elapsed time.Duration
		events  []event.Event
		want    string
	}{
		{"nothing", 0, nil, "{ \"items\": [\n],\n\"target_count\": 0, \"elapsed_time\": 0 }\n"},
		{
			"one", 2900 * time.Millisecond, []event.Event{started(f[0]), finished(command(t, f[0], 0, "hi\n", "! err\n"))},
			`{ "items": [
{"target":"l1","action":"command","object":"cmd","status":"success","value":{"stdout":"hi\n","stderr":"err\n","merged_output":"hi\nerr\n","exit_code":0}}
],
"target_count": 1, "elapsed_time": 2 }
`,
		},
		{
			"two, one of them not reached", 0, []event.Event{finished(unreachable(f[1], "refused")), finished(command(t, f[0], 3))},
			`{ "items": [
{"target":"l2","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"refused","issue_code":"CONNECT_ERROR"}}}
,
{"target":"l1","action":"command","object":"cmd","status":"failure","value":{"stdout":"","stderr":"","merged_output":"","exit_code":3,"_error":{"kind":"puppetlabs.tasks/command-error","issue_code":"COMMAND_ERROR","msg":"The command failed with exit code 3","details":{"exit_code":3}}}}
],
"target_count": 2, "elapsed_time": 0 }
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := show(t, Options{Format: JSON}, f, tt.elapsed, tt.events...)
			equal(t, got, tt.want)
			if !json.Valid([]byte(got)) {
				t.Error("this is no JSON")
			}
		})
	}
}

func TestJSONFatal(t *testing.T) {
	var b bytes.Buffer
	r := newShown(t, Options{Out: &b, Format: JSON})
	if err := errors.Join(r.Start(event.ActionBegin{}), r.Fatal(fault.New("bolt/pal-error", "no such \"thing\""))); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "{ \"items\": [\n],\n\"_error\": \n{\"kind\":\"bolt/pal-error\",\"msg\":\"no such \\\"thing\\\"\",\"details\":{}}\n}\n")
}

func TestNDJSON(t *testing.T) {
	f := fleet("web1", "web2")
	clock := time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	now := func() time.Time {
		clock = clock.Add(time.Millisecond)
		return clock
	}
	got := show(t, Options{Format: NDJSON, Now: now}, f, 1500*time.Millisecond,
		started(f[0]),
		arrived(f[0], capture.Stdout, "h\xc3"),
		arrived(f[0], capture.Stderr, "e"),
		arrived(f[0], capture.Stdout, "\xa9 \"x\"\n"),
		arrived(f[0], capture.Stdout, "\xff\x00"),
		arrived(f[0], capture.Stdout, "\xe2\x82"),
		finished(command(t, f[0], 0, "hé")),
		finished(unreachable(f[1], "refused")))
	want := `{"event":"begin","time":"2030-01-02T02:04:05.001Z","action":"command","object":"cmd","target_count":2}
{"event":"start","time":"2030-01-02T02:04:05.002Z","target":"web1"}
{"event":"output","time":"2030-01-02T02:04:05.003Z","target":"web1","stream":"stdout","data":"h"}
{"event":"output","time":"2030-01-02T02:04:05.004Z","target":"web1","stream":"stderr","data":"e"}
{"event":"output","time":"2030-01-02T02:04:05.005Z","target":"web1","stream":"stdout","data":"é \"x\"\n"}
{"event":"output","time":"2030-01-02T02:04:05.006Z","target":"web1","stream":"stdout","base64":"/wA="}
{"event":"output","time":"2030-01-02T02:04:05.007Z","target":"web1","stream":"stdout","base64":"4oI="}
{"event":"result","time":"2030-01-02T02:04:05.008Z","target":"web1","class":"ok","elapsed":0.25,"result":{"target":"web1","action":"command","object":"cmd","status":"success","value":{"stdout":"hé","stderr":"","merged_output":"hé","exit_code":0}}}
{"event":"result","time":"2030-01-02T02:04:05.009Z","target":"web2","class":"connect","elapsed":0.0,"result":{"target":"web2","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"refused","issue_code":"CONNECT_ERROR"}}}}
{"event":"end","time":"2030-01-02T02:04:05.01Z","ok":1,"failed":1,"elapsed":1.5}
`
	equal(t, got, want)
}

// FuzzNDJSONOutput cuts any bytes into pieces, and checks that a reader gets
// the same bytes.
func FuzzNDJSONOutput(f *testing.F) {
	f.Add([]byte("h\xc3\xa9\xff\xe2\x82"), 3)
	f.Add([]byte("plain\n\x00"), 1)
	target := fleet("web1")[0]
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 {
			size = 1
		}
		var events []event.Event
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			events = append(events, arrived(target, capture.Stdout, string(rest[:min(size, len(rest))])))
		}
		events = append(events, finished(&event.Result{Target: target, Action: "command"}))
		var back []byte
		for line := range strings.Lines(show(t, Options{Format: NDJSON}, nil, 0, events...)) {
			var e struct{ Event, Data, Base64 string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Event != "output" {
				continue
			}
			raw, err := base64.StdEncoding.DecodeString(e.Base64)
			if err != nil {
				t.Fatal(err)
			}
			back = append(append(back, e.Data...), raw...)
		}
		if !bytes.Equal(back, data) {
			t.Fatalf("read back %q, want %q", back, data)
		}
	})
}

// heapWriter records the largest heap size during its writes.
type heapWriter struct {
	n, next int
	peak    uint64
}

func (h *heapWriter) Write(p []byte) (int, error) {
	h.n += len(p)
	if h.n >= h.next {
		h.next += 8 << 20
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.peak = max(h.peak, m.HeapAlloc)
	}
	return len(p), nil
}

// TestRenderMemory renders a large output of one target in each format.
func TestRenderMemory(t *testing.T) {
	const size = 12 << 20
	f := fleet("web1")
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	for name, o := range map[string]Options{
		"human":    {Verbose: true},
		"terminal": {Verbose: true, Terminal: true, Color: true},
		"fold":     {Verbose: true, Fold: true},
		"diff":     {Verbose: true, Diff: true},
		"json":     {Format: JSON},
		"ndjson":   {Format: NDJSON},
	} {
		t.Run(name, func(t *testing.T) {
			big := command(t, f[0], 0)
			for range size / len(chunk) {
				if _, err := big.Output.Stream(capture.Stdout).Write(chunk); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			w := &heapWriter{}
			o.Out = w
			r := newShown(t, o)
			if err := errors.Join(r.Start(event.ActionBegin{Targets: f}), r.Event(finished(big)), r.End(0)); err != nil {
				t.Fatal(err)
			}
			if w.n < size {
				t.Fatalf("%d bytes written, want more than %d", w.n, size)
			}
			if grown := int64(w.peak) - int64(before.HeapAlloc); grown > 3<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

// BenchmarkRender5000 renders the results of 5,000 targets.
func BenchmarkRender5000(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("web%04d.example.com", i)
	}
	f := fleet(names...)
	events := make([]event.Event, len(f))
	for name, o := range map[string]Options{
		"human": {Verbose: true}, "terminal": {Verbose: true, Terminal: true, Color: true}, "fold": {Verbose: true, Fold: true}, "diff": {Verbose: true, Diff: true},
		"json": {Format: JSON}, "ndjson": {Format: NDJSON},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i, target := range f {
					out := capture.New(capture.Options{})
					_, _ = io.WriteString(out.Stream(capture.Stdout), "Linux 6.1.0\nup 12 days\n")
					events[i] = finished(&event.Result{Target: target, Action: "command", Object: "cmd", Output: out})
				}
				b.StartTimer()
				o.Out = io.Discard
				r := newShown(b, o)
				_ = r.Start(event.ActionBegin{Targets: f})
				for _, e := range events {
					if err := r.Event(e); err != nil {
						b.Fatal(err)
					}
				}
				if err := r.End(time.Second); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
