package puppetdb

import (
	"context"
	"errors"
	"io"
	"net/url"

	"bolt/format/ordered"
	"bolt/puppetdb/server"
)

// An order sorts rows by a field.
type order struct {
	Field      string
	Descending bool
}

// A Query is a query of PuppetDB's API version 4.
type Query struct {
	// Text is the query: a string in PQL, or its syntax tree, a []any. It is nil
	// for all rows of an Entity.
	Text any
	// Entity is the endpoint ("inventory", "fact-contents"); "" is the root,
	// where the query itself names the entity.
	Entity string
	// OrderBy sorts the rows. If it is empty, PuppetDB chooses the order.
	OrderBy []order
	// Limit is the maximum number of rows, 0 for no limit; Offset is the number
	// of rows to skip.
	Limit, Offset int64
}

// query calls row for each row of the response as it arrives. An error of row
// ends the query and is returned unchanged. After the first row, no other server
// is tried: if the response breaks off, query returns an error.
func (c *Client) query(ctx context.Context, q Query, row func(row any) error) error {
	handed := false
	return c.servers.Ask(ctx, func(at *url.URL) error {
		err := c.rows(ctx, at, q, 0, func(v any) error {
			handed = true
			return row(v)
		})
		if f, ok := errors.AsType[*server.Failure](err); ok && handed {
			f.Next = false
		}
		return err
	})
}

// pages is Query with one request for each size rows, so that no request takes
// long and all servers are used. The query must have an order that is unique for
// each row.
func (c *Client) pages(ctx context.Context, q Query, size int64, row func(row any) error) error {
	if size <= 0 || len(q.OrderBy) == 0 {
		return c.servers.Fault("a query by pages needs an order, and pages of at least one row", &server.Failure{})
	}
	for left := q.Limit; ; left -= size {
		page := q
		page.Limit = size
		if q.Limit > 0 {
			page.Limit = min(size, left)
		}
		var n int64
		err := c.query(ctx, page, func(v any) error {
			n++
			return row(v)
		})
		if err != nil || n < page.Limit || q.Limit > 0 && left <= size {
			return err
		}
		q.Offset += n
	}
}

// Rows returns all rows of a query. Together they may have 128 MiB as JSON; if
// they have more, the error chain contains a *largeError.
func (c *Client) Rows(ctx context.Context, q Query) ([]any, error) {
	var rows []any
	err := c.servers.Ask(ctx, func(at *url.URL) error {
		rows = []any{}
		return c.rows(ctx, at, q, c.maxRows, func(v any) error {
			rows = append(rows, v)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// rows queries one server. The response may have limit bytes; 0 means no limit.
func (c *Client) rows(ctx context.Context, at *url.URL, q Query, limit int64, row func(any) error) error {
	body, err := q.body()
	if err != nil {
		return server.Failed("the query is not JSON: %w", err)
	}
	path := "/pdb/query/v4"
	if q.Entity != "" {
		path += "/" + q.Entity
	}
	return c.servers.Send(ctx, at, &server.Request{Path: path, Body: body, Safe: true, Answer: func(answer io.Reader) error {
		if limit > 0 {
			answer = &limited{from: answer, what: "the answer", size: limit, until: limit}
		}
		return decodeRows(answer, c.maxRow, func(v any) error {
			if err := row(v); err != nil {
				return server.Own(err)
			}
			return nil
		})
	}})
}

// body returns the query in PuppetDB's form: an object with its parameters.
func (q *Query) body() ([]byte, error) {
	m := &ordered.Map{}
	if q.Text != nil {
		m.Set("query", q.Text)
	}
	var by []any
	for _, o := range q.OrderBy {
		direction := "asc"
		if o.Descending {
			direction = "desc"
		}
		by = append(by, ordered.Of("field", o.Field, "order", direction))
	}
	if by != nil {
		m.Set("order_by", by)
	}
	if q.Limit > 0 {
		m.Set("limit", q.Limit)
	}
	if q.Offset > 0 {
		m.Set("offset", q.Offset)
	}
	return m.MarshalJSON()
}

// facts returns the facts of nodes by their certnames, in that order. Nodes that
// are not in PuppetDB are left out.
func (c *Client) facts(ctx context.Context, certnames []string) (*ordered.Map, error) {
	facts := &ordered.Map{}
	if len(certnames) == 0 {
		return facts, nil
	}
	names := make([]any, len(certnames))
	for i, n := range certnames {
		names[i] = n
	}
	rows, err := c.Rows(ctx, Query{Entity: "inventory", Text: []any{"extract", []any{"certname", "facts"}, []any{"in", "certname", []any{"array", names}}}})
	if err != nil {
		return nil, err
	}
	known := make(map[string]any, len(rows))
	for _, row := range rows {
		m, _ := row.(*ordered.Map)
		if name, ok := m.Value("certname").(string); ok {
			known[name] = m.Value("facts")
		}
	}
	for _, n := range certnames {
		if f, ok := known[n]; ok {
			facts.Set(n, f)
		}
	}
	return facts, nil
}
