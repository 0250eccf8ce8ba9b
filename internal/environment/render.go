package environment

import (
	"context"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Render renders a template without parameters, as epp does it in the top
// scope, and returns its text.
func (x *Evaluation) Render(ctx context.Context, p *syntax.Program) (value.Value, error) {
	return x.Interp.Render(ctx, p, nil)
}
