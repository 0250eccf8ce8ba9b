// Command bolt-clouds is the program of the plugins aws_inventory,
// azure_inventory and gcloud_inventory. bolt starts it for each reference:
// docs/plugins-own.md describes the protocol.
//
// It is a separate module, because it needs the SDKs of the clouds. Without
// them, bolt starts faster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"syscall"

	"golang.org/x/term"

	"bolt/clouds/aws"
	"bolt/clouds/azure"
	"bolt/clouds/cloud"
	"bolt/clouds/gcloud"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/protocol"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usage is printed when a user starts the program directly.
const usage = `bolt-clouds is the program of the plugins aws_inventory, azure_inventory and gcloud_inventory.
bolt starts this program. It reads one request from standard input and writes one
response to standard output.
`

// realMain answers one request.
func realMain(ctx context.Context, args []string, in *os.File, out, errs io.Writer) int {
	switch {
	case slices.Equal(args, []string{"--version"}):
		fmt.Fprintln(out, version)
		return 0
	case len(args) > 0, term.IsTerminal(int(in.Fd())):
		fmt.Fprint(errs, usage)
		return 2
	}
	if err := serve(ctx, in, out, cloud.Options{Home: home(), Env: os.LookupEnv, Agent: "bolt/" + version, Proxy: http.ProxyFromEnvironment}); err != nil {
		fmt.Fprintln(errs, "bolt-clouds:", err)
		return 1
	}
	return 0
}

// home returns the user's home directory, "" if it is unknown.
func home() string {
	if dir := os.Getenv("HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// serve reads one request and writes its response. An error of a plugin is a
// response.
func serve(ctx context.Context, in io.Reader, out io.Writer, o cloud.Options) error {
	request, err := protocol.ReadRequest(in)
	if err != nil {
		return err
	}
	response := &protocol.Response{}
	o.Project = request.Project
	o.Warn = func(id, text string) {
		response.Warnings = append(response.Warnings, protocol.Warning{ID: id, Text: text})
	}
	err = answer(ctx, o, request, response)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		response.Err = problem(err)
	}
	return protocol.WriteResponse(out, request.Request, response)
}

// A cloudPlugin is one of the plugins.
type cloudPlugin struct {
	about      string
	configures func(key string) bool
	resolve    func(ctx context.Context, config, ref *ordered.Map) (any, error)
}

func plugins(o cloud.Options) map[string]cloudPlugin {
	return map[string]cloudPlugin{
		aws.Name:    {"Make targets of the instances of Amazon EC2.", aws.Configures, aws.New(o).Resolve},
		azure.Name:  {"Make targets of the virtual machines of Azure.", azure.Configures, azure.New(o).Resolve},
		gcloud.Name: {"Make targets of the instances of Google Compute Engine.", gcloud.Configures, gcloud.New(o).Resolve},
	}
}

// answer carries out a request.
func answer(ctx context.Context, o cloud.Options, request protocol.Request, response *protocol.Response) error {
	p, ok := plugins(o)[request.Plugin]
	if !ok {
		return fault.New(protocol.KindPlugin, "this version of bolt-clouds has no plugin with this name")
	}
	switch request.Request {
	case protocol.Describe:
		response.Description, response.Capabilities = p.about, []string{protocol.ResolveReference}
		return nil
	case protocol.ResolveReference:
		for key := range request.Config.All() {
			if !p.configures(key) {
				return fault.New(protocol.KindInvalid, "Config for %s plugin contains unexpected key %s", request.Plugin, key)
			}
		}
		v, err := p.resolve(ctx, request.Config, request.Reference)
		response.Value = v
		return err
	}
	return fault.New(protocol.KindPlugin, "this version of bolt-clouds does not know such a request")
}

// problem returns an error in the form of a response.
func problem(err error) *protocol.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return &protocol.Error{Kind: f.Kind, Text: err.Error(), Hint: f.Hint}
	}
	return &protocol.Error{Kind: protocol.KindPlugin, Text: err.Error()}
}
