// Package journal records the steps of runs of plans. An interrupted run can be
// resumed where it ended, and no step is repeated without asking.
//
// A journal is a file of JSON lines that only its owner can read. A step is written,
// and synced to disk, before it begins. Its outcome is written as soon as it is
// known. An incomplete last line is dropped.
//
// # Places
//
// A step of a run has a place, which is the same whenever the plan takes the same
// course: "3" is the third step of the plan, "3/2.1" the first step of the second
// branch that the third step has begun. When a resumed run reaches a place, its step
// is compared with the recorded step.
//
// # Unknown outcomes
//
// If no line records the beginning of a step on a target, the step did not begin
// there. These lines are not synced to disk at once. After a crash of the machine,
// which a new boot ID shows (proc_sys_kernel(5)), every step that was about to begin
// may have been done.
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

// Dir is the directory of journals in a project.
const Dir = ".plan-runs"

// ext is the extension of journals.
const ext = ".jsonl"

// format is the version of the lines. Journals of other versions are not read.
const format = 1

// Kind is the kind of the errors of this package.
const Kind = "bolt/journal-error"

// A Header describes the run of a journal.
type Header struct {
	ID      string       `json:"id"`
	Plan    string       `json:"plan"`
	Params  *ordered.Map `json:"params"`            // as data, without secret parameters
	Secrets []string     `json:"secrets,omitempty"` // names of the secret parameters
	Options *ordered.Map `json:"options,omitempty"` // of the command line: a list of strings for each option
	Token   string       `json:"token,omitempty"`   // unique to this journal
}

// A line is a line of the file. Its kind determines its members.
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

// These are the kinds of lines.
const (
	lineRun     = "run"     // the first line
	lineResumed = "resumed" // the run was resumed, perhaps after a reboot
	linePlan    = "plan"    // a plan was entered; its text has this digest
	lineStep    = "step"    // a step with this action is about to begin
	lineGo      = "go"      // from now on, the step may begin on these targets
	lineBegan   = "began"   // the step begins on this target
	lineResult  = "result"  // the step's result on this target
	lineEnd     = "end"     // the step has ended; OK is false if its failure ended the enclosing plan or branch
	lineAgain   = "again"   // the step is repeated on the targets where it failed
	lineEffect  = "effect"  // an operation other than an action on targets is about to begin
	lineValue   = "value"   // the outcome of that operation
	lineClock   = "clock"   // a time that the plan has read; its place is the branch
	lineOver    = "over"    // the plan has ended; if it failed, OK is false, Error is the failure, and Failed are the places of the failed steps
)

// An Action describes the action of a step.
type Action struct {
	Function string   `json:"function"` // "run_command"
	About    string   `json:"about"`    // distinguishes the action from others
	Digest   string   `json:"digest"`   // of all that makes it another action
	Targets  []string `json:"targets"`  // their names, without passwords
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
}

// Digest returns the digest of data that JSON can represent.
func Digest(parts ...any) string {
	h := sha256.New()
	if err := safejson.Write(h, parts); err != nil { // the part after the error is missing
		fmt.Fprintf(h, "%v", parts)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Run is the journal of one run, open for writing. Several goroutines may call its
// methods. After a write error, all later writes return that error.
type Run struct {
	Header
	path string

	mu      sync.Mutex
	file    *appendfile.File
	err     error // of writing
	refused error // why no more steps are done
	boot    string
	spill   *capture.Spill // nil: each result stores its output in a file of its own
	past    past           // recorded before the run was resumed
	again   []string       // places of the steps to repeat
	branch  string         // the running branch of the plan
	clocks  map[string]int // how many times each branch has read the time
}

// KeepIn sets where results that are read back store output that is too large for
// memory. It must be called before the first result is read.
func (r *Run) KeepIn(s *capture.Spill) {
	if r != nil {
		r.spill = s
	}
}

// Create begins the journal of a new run. It makes the directory if it does not
// exist, sets the ID, and holds a lock until Close.
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

// create makes the file. If another run of the same second has drawn the same ID, it
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

// newID returns a name that sorts by time, such as 20260102-150405-3f2a.
func newID() string {
	var b [2]byte
	rand.Read(b[:])
	return time.Now().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// unmade returns the error of a journal that could not be made.
func unmade(path string, err error) error {
	e := failed(path, err, "be made")
	e.Hint = "Run the plan without --journal to run it without a journal."
	return e
}

func failed(path string, err error, do string) *fault.Error {
	return &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The journal %s could not %s: %v", path, do, fault.WithoutPath(err))}
}

// write appends a line. If sync is set, it syncs the line to disk.
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

// Close closes the file and releases the lock.
func (r *Run) Close() error { return r.file.Close() }

// Path returns the path of the file.
func (r *Run) Path() string { return r.path }

// Entered records that a plan was entered whose text has this digest. It returns an
// error if the text has changed since the run began.
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

// refuse makes all later steps fail with err, so that the run does nothing more. The
// outcomes of other running branches are still recorded.
func (r *Run) refuse(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = cmp.Or(r.refused, err)
	return err
}

// Refused reports whether the plan requested a step that differs from the recorded
// one.
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
	return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The plan %s has changed since the run began, so the run cannot be resumed.", plan),
		Hint: "Restore the plan's text, or run the plan again from the start."}
}

// Over records the end of the plan. msg is "" if it did not fail. places are the
// places of the steps that made it fail, if there are such steps.
func (r *Run) Over(msg string, places []string) error {
	return r.write(&line{Kind: lineOver, OK: msg == "", Error: msg, Failed: places}, true)
}

// In records which branch of the plan runs from now on: "" or a prefix of places
// such as "3/2.".
func (r *Run) In(branch string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branch = branch
}

// Clock returns a clock for a run. In a resumed run, each branch reads the same
// times as before.
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
		_ = r.write(&line{Kind: lineClock, Place: branch, Clock: t}, false) // an error makes the next step fail
		return t
	}
}

// Open opens the journal of an interrupted run in order to resume it. If again is
// set, the run may also have ended with the failure of an action. Again then repeats
// the action on the targets where it failed.
func Open(ctx context.Context, dir, id string, again bool) (*Run, error) {
	path := filepath.Join(dir, id+ext)
	f, err := open(ctx, path, appendfile.Existing)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fault.New(Kind, "The run %s is still running: another process writes its journal.", id)
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
		return fault.New(Kind, "The run %s has finished. It has no steps left.", r.ID)
	case len(places) == 0:
		return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run %s did not end because an action failed on targets, so no action can be repeated: %s", r.ID, p.failure),
			Hint: "Fix the cause, then run the plan again from the start."}
	case !again:
		return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run %s has ended: %s", r.ID, p.failure), Hint: "Use --retry to repeat the failed action on the targets where it failed, and continue from there."}
	}
	if err := r.file.Cut(whole); err != nil { // an incomplete last line
		return failed(r.path, err, "be written")
	}
	if err := r.write(&line{Kind: lineResumed, Boot: r.boot}, true); err != nil {
		return err
	}
	r.again = places
	return nil
}

// Again records that the failed steps are repeated, if Open was called with again.
// Until then the state of the run is Failed.
func (r *Run) Again() error {
	for _, place := range r.again {
		r.past.steps[place].again()
		if err := r.write(&line{Kind: lineAgain, Place: place}, true); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads the line at a position of the file.
func readLine(f io.ReaderAt, at span) (*line, error) {
	b := make([]byte, at.length)
	if _, err := f.ReadAt(b, at.offset); err != nil {
		return nil, err
	}
	var l line
	return &l, json.Unmarshal(b, &l)
}
