package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/rollout/ledger"
	"bolt/store"
)

// A cursor is how far the events of a rollout were delivered to a webhook. It is a log of the store. After a crash, the
// events since its last record are sent again.
type cursor struct {
	logs  store.Logs
	log   string
	fence store.Fence
	at    store.Revision // of the rollout: all events up to it are settled

	revision store.Revision // of the cursor's own log
	saved    store.Revision // the value of at in it
	when     time.Time
}

// The shortest time between two records of a cursor grows by saving after each saves records, up to maxSaving. So the cursor of a long
// rollout stays short.
const (
	saving    = time.Second
	saves     = 60
	maxSaving = time.Minute
)

// position is the entry of a cursor's log.
type position struct {
	Delivered store.Revision `json:"delivered"`
}

// prefix begins the names of cursors and of the leases of deliveries.
const prefix = "webhooks/"

// cursorLog is the name of a cursor.
func cursorLog(h *Hook, rollout string) string { return prefix + h.id() + "/" + rollout }

// leaseOf is the name of the lease under which the events of a rollout are sent.
func leaseOf(rollout string) string { return prefix + rollout }

// begin records that a webhook gets the events of a rollout, from the first one, unless that is recorded already.
func begin(ctx context.Context, logs store.Logs, h *Hook, rollout string) error {
	data, err := json.Marshal(position{})
	if err != nil {
		return err
	}
	_, err = logs.Append(ctx, cursorLog(h, rollout), 0, 0, data)
	if _, is := errors.AsType[*store.ConflictError](err); is {
		return nil
	}
	return err
}

// loadCursor reads a cursor. Without a record, its revision is 0.
func loadCursor(ctx context.Context, logs store.Logs, h *Hook, rollout string) (*cursor, error) {
	c := &cursor{logs: logs, log: cursorLog(h, rollout)}
	events, err := store.Load(ctx, logs, c.log, 0)
	if err != nil || len(events) == 0 {
		return c, err
	}
	last := events[len(events)-1]
	var p position
	if err := json.Unmarshal(last.Data, &p); err != nil {
		return c, fmt.Errorf("entry %d of %s: %w", last.Revision, c.log, err)
	}
	c.at, c.saved, c.revision = p.Delivered, p.Delivered, last.Revision
	return c, nil
}

// save records the position.
func (c *cursor) save(ctx context.Context) error {
	if c.at == c.saved {
		return nil
	}
	data, err := json.Marshal(position{c.at})
	if err != nil {
		return err
	}
	c.when = time.Now() // an error is not repeated at once
	rev, err := c.logs.Append(ctx, c.log, c.revision, c.fence, data)
	if err == nil {
		c.revision, c.saved = rev, c.at
	}
	return err
}

// due reports whether the last record is old.
func (c *cursor) due() bool { return time.Since(c.when) >= c.pause() }

func (c *cursor) pause() time.Duration {
	return min(saving*time.Duration(1+c.revision/saves), maxSaving)
}

// Collect removes the positions of webhooks in rollouts that the store does not have any more.
func Collect(ctx context.Context, logs store.Logs) error {
	names, err := logs.Names(ctx, prefix)
	if err != nil {
		return err
	}
	// The rollouts are read after the positions, so those of a rollout that begins now stay.
	ids, err := ledger.In(logs).IDs(ctx)
	if err != nil {
		return err
	}
	has := make(map[string]bool, len(ids))
	for _, id := range ids {
		has[id] = true
	}
	for _, name := range names {
		id := name[strings.LastIndexByte(name, '/')+1:]
		if has[id] || has[ledger.Origin(id)] { // the log of a rollback begins later than its position
			continue
		}
		held, err := logs.Held(ctx, leaseOf(id))
		if err != nil {
			return err
		}
		if held != nil { // another process sends events; the next call removes the position
			continue
		}
		events, err := store.Load(ctx, logs, name, 0)
		if err != nil {
			return err
		}
		// The position is the last one to go: without it, nothing would find the lease.
		err = logs.Drop(ctx, leaseOf(id), 0)
		if err == nil {
			err = logs.Drop(ctx, name, store.Revision(len(events)))
		}
		if _, gone := errors.AsType[*store.ConflictError](err); err != nil && !gone {
			return err
		}
	}
	return nil
}
