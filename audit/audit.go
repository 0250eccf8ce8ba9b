// Package audit keeps a log of actions: the user, the action, the targets and the
// outcome. Changes of the log can be detected.
//
// A log is a file of JSON lines, each a [Record]. Lines are only ever added, by any
// number of processes at a time. An action has two records: "begin" is on the disk
// before the action begins, and "end" follows it. An action without an "end" was cut
// off, or is still running.
//
// # The chain
//
// Every record contains the SHA-256 of the line before it (Prev), and a number that
// is one more (Seq). So a line can only be changed, removed or inserted if all lines
// after it are rewritten. Anyone who can write the file can do that. And if lines are
// missing at the end, the file does not show it. Both can be detected with the hash
// of a record that is stored elsewhere: [Verify] looks for it.
//
// A crash, or a full disk, can leave a line without an end. The next record is on a
// new line and marks this (Torn); its Prev is the hash of the last record and all
// bytes after it.
//
// A new file continues the chain of the youngest rotated file beside it, if that file
// ends with a record. The name of a rotated file is the name of the log with a number
// after it (audit.jsonl.1, audit.jsonl-20260102), as logrotate(8) names them.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bolt/format/safejson"
	"bolt/internal/appendfile"
	"bolt/internal/lazyregexp"
	"bolt/internal/nodeset"
	"bolt/internal/ownfile"
)

// Version is the version of the record format.
const Version = 1

// A Record is one line of a log.
type Record struct {
	Version int       `json:"v"`
	Seq     uint64    `json:"seq"`            // 1 for the first of a chain
	Time    time.Time `json:"time"`           // UTC
	Prev    string    `json:"prev"`           // the SHA-256 of the line before, without its end, in hex; "" in the first
	Torn    bool      `json:"torn,omitempty"` // the line before was cut off: Prev is the hash of the record before it and all that follows, without the last end of a line

	Event   Event  `json:"event"`
	Request string `json:"request"`        // of one invocation, a UUID
	Step    int    `json:"step,omitempty"` // of a plan, counted from 1; 0: the request's own action
	Actor   Actor  `json:"actor"`
	Project string `json:"project"` // the project directory

	Action
	Targets *Names   `json:"targets,omitempty"` // of a begin
	Outcome *Outcome `json:"outcome,omitempty"` // of an end
}

// Event says whether a Record is the begin or the end of an action.
type Event string

// The events.
const (
	Begin Event = "begin"
	End   Event = "end"
)

// An Actor is the user of an action and the origin of the session. SudoUser and
// Client are from the environment, so users can change them. LoginUID is from the
// kernel.
type Actor struct {
	User     string  `json:"user"` // of the process
	UID      int     `json:"uid"`
	LoginUID *uint32 `json:"login_uid,omitempty"` // the user of the session's login (pam_loginuid(8)); nil if it is unknown
	SudoUser string  `json:"sudo_user,omitempty"` // the user who called sudo
	Host     string  `json:"host"`
	TTY      string  `json:"tty,omitempty"`
	Client   string  `json:"ssh_client,omitempty"` // the address that the SSH session comes from
	PID      int     `json:"pid"`
	Version  string  `json:"bolt"`
}

// Address returns USER@HOST.
func (a *Actor) Address() string { return a.User + "@" + a.Host }

// An Action describes an action.
type Action struct {
	Name   string  `json:"action"`           // command, script, task, upload, download, plan …
	Object string  `json:"object,omitempty"` // the command line, the path, the name
	Dest   string  `json:"destination,omitempty"`
	SHA256 string  `json:"sha256,omitempty"` // of a script's text, or of an Object that was shortened
	Params *Params `json:"parameters,omitempty"`
	RunAs  string  `json:"run_as,omitempty"` // the user requested for the action, overriding the settings of targets
	Noop   bool    `json:"noop,omitempty"`

	Journal string `json:"journal,omitempty"` // the name of the plan run's journal, with which it can be resumed
}

// Params are the parameters, arguments and variables of an action: their names, and a
// digest of the values. Values that are known to be secret are not in the digest,
// because a short value can be guessed from a digest. Each record has a different
// salt, so that equal values have different digests.
type Params struct {
	Names   []string `json:"names,omitempty"`
	Secrets []string `json:"secrets,omitempty"` // the names of the secret values, which are not in the digest
	Salt    string   `json:"salt,omitempty"`    // hex
	Digest  string   `json:"digest,omitempty"`  // SHA-256 of the salt's bytes and the JSON text of the values, in hex
}

