// Package puppetdb is a client of PuppetDB: queries (API version 4), commands (version 1) and the status.
//
//	client, err := puppetdb.New(ctx, puppetdb.Options{ServerURLs: []string{"https://puppetdb:8081"}, CACert: "ca.pem", Cert: "me.pem", Key: "me.key"})
//	err = client.Query(ctx, puppetdb.Query{Text: "nodes[certname] {}"}, func(row any) error { … })
//
// A [Client] connects to one PuppetDB, which may have several servers. If a server is unreachable or reports an internal error (5xx), the client
// tries the next one. The server that answered is tried first the next time. [Instances] are the PuppetDBs of a project, by name.
//
// Responses are bounded in time and memory. Rows of a query are returned as they arrive. The token, headers and certificate of an instance are sent
// only to its servers: redirects are not followed, and messages do not contain these values.
//
// Errors are *fault.Error of kind bolt/puppetdb-error, or bolt/pdb-command for a command that was not sent. If a context is done, the error is the
// context's. All types are safe for concurrent use.
//
// Source: https://www.puppet.com/docs/puppetdb (API), and Puppet Bolt
// (lib/bolt/puppetdb) for settings and kinds of errors.
package puppetdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"bolt/puppetdb/server"
)

// Kinds of errors.
const (
	kind        = "bolt/puppetdb-error"
	kindCommand = "bolt/pdb-command"
)

// Options describe one PuppetDB. The port of its URLs is 8081 by default, and
// ReadTimeout is a minute.
type Options = server.Options

// A Client sends requests to one PuppetDB.
type Client struct {
	o       Options
	servers *server.Client

	maxRow, maxRows, maxKept int64 // bytes; the constants
}

// New checks the options, reads the files that they name, and returns a client. It does not connect yet.
func New(ctx context.Context, o Options) (*Client, error) {
	c, err := server.New(ctx, service(o.Name), o)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, servers: c, maxRow: maxRow, maxRows: maxRows, maxKept: maxKept}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.servers.Close() }

// service describes the PuppetDB of an instance.
func service(instance string) server.Service {
	label, section := "default instance", "puppetdb"
	if instance != "" {
		label, section = fmt.Sprintf("instance '%s'", instance), "puppetdb-instances."+instance
	}
	return server.Service{
		Name: "PuppetDB", Label: fmt.Sprintf("PuppetDB (%s)", label), Section: section, Kind: kind,
		Example: "https://puppetdb.example.com:8081", Port: "8081", ReadTimeout: 60 * time.Second,
		Page:    "docs/puppetdb.md",
		Slow:    "the setting read_timeout says how long PuppetDB may take; a query for fewer columns or rows is quicker",
		Refused: "PuppetDB's setting certificate-allowlist must have the name in the certificate that cert names",
	}
}

// missing reports whether the error of reading a file means that the file does not exist.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
