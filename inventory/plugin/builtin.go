package plugin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/readfile"
)

// envVar returns the value of the environment variable var. If it is not set, the
// result is default, or null if the reference is optional. With json the value is
// parsed as JSON.
func (p *Plugins) envVar(_ context.Context, _, ref *ordered.Map) (any, error) {
	name, ok, err := text("env_var", ref, "var")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, invalid("env_var plugin requires that the 'var' is specified")
	}
	value, set := p.opts.Env(name)
	fallback, hasFallback := ref.Get("default")
	if !set {
		if !hasFallback && ref.Value("optional") != true {
			return nil, invalid("env_var plugin requires that the var '%s' be set", name)
		}
		return fallback, nil
	}
	if ref.Value("json") != true {
		return value, nil
	}
	v, err := ordered.ParseJSON([]byte(value))
	if err != nil {
		// The parser's error may quote the value, which may be a secret.
		return nil, fmt.Errorf("the value of the variable '%s' is not JSON", name)
	}
	return v, nil
}

// prompt prompts the user for a value, once for each message.
func (p *Plugins) prompt(ctx context.Context, _, ref *ordered.Map) (any, error) {
	message, ok, err := text("prompt", ref, "message")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, invalid("prompt plugin requires a 'message'")
	case p.opts.Prompt == nil:
		return nil, errors.New("prompting requires a terminal")
	}
	p.mu.Lock()
	answer, known := p.answers[message]
	p.mu.Unlock()
	if known {
		return answer.Reveal(), nil
	}
	if answer, err = p.opts.Prompt(ctx, message+": "); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.answers[message] = answer
	p.mu.Unlock()
	return answer.Reveal(), nil
}

// yaml returns the content of the YAML file filepath.
func (p *Plugins) yaml(ctx context.Context, config, ref *ordered.Map) (any, error) {
	path, ok, err := text("yaml", ref, "filepath")
	if err == nil && !ok {
		path, ok, err = text("yaml", config, "filepath")
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, invalid("yaml plugin requires a 'filepath'")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.opts.Project, path)
	}
	data, err := readfile.Read(ctx, path, readfile.Config)
	if err != nil {
		return nil, err
	}
	v, err := yaml.Decode(data, path)
	if err != nil {
		return nil, err
	}
	return v, nil
}
