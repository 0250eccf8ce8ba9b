package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bolt/internal/buildtest"
)

// buildClouds builds bolt-clouds, which is a separate module, and returns its
// directory.
func buildClouds(t *testing.T) string {
	t.Helper()
	return filepath.Dir(buildtest.Build(t, filepath.Join("..", "..", "clouds"), "cmd/bolt-clouds"))
}

// TestClouds runs the scripts of testdata/clouds with the program bolt-clouds in
// $CLOUDS, and a server that answers like EC2 to requests signed with the key
// AKIDEXAMPLE.
func TestClouds(t *testing.T) {
	clouds := buildClouds(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "clouds"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			ec2 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") {
					w.WriteHeader(http.StatusUnauthorized)
					io.WriteString(w, `<Response><Errors><Error><Code>AuthFailure</Code><Message>AWS was not able to validate the provided access credentials</Message></Error></Errors></Response>`)
					return
				}
				io.WriteString(w, `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState>`+
					`<dnsName>web1.example.com</dnsName><tagSet><item><key>Name</key><value>web1</value></item></tagSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`)
			}))
			e.Defer(ec2.Close)
			// bolt itself is in the first directory; no other directory may contain
			// the program.
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
			e.Setenv("PATH", bin)
			e.Setenv("CLOUDS", clouds)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("BOLT_POOL", "off")
			e.Setenv("AWS_ENDPOINT_URL_EC2", ec2.URL)
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Setenv(raceVariable, raceOptions)
			return nil
		},
	})
}
