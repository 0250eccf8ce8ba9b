package measure

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sampling is the pause between two looks at the processes. A peak that is
// shorter may be missed.
const sampling = 20 * time.Millisecond

// Memory runs a program and returns the largest sum, in bytes, of the memory
// of its process and all descendants at one moment. Pages that processes
// share are counted once (the kernel's proportional set size).
func Memory(ctx context.Context, p Program) (int64, error) {
	cmd, _, done, err := command(ctx, p)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var peak int64
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		peak = max(peak, treeMemory(cmd.Process.Pid))
		select {
		case err := <-ended:
			return peak, err
		case <-tick.C:
		}
	}
}

// treeMemory sums the proportional set sizes of a process and its descendants.
func treeMemory(root int) int64 {
	children := make(map[int][]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid ...", where the name may hold anything.
		text := string(data)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
	}
	var sum int64
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children[pid]...)
		sum += processMemory(pid)
	}
	return sum
}

func processMemory(pid int) int64 {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if kb, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
			return n * 1024
		}
	}
	return 0
}
