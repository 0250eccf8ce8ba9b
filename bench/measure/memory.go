package measure

import (
	"context"
	"time"
)

// sampling is the pause between two measurements of the processes. A shorter
// peak may be missed.
const sampling = 20 * time.Millisecond

// Memory runs a program and returns the largest sum, in bytes, of the memory
// of its process and all descendants at one moment. Pages that processes
// share are counted once (the kernel's proportional set size).
func Memory(ctx context.Context, p Program) (int64, error) {
	cmd, done, err := command(ctx, p)
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
	children, err := Children()
	if err != nil {
		return 0
	}
	var sum int64
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children[pid]...)
		_, pss := memory(pid)
		sum += pss
	}
	return sum
}
