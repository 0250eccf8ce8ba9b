// Command start measures the time from the exec of a program to its first
// connection: the time that a user waits only for the program itself. A
// listener records the time of the first accept; the program is then killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	bolt := flag.String("bolt", "bin/bolt", "`program` to measure; empty: only its peer")
	inventory := flag.Int("inventory", 0, "also with an inventory of this many `targets`")
	runs := flag.Int("runs", 20, "`runs` of each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, *bolt, *inventory, *runs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, bolt string, inventory, runs int) (err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	port := l.Addr().(*net.TCPAddr).Port
	programs := []program{{"ssh", []string{"ssh", "-F", "none", "-o", "BatchMode=yes", "-p", strconv.Itoa(port), "127.0.0.1", "true"}}}
	if bolt != "" {
		if bolt, err = filepath.Abs(bolt); err != nil {
			return err
		}
		uri := "ssh://root@127.0.0.1:" + strconv.Itoa(port)
		programs = append(programs, program{"bolt", []string{bolt, "command", "run", "true", "-t", uri, "--no-host-key-check"}})
		if inventory > 0 {
			file, err := writeInventory(dir, inventory, port)
			if err != nil {
				return err
			}
			programs = append(programs, program{
				fmt.Sprintf("bolt, inventory of %d", inventory),
				[]string{bolt, "command", "run", "true", "-t", "first", "-i", file, "--no-host-key-check"},
			})
		}
	}
	times := make([][]time.Duration, len(programs))
	for range runs {
		for i, p := range programs {
			d, err := first(ctx, l, dir, p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			times[i] = append(times[i], d)
		}
	}
	fmt.Printf("\nFrom exec to the first connection, median and range of %d runs:\n", runs)
	for i, p := range programs {
		slices.Sort(times[i])
		fmt.Printf("%24s  %6.1f ms  (%.1f to %.1f)\n", p.name, ms(times[i][runs/2]), ms(times[i][0]), ms(times[i][runs-1]))
	}
	return nil
}

type program struct {
	name string
	argv []string
}

// patience is the maximum time that a program may take to connect.
const patience = 20 * time.Second

// first runs a program until it connects to l.
func first(ctx context.Context, l net.Listener, dir string, p program) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "SSH_AUTH_SOCK=", "BOLT_POOL=off")
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c, err := l.Accept()
	took := time.Since(begin)
	cancel()
	cmd.Wait() // killed on purpose
	if err != nil {
		return 0, fmt.Errorf("it made no connection: %w", err)
	}
	return took, c.Close()
}

func writeInventory(dir string, n, port int) (string, error) {
	text := fmt.Appendf(nil, "config: {ssh: {user: root, port: %d}}\ntargets:\n  - {name: first, uri: 127.0.0.1}\n", port)
	for i := range n - 1 {
		text = fmt.Appendf(text, "  - {name: node%05d, uri: node%05d.example.org}\n", i, i)
	}
	name := filepath.Join(dir, "inventory.yaml")
	return name, os.WriteFile(name, text, 0o600)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