// NewParams returns parameters with a digest of data (of package ordered). data must
// not contain secret values.
func NewParams(names, secrets []string, data any) (*Params, error) {
	p := &Params{Names: names, Secrets: secrets}
	if len(names) == 0 && len(secrets) == 0 {
		return nil, nil
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	h := sha256.New()
	h.Write(salt)
	if err := safejson.Write(h, data); err != nil {
		return nil, fmt.Errorf("digest of parameters: %w", err)
	}
	p.Salt, p.Digest = hex.EncodeToString(salt), hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// Outcome is the outcome of an action.
type Outcome struct {
	Status    Status         `json:"status"`
	Succeeded int            `json:"succeeded"` // targets
	Failed    int            `json:"failed"`
	NotBegun  int            `json:"not_begun,omitempty"`
	FailedOn  *Names         `json:"failed_on,omitempty"`
	RunAs     map[string]int `json:"as,omitempty"`   // the number of targets for each user, if it is not the login user
	Exit      *int           `json:"exit,omitempty"` // of the process, if its own action has ended
	Elapsed   float64        `json:"elapsed"`        // seconds
}

// Status summarizes an outcome.
type Status string

// The statuses.
const (
	Success Status = "success"
	Failure Status = "failure"
	Stopped Status = "stopped" // by the user, or because the reader of the results has gone
)

// Names are names of targets, without passwords.
type Names struct {
	Count  int      `json:"count"`
	Folded string   `json:"names,omitempty"`   // as package nodeset folds them
	Odd    []string `json:"odd,omitempty"`     // names that contain characters of the folding syntax
	Absent int      `json:"omitted,omitempty"` // the number of names that do not fit into a record
}

// maxNames is the maximum size of names in a record, in bytes.
const maxNames = maxLine / 4

// NewNames folds names.
func NewNames(names []string) *Names {
	n := &Names{Count: len(names)}
	var plain []string
	room := maxNames
	for i, name := range names {
		if room -= len(name) + 3; room < 0 {
			n.Absent = len(names) - i
			break
		}
		if strings.ContainsAny(name, "[], \t\n") {
			n.Odd = append(n.Odd, name)
		} else {
			plain = append(plain, name)
		}
	}
	n.Folded = nodeset.Fold(plain)
	return n
}

// Has reports whether the names include name.
func (n *Names) Has(name string) bool {
	return n != nil && (nodeset.Contains(n.Folded, name) || slices.Contains(n.Odd, name))
}

// maxObject is the maximum length of an Object in a record: a command line can be as
// long as a file.
const maxObject = 16 << 10

// credentials matches the credentials of a URL in a text.
var credentials = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*):[^\s/@]+@`)

// Shown returns a text in the form of a record: without passwords of URLs, and
// shortened if it is long. If it was shortened, digest is the digest of the whole
// text, otherwise "".
func Shown(text string) (shown, digest string) {
	if strings.Contains(text, "://") {
		text = credentials().ReplaceAllString(text, "$1:********@")
	}
	if len(text) <= maxObject {
		return text, ""
	}
	cut := maxObject
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…", Digest([]byte(text))
}

// Digest returns the SHA-256 of data in hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// NewRequest returns the ID of an invocation, a UUID of random bits (RFC 9562,
// section 5.4).
func NewRequest() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A Log is the file that records are added to. Its methods may be called by
// several goroutines.
type Log struct {
	path string
	now  func() time.Time
}

// New returns the log at an absolute path. Nothing is opened.
func New(path string, now func() time.Time) *Log { return &Log{path: path, now: now} }

// Path returns the path of the file.
func (l *Log) Path() string { return l.path }

// patience is the time that a record waits for the records of other processes. Each
// of them takes as long as the disk needs.
const patience = 15 * time.Second

// Add adds a record, and sets its fields of the chain. The record is on the disk when
// Add returns. Errors are *fault.Error of kind bolt/audit-error.
func (l *Log) Add(ctx context.Context, r *Record) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := appendfile.Open(ctx, l.path, appendfile.Any)
	if err != nil {
		return l.failed(err)
	}
	defer f.Close()
	if err := l.add(f, r); err != nil {
		return l.failed(err)
	}
	return nil
}

func (l *Log) add(f *appendfile.File, r *Record) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	last, err := l.last(f, size)
	if err != nil {
		return err
	}
	r.Version, r.Seq, r.Prev, r.Torn, r.Time = Version, last.seq+1, last.hash, last.torn, l.now().UTC()
	line, err := r.line()
	if err != nil {
		return err
	}
	if last.open {
		line = append([]byte{'\n'}, line...)
	}
	return f.Append(line, true)
}

// line returns the record as JSON with the end of the line.
func (r *Record) line() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	if b.Len() > maxLine {
		return nil, fmt.Errorf("the record has %d bytes, and no more than %d fit", b.Len(), maxLine)
	}
	return b.Bytes(), nil
}

// tail describes the end of the chain, which the next record follows.
type tail struct {
	seq  uint64 // of the last record; 0: there is none
	hash string // of its line and the lines after it; "" if there are none
	open bool   // the last line has no end
	torn bool   // the last line is not a record
}

// last examines the end of the file or, if it has no records, of the file that it
// continues.
func (l *Log) last(f io.ReaderAt, size int64) (tail, error) {
	if size > 0 {
		return tailOf(f, size)
	}
	if before := l.before(); before != "" {
		if old, err := ownfile.Open(before, os.O_RDONLY, 0); err == nil {
			defer old.Close()
			info, err := old.Stat()
			if err != nil {
				return tail{}, err
			}
			if t, err := tailOf(old, info.Size()); err == nil && t.seq > 0 {
				t.open = false // of that file
				return t, nil
			}
		}
	}
	return tail{}, nil
}

// before returns the youngest rotated file, "" if there is none.
func (l *Log) before() string {
	old := l.rotated()
	if len(old) == 0 {
		return ""
	}
	return filepath.Join(filepath.Dir(l.path), old[len(old)-1].Name())
}

// rotated returns the rotated files of the log, the oldest first.
func (l *Log) rotated() []os.FileInfo {
	dir, base := filepath.Split(l.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the log itself may exist nevertheless
	}
	var files []os.FileInfo
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base)
		if !ok || len(rest) < 2 || !strings.ContainsAny(rest[:1], ".-_") || rest[1] < '0' || rest[1] > '9' {
			continue // a copy by hand (audit.jsonl.bak) is not part of the log
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(b.Name(), a.Name())) // audit.jsonl.2 is older than .1
	})
	return files
}
