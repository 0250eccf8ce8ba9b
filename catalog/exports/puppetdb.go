package exports

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/puppet/eval"
)

// A Querier runs a query of PuppetDB, given as a syntax tree, and returns the rows.
type Querier interface {
	Query(ctx context.Context, query any, instance string) ([]any, error)
}

// A PuppetDB finds the exported resources of active nodes in PuppetDB. It sends each query
// once for each type: collectors of several nodes share an answer. After an error it sends
// no more queries, so that nodes do not all wait for a server that is down. It is safe for
// concurrent use.
type PuppetDB struct {
	of       Querier
	instance string

	mu     sync.Mutex
	answer map[string]*answer
	err    error // the first
}

// An answer is a received or pending answer of PuppetDB.
type answer struct {
	mu    sync.Mutex // held during a query; locked before the mutex of the PuppetDB
	known bool
	found []Export
}

// NewPuppetDB returns a PuppetDB that queries an instance; "" is the default instance.
func NewPuppetDB(of Querier, instance string) *PuppetDB {
	return &PuppetDB{of: of, instance: instance, answer: make(map[string]*answer)}
}

// Find is Index.Find for PuppetDB.
func (p *PuppetDB) Find(ctx context.Context, node, typ string, q eval.Query) ([]Export, error) {
	all, err := p.all(ctx, typ, q)
	if err != nil {
		return nil, err
	}
	var found []Export
	for _, e := range all {
		if e.Node != node {
			found = append(found, e)
		}
	}
	return found, nil
}

// all returns the resources of all nodes that a query matches. Callers must not change them.
func (p *PuppetDB) all(ctx context.Context, typ string, q eval.Query) ([]Export, error) {
	m, err := newMatcher(q)
	if err != nil {
		return nil, err
	}
	filter := []any{"and", []any{"=", "type", typ}, []any{"=", "exported", true}}
	if m != nil {
		filter = append(filter, m.tree())
	}
	query := []any{"from", "resources", []any{"extract", []any{"certname", "title", "tags", "file", "line", "parameters"}, filter}}
	key, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	a := p.answer[string(key)]
	if a == nil {
		a = &answer{}
		p.answer[string(key)] = a
	}
	p.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known {
		return a.found, nil
	}
	if err := p.failed(nil); err != nil {
		return nil, err
	}
	rows, err := p.of.Query(ctx, query, p.instance)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		a.found, err = exportsOf(typ, rows)
	}
	a.known = err == nil
	return a.found, p.failed(err)
}

// failed stores the first error, and returns it.
func (p *PuppetDB) failed(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	return p.err
}

// tree returns the query as a syntax tree of PuppetDB.
func (m *matcher) tree() []any {
	if m.x != nil {
		op := "and"
		if m.or {
			op = "or"
		}
		return []any{op, m.x.tree(), m.y.tree()}
	}
	var field any = []any{"parameter", m.name}
	if m.name == "tag" || m.name == "title" {
		field = m.name
	}
	is := []any{"=", field, m.want}
	if m.not {
		return []any{"not", is}
	}
	return is
}

// exportsOf returns the exports in the rows of an answer.
func exportsOf(typ string, rows []any) ([]Export, error) {
	list := make([]Export, 0, len(rows))
	for _, row := range rows {
		m, _ := row.(*ordered.Map)
		node, named := m.Value("certname").(string)
		title, titled := m.Value("title").(string)
		if !named || !titled {
			return nil, fmt.Errorf("PuppetDB answered with a resource that has no certname or title")
		}
		r := &catalog.Resource{Ref: catalog.Ref{Type: typ, Title: title}, Exported: true}
		r.File, _ = m.Value("file").(string)
		line, _ := m.Value("line").(int64)
		r.Line = int(line)
		tags, _ := m.Value("tags").([]any)
		for _, tag := range tags {
			if text, is := tag.(string); is {
				r.Tags = append(r.Tags, text)
			}
		}
		if params, _ := m.Value("parameters").(*ordered.Map); params.Len() > 0 {
			r.Params = params
		}
		list = append(list, Export{node, r})
	}
	sortExports(list)
	return list, nil
}
