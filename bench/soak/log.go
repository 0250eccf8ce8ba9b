package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxPrinted limits the number of printed violations; all are counted.
const maxPrinted = 40

// A log is the record of a soak. Violations are printed as they happen.
type log struct {
	out io.Writer

	mu       sync.Mutex
	counts   map[string]map[string]int // of a kind of job, by class
	longest  map[string]time.Duration  // of a kind of job
	broken   map[string]int            // by kind of disturbance
	notes    []string
	violated int
}

func newLog(out io.Writer) *log {
	return &log{out: out, counts: make(map[string]map[string]int), longest: make(map[string]time.Duration), broken: make(map[string]int)}
}

func (l *log) violation(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.violated++; l.violated <= maxPrinted {
		fmt.Fprintf(l.out, "soak: VIOLATION: "+format+"\n", args...)
	}
}

func (l *log) violations() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.violated
}

func (l *log) count(kind, class string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts[kind] == nil {
		l.counts[kind] = make(map[string]int)
	}
	l.counts[kind][class]++
}

func (l *log) took(kind string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest[kind] = max(l.longest[kind], d)
}

func (l *log) disturbed(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken[name]++
}

func (l *log) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// summary prints the counts.
func (l *log) summary() {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.out
	for _, kind := range slices.Sorted(maps.Keys(l.longest)) {
		fmt.Fprintf(w, "soak: %-14s %s; longest %v\n", kind, counts(l.counts[kind]), l.longest[kind].Round(10*time.Millisecond))
	}
	fmt.Fprintf(w, "soak: disturbed: %s\n", counts(l.broken))
	for _, n := range l.notes {
		fmt.Fprintf(w, "soak: the daemon %s\n", n)
	}
	fmt.Fprintf(w, "soak: %d violations\n", l.violated)
}

func counts(m map[string]int) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(words, ", ")
}
