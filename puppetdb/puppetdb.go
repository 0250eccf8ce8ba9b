// Package puppetdb is a client of PuppetDB: of its queries (API version 4), its
// commands (version 1) and its status.
//
//	client, err := puppetdb.New(ctx, puppetdb.Options{ServerURLs: []string{"https://puppetdb:8081"}, CACert: "ca.pem", Cert: "me.pem", Key: "me.key"})
//	err = client.Query(ctx, puppetdb.Query{Text: "nodes[certname] {}"}, func(row any) error { … })
//
// A [Client] speaks to one PuppetDB, which may have several servers: if one
// cannot be reached, or says that it is broken (5xx), the next is asked, and the
// one that answered is asked first the next time. [Instances] are the PuppetDBs
// of a project, by their names.
//
// Answers are bounded in time and memory. Rows of a query are handed on as they
// come. The token, headers and certificate of an instance go to its servers
// alone: redirects are not followed, and no message has their text.
//
// Errors are *fault.Error of kind bolt/puppetdb-error, or bolt/pdb-command for a
// command that is not sent; those of a context that is done are its own. All
// types are safe for concurrent use.
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

// A Client asks one PuppetDB.
type Client struct {
	o       Options
	servers *server.Client

	maxRow, maxRows, maxKept int64 // bytes; the constants
}

// New checks the options, reads the files that they name, and returns a client.
// Nothing is connected to yet.
func New(ctx context.Context, o Options) (*Client, error) {
	c, err := server.New(ctx, service(o.Name), o)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, servers: c, maxRow: maxRow, maxRows: maxRows, maxKept: maxKept}, nil
}

// Close ends the connections that are kept.
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
		Slow:    "the setting read_timeout says how long PuppetDB may take; a query for fewer columns or rows is quicker",
		Refused: "PuppetDB's setting certificate-allowlist must have the name in the certificate that cert names",
	}
}

// missing reports whether the error of reading a file is that there is none.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
