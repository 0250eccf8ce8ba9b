package eval

import (
	"context"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Render renders a template in the top scope, as [Site.Template] does for epp.
// Its errors are *Error.
func (in *Interp) Render(ctx context.Context, p *syntax.Program, args *value.Hash) (v value.Value, err error) {
	s := in.Site(ctx, nil)
	defer s.t.recover(&err)
	return s.Template(p, args, false)
}
