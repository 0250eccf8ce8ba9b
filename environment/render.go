package environment

import (
	"context"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Render renders a template with parameters, as epp does it in the top scope,
// and returns its text.
func (x *Evaluation) Render(ctx context.Context, p *syntax.Program, parameters *value.Hash) (value.Value, error) {
	return x.Interp.Render(ctx, p, parameters)
}
