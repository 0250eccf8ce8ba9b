package environment

import (
	"context"
	"fmt"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Type reads a type as it is written in metadata: Optional[Integer[1,10]], or
// one that a module defines. Errors are syntax.Errors, *eval.Error or about
// text that is no type.
func (e *Environment) Type(ctx context.Context, text string) (value.Type, error) {
	// Most types are of the language alone, for which nothing has to be made.
	if t, err := value.ParseType(text); err == nil && !strings.Contains(value.TypeString(t), "TypeReference[") {
		return t, nil
	}
	p, err := syntax.Parse(syntax.NewFile("", text), syntax.Options{Tasks: true})
	if err != nil {
		return nil, err
	}
	v, err := e.Evaluation(Node{Plans: true}).Run(ctx, p)
	if err != nil {
		return nil, err
	}
	t, ok := v.(value.Type)
	if !ok {
		return nil, fmt.Errorf("'%s' is no type", text)
	}
	return t, nil
}
