package ansiblehosts

import (
	"errors"
	"fmt"
	"strings"

	"bolt/internal/ansible"
	"bolt/internal/lazyregexp"
	"bolt/internal/ordered"
	"bolt/transport"
)

// A scope is what templates of one host may name.
type scope struct {
	host   *ansible.Host
	vars   *ordered.Map
	lookup func(name string) string                // of the environment
	open   func(v ansible.Vaulted) ([]byte, error) // nil without a password

	steps int // that the value took which is evaluated
}

var (
	templatePart    = lazyregexp.New(`(?s)\{\{(.*?)\}\}`)
	templateName    = lazyregexp.New(`^([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*|\[\s*'[^']*'\s*\]|\[\s*"[^"]*"\s*\])*)$`)
	templateStep    = lazyregexp.New(`\.([A-Za-z_]\w*)|\[\s*'([^']*)'\s*\]|\[\s*"([^"]*)"\s*\]`)
	templateEnv     = lazyregexp.New(`^lookup\(\s*["'](?:ansible\.builtin\.)?env["']\s*,\s*["'](\w+)["']\s*\)$`)
	templateText    = lazyregexp.New(`^(?:'([^'\\]*)'|"([^"\\]*)")$`)
	templateDefault = lazyregexp.New(`(?s)^(.*?)\s*\|\s*(?:default|d)\(\s*(.*?)\s*(?:,\s*(?:true|True|boolean=True|boolean=true)\s*)?\)$`)
)

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

// value evaluates v if it is a template: texts with names of variables in {{ }},
// which may have default(), and the environment's variables.
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
		s.steps = 0
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

func (s *scope) expression(e string, depth int) (any, error) {
	if s.steps++; s.steps > maxSteps {
		return nil, errTemplateSize
	}
	e = strings.TrimSpace(e)
	if m := templateText().FindStringSubmatch(e); m != nil {
		return m[1] + m[2], nil
	}
	if m := templateEnv().FindStringSubmatch(e); m != nil {
		return s.lookup(m[1]), nil
	}
	if m := templateDefault().FindStringSubmatch(e); m != nil {
		v, err := s.expression(m[1], depth)
		if _, undefined := errors.AsType[errUndefined](err); undefined || err == nil && (v == nil || v == "") {
			return s.expression(m[2], depth)
		}
		return v, err
	}
	m := templateName().FindStringSubmatch(e)
	if m == nil {
		return nil, errTemplate
	}
	v, ok := s.variable(m[1])
	if !ok {
		return nil, errUndefined{m[1]}
	}
	for _, step := range templateStep().FindAllStringSubmatch(m[2], -1) {
		in, is := v.(*ordered.Map)
		if v, ok = in.Get(step[1] + step[2] + step[3]); !is || !ok {
			return nil, errUndefined{m[1] + m[2]}
		}
	}
	return s.value(v, depth+1)
}

type errUndefined struct{ name string }

func (e errUndefined) Error() string {
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
	}
	return s.vars.Get(name)
}
