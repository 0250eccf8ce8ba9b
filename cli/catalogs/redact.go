package catalogs

import (
	"context"
	"strings"

	"bolt/apply/report"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/event"
	"bolt/puppet/eval"
)

// minRedacted is the length in bytes of the shortest secret that is redacted. Shorter texts occur in too many messages.
const minRedacted = 4

// A redacting compiler redacts the secrets of a node (Node.Secrets) in its messages and errors.
type redacting struct{ site.Compiler }

// Compile implements site.Compiler.
func (c redacting) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	redact := redaction(n.Secrets)
	if log := n.Log; log != nil {
		n.Log = func(l eval.Log) {
			l.Msg = redact(l.Msg)
			log(l)
		}
	}
	made, err := c.Compiler.Compile(ctx, n)
	if err != nil {
		return nil, event.RedactError(err, redact)
	}
	return made, nil
}

func redaction(secrets []string) func(string) string {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= minRedacted {
			pairs = append(pairs, s, report.Redacted)
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
