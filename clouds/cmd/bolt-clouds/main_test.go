package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/clouds/cloud"
	"bolt/format/ordered"
	"bolt/inventory/plugin/protocol"
)

func TestServe(t *testing.T) {
	config, ref := &ordered.Map{}, &ordered.Map{}
	tests := []struct {
		name    string
		request protocol.Request
		kind    string // of the error; "" for none
		says    string
	}{
		{"aws", protocol.Request{Request: protocol.Describe, Plugin: "aws_inventory"}, "", "Amazon EC2"},
		{"azure", protocol.Request{Request: protocol.Describe, Plugin: "azure_inventory"}, "", "Azure"},
		{"gcloud", protocol.Request{Request: protocol.Describe, Plugin: "gcloud_inventory"}, "", "Google"},
		{"unknown plugin", protocol.Request{Request: protocol.Describe, Plugin: "other"}, protocol.KindPlugin, "no plugin with this name"},
		{"unknown request", protocol.Request{Request: "later", Plugin: "aws_inventory"}, protocol.KindPlugin, "does not know such a request"},
		{"wrong reference", protocol.Request{Request: protocol.ResolveReference, Plugin: "gcloud_inventory", Reference: ref, Config: config}, protocol.KindInvalid, "The plugin gcloud_inventory requires a 'project'"},
		{"wrong configuration", protocol.Request{Request: protocol.ResolveReference, Plugin: "azure_inventory", Reference: ref, Config: ordered.Of("x", true)}, protocol.KindInvalid, "Config for azure_inventory plugin contains unexpected key x"},
		{"a file from the project", protocol.Request{Request: protocol.ResolveReference, Plugin: "aws_inventory", Project: "/srv/none", Config: config,
			Reference: ordered.Of("credentials", "keys", "target_mapping", ordered.Of("name", "x"))}, protocol.KindPlugin, "/srv/none/keys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in, out bytes.Buffer
			if err := protocol.WriteRequest(&in, tt.request); err != nil {
				t.Fatal(err)
			}
			o := cloud.Options{Env: func(string) (string, bool) { return "", false }}
			if err := serve(t.Context(), &in, &out, o); err != nil {
				t.Fatal(err)
			}
			r, err := protocol.ReadResponse(out.Bytes(), tt.request.Request)
			if err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
			got, kind := r.Description, ""
			if r.Err != nil {
				got, kind = r.Err.Text, r.Err.Kind
			}
			if kind != tt.kind || !strings.Contains(got, tt.says) {
				t.Errorf("got %q of kind %q", got, kind)
			}
		})
	}
}

func TestServeErrors(t *testing.T) {
	var out bytes.Buffer
	if err := serve(t.Context(), strings.NewReader("{}"), &out, cloud.Options{}); err == nil || out.Len() != 0 {
		t.Errorf("a bad request: %v, %q", err, out.String())
	}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	stop(why)
	in := strings.NewReader(`{"protocol": 1, "request": "describe", "plugin": "aws_inventory"}`)
	if err := serve(ctx, in, &out, cloud.Options{}); !errors.Is(err, why) || out.Len() != 0 {
		t.Errorf("stopped: %v, %q", err, out.String())
	}
}

func TestArguments(t *testing.T) {
	in, err := os.Create(filepath.Join(t.TempDir(), "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, tt := range []struct {
		args   []string
		status int
		out    string
		errs   string
	}{
		{[]string{"--version"}, 0, version + "\n", ""},
		{[]string{"--help"}, 2, "", usage},
		{nil, 1, "", "bolt-clouds: the request: it is not one JSON document\n"},
	} {
		var out, errs bytes.Buffer
		if got := realMain(t.Context(), tt.args, in, &out, &errs); got != tt.status || out.String() != tt.out || errs.String() != tt.errs {
			t.Errorf("%q: status %d, %q, %q", tt.args, got, out.String(), errs.String())
		}
	}
}
