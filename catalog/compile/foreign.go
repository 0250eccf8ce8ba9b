package compile

import (
	"context"
	"fmt"

	"bolt/catalog"
	"bolt/catalog/exports"
	"bolt/environment"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// ask adds the exported resources of other nodes that match a collector. It reports whether
// there were any.
func (c *compiler) ask(ctx context.Context, w *collector) (more bool, err error) {
	if c.exports == nil {
		if !c.warned {
			c.warned = true
			c.warn(w.scope, w.Pos, NoExports, "exported resources of other nodes are not collected")
		}
		return false, nil
	}
	found, err := c.exports.Find(ctx, c.nodeName, catalog.Capitals(w.Type), w.Query)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, &eval.Error{Kind: "exports", Msg: "exported resources could not be collected: " + err.Error(), Pos: w.Pos, Err: err}
	}
	for i := range found {
		r, err := c.copyOf(ctx, &found[i], w)
		if err != nil {
			return false, at(w.Pos, err)
		}
		if r != nil && !w.has[r] {
			w.take(c, r)
			more = true
		}
	}
	return more, nil
}

// copyOf declares a copy of an exported resource at the position of its collector. It
// returns nil if another collector has added it already. As in Puppet with PuppetDB, the
// copy has the parameters of the export, but not its tags or its position, and it is not
// exported.
func (c *compiler) copyOf(ctx context.Context, e *exports.Export, w *collector) (*resource, error) {
	ref := eval.Ref{Type: w.Type, Title: e.Title}
	if old := c.look(ref); old != nil {
		if old.from != nil && old.from.Node == e.Node && old.ref == ref {
			return nil, nil
		}
		return nil, eval.Errorf("duplicate-declaration", "a duplicate resource was found while collecting exported resources: %s%s is declared already%s",
			reference(ref), exportedBy(*e), old.where())
	}
	r := newResource(ref, w.scope)
	r.outer = c.tagsOf(w.scope)
	r.from = e
	if err := c.define(c.x.Interp.Site(ctx, w.scope), r, w.Pos); err != nil {
		return nil, err
	}
	params, err := environment.Hash(e.Params)
	if err != nil {
		return nil, eval.Errorf("bad-value", "the parameters of %s%s: %v", reference(ref), exportedBy(*e), err)
	}
	attrs := make([]eval.Attribute, 0, params.Len())
	for k, v := range params.All() {
		attrs = append(attrs, eval.Attribute{Name: value.ToString(k), Value: v})
	}
	r.change(w.scope, attrs)
	r.fill(w.scope, c.defaultsFor(w.scope, w.Type))
	return r, c.add(r)
}

// exportedBy returns the origin of an export, for messages.
func exportedBy(e exports.Export) string {
	if e.File == "" || e.Line == 0 {
		return fmt.Sprintf(", exported by %s", e.Node)
	}
	return fmt.Sprintf(", exported by %s at %s:%d", e.Node, e.File, e.Line)
}

// foreign returns the resources of other nodes.
func (c *compiler) foreign() (list []Collected) {
	for _, r := range c.list {
		if r.from != nil && r.form == syntax.Regular {
			list = append(list, Collected{r.from.Node, catalogRef(r.ref)})
		}
	}
	return list
}
