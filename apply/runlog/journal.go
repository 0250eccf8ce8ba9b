package runlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/internal/appendfile"
	"bolt/internal/ownfile"
)

// keepRuns is the number of journals of a node that stay.
const keepRuns = 20

// A line of a journal. Exactly one of its parts is set.
type line struct {
	Begin *begin       `json:"begin,omitempty"`
	Start string       `json:"start,omitempty"` // a resource that is changed from now on
	End   *frame.Ended `json:"end,omitempty"`
	Owe   []string     `json:"owe,omitempty"`
	Paid  string       `json:"paid,omitempty"`
	Done  *frame.Done  `json:"done,omitempty"`
	At    time.Time    `json:"at,omitzero"` // of Begin and Done
}

type begin struct {
	// Number is higher than that of each earlier journal, even if the clock was set back.
	Number  int64    `json:"number"`
	Node    string   `json:"node"`
	By      string   `json:"by"`
	Catalog string   `json:"catalog"`
	Seq     int64    `json:"seq,omitempty"`
	Noop    bool     `json:"noop,omitempty"`
	Boot    string   `json:"boot,omitempty"`
	Owed    []string `json:"owed,omitempty"` // by earlier runs
}

// A Start describes a run that begins.
type Start struct {
	Run, Node, By string
	Catalog       string // digest
	Seq           int64
	Noop          bool
	Boot          string // boot ID
	Release       string // digest; "" if the catalog belongs to no release
	// Expected is the release that the node must have, unless it has Release already; "" accepts each.
	Expected string
}

// A Journal is that of a run that works. It is safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	file *appendfile.File
	owed map[catalog.Ref]bool
	err  error // of the first line that could not be written
}

// ErrTwice is the error of Begin if there is a journal of the run already.
var ErrTwice = errors.New("there was a run of this ID")

// Begin begins the journal of a run, and records its sequence number and its release, all on the disk. The lock must be held until it ends. It removes
// old journals. The error is a *DriftError if the node has not the expected release.
func (l *Lock) Begin(ctx context.Context, s Start, now time.Time) (*Journal, error) {
	if err := CheckID(s.Run); err != nil {
		return nil, err
	}
	earlier, last, err := l.dir.journals(s.Node)
	if err != nil {
		return nil, err
	}
	owed, err := owedBy(earlier)
	if err != nil {
		return nil, err
	}
	f, err := appendfile.Open(ctx, l.dir.journal(s.Run), appendfile.New)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrTwice
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, owed: make(map[catalog.Ref]bool)}
	for _, r := range owed {
		j.owed[r] = true
	}
	b := &begin{Number: last + 1, Node: s.Node, By: s.By, Catalog: s.Catalog, Seq: s.Seq, Noop: s.Noop, Boot: s.Boot, Owed: texts(owed)}
	// The journal exists before the check, so a run that is repeated is reported as such. Without its first line, it is no journal.
	// The release is recorded last: after a crash, bolt finds a run that was interrupted, and expects no release then. A release
	// without a run would be drift.
	have, err := l.accept(&s)
	if err == nil {
		err = l.raise(&s) // a run that is refused makes no release stale
	}
	if err == nil {
		err = j.write(line{Begin: b, At: now}, true)
	}
	if err == nil {
		err = l.enter(&s, have)
	}
	if err != nil {
		f.Close()
		os.Remove(l.dir.journal(s.Run))
		return nil, err
	}
	for _, old := range earlier[:max(0, len(earlier)+1-keepRuns)] {
		if err := os.Remove(old.path); err != nil {
			j.close()
			return nil, err
		}
	}
	return j, nil
}

// Owed returns the refreshes that the last run of a node has left to the next one.
func (l *Lock) Owed(node string) ([]catalog.Ref, error) {
	earlier, _, err := l.dir.journals(node)
	if err != nil {
		return nil, err
	}
	return owedBy(earlier)
}

