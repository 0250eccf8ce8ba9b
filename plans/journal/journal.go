// Package journal keeps what runs of plans have done, so that a run which was
// cut off can be taken up where it ended, and nothing is done twice unasked.
//
// A journal is one file of JSON lines, readable by its owner alone. What is about
// to be done is written, and on the disk, before it is done; what came of it is
// written as soon as it is known. A line that was cut off at the end is dropped.
//
// # Places
//
// A step of a run has a place, which is the same whenever the plan takes the same
// way: "3" is the third step of the plan, "3/2.1" the first step of the second
// branch that the third has begun. What a run that is taken up asks to do at a
// place is compared with what was recorded there.
//
// # Unknown outcomes
//
// A target is known not to have been begun if no line says that it was. Those lines
// are not on the disk at once: after a crash of the machine, which is told by its
// boot ID (proc_sys_kernel(5)), everything that was about to be done may have
// been done.
package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bolt/event/capture"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/appendfile"
	"bolt/internal/atomicfile"
)

// Dir is the directory of a project in which journals are.
const Dir = ".plan-runs"

// ext is the extension of journals.
const ext = ".jsonl"

// format is the version of the lines. A journal of another one is not read.
const format = 1

// Kind is that of the errors of this package.
const Kind = "bolt/journal-error"

// A Header says which run it is.
type Header struct {
	ID      string       `json:"id"`
	Plan    string       `json:"plan"`
	Params  *ordered.Map `json:"params"`            // as data, without those that are secret
	Secrets []string     `json:"secrets,omitempty"` // the names of these
	Options *ordered.Map `json:"options,omitempty"` // of the command line: a list of texts for each
	Token   string       `json:"token,omitempty"`   // is in no other journal
}

// A line of the file; which members it has depends on its kind.
type line struct {
	Kind    string          `json:"kind"`
	At      time.Time       `json:"at,omitzero"`
	Format  int             `json:"format,omitempty"`
	Run     *Header         `json:"run,omitempty"`
	Boot    string          `json:"boot,omitempty"`
	Place   string          `json:"place,omitempty"`
	Action  *Action         `json:"action,omitempty"`
	Plan    string          `json:"plan,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	Targets []string        `json:"targets,omitempty"`
	Target  string          `json:"target,omitempty"`
	OK      bool            `json:"ok,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Clock   time.Time       `json:"clock,omitzero"`
	Error   string          `json:"error,omitempty"`
	Failed  []string        `json:"failed,omitempty"`
}

// The kinds of lines.
const (
	lineRun     = "run"     // the first
	lineResumed = "resumed" // the run is taken up, perhaps after another start of the machine
	linePlan    = "plan"    // a plan is entered: its text has this digest
	lineStep    = "step"    // a step is about to be done, with this action
	lineGo      = "go"      // it may be begun on these targets from now on
	lineBegan   = "began"   // it begins on this target
	lineResult  = "result"  // what came of it there
	lineEnd     = "end"     // the step is done; OK is false if its failure ended what it was part of
	lineAgain   = "again"   // the step is to be done again where it failed
	lineEffect  = "effect"  // something other than an action on targets is about to be done
	lineValue   = "value"   // what came of that
	lineClock   = "clock"   // a time that the plan was told; its place is the branch
	lineOver    = "over"    // the plan has ended; OK is false if by a failure, which Error tells, of the steps at the places Failed
)

// An Action is what a step does.
type Action struct {
	Function string   `json:"function"` // "run_command"
	About    string   `json:"about"`    // for people: "command 'id'"
	Digest   string   `json:"digest"`   // of all that makes it another action
	Targets  []string `json:"targets"`  // their names, without passwords
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
}

