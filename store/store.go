// Package store defines how releases and rollouts are stored: contents, which their digests
// name, and logs of events, which are only ever appended to.
//
// The package has the interfaces, their data and their errors. Package store/files implements
// them on files, and package store/storetest checks an implementation.
//
// # Contents
//
// [Blobs] stores a content once, under its SHA-256. Contents are never changed, so
// several processes can put equal contents at the same time. Get verifies each content that it
// returns.
//
// # Logs
//
// A log of [Logs] is a list of events. The number of its events is its revision, so the first
// event has revision 1. Append names the revision that the caller has seen. If the log has other
// events by then, Append returns a *ConflictError, and the caller must load them and decide
// again. Several processes can therefore write to one log.
//
// Append records all of its events or none, and they are on the disk when it returns. A caller
// can therefore record an intention before it acts. If the intention cannot be recorded,
// the caller must not act.
//
// # Leases and fences
//
// A [Lease] names the one process that drives something. It ends at a time, so another
// process can take over after a crash. A process that was stopped for longer than its lease can
// still believe that it has it. Therefore each lease has a [Fence], a number that is higher for each new lease
// of the name. The holder passes the fence to Append. If a later holder has appended to the log with a higher
// fence, Append returns a *FencedError. Events with fence 0 make no such claim: another process can append a
// command, such as a pause, without a lease.
//
// # Summaries
//
// A log that gets no more events can be long. [Summaries] keeps a short text about it, so that its events need not be read
// again. A summary is about one revision, and it is only a copy: it can be made again from the log.
package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
)

// A Store is a place for contents and logs. All methods are safe for concurrent use, also by
// several processes.
type Store interface {
	Blobs
	Logs
	Summaries
}

// A Digest is a SHA-256: 64 lowercase hexadecimal digits.
type Digest string

// DigestOf returns the digest of a content.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}

// ParseDigest parses a digest.
func ParseDigest(text string) (Digest, error) {
	if len(text) != 2*sha256.Size || strings.Trim(text, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a SHA-256 digest (64 lowercase hexadecimal digits)", text)
	}
	return Digest(text), nil
}

// Blobs stores contents by their digests.
type Blobs interface {
	// Put stores a content. It is on the disk when Put returns. A content that is already stored is not written
	// again, unless it is damaged.
	Put(ctx context.Context, data []byte) (Digest, error)
	// Get returns a content with the digest d. The error is a *NotFoundError, or a
	// *DamagedError if the stored bytes have another digest.
	Get(ctx context.Context, d Digest) ([]byte, error)
	// Has reports whether a content is stored. It does not verify the content.
	Has(ctx context.Context, d Digest) (bool, error)
	// List yields all digests in any order. It ends after an error.
	List(ctx context.Context) iter.Seq2[Digest, error]
	// Remove removes a content. A missing content is not an error.
	Remove(ctx context.Context, d Digest) error
}

// A Revision is the number of events of a log at some time, and the number of its last event.
type Revision uint64

// A Fence is a number that rises with each lease of a name. 0 makes no claim.
type Fence uint64

// An Event is one entry of a log.
type Event struct {
	Revision Revision
	Time     time.Time // when it was appended, in UTC
	Fence    Fence     // of the lease with which it was appended
	Data     json.RawMessage
}

// Logs stores lists of events. The name of a log, or of a lease, is one or more words with slashes
// between them. A word has lowercase letters, digits, '-', '_' and '.', and does not begin with
// '.' ([CheckName]).
type Logs interface {
	// Events yields the events of a log after a revision, in their order, and ends after an error. A log that does not exist has no
	// events. If the log is damaged, the error is a *DamagedError, and the events are those before the damage. If ctx
	// ends, the error is its cause, and events can be missing. The Data of an event is valid until the next one.
	Events(ctx context.Context, log string, after Revision) iter.Seq2[Event, error]
	// Append adds events to a log, all of them or none, and returns the new revision. Each of data
	// is one JSON value. The error is a *ConflictError if the last revision is not after. It is a *FencedError
	// if fence is not 0 and the log has an event with a higher fence, or a *DamagedError. After an error, no
	// event was added.
	Append(ctx context.Context, log string, after Revision, fence Fence, data ...json.RawMessage) (Revision, error)
	// Watch yields the events of a log after a revision, and then each new event, also one of
	// another process. It can yield an event before the Append of that event has returned. It
	// ends without an error when ctx ends, and ends after an error. The Data of an event is valid until the next one.
	Watch(ctx context.Context, log string, after Revision) iter.Seq2[Event, error]
	// Lease gives a name to a holder for a time. holder is a name for messages. The error is a
	// *HeldError if another lease of the name has not ended.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// Names returns the names of the logs that begin with prefix, sorted.
	Names(ctx context.Context, prefix string) ([]string, error)
	// Held returns the present lease of a name as an error that Lease would return; nil if Lease would give the name away. It
	// takes nothing and changes nothing.
	Held(ctx context.Context, name string) (*HeldError, error)
	// Drop removes a log, its summary, and the records of leases of the same name. The error is a *ConflictError if the last
	// revision is not at, which is 0 for a name that only leases have. The caller must see to it that no other process leases the name at the same time.
	Drop(ctx context.Context, log string, at Revision) error
}

// Summaries stores a summary of a log beside it: a list of JSON values.
type Summaries interface {
	// Summarize stores the summary of a log, whose last revision is at, instead of an earlier summary. The error is a
	// *ConflictError if the log has another revision. The summary can be lost in a crash.
	Summarize(ctx context.Context, log string, at Revision, values ...json.RawMessage) error
	// Summary returns the first n values of the summary of a log. It returns nil if the log has no summary, if events were
	// appended since, or if the summary is damaged. It does not verify the events of the log.
	Summary(ctx context.Context, log string, n int) ([]json.RawMessage, error)
}

// A Lease is the right to drive something, until its time ends.
type Lease interface {
	// Fence returns the number of the lease. It is higher than the number of each earlier lease of the name.
	Fence() Fence
	// Renew lets the lease end at ttl from now. The error is a *HeldError if
	// another holder has taken the name.
	Renew(ctx context.Context, ttl time.Duration) error
	// Release ends the lease. If it has ended already, Release does nothing.
	Release(ctx context.Context) error
}

// Load returns the events of a log after a revision. If the log is damaged, the error is a *DamagedError, and the events are those
// before the damage.
func Load(ctx context.Context, logs Logs, log string, after Revision) ([]Event, error) {
	var events []Event
	for e, err := range logs.Events(ctx, log, after) {
		if err != nil {
			return events, err
		}
		e.Data = bytes.Clone(e.Data)
		events = append(events, e)
	}
	return events, nil
}

// CheckName returns an error for a name that logs and leases cannot have.
func CheckName(name string) error {
	const most = 200 // bytes; file systems allow 255 for a name
	for word := range strings.SplitSeq(name, "/") {
		if word == "" || word[0] == '.' || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return fmt.Errorf("%q is not the name of a log: words of lowercase letters, digits, '-', '_' and '.', with '/' between them", name)
		}
	}
	if len(name) > most {
		return fmt.Errorf("the name %q has more than %d bytes", name, most)
	}
	return nil
}
