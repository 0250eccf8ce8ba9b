package store

import (
	"fmt"
	"time"
)

// A NotFoundError is the error of Get if the store does not have the content.
type NotFoundError struct{ Digest Digest }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the store has no content with the digest %s", e.Digest)
}

// A DamagedError is the error for stored data that has changed since it was written.
type DamagedError struct {
	File string // or another name of the place
	Line int    // of a log, from 1; 0 for a content
	Why  string
}

func (e *DamagedError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Why)
}

// A ConflictError is the error of Append if the caller has not seen the last events of the log.
type ConflictError struct {
	Log  string
	Have Revision // the last revision of the log
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the log %s has changed: its revision is now %d", e.Log, e.Have)
}

// A FencedError is the error of Append if a later holder of the lease has written to the log.
type FencedError struct {
	Log  string
	Have Fence // the highest fence of the log
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("another process has taken over the log %s (fence %d)", e.Log, e.Have)
}

// A HeldError is the error of Lease and Renew if the name has another holder.
type HeldError struct {
	Name, Holder string
	Until        time.Time // when the lease ends, unless it is renewed
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s until %s", e.Name, e.Holder, e.Until.UTC().Format(time.RFC3339))
}
