// Command modules reports how bolt handles the most used public modules. It
// compiles a small manifest for each module, without Ruby, and compares the
// catalog with the one of the real puppet. The modules are directories below
// one directory, which it does not change:
//
//	go run ./bench/modules -modules DIR -document docs/modules-status.md
//
// The modules are listed in list.txt beside this file, their manifests are in
// manifests, and the facts of the made-up machines in facts. Each cell of the
// table is the result of a command of this run. Without puppet, the column for
// it is empty.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"bolt/bench/measure"
	"bolt/bench/modules/machine"
)

func main() {
	machine.Inside()
	bolt := flag.String("bolt", "bin/bolt", "`program` to test")
	dir := flag.String("modules", "", "`directory` with the modules and the modules that they need")
	source := flag.String("data", "bench/modules", "`directory` with the list, the manifests and the facts")
	puppet := flag.Bool("puppet", true, "compare with the installed puppet, if there is one")
	only := flag.String("only", "", "test only these modules, separated by `commas`")
	apply := flag.Bool("apply", false, "apply the manifests in disposable machines too, with puppet and with bolt")
	cache := flag.String("cache", filepath.Join(os.TempDir(), fmt.Sprintf("bolt-modules-root-%d", os.Getuid())), "`directory` for the Debian of the machines")
	jobs := flag.Int("jobs", 2, "test `N` modules at the same time")
	verbose := flag.Bool("v", false, "print the output of each run in a machine")
	document := flag.String("document", "", "replace the results in this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	t := &tester{data: os.DirFS(*source), puppet: *puppet, verbose: *verbose, jobs: *jobs}
	err := machines(ctx, t, *apply, *cache)
	if err == nil {
		err = status(ctx, t, *bolt, *dir, *document, *only)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

// machines prepares the machines. It ends the process that is not in a mount namespace of its own.
func machines(ctx context.Context, t *tester, apply bool, cache string) (err error) {
	if !apply {
		return nil
	}
	if os.Getuid() != 0 {
		return fmt.Errorf("-apply needs root: it mounts and enters directories")
	}
	if t.base, err = machine.Base(ctx, cache); err != nil {
		return err
	}
	inside, code, err := machine.Private(ctx)
	if err == nil && !inside {
		os.Exit(code)
	}
	return err
}

func status(ctx context.Context, t *tester, bolt, dir, document, only string) error {
	if dir == "" {
		return fmt.Errorf("name the directory of the modules with -modules")
	}
	if _, err := exec.LookPath("puppet"); err != nil {
		t.puppet = false
	}
	work, err := os.MkdirTemp("", "modules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	t.work = work
	if t.bolt, err = filepath.Abs(bolt); err != nil {
		return err
	}
	if t.modules, err = filepath.Abs(dir); err != nil {
		return err
	}
	chosen, err := list(t.data, only)
	if err != nil {
		return err
	}
	results := make([]result, len(chosen))
	errs := make([]error, len(chosen))
	free := make(chan struct{}, max(1, t.jobs))
	var tests sync.WaitGroup
	for i, m := range chosen {
		free <- struct{}{}
		tests.Go(func() {
			defer func() { <-free }()
			r, err := t.test(ctx, m)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.name, err)
				return
			}
			results[i] = r
			fmt.Fprintf(os.Stderr, "%-30s compiles: %-4s as puppet: %-4s applies: %-4s second: %-4s equal: %s\n",
				m.name, r.compiles.cell(), r.same.cell(), r.applies.cell(), r.second.cell(), r.equal.cell())
		})
	}
	tests.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	text := report(results)
	fmt.Print(text)
	if document == "" {
		return nil
	}
	return measure.Replace(document, "modules", text)
}

// A module is a line of list.txt: its name with its owner, and the facts of its
// machine.
type module struct{ name, facts string }

// short returns the name without the owner, which is the name of the directory.
func (m module) short() string {
	_, short, _ := strings.Cut(m.name, "-")
	return short
}

// list returns the modules of list.txt, or those that only names.
func list(data fs.FS, only string) ([]module, error) {
	text, err := fs.ReadFile(data, "list.txt")
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		wanted[name] = name != ""
	}
	var all []module
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		m := module{fields[0], "debian"}
		if len(fields) > 1 {
			m.facts = fields[1]
		}
		if only == "" || wanted[m.short()] || wanted[m.name] {
			all = append(all, m)
		}
	}
	return all, nil
}
