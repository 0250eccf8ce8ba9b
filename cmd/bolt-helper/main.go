// Command bolt-helper is the part of bolt that runs on the machines that bolt changes. Bolt copies it to
// the machine and starts it; users do not.
//
// It answers on standard output with frames (package frame). Other packages do the work; this package
// reads flags and signals.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"bolt/apply/provider"
	"bolt/apply/resource"
	"bolt/apply/runlog"
	"bolt/apply/serve"
)

const exitUsage = 64

func main() { os.Exit(realMain(context.Background(), os.Args[1:], provider.All)) }

// keepHelpers is the number of versions of the helper that stay on a machine, so that two controllers of
// different versions need not copy theirs each time.
const keepHelpers = 2

// staleHelper is the age of a file whose copying was interrupted. A younger file can be a file that another
// controller is about to start.
const staleHelper = time.Hour

const helperName = "helper-"

func realMain(ctx context.Context, argv []string, types func() map[string]resource.Type) int {
	code, err := dispatch(ctx, argv, types)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bolt-helper:", err)
		return exitUsage
	}
	return code
}

func dispatch(ctx context.Context, argv []string, types func() map[string]resource.Type) (int, error) {
	fs := flag.NewFlagSet("bolt-helper", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	dir := fs.String("dir", "", "state directory")
	placed := fs.String("placed", "", "SHA-256 that this new file must have")
	own := fs.Bool("own-session", false, "the process has a session of its own")
	if err := fs.Parse(argv); err != nil {
		return 0, err
	}
	if fs.NArg() == 0 {
		return 0, errors.New("expected a verb: apply, asked, facts, state or hold")
	}
	verb, args := fs.Arg(0), fs.Args()[1:]
	if verb == "hold" {
		return hold(ctx, args), nil
	}
	program := os.Args[0] // an absolute path
	if *placed != "" {
		var err error
		if program, err = place(*dir, *placed); err != nil {
			return 0, err
		}
	}
	switch verb {
	case "apply":
		if !*own {
			return detach(program, argv)
		}
		return apply(ctx, machine(*dir, types), args)
	case "asked":
		return asked(machine(*dir, types), args)
	case "state":
		return state(ctx, machine(*dir, types), args)
	case "facts":
		return facts(ctx, machine(*dir, types), args)
	}
	return 0, fmt.Errorf("unknown verb %q", verb)
}

// place gives a new file its final name, and removes old versions. It returns the path.
func place(dir, sum string) (path string, err error) {
	d, err := runlog.Open(dir)
	if err != nil {
		return "", err
	}
	arrived, err := os.Executable()
	if err != nil { // a chroot without /proc
		arrived = os.Args[0]
	}
	f, err := os.Open(arrived)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		_ = os.Remove(arrived)
		return "", errors.New("the helper arrived damaged")
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	path = d.Path(helperName + sum)
	if err := os.Rename(arrived, path); err != nil {
		return "", err
	}
	return path, errors.Join(d.Prune("", helperName+"*", keepHelpers), d.Expire("", "new-*", staleHelper))
}

func apply(ctx context.Context, m *serve.Machine, args []string) (int, error) {
	var q serve.Request
	fs := flag.NewFlagSet("apply", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&q.Run, "run", "", "")
	fs.StringVar(&q.Node, "node", "", "")
	fs.StringVar(&q.Catalog, "catalog", "", "")
	fs.Int64Var(&q.Seq, "seq", 0, "")
	fs.StringVar(&q.By, "by", "", "")
	fs.BoolVar(&q.Noop, "noop", false, "")
	fs.Func("tag", "", func(t string) error { q.Tags = append(q.Tags, t); return nil })
	fs.Func("skip-tag", "", func(t string) error { q.SkipTags = append(q.SkipTags, t); return nil })
	fs.IntVar(&q.Workers, "workers", 0, "")
	fs.IntVar(&q.Sema, "sema", 0, "")
	fs.BoolVar(&q.Diffs, "diffs", false, "")
	fs.BoolVar(&q.Continue, "continue", false, "")
	fs.StringVar(&q.Engine, "engine", "", "")
	fs.StringVar(&q.Plugins, "plugins", "", "")
	fs.StringVar(&q.Release, "release", "", "")
	fs.StringVar(&q.Expected, "expected", "", "")
	watch := fs.Bool("watch", false, "")
	if err := fs.Parse(args); err != nil {
		return 0, err
	}
	if fs.NArg() > 0 {
		return 0, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if q.Engine != "" && q.Engine != serve.EnginePuppet {
		return 0, fmt.Errorf("unknown engine %q", q.Engine)
	}
	m.Lost, m.Signal = closed(os.Stdout), signalled()
	m.Guard = []string{self(os.Args[0]), "hold"}
	if *watch {
		return m.Watch(ctx, &q, os.Stdin, os.Stdout), nil
	}
	return m.Apply(ctx, &q, os.Stdin, os.Stdout), nil
}

func machine(dir string, types func() map[string]resource.Type) *serve.Machine {
	m := &serve.Machine{Dir: dir, Types: types(), Renew: types, Env: os.Environ()}
	if sum, is := strings.CutPrefix(filepath.Base(os.Args[0]), helperName); is {
		m.Build = sum[:min(12, len(sum))]
	}
	return m
}

func asked(m *serve.Machine, args []string) (int, error) {
	fs := flag.NewFlagSet("asked", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run, stop := fs.String("run", "", ""), fs.Bool("stop", false, "")
	if err := fs.Parse(args); err != nil {
		return 0, err
	}
	return m.Asked(*run, *stop, os.Stdout), nil
}

func facts(ctx context.Context, m *serve.Machine, args []string) (int, error) {
	run, err := runOf("facts", args)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(ctx, ending()...) // external facts that run are ended, too
	defer stop()
	return m.Facts(ctx, run, os.Stdout), nil
}

func state(ctx context.Context, m *serve.Machine, args []string) (int, error) {
	fs := flag.NewFlagSet("state", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run, typ, name := fs.String("run", "", ""), fs.String("type", "", ""), fs.String("name", "", "")
	if err := fs.Parse(args); err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(ctx, ending()...)
	defer stop()
	return m.State(ctx, *run, *typ, *name, os.Stdout), nil
}

// runOf returns the ID of the run in the arguments of a verb that needs nothing else.
func runOf(verb string, args []string) (string, error) {
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := fs.String("run", "", "")
	err := fs.Parse(args)
	return *run, err
}
