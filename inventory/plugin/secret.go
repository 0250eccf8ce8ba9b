package plugin

import (
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
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

// hidden is the value of a reference as others get it: with secrets as such, be it
// because the plugin keeps secrets, or because it says so of some of its texts.
func (p *Plugins) hidden(v any, secret bool) any {
	if secret {
		v = inventory.Hide(v)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(v)
	return v
}

// remember notes the secrets of a value. The caller holds mu.
func (p *Plugins) remember(v any) {
	switch v := v.(type) {
	case transport.Secret:
		text := v.Reveal()
		if p.known[text] {
			return
		}
		quoted := strconv.Quote(text)
		for _, form := range []string{text, strings.TrimSpace(text), quoted[1 : len(quoted)-1]} {
			if len(form) >= minRedacted && !p.known[form] {
				p.known[form] = true
				p.secrets, p.sorted = append(p.secrets, form), false
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

// Secrets reports whether plugins have given any secret so far that Redact looks
// for.
func (p *Plugins) Secrets() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.secrets) > 0
}

// Redact returns a text without the secrets that plugins have given so far: for
// what people or plans may have made of them.
func (p *Plugins) Redact(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sorted {
		// The longest first, as one may be the beginning of another.
		slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
		p.sorted = true
	}
	for _, secret := range p.secrets {
		text = strings.ReplaceAll(text, secret, transport.NewSecret(secret).String())
	}
	return text
}

// redacted is an error without secrets. Its causes, which people can ask for, go
// where they had some.
func (p *Plugins) redacted(e *fault.Error) error {
	msg, hint := p.Redact(e.Msg), p.Redact(e.Hint)
	if msg == e.Msg && hint == e.Hint {
		return e
	}
	return &fault.Error{Kind: e.Kind, Msg: msg, Hint: hint}
}
