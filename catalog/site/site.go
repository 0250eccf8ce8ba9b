// Package site compiles the nodes of one environment of Puppet code: a directory with manifests,
// modules, hiera.yaml and environment.conf.
//
// A Site reads the main manifests once. It reads files of modules and data when a compilation needs
// them, and caches them for other compilations. Sites share no state.
package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/order"
	"bolt/catalog/static"
	"bolt/catalog/types"
	"bolt/catalog/yamlgraph"
	"bolt/environment"
	"bolt/environment/autoload"
	"bolt/environment/inputs"
	"bolt/environment/unknown"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// Kind is the kind of the errors of this package.
const Kind = "bolt/catalog-error"

// A Site is an environment whose manifests were read. It is safe for concurrent use.
type Site struct {
	name     string
	env      *environment.Environment
	programs []*syntax.Program
	graph    bool // the programs are graphs in YAML
	files    *static.Sources
	names    *unknown.Names
	now      func() time.Time
	server   *value.Hash // $server_facts
	exports  compile.Exports
}

// With returns a Site of the same code that collects exported resources. If e is nil, it only
// collects exports of the node itself.
func (s *Site) With(e compile.Exports) *Site {
	made := *s
	made.exports = e
	return &made
}

// Of returns a Site of the same modules and data whose main manifest is a program. The program
// was checked, perhaps as a part of a plan.
func (s *Site) Of(main *syntax.Program) *Site {
	made := *s
	made.programs, made.graph = []*syntax.Program{main}, false
	return &made
}

// A Source is the text of a manifest, and the name of its file.
type Source struct{ Name, Text string }

// New makes a Site from manifests and from an environment whose modules and data are already known,
// such as a project's. The error is a *fault.Error.
func New(name string, o environment.Options, sources []Source) (*Site, error) {
	var programs []*syntax.Program
	for _, src := range sources {
		p, err := parse(src)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	s := newSite(name, o, programs)
	s.graph = len(sources) > 0 && !slices.ContainsFunc(sources, func(src Source) bool { return !yamlgraph.Is(src.Name) })
	return s, nil
}

func newSite(name string, o environment.Options, programs []*syntax.Program) *Site {
	o = o.WithDefaults()
	return &Site{name: name, env: environment.New(o), programs: programs, files: static.New(o.Modules), names: &unknown.Names{Modules: o.Modules, Modulepath: o.Modules.Dirs()}, now: o.Now, server: ServerFacts(name)}
}

// languageVersion is the version of Puppet whose language is implemented.
const languageVersion = "8.11.0"

// ServerFacts returns $server_facts of an environment: facts of the machine that compiles.
func ServerFacts(env string) *value.Hash {
	var b value.HashBuilder
	put := func(name, text string) { b.Put(value.String(name), value.String(text)) }
	put("serverversion", languageVersion)
	if name, err := os.Hostname(); err == nil {
		put("servername", name)
	}
	addresses, _ := net.InterfaceAddrs() // without addresses, serverip is not set
	for _, a := range addresses {
		if ip, is := a.(*net.IPNet); is && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			put("serverip", ip.IP.String())
			break
		}
	}
	put("environment", env)
	return b.Build()
}

