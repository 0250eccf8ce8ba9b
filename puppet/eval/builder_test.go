package eval_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A recorder is a Builder that records its calls, evaluates classes immediately
// and stores parameters.
type recorder struct {
	t      *testing.T
	events []string
	params map[string]*value.Hash // by reference
}

func (r *recorder) say(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func show(attrs []eval.Attribute) string {
	var b strings.Builder
	for _, a := range attrs {
		op := "=>"
		if a.Add {
			op = "+>"
		}
		fmt.Fprintf(&b, " %s %s %s", a.Name, op, value.Inspect(a.Value))
	}
	return b.String()
}

func (r *recorder) Declare(s *eval.Site, d *eval.Declaration) ([]value.Value, error) {
	var refs []value.Value
	for _, b := range d.Bodies {
		for _, title := range b.Titles {
			r.say("declare %s[%s] form %d:%s", d.Type, title, d.Form, show(b.Attrs))
			var h value.HashBuilder
			for _, a := range b.Attrs {
				h.Put(value.String(a.Name), a.Value)
			}
			given := h.Build()
			r.params[d.Type+"["+title+"]"] = given
			if d.Type == "class" {
				if err := r.class(s, title, given); err != nil {
					return nil, err
				}
				refs = append(refs, value.NewClassRef(title))
				continue
			}
			if def, err := s.Find(eval.KindDefine, d.Type); err != nil {
				return nil, err
			} else if def != nil {
				scope := s.Interp.NewScope(eval.ScopeOptions{Kind: eval.DefineScope, Name: d.Type, Label: d.Type + "[" + title + "]", Parent: s.Scope})
				if err := scope.Set("title", value.String(title)); err != nil {
					return nil, err
				}
				if _, err := s.Bind(def, scope, given, nil); err != nil {
					return nil, err
				}
				if _, err := s.Body(def, scope); err != nil {
					return nil, err
				}
			}
			refs = append(refs, value.NewResourceRef(d.Type, title))
		}
	}
	return refs, nil
}

// class evaluates a class.
func (r *recorder) class(s *eval.Site, name string, given *value.Hash) error {
	if s.Interp.ClassScope(name) != nil {
		return nil
	}
	d, err := s.Find(eval.KindClass, name)
	if err != nil {
		return err
	}
	if d == nil {
		return eval.Errorf("unknown-class", "no class %s", name)
	}
	o := eval.ScopeOptions{Kind: eval.ClassScope, Name: name, Label: "Class[" + name + "]", Module: d.Module, Parent: s.Scope}
	if parent := d.Node.(*syntax.Class).Parent; parent != "" {
		if err := r.class(s, parent, value.NewHash()); err != nil {
			return err
		}
		o.Inherits = s.Interp.ClassScope(parent)
		o.Parent = o.Inherits
	}
	scope := s.Interp.NewScope(o)
	s.Interp.SetClassScope(name, scope)
	bound, err := s.Bind(d, scope, given, func(param string) (value.Value, bool, error) {
		if param == "from_data" {
			return value.String("data"), true, nil
		}
		return nil, false, nil
	})
	if err != nil {
		return err
	}
	r.params["class["+name+"]"] = bound
	_, err = s.Body(d, scope)
	return err
}

func (r *recorder) Default(s *eval.Site, typ string, attrs []eval.Attribute) error {
	r.say("default %s in %s:%s", typ, s.Scope, show(attrs))
	return nil
}

func (r *recorder) Override(s *eval.Site, o *eval.Override) error {
	r.say("override %v:%s", o.Refs, show(o.Attrs))
	return nil
}

func (r *recorder) Collect(s *eval.Site, c *eval.Collector) (value.Value, error) {
	r.say("collect %s exported %v query %s:%s", c.Type, c.Exported, query(c.Query), show(c.Attrs))
	return &value.Runtime{Runtime: "go", Name: "collector", Value: c}, nil
}

func query(q eval.Query) string {
	switch q := q.(type) {
	case *eval.QueryBool:
		op := "and"
		if q.Or {
			op = "or"
		}
		return "(" + query(q.X) + " " + op + " " + query(q.Y) + ")"
	case *eval.QueryCompare:
		op := "=="
		if q.Not {
			op = "!="
		}
		return q.Name + op + value.Inspect(q.Value)
	}
	return "all"
}

func (r *recorder) Relate(s *eval.Site, rel *eval.Relation) error {
	side := func(list []value.Value) string {
		var names []string
		for _, v := range list {
			if c, is := v.(*value.Runtime); is {
				names = append(names, c.Name)
			} else {
				names = append(names, value.TypeString(v.(value.Type)))
			}
		}
		return strings.Join(names, ",")
	}
	r.say("relate %s to %s notify %v", side(rel.Sources), side(rel.Targets), rel.Notify)
	return nil
}

func (r *recorder) Parameter(s *eval.Site, typ, title, name string) (value.Value, bool, error) {
	h, is := r.params[typ+"["+title+"]"]
	if !is {
		return nil, false, nil
	}
	v, is := h.GetString(name)
	if !is {
		return nil, true, eval.Errorf("unknown-parameter", "no parameter %s", name)
	}
	return v, true, nil
}

func build(t *testing.T, src string) (*recorder, value.Value, error) {
	t.Helper()
	r := &recorder{t: t, params: map[string]*value.Hash{}}
	env := newEnv()
	env.Builder = r
	env.Log = func(l eval.Log) { r.say("%s %s: %s", l.Level, l.Scope, l.Msg) }
	env.Library = eval.NewLibrary(nil, append(functions(), &eval.Function{Name: "include", Catalog: true, Signatures: []eval.Signature{{
		Params: "String *$names",
		Run: func(c *eval.Call) (value.Value, error) {
			for _, n := range c.Args {
				if err := r.class(&c.Site, string(n.(value.String)), value.NewHash()); err != nil {
					return nil, err
				}
			}
			return value.Undef{}, nil
		},
	}}})...)
	p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := eval.New(env).Run(context.Background(), p, nil)
	return r, v, err
}

func TestBuilder(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"titles and attributes", "$t = ['b', ['c']] file { 'a': mode => '1', ensure => 'x'; $t: *=> {'mode' => '2'}; }", []string{
			"declare file[a] form 0: mode => '1' ensure => 'x'", "declare file[b] form 0: mode => '2'", "declare file[c] form 0: mode => '2'"}},
		{"default body", "file { default: mode => '1', owner => 'r'; 'a': mode => '2'; 'b': ; }", []string{
			"declare file[a] form 0: mode => '2' owner => 'r'", "declare file[b] form 0: mode => '1' owner => 'r'"}},
		{"forms", "@file { 'a': } @@file { 'b': }", []string{"declare file[a] form 1:", "declare file[b] form 2:"}},
		{"type as a value", "File { 'a': } Resource['file'] { 'b': }", []string{"declare file[a] form 0:", "declare file[b] form 0:"}},
		{"defaults", "File { mode => '1' }", []string{"default file in Scope(Class[main]): mode => '1'"}},
		{"override", "File['a', 'b'] { mode +> '1' }", []string{"override [{file a} {file b}]: mode +> '1'"}},
		{"collect", "$v = 'q' File <| (mode == '1' or tag != $v) and title == 'x' |> { owner => 'r' } File <<| |>>", []string{
			"collect file exported false query ((mode=='1' or tag!='q') and title=='x'): owner => 'r'", "collect file exported true query all:"}},
		{"relations", "File['a'] -> [File['b'], Class['c']] <~ 'Exec[d]'", []string{
			"relate File['a'] to File['b'],Class[c] notify false", "relate Exec['d'] to File['b'],Class[c] notify true"}},
		{"relations past nothing", "File['a'] -> [] -> File['b']", []string{
			"relate File['a'] to  notify false", "relate File['a'] to File['b'] notify false"}},
		{"relations of declarations and collectors", "file { 'a': } -> File <| |>", []string{
			"declare file[a] form 0:", "collect file exported false query all:", "relate File['a'] to collector notify false"}},
		{"define", "define d($x, $y = \"${title}-${x}\") { notice(\"${title} ${x} ${y}\") } d { 't': x => 1 }", []string{
			"declare d[t] form 0: x => 1", "notice Scope(d[t]): t 1 t-1"}},
		{"class", "class c($x, $y = $x + 1, $from_data = 'none') { $z = 3 notice(\"${x} ${y} ${from_data}\") } class { 'c': x => 1 } notice($c::z, Class['c']['y'])", []string{
			"declare class[c] form 0: x => 1", "notice Scope(Class[c]): 1 2 data", "notice Scope(Class[main]): 3", "notice Scope(Class[main]): 2"}},
		{"inheritance", "class p { $a = 'pa' $b = 'pb' } class c inherits p { $a = 'ca' notice(\"${a} ${b} ${c::b} ${p::a}\") } include('c')", []string{
			"notice Scope(Class[c]): ca pb pb pa"}},
		{"no dynamic scope", "class a { $v = 'a' include('b') } class b { notice($v) } $v = 'top' include('a')", []string{
			"notice Scope(Class[b]): top"}},
		{"assignment from a class", "class a { $v = 'x' $w = 'y' } include('a') [$w, $v] = Class['a'] notice(\"${v}${w}\")", []string{
			"notice Scope(Class[main]): xy"}},
		{"return ends a class", "class a { notice('before') return() notice('after') } include('a') notice('on')", []string{
			"notice Scope(Class[a]): before", "notice Scope(Class[main]): on"}},
		{"functions see the top", "class a { $v = 'a' notice(f()) } function f() { $v } $v = 'top' include('a')", []string{
			"notice Scope(Class[a]): top"}},
		{"classes see the lambda that includes them", "class a { notice(\"${q} ${1}\") } [1].each |$q| { if 'b' =~ /(.)/ { include('a') } }", []string{
			"notice Scope(Class[a]): 1 b"}},
		{"classes see the function that includes them", "class a { notice($q) } function f() { $q = 2 include('a') } f()", []string{
			"notice Scope(Class[a]): 2"}},
		{"classes see the lambda of the class that they inherit", "class b { $v = 1 [1].each |$q| { $w = 2 include('c') } } class c inherits b { notice(\"${q}${v}${w}\") } include('b')", []string{
			"notice Scope(Class[c]): 112"}},
		{"functions do not see the lambda around a class", "class a { notice(f()) } function f() { $q } $q = 'top' [1].each |$q| { include('a') }", []string{
			"notice Scope(Class[a]): top"}},
		{"lambdas see their class", "class a { $v = 'a' [1].each |$x| { notice(\"${v}${x}\") } } include('a')", []string{
			"notice Scope(Class[a]): a1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, err := build(t, c.src)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(r.events, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(r.events, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestBuilderErrors(t *testing.T) {
	for _, c := range []struct {
		src, kind string
		column    int
	}{
		{"file { undef: }", "bad-title", 8},
		{"file { ['a', undef]: }", "bad-title", 8},
		{"file { '': }", "bad-title", 8},
		{"file { 1: }", "bad-title", 8},
		{"file { ['a', 'a']: }", "duplicate-title", 1},
		{"file { 'a': ; 'a': }", "duplicate-title", 1},
		{"file { 'a': mode => '1', * => {mode => '2'} }", "duplicate-attribute", 1},
		{"file { 'a': * => 1 }", "type-mismatch", 18},
		{"$t = 'file' Resource[$t]['x'] { 'a': }", "bad-resource-type", 13},
		{"Integer { 'a': }", "bad-resource-type", 1},
		{"Class['a'] { x => 1 }", "bad-override", 1},
		{"Class <| |>", "bad-collector", 1},
		{"File['a'] -> 1", "bad-relation", 11},
		{"File['a'] -> Integer", "bad-relation", 11},
		{"File['none']['mode']", "unknown-resource", 1},
		{"file { 'a': } File['a']['mode']", "unknown-parameter", 15},
		{"class c(Integer $x) { } class { 'c': x => 'a' }", "parameter", 25},
		{"class c(Integer $x) { } class { 'c': }", "parameter", 25},
		{"class c($x = $y, $y = 1) { } class { 'c': }", "parameter-order", 30},
		{"class c { break() } include('c')", "illegal-break", 11},
	} {
		_, _, err := build(t, c.src)
		e, is := err.(*eval.Error)
		if !is || e.Kind != c.kind || e.Pos.Column != c.column {
			t.Errorf("%s\n got %v\nwant %s at column %d", c.src, err, c.kind, c.column)
		}
	}
}
