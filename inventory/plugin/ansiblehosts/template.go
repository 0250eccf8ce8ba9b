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

// A scope holds the values that templates of one host can use.
type scope struct {
	host   *ansible.Host
	vars   *ordered.Map
	others *others                                 // nil if there are none
	lookup func(name string) string                // of environment variables
	open   func(v ansible.Vaulted) ([]byte, error) // nil without a password

	steps *int // the number of steps in the evaluation of the value
}

// of returns the scope of another host, for the same value.
func (s *scope) of(h *ansible.Host, vars *ordered.Map) *scope {
	other := *s
	other.host, other.vars = h, vars
	return &other
}

var templatePart = lazyregexp.New(`(?s)\{\{(.*?)\}\}`)

const (
	// maxTemplates is the maximum depth of templates that use other templates.
	maxTemplates = 20
	// maxSteps is the maximum number of names that a value is computed from, and
	// maxEvaluated is the maximum number of bytes on the way. Without these
	// limits, a few variables that each use the next one twice would grow
	// exponentially.
	maxSteps     = 200
	maxEvaluated = 16 << 10
)

var (
	errTemplate     = errors.New("only Ansible can evaluate the template")
	errTemplateSize = fmt.Errorf("its template is larger than %d KiB, or uses more than %d others", maxEvaluated>>10, maxSteps)
)

// isTemplate reports whether s must be evaluated.
func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// value evaluates v if it is a template: a string with expressions
// (expression.go) in {{ }}.
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
		return nil, errors.New("its template uses itself")
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

// opened decrypts a value that becomes part of a string.
func (s *scope) opened(v any) (any, error) {
	vaulted, ok := v.(ansible.Vaulted)
	if !ok {
		return v, nil
	}
	if s.open == nil {
		return nil, errors.New("its template needs a value that is encrypted by ansible-vault (set vault_password_file to the file with the password)")
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

// variable returns a variable of the host, or one that Ansible sets.
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
