package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 wherever Go
// runs on Linux (proc(5)).
const tick = 10 * time.Millisecond

// CPU returns the processor time of a running process: the exact time of its own threads, and, in
// steps of 10 ms, the time of children it has waited for. It is used to charge a tool for a daemon
// that works for it.
func CPU(pid int) (time.Duration, error) {
	// The clock of another process, clock_getcpuclockid(3): the complement of its ID above three
	// bits, which mean "scheduler's time".
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	var children int64
	for _, i := range []int{cutime, cstime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
		}
		children += n
	}
	return time.Duration(t.Nano()) + time.Duration(children)*tick, nil
}

// Sum returns the processor time of several processes.
func Sum(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		d, err := CPU(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// Fields of /proc/PID/stat after the name (proc_pid_stat(5)).
const (
	stateField = iota
	parentField
	cutime = 13
	cstime = 14
)

// statFields returns the fields of /proc/PID/stat from the third on: the second is a name that may
// contain any characters.
func statFields(pid int) ([]string, error) {
	data, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return nil, err
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= cstime {
		return nil, fmt.Errorf("%s has %d fields", proc(pid, "stat"), len(fields))
	}
	return fields, nil
}

// Alive reports whether a process runs. A process that has ended but was not waited for does not
// run.
func Alive(pid int) bool {
	fields, err := statFields(pid)
	return err == nil && fields[stateField] != "Z" && fields[stateField] != "X"
}

// A State is the resources of a running process at one moment.
type State struct {
	RSS     int64 // resident bytes
	PSS     int64 // the same, shared pages counted in shares
	Threads int
	Files   int    // open descriptors
	WakeUps uint64 // voluntary context switches of the living threads
}

// Look reads the state of a process.
func Look(pid int) (State, error) {
	var s State
	s.RSS, s.PSS = memory(pid)
	files, err := os.ReadDir(proc(pid, "fd"))
	if err != nil {
		return s, err
	}
	s.Files = len(files)
	tasks, err := filepath.Glob(proc(pid, "task/[0-9]*/status"))
	if err != nil {
		return s, err
	}
	for _, name := range tasks {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		s.Threads++
		for line := range strings.Lines(string(data)) {
			if n, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				v, _ := strconv.ParseUint(strings.TrimSpace(n), 10, 64)
				s.WakeUps += v
			}
		}
	}
	return s, nil
}

// memory reads the resident and the proportional set size of a process, zero
// if it has ended.
func memory(pid int) (rss, pss int64) {
	data, err := os.ReadFile(proc(pid, "smaps_rollup"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		name, kb, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
		switch name {
		case "Rss":
			rss = n * 1024
		case "Pss":
			pss = n * 1024
		}
	}
	return rss, pss
}

// Children maps each process to its children.
func Children() (map[int][]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := make(map[int][]int)
	for _, name := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		fields, err := statFields(pid)
		if err != nil {
			continue // it has ended
		}
		parent, err := strconv.Atoi(fields[parentField])
		if err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children, nil
}

// Family returns processes with all their living descendants.
func Family(roots ...int) ([]int, error) {
	children, err := Children()
	if err != nil {
		return nil, err
	}
	list := slices.Clone(roots)
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list, nil
}

// FamilyCPU returns the processor time of a family: CPU of each living member, which includes its
// ended descendants.
func FamilyCPU(roots ...int) (sum time.Duration, err error) {
	family, err := Family(roots...)
	if err != nil {
		return 0, err
	}
	for _, pid := range family {
		if d, err := CPU(pid); err == nil { // otherwise it has ended, and its parent includes it soon
			sum += d
		}
	}
	return sum, nil
}

func proc(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// Peak returns the largest resident size, in bytes, of a running process since its start or the
// last ResetPeak.
func Peak(pid int) (int64, error) {
	data, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok { // "    1234 kB", proc_pid_status(5)
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")), 10, 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no line VmHWM", proc(pid, "status"))
}

// ResetPeak sets the peak of a process to its present size.
func ResetPeak(pid int) error {
	const peak = "5" // proc_pid_clear_refs(5)
	return os.WriteFile(proc(pid, "clear_refs"), []byte(peak), 0)
}
