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

// minRedacted is the minimum length of a secret that is redacted in other strings.
// Shorter secrets occur in too many strings.
const minRedacted = 4

// sensitiveKey is the key of a reference that makes its value secret, for every
// plugin.
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

// hidden returns the value of a reference with transport.Secret values. Strings
// are secret because the plugin hides all its values, or because it marked these
// strings.
func (p *Plugins) hidden(v any, secret bool) any {
	if secret {
		v = inventory.Hide(v)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(v)
	return v
}

// remember records the secrets of a value. The caller holds mu.
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

// Redact returns a string without the secrets that plugins have returned so far.
// It is for strings that users or plans may have built from secrets.
func (p *Plugins) Redact(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sorted {
		// Longest first, because one secret may be a prefix of another.
		slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
		p.sorted = true
	}
	for _, secret := range p.secrets {
		text = strings.ReplaceAll(text, secret, transport.NewSecret(secret).String())
	}
	return text
}

// redacted returns an error without secrets. If the error contained secrets, it
// also drops the causes, because callers can print them.
func (p *Plugins) redacted(e *fault.Error) error {
	msg, hint := p.Redact(e.Msg), p.Redact(e.Hint)
	if msg == e.Msg && hint == e.Hint {
		return e
	}
	return &fault.Error{Kind: e.Kind, Msg: msg, Hint: hint}
}