// owedBy returns the refreshes that the last of runs did not finish, so that the next
// run must do them.
func owedBy(runs []numbered) ([]catalog.Ref, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	path := runs[len(runs)-1].path
	p, err := readEnd(path)
	if p == nil && err == nil {
		p, err = readFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return sorted(p.owed()), nil
}

// readEnd reads only the last line of a journal; nil if the run did not end, or the line is long. Journals of runs with many
// changes are large.
func readEnd(path string) (*past, error) {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const tail = 16 << 10
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	if err != nil {
		return nil, err
	}
	text, whole := bytes.CutSuffix(text, []byte("\n"))
	var x line
	if at := bytes.LastIndexByte(text, '\n'); !whole || at < 0 || json.Unmarshal(text[at+1:], &x) != nil || x.Done == nil {
		return nil, nil
	}
	return &past{done: x.Done}, nil
}

func (j *Journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

func (d *Dir) journal(run string) string { return d.Path(runsName, run+journal) }

func texts(refs []catalog.Ref) (list []string) {
	for _, r := range refs {
		list = append(list, r.String())
	}
	return list
}

func (j *Journal) write(l line, sync bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(l, sync)
}

// append is write for a caller that holds the lock.
func (j *Journal) append(l line, sync bool) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err = j.file.Append(append(text, '\n'), sync); err != nil && j.err == nil {
		j.err = err
	}
	return err
}

// Changing records that the change of a resource begins.
func (j *Journal) Changing(r catalog.Ref) {
	_ = j.write(line{Start: r.String()}, false) // Done reports it
}

// Ended records the status of a resource. Unchanged and skipped resources have no line.
func (j *Journal) Ended(r *report.Result) {
	if r.Status != report.Unchanged && r.Status != report.Skipped {
		_ = j.write(line{End: &frame.Ended{Ref: r.Ref.String(), Status: r.Status, Refreshed: r.Refreshed}}, false)
	}
}

// Owe records that resources must be refreshed. The record is on the disk when Owe returns, also if another goroutine wrote it.
func (j *Journal) Owe(refs []catalog.Ref) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var fresh []catalog.Ref
	for _, r := range refs {
		if !j.owed[r] {
			fresh = append(fresh, r)
		}
	}
	if fresh == nil {
		return nil
	}
	if err := j.append(line{Owe: texts(fresh)}, true); err != nil {
		return err
	}
	for _, r := range fresh {
		j.owed[r] = true
	}
	return nil
}

// Paid records that a resource was refreshed.
func (j *Journal) Paid(r catalog.Ref) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.owed[r] {
		delete(j.owed, r)
		_ = j.append(line{Paid: r.String()}, false) // Done reports it
	}
}

// Owed returns the refreshes that the run has not done yet.
func (j *Journal) Owed() []catalog.Ref {
	j.mu.Lock()
	defer j.mu.Unlock()
	return sorted(j.owed)
}

func sorted(set map[catalog.Ref]bool) (refs []catalog.Ref) {
	for r := range set {
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(a, b catalog.Ref) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Title, b.Title)) })
	return refs
}

// Done ends the journal. The next run inherits d.Owed. The error is that of the first line
// that could not be written.
func (j *Journal) Done(d *frame.Done, now time.Time) error {
	_ = j.write(line{Done: d, At: now}, true)
	return errors.Join(j.err, j.close())
}

// A numbered journal is one of an earlier run.
type numbered struct {
	path   string
	number int64
}

// maxNumber is the highest number that a journal can have. A higher one is damage, and would leave no room for the next.
const maxNumber = math.MaxInt64 / 2

