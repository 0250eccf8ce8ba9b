package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/puppet/value"
)

// A Task is a task with its metadata. It does not change after Find.
type Task struct {
	Name   string
	Module modules.Module
	// Metadata is the content of the file in its order; empty if there is no
	// file.
	Metadata *ordered.Map

	Description  string
	SupportsNoop bool
	Private      bool
	Remote       bool // for devices, which are accessed from another target
	InputMethod  string
	// Parameters are in the order of the metadata. Typed is false if the
	// metadata has no list of parameters, not even an empty one. Then the task
	// accepts all parameters.
	Parameters []Parameter
	Typed      bool
	// Implementations are in the order of the metadata. If it lists none, there
	// is one.
	Implementations []Implementation
	// Outputs are the outputs that the task promises; nil if it promises none.
	Outputs []Output
	// Native is the name of the part of this program that performs the task, on
	// this machine and not on a target. If it is "", a file performs the task.
	Native string
	// Helper is the name of the part of this program that performs the task on
	// targets that support it. If it is "", the file always performs the task.
	Helper string
	// HereOnly is set if bolt itself performs the task and the task acts on this
	// machine. It is then refused for other targets and other users.
	HereOnly bool

	executables []string // files with the task's name
	odd         []string // unknown keys in parts of the metadata
	files       []string // extra files for all implementations, as written
}

// With returns the task with additional files, named as in metadata.
func (t *Task) With(files ...string) *Task {
	more := *t
	more.files = slices.Concat(t.files, files)
	return &more
}

// A Parameter is a parameter that a task declares.
type Parameter struct {
	Name           string
	TypeText       string // as in the metadata; "" if the type is left out
	Type           value.Type
	Description    string
	HasDescription bool
	Default        any // in the types of package ordered
	HasDefault     bool
	Sensitive      bool
}

// Optional reports whether a task can be run without the parameter.
func (p *Parameter) Optional() bool { return p.HasDefault || value.Instance(p.Type, value.Undef{}) }

// An Implementation is an executable file of the task for targets that have
// certain features.
type Implementation struct {
	File         string   // name of the file in the directory tasks
	Requirements []string // features
	InputMethod  string
	Remote       bool

	inherits bool     // Remote has the task's value
	files    []string // extra files, as in the metadata
	local    string   // the file's name in the module, "tasks/x.sh"
}

// These are the input methods of tasks. A task with any other method gets no
// parameters.
const (
	InputBoth        = "both"
	InputEnvironment = "environment"
	InputStdin       = "stdin"
	InputPowerShell  = "powershell"
)

// metadataKeys are the known keys. The key extensions is for other programs, and
// for bolt's own extensions.
var metadataKeys = []string{"description", "extensions", "files", "implementations", "input_method", "outputs",
	"parameters", "private", "puppet_task_version", "remote", "supports_noop"}

// palError is the kind of the error if a task's files or metadata are invalid.
const palError = "bolt/pal-error"

// readMetadata reads and parses a file of metadata. An empty file is equivalent
// to {}.
func readMetadata(ctx context.Context, m modules.Module, name string) (*ordered.Map, error) {
	rel := path.Join(dir, name+metadataExt)
	data, err := m.ReadFile(ctx, rel, readfile.Config)
	if err != nil {
		return nil, &fault.Error{Kind: palError, Err: err,
			Msg: fmt.Sprintf("The metadata of task '%s' cannot be read from %s: %v", fullName(m.Name, name), m.Path(rel), fault.WithoutPath(err))}
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return &ordered.Map{}, nil
	}
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, &fault.Error{Kind: palError, Err: err,
			Msg: fmt.Sprintf("The metadata of task '%s' is not JSON: %s, %v", fullName(m.Name, name), m.Path(rel), err)}
	}
	raw, ok := v.(*ordered.Map)
	if !ok {
		return nil, fault.New(palError, "The metadata of task '%s' must be a JSON object: %s", fullName(m.Name, name), m.Path(rel))
	}
	return raw, nil
}