// Digest is that of data that JSON can hold.
func Digest(parts ...any) string {
	h := sha256.New()
	if err := safejson.Write(h, parts); err != nil { // what follows in it is not there
		fmt.Fprintf(h, "%v", parts)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Run is the journal of one run, which writes it. Its methods may be called by
// several goroutines. After an error of writing all that follows fails with it.
type Run struct {
	Header
	path string

	mu      sync.Mutex
	file    *appendfile.File
	err     error // of writing
	refused error // why nothing more is done
	boot    string
	spill   *capture.Spill // nil: results have their outputs in files of their own
	past    past           // what was recorded before the run was taken up
	again   []string       // places of steps that are to be done again
	branch  string         // of the plan, that runs
	clocks  map[string]int // how many times each branch was told the time
}

// KeepIn says where results that are read back have what is too much of their
// outputs for memory. It is called before the first is read.
func (r *Run) KeepIn(s *capture.Spill) {
	if r != nil {
		r.spill = s
	}
}

// Create begins the journal of a new run in a directory, which is made if it is
// not there. It fills in the ID, and holds a lock until Close.
func Create(ctx context.Context, dir string, h Header) (*Run, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unmade(dir, err)
	}
	h.Token = rand.Text()
	r := &Run{Header: h, boot: appendfile.BootID(), past: newPast(), clocks: make(map[string]int)}
	if err := r.create(ctx, dir); err != nil {
		return nil, unmade(r.path, err)
	}
	if err := r.begin(dir); err != nil {
		r.file.Close()
		_ = os.Remove(r.path) // nothing was done
		return nil, err
	}
	return r, nil
}

// create makes the file. Two runs of one second can draw the same ID: the later one
// draws again.
func (r *Run) create(ctx context.Context, dir string) (err error) {
	const draws = 10
	for range draws {
		r.ID = newID()
		r.path = filepath.Join(dir, r.ID+ext)
		if r.file, err = open(ctx, r.path, appendfile.New); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}

func (r *Run) begin(dir string) error {
	if err := r.write(&line{Kind: lineRun, Format: format, Run: &r.Header, Boot: r.boot}, true); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(filepath.Dir(dir)); err != nil { // dir may be new
		return failed(dir, err, "be written")
	}
	return nil
}

// patience is how long a journal waits for its lock. A list of runs takes the lock for
// a moment.
const patience = 100 * time.Millisecond

func open(ctx context.Context, path string, e appendfile.Existence) (*appendfile.File, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return appendfile.Open(ctx, path, e)
}

// newID is a name that sorts by time, such as 20260102-150405-3f2a.
func newID() string {
	var b [2]byte
	rand.Read(b[:])
	return time.Now().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// unmade is the error of a journal that could not be made.
func unmade(path string, err error) error {
	e := failed(path, err, "be made")
	e.Hint = "Without --journal a plan is run without one."
	return e
}

func failed(path string, err error, do string) *fault.Error {
	return &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The journal %s could not %s: %v", path, do, fault.WithoutPath(err))}
}

// write appends a line; with sync it is on the disk when write returns.
func (r *Run) write(l *line, sync bool) error {
	l.At = time.Now().UTC().Truncate(time.Millisecond)
	text, err := marshal(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused := cmp.Or(r.err, r.refused); r.err != nil || refused != nil && l.Kind != lineResult {
		return refused
	}
	if err == nil {
		err = r.file.Append(text, sync)
	}
	if err != nil {
		r.err = failed(r.path, err, "be written")
	}
	return r.err
}

// Close ends the writing, and gives the lock back.
func (r *Run) Close() error { return r.file.Close() }

// Path is that of the file.
func (r *Run) Path() string { return r.path }

// Entered notes that a plan is entered whose text has this digest. The error is that
// it was another text when the run began.
func (r *Run) Entered(name, digest string) error {
	r.mu.Lock()
	before, known := r.past.plans[name]
	r.past.plans[name] = digest
	r.mu.Unlock()
	switch {
	case !known:
		return r.write(&line{Kind: linePlan, Plan: name, Digest: digest}, false)
	case before != digest:
		return r.refuse(changed(name))
	}
	return nil
}

// refuse lets all that follows fail with err: nothing more is done in this run. What
// other branches are doing is recorded when it is done.
func (r *Run) refuse(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = cmp.Or(r.refused, err)
	return err
}

// Refused reports whether the plan wanted something else than what was recorded.
func (r *Run) Refused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused != nil
}

// Plans returns the plans that were entered, with the digests of their texts.
func (r *Run) Plans() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	plans := make(map[string]string, len(r.past.plans))
	for name, digest := range r.past.plans {
		plans[name] = digest
	}
	return plans
}

func changed(plan string) error {
	return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The plan %s is not what it was when the run began, so that the run cannot go on.", plan),
		Hint: "Put the text back as it was, or run the plan anew."}
}

// Over notes how the plan ended; msg is "" if it did not fail, and places are those
// of the steps that it failed by, if it did by steps.
func (r *Run) Over(msg string, places []string) error {
	return r.write(&line{Kind: lineOver, OK: msg == "", Error: msg, Failed: places}, true)
}

// In notes which branch of the plan runs from now on: "" or, as of places, "3/2.".
func (r *Run) In(branch string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branch = branch
}

// Clock returns a clock that each branch of a run which is taken up reads as it read
// it before.
func (r *Run) Clock(now func() time.Time) func() time.Time {
	if r == nil {
		return now
	}
	return func() time.Time {
		r.mu.Lock()
		branch := r.branch
		n, times := r.clocks[branch], r.past.times[branch]
		r.clocks[branch]++
		r.mu.Unlock()
		if n < len(times) {
			return times[n]
		}
		t := now()
		_ = r.write(&line{Kind: lineClock, Place: branch, Clock: t}, false) // the next step fails with it
		return t
	}
}

// Open takes a run up that was cut off. With again set it may be one that ended
// with the failure of an action, which Again lets be done again where it failed.
func Open(ctx context.Context, dir, id string, again bool) (*Run, error) {
	path := filepath.Join(dir, id+ext)
	f, err := open(ctx, path, appendfile.Existing)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fault.New(Kind, "The run %s is going on: another process writes its journal.", id)
	}
	if err != nil {
		return nil, failed(path, err, "be opened")
	}
	r := &Run{path: path, file: f, boot: appendfile.BootID(), clocks: make(map[string]int)}
	if err := r.take(again); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *Run) take(again bool) error {
	size, err := r.file.Size()
	if err != nil {
		return failed(r.path, err, "be read")
	}
	p, h, whole, err := read(io.NewSectionReader(r.file, 0, size))
	if err != nil {
		return failed(r.path, err, "be read")
	}
	r.past, r.Header = *p, *h
	r.ID = idOf(r.path)
	var places []string
	if p.over && p.failure != "" {
		places = p.failedSteps()
	}
	switch {
	case !p.over:
	case p.failure == "":
		return fault.New(Kind, "The run %s has finished: nothing of it is left to be done.", r.ID)
	case len(places) == 0:
		return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run %s was not ended by an action that failed on targets, so that there is nothing to do again: %s", r.ID, p.failure),
			Hint: "Mend the cause, and run the plan anew."}
	case !again:
		return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run %s has ended: %s", r.ID, p.failure), Hint: "--retry does again what failed, where it failed, and goes on from there."}
	}
	if err := r.file.Cut(whole); err != nil { // what was cut off
		return failed(r.path, err, "be written")
	}
	if err := r.write(&line{Kind: lineResumed, Boot: r.boot}, true); err != nil {
		return err
	}
	r.again = places
	return nil
}

// Again notes that what failed is done again, if Open was asked for that. Until then
// the run is one that has failed.
func (r *Run) Again() error {
	for _, place := range r.again {
		r.past.steps[place].again()
		if err := r.write(&line{Kind: lineAgain, Place: place}, true); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads the line at a place of the file.
func readLine(f io.ReaderAt, at span) (*line, error) {
	b := make([]byte, at.length)
	if _, err := f.ReadAt(b, at.offset); err != nil {
		return nil, err
	}
	var l line
	return &l, json.Unmarshal(b, &l)
}
