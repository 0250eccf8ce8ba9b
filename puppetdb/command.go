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

// A Command changes the data in PuppetDB (/pdb/cmd/v1).
type Command struct {
	Name    string // "replace_facts"
	Version int64  // of the command
	// Payload contains the certname, and the other members that the command
	// needs.
	Payload *ordered.Map
	// Wait is the time that PuppetDB may take to execute the command before it
	// answers, in whole seconds; if it is 0, PuppetDB answers at once.
	Wait time.Duration
}

// A Submitted is the result of submitting a command.
type Submitted struct {
	UUID string
	// Processed is set if the command was executed within Command.Wait.
	// PuppetDB does not distinguish a failed command from a waiting one: the
	// reason is only in its log.
	Processed bool
}

// Submit sends a command. PuppetDB queues it and answers; Submitted reports
// whether it was executed only if Command.Wait is set.
func (c *Client) Submit(ctx context.Context, cmd Command) (Submitted, error) {
	certname, _ := cmd.Payload.Value("certname").(string)
	if certname == "" {
		return Submitted{}, fault.New(kindCommand, "The command %s of PuppetDB must have the name of a node as 'certname' in its payload.", cmd.Name)
	}
	body, err := cmd.Payload.MarshalJSON()
	if err != nil {
		return Submitted{}, fault.New(kindCommand, "The payload of the command %s of PuppetDB cannot be written as JSON: %v", cmd.Name, err)
	}
	digest := sha1.Sum(body)
	r := &server.Request{Path: "/pdb/cmd/v1", Body: body, Wait: cmd.Wait, Params: url.Values{
		"command": {cmd.Name}, "version": {strconv.FormatInt(cmd.Version, 10)}, "certname": {certname}, "checksum": {hex.EncodeToString(digest[:])},
	}}
	if seconds := int64(cmd.Wait / time.Second); seconds > 0 {
		r.Params.Set("secondsToWaitForCompletion", strconv.FormatInt(seconds, 10))
		// PuppetDB answers with this status when the wait is over.
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

// A Status is the status that PuppetDB reports (/status/v1).
type Status struct {
	Version     string
	State       string // "running", "starting", "error" …
	Maintenance bool   // it does not accept requests yet
	Queue       int64  // number of waiting commands
	Read, Write bool   // whether the databases for reading and writing are available
}

// status returns the status of the first server that answers.
func (c *Client) status(ctx context.Context) (Status, error) {
	var s Status
	r := &server.Request{Path: "/status/v1/services/puppetdb-status", Safe: true,
		// A service that is not running answers with this status.
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