// directory returns the directory of the environment with a name below a directory. The error is
// a *fault.Error.
func directory(path, name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(path, name))
	if err != nil {
		return "", fault.File(path, err, "The directory '%s' could not be found: %v", path, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !valid(name) {
		return "", noEnvironment(path, name)
	}
	return dir, nil
}

// Open reads the environment with a name below a directory, like the directory of Puppet's setting
// environmentpath. The Modules and Dir of o are replaced by those of the environment, and its Hiera is the
// global layer. builtin are modules that every environment has. An error is a *fault.Error.
func Open(ctx context.Context, path, name string, o environment.Options, builtin fs.FS) (*Site, error) {
	l, err := LayoutOf(ctx, path, name)
	if err != nil {
		return nil, err
	}
	return l.Open(ctx, name, l.Options(o, builtin))
}

// valid reports whether a name can be the name of an environment (Puppet, "Creating environments").
func valid(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// manifests parses a manifest, or all manifests of a directory in the order of their paths. A
// directory that does not exist has none.
func manifests(ctx context.Context, path string) (programs []*syntax.Program, err error) {
	files, err := manifestFiles(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := readfile.Read(ctx, name, readfile.Language)
		if err != nil {
			return nil, fault.File(name, err, "The manifest '%s' could not be read: %v", name, fault.WithoutPath(err))
		}
		p, err := parse(Source{name, string(text)})
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// manifestFiles returns a manifest, or all manifests of a directory in the order of their paths.
func manifestFiles(ctx context.Context, path string) (files []string, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path += string(filepath.Separator) // it can be a link
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == path && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && (name == path || strings.HasSuffix(name, ".pp")):
			files = append(files, name)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fault.File(path, err, "The manifests in '%s' could not be read: %v", path, fault.WithoutPath(err))
	}
	slices.Sort(files)
	return files, nil
}

// parse parses and checks a manifest. The error is a *fault.Error with the first position.
func parse(src Source) (*syntax.Program, error) {
	p, err := source(src)
	if err == nil {
		err = check.Program(p, check.Options{}).Err()
	}
	if err == nil {
		return p, nil
	}
	e := &fault.Error{Kind: Kind, Err: err, Msg: err.Error()}
	if list, is := errors.AsType[syntax.Errors](err); is && len(list) > 0 {
		e.Details = place(list[0].Position(), list[0].Kind)
	}
	return nil, e
}

func place(at syntax.Position, kind string) *ordered.Map {
	m := ordered.Of("file", at.File, "line", int64(at.Line))
	if at.Column > 0 { // for Ruby, only the line is known
		m.Set("column", int64(at.Column))
	}
	m.Set("kind", kind)
	return m
}

// A Node is the machine for which a catalog is compiled.
type Node struct {
	Name    string // the certname
	Facts   *value.Hash
	Classes []string // are evaluated after the node definition; names in lower case
	// Variables are variables of the top scope, of the inventory and of a classifier; nil for none. A classifier also
	// assigns Declared, which are classes with parameters, and Environment, which is a name; "" means the
	// environment of the compiler.
	Declared    []compile.Class
	Variables   *value.Hash
	Environment string
	// Secrets are texts in Facts and Variables that must stay secret in the catalog ([Concealing]).
	Secrets []string
	// Resolve makes bolt's compiler call the functions of Deferred values.
	Resolve bool
	// As contains the variables and facts of programs, in place of Facts and Variables. If As is nil,
	// programs have the variables and facts of a node of a Puppet Server. The Limits, Log and Inputs of As
	// are not used.
	As     *environment.Node
	Limits eval.Limits
	Log    func(eval.Log) // receives messages of programs; nil drops them
	// Inputs receives the record of the compilation's reads before the compilation begins. If Inputs is nil,
	// reads are not recorded. Compilers that cannot record reads do not call Inputs.
	Inputs func(*inputs.Record)
}

// settings returns the variables $settings::name: the environment, and the
// directories that Puppet's own packages use on servers and on nodes.
func settings(environment string) *value.Hash {
	var b value.HashBuilder
	for _, s := range [][2]string{
		{"environment", environment},
		{"confdir", "/etc/puppetlabs/puppet"},
		{"ssldir", "/etc/puppetlabs/puppet/ssl"},
		{"codedir", "/etc/puppetlabs/code"},
		{"environmentpath", "/etc/puppetlabs/code/environments"},
	} {
		b.Put(value.String(s[0]), value.String(s[1]))
	}
	return b.Build()
}

// Compile compiles the static catalog of a node. It warns about a source that cannot be resolved, a value
// that a type rejects, and a cycle. Puppet compiles such catalogs, but does not apply them. The error is an
// *eval.Error or syntax.Errors.
func (s *Site) Compile(ctx context.Context, n Node) (*compile.Result, error) {
	var node environment.Node
	if n.As != nil {
		node = *n.As
	} else {
		node = environment.Certified(n.Name, n.Facts, s.server)
		if n.Variables != nil {
			node.Variables = node.Variables.Merge(n.Variables)
		}
	}
	node.Limits, node.Log = n.Limits, n.Log
	if n.Inputs != nil {
		node.Inputs = inputs.New(slices.Concat(names(s.server), names(n.Variables))...)
		n.Inputs(node.Inputs)
	}
	x := s.env.Evaluation(node)
	x.Interp.Env().Settings = settings(s.name)
	made, err := compile.Compile(ctx, x, s.programs, compile.Options{Node: n.Name, Environment: s.name, Declared: n.Declared, Classes: n.Classes, Exports: s.exports, Resolve: n.Resolve})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	c := made.Catalog
	c.Graph = s.graph
	if err := Resolve(ctx, s.files, c, n); err != nil {
		return nil, err
	}
	warn(c, n.Log)
	c.Version = strconv.FormatInt(s.now().Unix(), 10)
	c.UUID = newUUID()
	return made, nil
}

// names returns the names of variables; h may be nil.
func names(h *value.Hash) (list []string) {
	if h == nil {
		return nil
	}
	for k := range h.All() {
		if k, is := k.(value.String); is {
			list = append(list, string(k))
		}
	}
	return list
}

// The kinds of warnings about catalogs that Puppet compiles and does not apply: resources that wait
// for each other, values that a type rejects, and files that do not exist.
const (
	KindOrder  = "order"
	KindValue  = "value"
	KindSource = "missing-source"
)

// warn logs the errors that prevent the apply of a catalog. log may be nil.
func warn(c *catalog.Catalog, log func(eval.Log)) {
	if log == nil {
		return
	}
	if _, err := order.Of(c, types.Order(c)); err != nil {
		log(eval.Log{Level: eval.Warning, Kind: KindOrder, Msg: err.Error()})
	}
	for _, r := range c.Resources() {
		if r.Virtual {
			continue
		}
		for _, err := range append(types.Check(r), types.CheckForms(r)...) {
			at := syntax.Position{File: r.File, Line: r.Line}
			log(eval.Log{Level: eval.Warning, Kind: KindValue, Msg: err.Error(), Pos: at})
		}
	}
}

// newUUID makes a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A config is the settings of environment.conf.
type config struct {
	modulepath []string
	manifest   string
}

// readConfig reads the environment.conf of a directory, if it has one (Puppet,
// "environment.conf"). Settings other than modulepath and manifest have no effect on
// catalogs here.
func readConfig(ctx context.Context, dir string) (*config, error) {
	base := []string{filepath.Join(filepath.Dir(filepath.Dir(dir)), "modules"), "/opt/puppetlabs/puppet/modules"}
	c := &config{modulepath: append([]string{filepath.Join(dir, "modules")}, base...), manifest: filepath.Join(dir, "manifests")}
	name := filepath.Join(dir, "environment.conf")
	const limit = 1 << 20
	text, err := readfile.Read(ctx, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fault.File(name, err, "The file '%s' could not be read: %v", name, fault.WithoutPath(err))
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, v, found := strings.Cut(line, "=")
		if !found {
			return nil, fault.File(name, nil, "The file '%s' has no setting on line %d: expected NAME = VALUE.", name, n)
		}
		v = strings.TrimSpace(v)
		switch strings.TrimSpace(key) {
		case "manifest":
			c.manifest = within(dir, v)
		case "modulepath":
			c.modulepath = nil
			for _, one := range filepath.SplitList(v) {
				if one = strings.TrimSpace(one); one == "$basemodulepath" {
					c.modulepath = append(c.modulepath, base...)
				} else if one != "" {
					c.modulepath = append(c.modulepath, within(dir, one))
				}
			}
		}
	}
	return c, nil
}

// within returns a path in a setting as an absolute path; it is relative to the directory of the
// environment.
func within(dir, path string) string {
	path = strings.ReplaceAll(path, "$confdir", "/etc/puppetlabs/puppet")
	path = strings.ReplaceAll(path, "$codedir", filepath.Dir(filepath.Dir(dir)))
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// factsIn returns the facts in one of the forms that programs write: {"name": ..., "values":
// {...}}, or the facts themselves.
func factsIn(h *value.Hash) *value.Hash {
	v, _ := h.GetString("values")
	if values, is := v.(*value.Hash); is {
		if _, named := h.GetString("name"); named {
			return values
		}
	}
	return h
}

// Failure returns the error of a compilation for people and programs: its details contain the
// position.
func Failure(node string, err error) *fault.Error {
	e := &fault.Error{Kind: Kind, Err: err, Msg: fmt.Sprintf("The catalog of %s could not be compiled: %v", node, err), Hint: Hint(err)}
	if at, is := errors.AsType[*eval.Error](err); is && at.Pos.Line > 0 {
		e.Details = place(at.Pos, at.Kind)
	}
	return e
}

// Hint returns the next step after an error of a compilation, "" if none is known.
func Hint(err error) string {
	if _, ruby := errors.AsType[*autoload.RubyError](err); ruby {
		return "To use functions in Ruby, compile with an installed Puppet: add the option '--compiler puppet'."
	}
	if at, is := errors.AsType[*eval.Error](err); is && at.Pos.Line > 0 {
		return "" // the error has the place of the code
	}
	if f, is := errors.AsType[*fault.Error](err); is {
		return f.Hint
	}
	return ""
}
