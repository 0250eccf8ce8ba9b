package plugin

import (
	"slices"
	"strings"

	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// minRedacted is how long a secret is, at least, that is looked for in other
// texts: shorter ones are in too many of them.
const minRedacted = 4

// sensitiveKey is the key of a reference that says that its value is secret,
// whatever plugin it is from.
const sensitiveKey = "_sensitive"

func sensitive(ref *ordered.Map) (bool, error) {
	v, ok := ref.Get(sensitiveKey)
	if !ok || v == nil {
		return false, nil
	}
	yes, ok := v.(bool)
	if !ok {
		return false, invalid("%s must be true or false", sensitiveKey)
	}
	return yes, nil
}

// hidden is the value of a reference as others get it: with secrets as such, if
// it has any.
func (p *Plugins) hidden(v any, secret bool) any {
	if !secret || v == nil {
		return v
	}
	p.mu.Lock()
	p.remember(v)
	p.mu.Unlock()
	return inventory.Hide(v)
}

// remember notes the secrets of a value. The caller holds mu.
func (p *Plugins) remember(v any) {
	switch v := v.(type) {
	case string:
		for _, text := range []string{v, strings.TrimSpace(v)} {
			if len(text) >= minRedacted && !slices.Contains(p.secrets, text) {
				p.secrets = append(p.secrets, text)
			}
		}
	case []any:
		for _, e := range v {
			p.remember(e)
		}
	case *ordered.Map:
		for _, e := range v.All() {
			p.remember(e)
		}
	}
}

// Redact returns a text without the secrets that plugins have given so far: for
// what people or plans may have made of them.
func (p *Plugins) Redact(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, secret := range p.secrets {
		text = strings.ReplaceAll(text, secret, transport.NewSecret(secret).String())
	}
	return text
}

// redacted is an error without secrets. Its causes, which people can ask for, go
// where they had some.
func (p *Plugins) redacted(e *fault.Error) error {
	msg := p.Redact(e.Msg)
	if msg == e.Msg {
		return e
	}
	return &fault.Error{Kind: e.Kind, Msg: msg, Hint: p.Redact(e.Hint)}
}
