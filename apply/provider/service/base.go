package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// base is for hosts and services without a manager: it knows the commands of the resource, and the processes of
// the host.
type base struct{}

func (base) running(_ context.Context, h *resource.Host, x *item) (bool, error) {
	pid, err := x.process(h)
	return pid != 0, err
}

func (base) start(ctx context.Context, h *resource.Host, x *item) error {
	if x.binary == "" {
		return errors.New("the service has no command that starts it: give start or binary")
	}
	return must(ctx, h, line(x.binary))
}

// stop ends the process whose command line matches.
func (base) stop(_ context.Context, h *resource.Host, x *item) error {
	pid, err := x.process(h)
	if err != nil {
		return err
	}
	if pid == 0 {
		h.Logf(x.r.Ref, report.Info, "%s is not running", x.name)
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("kill %d: %w", pid, err)
	}
	return nil
}

func (base) restart(context.Context, *resource.Host, *item) (bool, error) { return false, nil }

// process returns the first process whose command line matches the pattern; 0 if there is none. This
// process and those above it are not looked at: the pattern can be among their arguments.
//
// Differs from Puppet: Puppet matches the whole lines that ps -ef prints, with the user and the time.
func (x *item) process(h *resource.Host) (int, error) {
	if x.noPattern != nil {
		return 0, fmt.Errorf("the parameter pattern cannot be used: %w", x.noPattern)
	}
	proc := h.Path("/proc")
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	own := ancestors(proc)
	seen, found := false, 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		seen = true
		if own[pid] || found != 0 && pid > found {
			continue
		}
		text, err := commandLine(filepath.Join(proc, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
		if err == nil && text != "" && x.pattern.MatchString(text) {
			found = pid
		}
	}
	if !seen {
		return 0, fmt.Errorf("%s shows no processes, so bolt does not know whether the service runs", proc)
	}
	return found, nil
}

// commandLine is the command line of a process, or its name in brackets as ps(1) prints it. Processes that
// have ended have none.
func commandLine(dir string) (string, error) {
	args, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return "", err
	}
	if len(args) > 0 {
		return strings.TrimRight(strings.ReplaceAll(string(args), "\x00", " "), " "), nil
	}
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return "", err
	}
	open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if open < 0 || end < open || strings.HasPrefix(string(stat[end:]), ") Z") {
		return "", nil
	}
	return "[" + string(stat[open+1:end]) + "]", nil
}

// ancestors are this process and those above it.
func ancestors(proc string) map[int]bool {
	own := make(map[int]bool)
	for pid := os.Getpid(); pid > 0 && !own[pid]; {
		own[pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", proc, pid))
		if err != nil {
			break
		}
		// The name of the program can have spaces and parentheses in it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return own
}