// read sets the fields of the task from its metadata.
func (t *Task) read(ctx context.Context, l *Library, name string, has bool) error {
	t.Metadata = &ordered.Map{}
	if has {
		raw, err := readMetadata(ctx, t.Module, name)
		if err != nil {
			return err
		}
		t.Metadata = raw
	}
	r := reader{Map: t.Metadata}
	t.Description = r.text("description")
	t.SupportsNoop = r.flag("supports_noop")
	t.Private = r.flag("private")
	t.Remote = r.flag("remote")
	t.InputMethod = r.text("input_method")
	t.files = r.texts("files")
	extensions := r.child("extensions")
	t.Native, t.HereOnly = extension(extensions, "native"), hereOnly(extensions)
	if t.Module.BuiltIn() {
		t.Helper = extension(extensions, "helper")
	}
	if params := r.child("parameters"); params != nil {
		t.Typed = true
		for k, v := range params.All() {
			p, err := r.parameter(ctx, l, k, v)
			if err != nil {
				return t.placed(name, "the type of parameter '"+k+"'", err)
			}
			t.Parameters = append(t.Parameters, p)
		}
	}
	for _, v := range r.list("implementations") {
		t.Implementations = append(t.Implementations, r.implementation(v))
	}
	var err error
	if t.Outputs, err = r.outputs(ctx, l); err != nil {
		return t.placed(name, "the outputs", err)
	}
	if r.problems != nil {
		return fault.New(palError, "The metadata of task '%s' is not valid, in %s:\n  %s", t.Name,
			t.Module.Path(path.Join(dir, name+metadataExt)), strings.Join(r.problems, "\n  "))
	}
	t.odd = r.odd
	t.warn(l)
	return nil
}

// placed adds the position to an error about a type, whose message is Puppet's.
func (t *Task) placed(name, where string, err error) error {
	e := fault.Error{Kind: palError, Msg: err.Error(), Err: err}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		e = *f
	}
	e.Hint = fmt.Sprintf("The error is in %s in %s", where, t.Module.Path(path.Join(dir, name+metadataExt)))
	if e.Err != nil && e.Err.Error() != e.Msg {
		e.Hint += ": " + e.Err.Error()
	}
	return &e
}

// warn warns about unknown keys and input methods.
func (t *Task) warn(l *Library) {
	var unknown []string
	for k := range t.Metadata.All() {
		if !slices.Contains(metadataKeys, k) {
			unknown = append(unknown, k)
		}
	}
	unknown = append(unknown, t.odd...)
	if unknown != nil {
		l.o.Warn("unknown_task_metadata_keys", fmt.Sprintf("The metadata of task '%s' has unknown keys: %s. "+
			"Check their spelling.", t.Name, strings.Join(unknown, ", ")))
	}
	methods := []string{t.InputMethod}
	for _, impl := range t.Implementations {
		methods = append(methods, impl.InputMethod)
	}
	for _, m := range methods {
		if m != "" && m != InputBoth && m != InputEnvironment && m != InputStdin && m != InputPowerShell {
			l.o.Warn("unknown_input_method", fmt.Sprintf("The metadata of task '%s' contains the unknown input method '%s': "+
				"the task gets no parameters. The methods are both, environment, stdin and powershell.", t.Name, m))
		}
	}
}

// extension reads one of bolt's own extensions: {"bolt": {"native": "name"}}.
func extension(extensions *ordered.Map, key string) string {
	own, _ := extensions.Value("bolt").(*ordered.Map)
	name, _ := own.Value(key).(string)
	return name
}

// hereOnly reads {"bolt": {"here_only": true}}, which is used together with
// native.
func hereOnly(extensions *ordered.Map) bool {
	own, _ := extensions.Value("bolt").(*ordered.Map)
	return own.Value("here_only") == true
}

// A reader reads metadata and collects values of a wrong type.
type reader struct {
	*ordered.Map
	problems []string
	odd      []string // unknown keys in parts
}

