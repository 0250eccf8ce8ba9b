package puppetdb

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppetdb/server"
)

// A Command changes what PuppetDB knows (/pdb/cmd/v1).
type Command struct {
	Name    string // "replace_facts"
	Version int64  // of the command
	// Payload has the certname, and what the command needs beside it.
	Payload *ordered.Map
	// Wait is how long PuppetDB may take to carry the command out before it
	// answers, in whole seconds; 0 lets it answer at once.
	Wait time.Duration
}

// A Submitted is what became of a command.
type Submitted struct {
	UUID string
	// Processed is set if it was carried out within Command.Wait. PuppetDB does
	// not tell a command that it could not carry out from one that waits: the
	// reason is in its log alone.
	Processed bool
}

// Submit sends a command. PuppetDB keeps it and answers; that it has been
// carried out is known only if it was waited for.
func (c *Client) Submit(ctx context.Context, cmd Command) (Submitted, error) {
	certname, _ := cmd.Payload.Value("certname").(string)
	if certname == "" {
		return Submitted{}, fault.New(kindCommand, "The command %s of PuppetDB must have the name of a node as 'certname' in its payload.", cmd.Name)
	}
	body, err := cmd.Payload.MarshalJSON()
	if err != nil {
		return Submitted{}, fault.New(kindCommand, "The payload of the command %s of PuppetDB is no JSON: %v", cmd.Name, err)
	}
	digest := sha1.Sum(body)
	r := &server.Request{Path: "/pdb/cmd/v1", Body: body, Wait: cmd.Wait, Params: url.Values{
		"command": {cmd.Name}, "version": {strconv.FormatInt(cmd.Version, 10)}, "certname": {certname}, "checksum": {hex.EncodeToString(digest[:])},
	}}
	if seconds := int64(cmd.Wait / time.Second); seconds > 0 {
		r.Params.Set("secondsToWaitForCompletion", strconv.FormatInt(seconds, 10))
		// So it answers when the time is over.
		r.Also = func(status int) bool { return status == http.StatusServiceUnavailable }
	}
	var done Submitted
	r.Answer = func(answer io.Reader) error {
		m, err := document(answer)
		if err != nil {
			return err
		}
		uuid, ok := m.Value("uuid").(string)
		if !ok {
			return server.Failed("the answer has no uuid, so it is none to a command")
		}
		done = Submitted{UUID: uuid, Processed: m.Value("processed") == true}
		return nil
	}
	err = c.servers.Do(ctx, r)
	return done, err
}

// A Status is what PuppetDB says of itself (/status/v1).
type Status struct {
	Version     string
	State       string // "running", "starting", "error" …
	Maintenance bool   // it takes no requests yet
	Queue       int64  // commands that wait
	Read, Write bool   // whether the databases for these can be reached
}

// status asks the first server that answers how it is.
func (c *Client) status(ctx context.Context) (Status, error) {
	var s Status
	r := &server.Request{Path: "/status/v1/services/puppetdb-status", Safe: true,
		// One that does not run says so with this status.
		Also: func(status int) bool { return status == http.StatusServiceUnavailable },
		Answer: func(answer io.Reader) error {
			m, err := document(answer)
			if err != nil {
				return err
			}
			state, ok := m.Value("state").(string)
			if !ok {
				return server.Failed("the answer has no state, so it is none about a status")
			}
			detail, _ := m.Value("status").(*ordered.Map)
			s = Status{State: state, Maintenance: detail.Value("maintenance_mode?") == true,
				Read: detail.Value("read_db_up?") == true, Write: detail.Value("write_db_up?") == true}
			s.Version, _ = m.Value("service_version").(string)
			s.Queue, _ = detail.Value("queue_depth").(int64)
			return nil
		}}
	err := c.servers.Do(ctx, r)
	return s, err
}
