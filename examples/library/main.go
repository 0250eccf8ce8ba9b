// Command library shows bolt as a Go library. It reads an inventory, compiles a manifest for each target, applies the catalogs, and
// prints the events as they arrive.
//
//	go run ./examples/library inventory.yaml site.pp web1,web2 [--noop]
//
// The exit status is 0 if all resources of all targets are as the manifest declares them, and 1 otherwise. Each step is a function of one
// package; the documentation of the packages is the reference.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"bolt/apply/fleet"
	"bolt/apply/remote/embedded"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/event"
	"bolt/inventory"
	"bolt/inventory/file"
	"bolt/modules"
	"bolt/run"
	"bolt/transport/all"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: library INVENTORY MANIFEST TARGETS [--noop]")
		os.Exit(1)
	}
	noop := len(os.Args) > 4 && os.Args[4] == "--noop"
	if err := apply(ctx, os.Args[1], os.Args[2], strings.Split(os.Args[3], ","), fleet.Delivery{Noop: noop}, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// errFailed is the error if targets failed. Their results were printed.
var errFailed = errors.New("not all targets are as the manifest declares them")

// apply applies the manifest on the targets with these names. how has the settings of the helper.
func apply(ctx context.Context, inventoryFile, manifest string, names []string, how fleet.Delivery, out io.Writer) error {
	// The inventory: which targets exist, and how to connect to them.
	data, err := file.Read(ctx, inventoryFile, nil)
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	inv, err := inventory.New(ctx, data, inventory.Options{Transports: all.Tables(all.List()), File: inventoryFile, Home: home})
	if err != nil {
		return err
	}
	targets, err := inv.Targets(ctx, names)
	if err != nil {
		return err
	}

	// The compiler: a program with the modules beside it, for the facts and variables of each target.
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	code := environment.Options{Modules: modules.NewPath(modules.Module{}, filepath.Join(filepath.Dir(manifest), "modules"))}
	program, err := site.New(environment.Name, code, []site.Source{{Name: manifest, Text: string(text)}})
	if err != nil {
		return err
	}

	// The connections, and the helper that applies catalogs on the targets.
	dialer, err := all.New(all.List(), all.Options{Home: home, Environ: os.Environ(), AgentSocket: os.Getenv("SSH_AUTH_SOCK")})
	if err != nil {
		return err
	}
	defer dialer.Close()
	if how.Helpers, err = embedded.Built(); err != nil {
		return err
	}

	// The run: an action on many targets, whose events go to a sink, one at a time.
	action := fleet.New(&fleet.Manifest{Site: program}, &how, "1")
	failed := false
	err = run.New(dialer, run.Options{}).Run(ctx, action, targets, event.Func(func(_ context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.TargetResource:
			fmt.Fprintf(out, "%s: %s %s\n", e.Target.Name, e.Resource.Ref, e.Resource.Status)
		case event.TargetEnd:
			if a := e.Result.Applied; a != nil {
				fmt.Fprintf(out, "%s: %s\n", e.Result.Target.Name, a)
			}
			if !e.Result.OK() {
				failed = true
				fmt.Fprintf(out, "%s: %s\n", e.Result.Target.Name, e.Result.Err.Msg)
			}
		}
		return nil
	}))
	if failed {
		return errors.Join(errFailed, err)
	}
	return err
}