func (r *reader) wrong(key, want string) {
	r.problems = append(r.problems, fmt.Sprintf("'%s' must be %s", key, want))
}

func (r *reader) text(key string) string {
	v := r.Value(key)
	s, ok := v.(string)
	if !ok && v != nil {
		r.wrong(key, "a string")
	}
	return s
}

func (r *reader) flag(key string) bool {
	v := r.Value(key)
	b, ok := v.(bool)
	if !ok && v != nil {
		r.wrong(key, "true or false")
	}
	return b
}

func (r *reader) child(key string) *ordered.Map {
	v := r.Value(key)
	m, ok := v.(*ordered.Map)
	if !ok && v != nil {
		r.wrong(key, "an object")
	}
	return m
}

func (r *reader) list(key string) []any {
	v := r.Value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		r.wrong(key, "a list")
	}
	return list
}

func (r *reader) texts(key string) []string {
	var texts []string
	for _, v := range r.list(key) {
		s, ok := v.(string)
		if !ok {
			r.wrong(key, "a list of strings")
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// within reads a part that may have certain keys. It adds the name of the part
// to its problems.
func (r *reader) within(key string, v any, keys []string, read func(*reader)) {
	m, ok := v.(*ordered.Map)
	if !ok {
		r.wrong(key, "an object")
		return
	}
	for k := range m.All() {
		if !slices.Contains(keys, k) {
			r.odd = append(r.odd, key+"."+k)
		}
	}
	in := &reader{Map: m}
	read(in)
	for _, p := range in.problems {
		r.problems = append(r.problems, key+": "+p)
	}
}

func (r *reader) parameter(ctx context.Context, l *Library, name string, v any) (p Parameter, err error) {
	p = Parameter{Name: name}
	if !modules.ValidName(name) {
		r.wrong("parameters."+name, "named with lowercase letters, digits and underscores, a letter first")
	}
	r.within("parameters."+name, v, []string{"type", "description", "default", "sensitive"}, func(in *reader) {
		p.TypeText = in.text("type")
		p.Description = in.text("description")
		p.HasDescription = in.Value("description") != nil
		p.Sensitive = in.flag("sensitive")
		p.Default, p.HasDefault = in.Get("default")
	})
	text := p.TypeText
	if text == "" {
		text = "Data"
	}
	p.Type, err = l.o.Type(ctx, text)
	return p, err
}

func (r *reader) implementation(v any) (impl Implementation) {
	r.within("implementations", v, []string{"name", "requirements", "input_method", "remote", "files"}, func(in *reader) {
		impl = Implementation{File: in.text("name"), Requirements: in.texts("requirements"),
			InputMethod: in.text("input_method"), Remote: in.flag("remote"), files: in.texts("files")}
		_, given := in.Get("remote")
		impl.inherits = !given
		if impl.File == "" {
			in.wrong("name", "the name of a file")
		}
	})
	return impl
}

// locate finds the executable files of the task.
func (t *Task) locate(files []fs.DirEntry) error {
	where := t.Module.Path(dir)
	if t.Native != "" && t.Module.BuiltIn() {
		return nil
	}
	t.Native = "" // only for built-in modules
	if t.Implementations == nil {
		switch len(t.executables) {
		case 0:
			return noSource(t.Name, where)
		case 1:
		default:
			return severalSources(t.Name, where)
		}
		t.Implementations = []Implementation{{File: t.executables[0], inherits: true}}
	}
	for i := range t.Implementations {
		impl := &t.Implementations[i]
		known := slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == impl.File && regular(t.Module, f) })
		if !known {
			return missingImplementation(t.Name, impl.File)
		}
		impl.local = path.Join(dir, impl.File)
		if impl.InputMethod == "" {
			impl.InputMethod = t.InputMethod
		}
		impl.Remote = impl.Remote || impl.inherits && t.Remote
	}
	return nil
}
