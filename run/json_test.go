package run

import (
	"encoding/json"
	"io"
	"testing"

	"bolt/internal/ordered"
	"bolt/inventory"
	"bolt/transport"
)

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
				Output: capture(t, CaptureOptions{}, printed{Stdout, "hi\n"}, printed{Stderr, "err\n"})},
			`{"target":"web1","action":"command","object":"echo hi; echo err >&2","status":"success","value":{"stdout":"hi\n","stderr":"err\n","merged_output":"hi\nerr\n","exit_code":0}}`,
		},
		{
			"spilled",
			Result{Target: web1, Action: "command", Object: "x",
				Output: capture(t, CaptureOptions{Memory: 2}, printed{Stdout, "h\xc3"}, printed{Stdout, "\xa9\n"}, printed{Stderr, "e"})},
			`{"target":"web1","action":"command","object":"x","status":"success","value":{"stdout":"hé\n","stderr":"e","merged_output":"hé\ne","exit_code":0}}`,
		},
		{
			"not UTF-8",
			Result{Target: web1, Action: "command", Object: `printf 'caf\351 \377'`,
				Output: capture(t, CaptureOptions{}, printed{Stdout, "caf\xe9 \xff"})},
			`{"target":"web1","action":"command","object":"printf 'caf\\351 \\377'","status":"success","value":{"stdout":"caf\\xE9 \\xFF","stderr":"","merged_output":"caf\\xE9 \\xFF","exit_code":0}}`,
		},
		{
			"command failed",
			Result{Target: web1, Action: "script", Object: "s.sh", Status: transport.Status{Code: 3}, Err: commandError(transport.Status{Code: 3}),
				Output: capture(t, CaptureOptions{}, printed{Stdout, "out\n"})},
			`{"target":"web1","action":"script","object":"s.sh","status":"failure","value":{"stdout":"out\n","stderr":"","merged_output":"out\n","exit_code":3,"_error":{"kind":"puppetlabs.tasks/command-error","issue_code":"COMMAND_ERROR","msg":"The command failed with exit code 3","details":{"exit_code":3}}}}`,
		},
		{
			"signal",
			Result{Target: web1, Action: "command", Object: "x", Status: transport.Status{Code: -1, Signal: "TERM"},
				Err: &Error{Kind: "k", Msg: "m", Details: ordered.Of("exit_code", nil), Command: true}, Output: capture(t, CaptureOptions{})},
			`{"target":"web1","action":"command","object":"x","status":"failure","value":{"stdout":"","stderr":"","merged_output":"","exit_code":null,"_error":{"kind":"k","msg":"m","details":{"exit_code":null}}}}`,
		},
		{
			"no connection",
			Result{Target: web1, Action: "command", Err: connect},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"no route to \"web1\"","issue_code":"CONNECT_ERROR"}}}`,
		},
		{
			"refused before it ran, with output of sudo",
			Result{Target: web1, Action: "command", Err: connect, Output: capture(t, CaptureOptions{}, printed{Stderr, "sorry"})},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"puppetlabs.tasks/connect-error","msg":"no route to \"web1\"","issue_code":"CONNECT_ERROR"}}}`,
		},
		{
			"timeout after output",
			Result{Target: web1, Action: "command", Err: timeout, Output: capture(t, CaptureOptions{}, printed{Stdout, "so far"})},
			`{"target":"web1","action":"command","object":null,"status":"failure","value":{"stdout":"so far","stderr":"","merged_output":"so far","exit_code":null,"_error":{"details":{},"kind":"puppetlabs.tasks/timeout-error","msg":"too long","issue_code":"TIMEOUT"}}}`,
		},
		{
			"timeout without output",
			Result{Target: web1, Action: "command", Err: timeout, Output: capture(t, CaptureOptions{})},
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
		})
	}
}

func TestWriteJSONReturnsWriteErrors(t *testing.T) {
	pr, pw := io.Pipe()
	pr.Close()
	r := &Result{Target: target("web1"), Action: "command", Output: capture(t, CaptureOptions{}, printed{Stdout, "x"})}
	if err := r.WriteJSON(pw); err != io.ErrClosedPipe {
		t.Errorf("error is %v, want %v", err, io.ErrClosedPipe)
	}
}
