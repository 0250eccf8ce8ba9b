// Command files measures the time to copy one large file, and a tree of many
// small files, to many targets: bolt file upload compared with tar and cat
// through ssh under xargs with cheap algorithms. All of them open new
// connections. All targets are real SSH servers on this machine, each with its
// own folder. The copies are compared with the source.
//
// It runs from the module's root folder.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

func main() {
	var o options
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to measure; empty: only its peers")
	flag.IntVar(&o.targets, "n", 50, "number of `targets`")
	flag.IntVar(&o.runs, "runs", 3, "`runs` of each")
	flag.IntVar(&o.size, "size", 10<<20, "`bytes` of the large file")
	flag.IntVar(&o.count, "count", 1000, "small `files` in the tree")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := files(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt                       string
	targets, runs, size, count int
}

// smallFile is the size of each file of the tree, about that of a
// configuration file.
const smallFile = 2000

func files(ctx context.Context, o options) (err error) {
	if o.bolt != "" {
		if o.bolt, err = filepath.Abs(o.bolt); err != nil {
			return err
		}
	}
	f, err := farm.Real(ctx, o.targets, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	large, tree := filepath.Join(f.Dir, "large"), filepath.Join(f.Dir, "tree")
	if err := makeSources(large, tree, o); err != nil {
		return err
	}
	var failures []error
	for _, job := range []struct{ title, source, script string }{
		{fmt.Sprintf("One file of %d bytes to %d targets:", o.size, o.targets), large, `ssh -F "$1" ` + farm.CheapSSH + ` "$0" "cat >large" <"$2"`},
		{fmt.Sprintf("A tree of %d files to %d targets:", o.count, o.targets), tree, `tar -C "$(dirname "$2")" -cf - tree | ssh -F "$1" ` + farm.CheapSSH + ` "$0" "tar -xf -"`},
	} {
		peer := measure.Program{
			Argv:  []string{"xargs", "-P", strconv.Itoa(o.targets), "-I{}", "sh", "-c", job.script, "{}", f.SSHConfig(), job.source},
			Stdin: filepath.Join(f.Dir, "hosts"),
		}
		base := filepath.Base(job.source)
		ours := measure.Program{
			Argv: []string{o.bolt, "file", "upload", job.source, base, "-t", "all", "-i", f.Inventory(), "-c", strconv.Itoa(o.targets), "--format", "json"},
			Env:  []string{"HOME=" + f.Home(), "SSH_AUTH_SOCK=", "BOLT_POOL=off"},
			Dir:  f.Dir,
		}
		rows, err := compare(ctx, o, f, job.source, ours, peer)
		failures = append(failures, err, measure.Table(os.Stdout, job.title, "bolt", rows))
	}
	return errors.Join(failures...)
}

// compare measures both programs in turns, each onto empty targets.
func compare(ctx context.Context, o options, f *farm.Farm, source string, ours, peer measure.Program) ([]measure.Row, error) {
	rows := []measure.Row{{Name: "bolt", Targets: o.targets}, {Name: "xargs ssh", Targets: o.targets}}
	programs := []measure.Program{ours, peer}
	if o.bolt == "" {
		rows, programs = rows[1:], programs[1:]
	}
	for range o.runs {
		for i := range rows {
			s, err := measure.Run(ctx, programs[i])
			if err != nil {
				return rows, fmt.Errorf("%s: %w", rows[i].Name, err)
			}
			rows[i].Samples = append(rows[i].Samples, s)
			if err := takeAway(f, source); err != nil {
				return rows, fmt.Errorf("%s: %w", rows[i].Name, err)
			}
		}
	}
	for i := range rows {
		if rows[i].Name == "bolt" {
			continue // one process, whose peak the kernel reports
		}
		peak, err := measure.Memory(ctx, programs[i])
		if err = errors.Join(err, takeAway(f, source)); err != nil {
			return rows, err
		}
		rows[i].Memory = peak
	}
	return rows, nil
}

// makeSources writes the large file and the tree, with data that cannot be
// compressed.
func makeSources(large, tree string, o options) error {
	random := rand.NewChaCha8([32]byte{})
	write := func(name string, size int) error {
		data := make([]byte, size)
		random.Read(data) // never fails
		return os.WriteFile(name, data, 0o644)
	}
	if err := write(large, o.size); err != nil {
		return err
	}
	for i := range o.count {
		dir := filepath.Join(tree, fmt.Sprintf("d%02d", i%20))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := write(filepath.Join(dir, fmt.Sprintf("f%04d", i)), smallFile); err != nil {
			return err
		}
	}
	return nil
}

// takeAway compares the files on each target with the source and removes them.
func takeAway(f *farm.Farm, source string) error {
	for _, host := range f.Hosts {
		folder := filepath.Join(f.Dir, "targets", host)
		if err := same(source, filepath.Join(folder, filepath.Base(source))); err != nil {
			return fmt.Errorf("target %s: %w", host, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// same reports the first file below want that is missing below got or differs.
func same(want, got string) error {
	return filepath.WalkDir(want, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(want, name)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(got, rel))
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%s differs from what was sent", filepath.Join(got, rel))
		}
		return nil
	})
}
