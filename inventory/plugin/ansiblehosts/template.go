package ansiblehosts

import (
	"errors"
	"fmt"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
	"bolt/inventory/ansible"
	"bolt/transport"
)

// A scope is what templates of one host may name.
type scope struct {
	host   *ansible.Host
	vars   *ordered.Map
	others *others                                 // nil where there are none
	lookup func(name string) string                // of the environment
	open   func(v ansible.Vaulted) ([]byte, error) // nil without a password

	steps *int // the number of steps in the evaluation of the value
}

// of is the scope of another host, for the same value.
func (s *scope) of(h *ansible.Host, vars *ordered.Map) *scope {
	other := *s
	other.host, other.vars = h, vars
	return &other
}

var templatePart = lazyregexp.New(`(?s)\{\{(.*?)\}\}`)

const (
	// maxTemplates is how often a template may lead to another.
	maxTemplates = 20
	// maxSteps is how many names a value may come from in all, and maxEvaluated
	// how many bytes it may have on the way: a few lines that name each other
	// twice would not come to an end.
	maxSteps     = 200
	maxEvaluated = 16 << 10
)

var (
	errTemplate     = errors.New("only Ansible can evaluate the template")
	errTemplateSize = fmt.Errorf("its template is larger than %d KiB, or is made of more than %d others", maxEvaluated>>10, maxSteps)
)

// isTemplate reports whether text is to be evaluated.
func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// value evaluates v if it is a template: text with expressions (expression.go) in
// {{ }}.
func (s *scope) value(v any, depth int) (any, error) {
	if secret, ok := v.(transport.Secret); ok && isTemplate(secret.Reveal()) {
		v, err := s.value(secret.Reveal(), depth)
		return hidden(v), err
	}
	text, ok := v.(string)
	if !ok || !isTemplate(text) {
		return v, nil
	}
	switch {
	case depth == 0:
		s.steps = new(int)
	case depth > maxTemplates:
		return nil, errors.New("its template leads to itself")
	}
	if len(text) > maxEvaluated {
		return nil, errTemplateSize
	}
	if strings.Contains(text, "{%") || strings.Contains(text, "{#") {
		return nil, errTemplate
	}
	parts := templatePart().FindAllStringSubmatchIndex(text, -1)
	if len(parts) == 1 && strings.TrimSpace(text[:parts[0][0]]+text[parts[0][1]:]) == "" {
		return s.expression(text[parts[0][2]:parts[0][3]], depth)
	}
	var b strings.Builder
	secret := false
	end := 0
	for _, p := range parts {
		e, err := s.expression(text[p[2]:p[3]], depth)
		if err != nil {
			return nil, err
		}
		if e, err = s.opened(e); err != nil {
			return nil, err
		}
		if h, ok := e.(transport.Secret); ok {
			e, secret = h.Reveal(), true
		}
		switch e.(type) {
		case string, int64, float64, bool:
		default:
			return nil, errTemplate
		}
		fmt.Fprintf(&b, "%s%v", text[end:p[0]], e)
		if end = p[1]; b.Len() > maxEvaluated {
			return nil, errTemplateSize
		}
	}
	b.WriteString(text[end:])
	if isTemplate(text[end:]) {
		return nil, errTemplate
	}
	if secret {
		return transport.NewSecret(b.String()), nil
	}
	return b.String(), nil
}

func hidden(v any) any {
	if s, ok := v.(string); ok {
		return transport.NewSecret(s)
	}
	return v
}

// opened decrypts what is to become a part of a text.
func (s *scope) opened(v any) (any, error) {
	vaulted, ok := v.(ansible.Vaulted)
	if !ok {
		return v, nil
	}
	if s.open == nil {
		return nil, errors.New("its template needs a value that is encrypted by ansible-vault (vault_password_file says where the password is)")
	}
	text, err := s.open(vaulted)
	return transport.NewSecret(string(text)), err
}

type errUndefined struct{ name string }

func (e errUndefined) Error() string {
	if e.name == "" {
		return "its template takes the first or last element of an empty list"
	}
	return "its template needs the variable " + e.name + ", which is not set"
}

// variable is one of the host's, or one that Ansible sets.
func (s *scope) variable(name string) (any, bool) {
	switch name {
	case "inventory_hostname":
		return s.host.Name, true
	case "inventory_hostname_short":
		short, _, _ := strings.Cut(s.host.Name, ".")
		return short, true
	case "inventory_file":
		return s.host.Source, true
	case "inventory_dir":
		return directory(s.host.Source), true
	case "group_names":
		return s.others.groupNames(s.host), true
	case "groups":
		return groupsOfAll{}, true
	case "hostvars":
		return hostvars{}, true
	}
	return s.vars.Get(name)
}
