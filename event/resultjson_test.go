package event

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// A piece is a piece that a test writes to an output.
type piece struct {
	stream capture.Stream
	text   string
}

func printed(t testing.TB, o capture.Options, pieces ...piece) *capture.Output {
	t.Helper()
	c := capture.New(o)
	t.Cleanup(func() { c.Close() })
	for _, p := range pieces {
		if _, err := io.WriteString(c.Stream(p.stream), p.text); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func text(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func target(name string) *inventory.Target { return &inventory.Target{Name: name} }

func TestWriteJSON(t *testing.T) {
	web1 := target("web1")
	connect := &Error{Kind: "puppetlabs.tasks/connect-error", Code: "CONNECT_ERROR", Msg: "no route to \"web1\"", Class: transport.ClassConnect}
	timeout := &Error{Kind: "puppetlabs.tasks/timeout-error", Code: "TIMEOUT", Msg: "too long", Class: transport.ClassTimeout}
	tests := []struct {
		name   string
		result Result
		want   string
	}{
		{
			"success",
			Result{Target: web1, Action: "command", Object: "echo hi; echo err >&2",
				Output: printed(t, capture.Options{}, piece{capture.Stdout, "hi\n"}, piece{capture.Stderr, "err\n"})},
			`{"target":"web1","action":"command","object":"echo hi; echo err >&2","status":"success","value":{"stdout":"hi\n","stderr":"err\n","merged_output":"hi\nerr\n","exit_code":0}}`,
		},
		{
			"spilled",
			Result{Target: web1, Action: "command", Object: "x",
				Output: printed(t, capture.Options{Memory: 2}, piece{capture.Stdout, "h\xc3"}, piece{capture.Stdout, "\xa9\n"}, piece{capture.Stderr, "e"})},
			`{"target":"web1","action":"command","object":"x","status":"success","value":{"stdout":"hé\n","stderr":"e","merged_output":"hé\ne","exit_code":0}}`,
		},
		{
			"not UTF-8",
			Result{Target: web1, Action: "command", Object: `printf 'caf\351 \377'`,
				Output: printed(t, capture.Options{}, piece{capture.Stdout, "caf\xe9 \xff"})},
			`{"target":"web1","action":"command","object":"printf 'caf\\351 \\377'","status":"success","value":{"stdout":"caf\\xE9 \\xFF","stderr":"","merged_output":"caf\\xE9 \\xFF","exit_code":0}}`,
		},
		{
			"cut",
			Result{Target: web1, Action: "command", Object: "x",
				Output: printed(t, capture.Options{Limit: 2}, piece{capture.Stdout, "hi\n"})},
			`{"target":"web1","action":"command","object":"x","status":"success","value":{"stdout":"hi\n[output cut here, 1 bytes left out: more than 2 bytes were printed]\n","stderr":"","merged_output":"hi\n[output cut here, 1 bytes left out: more than 2 bytes were printed]\n","exit_code":0,"truncated":true}}`,
		},
		{
			"command failed",
			Result{Target: web1, Action: "script", Object: "s.sh", Status: transport.Status{Code: 3}, Err: &Error{Kind: "puppetlabs.tasks/command-error", Code: "COMMAND_ERROR", Msg: "The command failed with exit code 3", Details: ordered.Of("exit_code", int64(3)), Class: ClassFailed, Command: true},
				Output: printed(t, capture.Options{}, piece{capture.Stdout, "out\n"})},
			`{"target":"web1","action":"script","object":"s.sh","status":"failure","value":{"stdout":"out\n","stderr":"","merged_output":"out\n","exit_code":3,"_error":{"kind":"puppetlabs.tasks/command-error","issue_code":"COMMAND_ERROR","msg":"The command failed with exit code 3","details":{"exit_code":3}}}}`,
		},
		{
			"signal",
			Result{Target: web1, Action: "command", Object: "x", Status: transport.Status{Code: -1, Signal: "TERM"},
				Err: &Error{Kind: "k", Msg: "m", Details: ordered.Of("exit_code", nil), Command: true}, Output: printed(t, capture.Options{})},
			`{"target":"web1","action":"command","object":"x","status":"failure","value":{"stdout":"","stderr":"","merged_output":"","exit_code":null,"_error":{"kind":"k","msg":"m","details":{"exit_code":null}}}}`,
		},
		{
			"no connection",
			Result{Target: web1, Action: "command", Err: connect},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"no route to \"web1\"","issue_code":"CONNECT_ERROR"}}}`,
		},
		{
			"refused before it ran, with output of sudo",
			Result{Target: web1, Action: "command", Err: connect, Output: printed(t, capture.Options{}, piece{capture.Stderr, "sorry"})},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"no route to \"web1\"","issue_code":"CONNECT_ERROR"}}}`,
		},
		{
			"timeout after output",
			Result{Target: web1, Action: "command", Err: timeout, Output: printed(t, capture.Options{}, piece{capture.Stdout, "so far"})},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"stdout":"so far","stderr":"","merged_output":"so far","exit_code":null,"_error":{"details":{},"kind":"puppetlabs.tasks/timeout-error","msg":"too long","issue_code":"TIMEOUT"}}}`,
		},
		{
			"timeout without output",
			Result{Target: web1, Action: "command", Err: timeout, Output: printed(t, capture.Options{})},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/timeout-error","msg":"too long","issue_code":"TIMEOUT"}}}`,
		},
		{
			"download",
			Result{Target: web1, Action: "download", Object: "/etc/hostname", Value: ordered.Of("path", "/p/web1/hostname", "_output", "Downloaded")},
			`{"target":"web1","action":"download","object":"/etc/hostname","status":"success","value":{"path":"/p/web1/hostname","_output":"Downloaded"}}`,
		},
		{
			"nothing",
			Result{Target: web1, Action: "upload", Object: "a"},
			`{"target":"web1","action":"upload","object":"a","status":"success","value":{}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := text(t, tt.result.WriteJSON)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Error("this is no JSON")
			}
			isData(t, &tt.result)
		})
	}
}

// isData checks that the data of a result equals its parsed JSON, and that each
// member does, too.
func isData(t *testing.T, r *Result) {
	t.Helper()
	written, err := ordered.ParseJSON([]byte(text(t, r.WriteJSON)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Data()
	if err != nil || !reflect.DeepEqual(any(data), written) {
		t.Errorf("the data is %v, %v, and the JSON %v", data, err, written)
	}
	members := data.Value("value").(*ordered.Map)
	for k, want := range members.All() {
		if got, ok, err := r.Member(k); !ok || err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the member %q is %v, %v, %v, want %v", k, got, ok, err, want)
		}
	}
	if v, ok, err := r.Member("no such"); ok || err != nil {
		t.Errorf("a member that is not there is %v, %v", v, err)
	}
}

// TestData checks values that a task or a plan can put into a result.
func TestData(t *testing.T) {
	web1 := target("caf\xe9")
	for name, r := range map[string]*Result{
		"a task": {Target: web1, Action: "task", Object: "t\xff", Value: ordered.Of("n", int64(1), "f", 1.5, "e", 1e300, "s", "\xe9", "l", []any{int64(1), nil, true, "\xff"},
			"m", ordered.Of("k\xe9", ordered.Of("deep", []string{"a"})), "i", 7)},
		"a secret":          {Target: web1, Action: "task", Value: ordered.Of("s", transport.NewSecret("hidden"))},
		"keys of a command": {Target: web1, Action: "command", Output: printed(t, capture.Options{}, piece{capture.Stderr, "e"}), Value: ordered.Of("stdout", "given", "exit_code", "given")},
		"cut":               {Target: web1, Action: "command", Output: printed(t, capture.Options{Limit: 3}, piece{capture.Stdout, "more than that"})},
		"cut, both":         {Target: web1, Action: "command", Output: printed(t, capture.Options{Limit: 3}, piece{capture.Stderr, "more"}, piece{capture.Stdout, "and more"})},
		"a failure":         {Target: web1, Action: "task", Err: &Error{Msg: "m\xff", Given: ordered.Of("msg", "m\xff", "details", []any{})}},
	} {
		t.Run(name, func(t *testing.T) { isData(t, r) })
	}
	closed := printed(t, capture.Options{}, piece{capture.Stdout, "x"})
	closed.Close()
	r := &Result{Target: web1, Action: "command", Output: closed}
	if m, err := r.Data(); err == nil {
		t.Errorf("of a closed output: %v", m)
	}
	if v, ok, err := r.Member("stdout"); ok || err == nil {
		t.Errorf("of a closed output: %v, %v", v, ok)
	}
}

func FuzzData(f *testing.F) {
	f.Add([]byte("out\xe9"), []byte(""), 2)
	f.Add([]byte(""), []byte("\xc3\xa9"), 100)
	f.Fuzz(func(t *testing.T, out, err []byte, memory int) {
		c := printed(t, capture.Options{Memory: memory, Limit: 64}, piece{capture.Stdout, string(out)}, piece{capture.Stderr, string(err)}, piece{capture.Stdout, string(out)})
		isData(t, &Result{Target: target("t"), Action: "command", Object: string(err), Output: c, Value: ordered.Of("_output", string(out))})
	})
}

func TestWriteJSONReturnsWriteErrors(t *testing.T) {
	pr, pw := io.Pipe()
	pr.Close()
	r := &Result{Target: target("web1"), Action: "command", Output: printed(t, capture.Options{}, piece{capture.Stdout, "x"})}
	if err := r.WriteJSON(pw); err != io.ErrClosedPipe {
		t.Errorf("error is %v, want %v", err, io.ErrClosedPipe)
	}
}
