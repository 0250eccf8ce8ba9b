package stdlib

import (
	"errors"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A catalogue is a Builder that stores resources and their parameters.
type catalogue struct {
	eval.Builder // nothing else is called
	resources    map[string]map[string]value.Value
	declared     []string // in order
}

func (b *catalogue) Parameter(_ *eval.Site, typ, title, name string) (value.Value, bool, error) {
	r, found := b.resources[typ+"["+title+"]"]
	if found && name == "bad" {
		return nil, true, eval.Errorf("unknown-parameter", "there is no parameter %s", name)
	}
	return r[name], found, nil
}

// create is create_resources() of this catalogue.
func (b *catalogue) create() *eval.Function {
	return &eval.Function{Name: "create_resources", Catalog: true, Signatures: one("String $type, Hash $resources", func(c *eval.Call) (value.Value, error) {
		for title, attrs := range c.Args[1].(*value.Hash).All() {
			key := strings.ToLower(value.RubyShown(c.Args[0])) + "[" + value.RubyShown(title) + "]"
			if b.resources[key] != nil {
				return nil, errors.New(key + " is there already")
			}
			b.resources[key] = map[string]value.Value{"title": title}
			for k, v := range attrs.(*value.Hash).All() {
				b.resources[key][value.RubyShown(k)] = v
			}
			b.declared = append(b.declared, key+" "+value.Inspect(attrs))
		}
		return value.Undef{}, nil
	})}
}

func catalogEnv() (eval.Env, *catalogue) {
	b := &catalogue{resources: map[string]map[string]value.Value{
		"file[/x]":       {"title": value.String("/x"), "mode": value.String("0644"), "none": value.Undef{}},
		"package[vim]":   {"title": value.String("vim"), "ensure": value.String("present")},
		"package[emacs]": {"title": value.String("emacs"), "ensure": value.String("installed")},
		"class[a::b]":    {"title": value.String("a::b")},
	}}
	return eval.Env{Library: eval.NewLibrary(Loader(nil), append(Functions(Options{}), b.create())...), Builder: b}, b
}

func TestCatalogQueries(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"defined_with_params(File['/x'])", "true"},
		{"defined_with_params('File[/x]', {mode => '0644'})", "true"},
		{"defined_with_params('File[/x]', {mode => '0600'})", "false"},
		{"defined_with_params('File[/x]', {none => undef, bad => undef})", "true"},
		{"defined_with_params('File[/y]', {mode => '0644'})", "false"},
		{"defined_with_params('File[/y]', 'text')", "false"},
		{"defined_with_params('File[/x]', 'text')", "error"},
		{"defined_with_params('Class[A::B]')", "true"},
		{"getparam(File['/x'], 'mode')", "'0644'"},
		{"getparam(File['/x'], 'bad')", "''"},
		{"getparam(File['/y'], 'mode')", "''"},
		{"stdlib::str2resource('File[/x]')", "File['/x']"},
		{"stdlib::str2resource('Class[a::b]')", "Class[a::b]"},
		{"stdlib::str2resource('File[/y]')", "error"},
	} {
		env, _ := catalogEnv()
		got := "error"
		v, err := run(t, env, c.expr)
		if err == nil {
			got = value.Inspect(v)
		}
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.expr, got, err, c.want)
		}
	}
}

func TestResourceDeclarations(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"ensure_resource('file', '/x')", ""},
		{"ensure_resource('file', '/x', {mode => '0644'})", ""},
		{"ensure_resource('file', '/x', {mode => '0600'})", "error"}, // a second declaration
		{"ensure_resource('file', ['/y', '/x'], {mode => '0644'})", "file[/y] {'mode' => '0644'}"},
		{"ensure_resource('file', '/y') ensure_resource('file', '/y')", "file[/y] {}"},
		{"ensure_resource('file', '/y', 1)", "error"},
		{"ensure_resources('user', {dan => {uid => 1}, alex => undef}, {gid => 2})", "user[dan] {'gid' => 2, 'uid' => 1}; user[alex] {'gid' => 2}"},
		{"ensure_resources('user', 'dan')", "error"},
		{"stdlib::ensure_packages('git')", "package[git] {'ensure' => 'installed'}"},
		{"stdlib::ensure_packages(['vim', 'emacs', 'git'])", "package[git] {'ensure' => 'installed'}"},
		{"stdlib::ensure_packages('vim', {ensure => 'present'})", ""},
		{"stdlib::ensure_packages('git', {ensure => 'latest'})", "package[git] {'ensure' => 'latest'}"},
		{"stdlib::ensure_packages({git => {ensure => '1.2'}, vim => {}}, {provider => 'apt'})", "error"}, // vim is without a provider
		{"ensure_packages(['git'])", "package[git] {'ensure' => 'installed'}"},
	} {
		env, b := catalogEnv()
		got := "error"
		_, err := run(t, env, c.expr)
		if err == nil {
			got = strings.Join(b.declared, "; ")
		}
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.expr, got, err, c.want)
		}
		env.Builder = nil
		if v, err := run(t, env, c.expr); err == nil || !strings.Contains(err.Error(), "catalog") {
			t.Errorf("%s without a catalog: got %v, %v", c.expr, v, err)
		}
	}
}