// journals returns the journals of earlier runs of a node, the last one at the end, and the highest
// number of all. It removes those without a beginning: their runs changed nothing.
func (d *Dir) journals(node string) (list []numbered, last int64, err error) {
	paths, err := d.list(runsName, "*"+journal)
	if err != nil {
		return nil, 0, err
	}
	for _, path := range paths {
		b, err := readBegin(path)
		if errors.Is(err, errNoBegin) {
			if err = os.Remove(path); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, 0, fmt.Errorf("journal %s: %w", path, err)
		}
		if b.Node == node {
			list = append(list, numbered{path, b.Number})
		}
		last = max(last, b.Number)
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	return list, last, nil
}

func readBegin(path string) (*begin, error) {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := appendfile.NewReader(f, maxLine).Next()
	var x line
	switch {
	case errors.Is(err, io.EOF):
		return nil, errNoBegin
	case err != nil:
		return nil, err
	case l.Open, l.Long, json.Unmarshal(l.Text, &x) != nil, x.Begin == nil, x.Begin.Number < 1, x.Begin.Number > maxNumber:
		return nil, errNoBegin
	}
	return x.Begin, nil
}

// A past is the content of a journal.
type past struct {
	begin begin
	at    time.Time
	end   time.Time
	done  *frame.Done
	ended []frame.Ended
	open  []string // resources that were started and did not end
	due   map[catalog.Ref]bool
}

// owed returns the refreshes that the next run inherits.
func (p *past) owed() map[catalog.Ref]bool {
	if p.done == nil {
		return p.due
	}
	set := make(map[catalog.Ref]bool)
	for _, text := range p.done.Owed {
		if r, err := catalog.ParseRef(text); err == nil {
			set[r] = true
		}
	}
	return set
}

func readFile(path string) (*past, error) {
	f, err := ownfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

// maxLine is the length that a line of a journal can have.
const maxLine = 64 << 20

var errNoBegin = errors.New("it has no beginning")

// read reads a journal. A torn line is left out: at the end after a crash, and elsewhere
// after a disk that was full.
func read(from io.Reader) (*past, error) {
	p := &past{due: make(map[catalog.Ref]bool)}
	lines := appendfile.NewReader(from, maxLine)
	begun := false
	for {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var x line
		if l.Open || l.Long || json.Unmarshal(bytes.TrimLeft(l.Text, "\x00"), &x) != nil {
			continue
		}
		if begun = begun || x.Begin != nil; !begun {
			return nil, errNoBegin
		}
		p.add(&x)
	}
	if !begun {
		return nil, errNoBegin
	}
	return p, nil
}

func (p *past) add(x *line) {
	due := func(list []string) {
		for _, text := range list {
			if r, err := catalog.ParseRef(text); err == nil {
				p.due[r] = true
			}
		}
	}
	switch {
	case x.Begin != nil:
		p.begin, p.at = *x.Begin, x.At
		due(x.Begin.Owed)
	case x.Start != "":
		p.open = append(p.open, x.Start)
	case x.End != nil:
		p.ended = append(p.ended, *x.End)
		p.open = slices.DeleteFunc(p.open, func(r string) bool { return r == x.End.Ref })
	case x.Owe != nil:
		due(x.Owe)
	case x.Paid != "":
		if r, err := catalog.ParseRef(x.Paid); err == nil {
			delete(p.due, r)
		}
	case x.Done != nil:
		p.done, p.end = x.Done, x.At
	}
}

// Fate returns the fate of a run. boot is the present boot ID of the machine.
func (d *Dir) Fate(run, boot string) (*frame.Fate, error) {
	if err := CheckID(run); err != nil {
		return nil, err
	}
	// The lock is looked at first: a run that ends meanwhile has then ended.
	holder, err := d.held()
	if err != nil {
		return nil, err
	}
	running := holder != nil && holder.Run == run
	p, err := readFile(d.journal(run))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoBegin):
		if running {
			return &frame.Fate{State: frame.StateRunning, By: holder.By, Begin: holder.Start}, nil
		}
		return &frame.Fate{State: frame.StateUnknown}, nil
	case err != nil:
		return nil, fmt.Errorf("journal of run %s: %w", run, err)
	}
	f := &frame.Fate{Node: p.begin.Node, By: p.begin.By, Seq: p.begin.Seq, Begin: p.at, End: p.end, Done: p.done, Ended: p.ended}
	switch {
	case p.done != nil:
		f.State = frame.StateEnded
	case running:
		f.State, f.Progress = frame.StateRunning, p.open
	default:
		f.State, f.Progress = frame.StateBroken, p.open
		f.Rebooted = p.begin.Boot != "" && boot != "" && p.begin.Boot != boot
	}
	return f, nil
}
