package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
)

// A Native is a task that this program does itself. The result, or the error
// in it, is what a task would print.
type Native func(ctx context.Context, params *ordered.Map) (*ordered.Map, error)

// RunOptions are how a task is run. The zero value is a plain run.
type RunOptions struct {
	Noop bool
	// RunAs is as whom, above the targets' own settings; "": as these say.
	RunAs string
	// Natives do tasks by the name of Task.Native.
	Natives map[string]Native
}

// A Run is a task with its parameters, as an action on targets.
type Run struct {
	task   *Task
	lib    *Library
	params *ordered.Map // checked, with _noop and _task
	opts   RunOptions
	native Native

	mu    sync.Mutex
	ready map[*Implementation]*prepared
}

var (
	_ run.DeviceAction = (*Run)(nil)
	_ run.LocalAction  = (*Run)(nil)
)

// Run makes an action of a task. Params are as Check returned them. Errors are
// *fault.Error.
func (l *Library) Run(t *Task, params *ordered.Map, o RunOptions) (*Run, error) {
	r := &Run{task: t, lib: l, params: params.Clone(), opts: o, ready: make(map[*Implementation]*prepared)}
	if o.Noop {
		if !t.SupportsNoop {
			return nil, fault.New(palError, "Task does not support noop")
		}
		r.params.Set("_noop", true)
	}
	r.params.Set("_task", t.Name)
	if _, err := l.Files(t); err != nil {
		return nil, err
	}
	if t.Native != "" {
		if r.native = o.Natives[t.Native]; r.native == nil {
			return nil, fault.New(palError, "The task %s is to be done by this program, which has no %s.", t.Name, t.Native)
		}
	}
	return r, nil
}

// Name and Object make it an action.
func (r *Run) Name() string   { return "task" }
func (r *Run) Object() string { return r.task.Name }

// OnDevices reports that tasks can be for devices.
func (r *Run) OnDevices() bool { return true }

// Here reports whether the program itself does the task.
func (r *Run) Here() bool { return r.native != nil }

// Task returns the task.
func (r *Run) Task() *Task { return r.task }

// Do runs the task on one target, in one session.
func (r *Run) Do(ctx context.Context, site *run.Site) error {
	if r.native != nil {
		return r.here(ctx, site)
	}
	device := site.Via != site.Target
	impl, err := r.choose(ctx, site.Via, device)
	if err != nil {
		return err
	}
	in, err := r.prepare(ctx, impl)
	if err != nil {
		return err
	}
	cmd := site.Command()
	if r.opts.RunAs != "" {
		cmd.RunAs.User = r.opts.RunAs
	}
	cmd.Files = in.files
	cmd.Argv = []string{"./" + in.files[0].Name}
	cmd.Interpreter = site.Settings.Interpreters[path.Ext(impl.File)]
	params, env, stdin := r.params, in.env, in.stdin
	if device || len(in.files) > 1 {
		params = params.Clone()
		if device {
			about, err := deviceData(ctx, site.Target)
			if err != nil {
				return err
			}
			params.Set("_target", about)
		}
		if len(in.files) > 1 {
			if cmd.ScriptDir == "" {
				cmd.ScriptDir = transport.NewPrivateName()
			}
			params.Set("_installdir", transport.PrivateDir(cmd.TmpDir, cmd.ScriptDir))
		}
		if env, stdin, err = encode(params, impl.InputMethod); err != nil {
			return err
		}
	}
	cmd.Env, cmd.Stdin = env, stdin
	out, status, err := site.Exec(ctx, cmd, run.Text)
	defer out.Close()
	if err != nil {
		return partial(site.Result, out, err)
	}
	if err := r.task.result(site.Result, out, status); err != nil {
		return err
	}
	if res := site.Result; res.Err != nil && (status.Code == 126 || status.Code == 127) && cmd.Interpreter == nil {
		res.Err.Hint = notStarted(impl.File, in.files[0].Data)
	}
	return nil
}

// notStarted says what to do about a file that could not be run, if its
// interpreter may be why; "" if it has none.
func notStarted(name string, data []byte) string {
	line, _, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\n"))
	interpreter, ok := strings.CutPrefix(strings.ToValidUTF8(string(line), "?"), "#!")
	if !ok {
		return ""
	}
	return fmt.Sprintf("The first line of %s asks for %s, which may not be there. Install it, or name another under interpreters, by the extension %s, in the target's configuration.",
		name, strings.TrimSpace(interpreter), path.Ext(name))
}

// here lets the program do the task.
func (r *Run) here(ctx context.Context, site *run.Site) error {
	value, err := r.native(ctx, r.params)
	if err != nil {
		return err
	}
	r.task.judge(site.Result, value)
	return nil
}

// prepared is what an implementation sends to every target.
type prepared struct {
	files []transport.File // the executable first
	env   []string
	stdin []byte
}

// prepare reads the files of an implementation, once.
func (r *Run) prepare(ctx context.Context, impl *Implementation) (*prepared, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in := r.ready[impl]; in != nil {
		return in, nil
	}
	extra, err := r.lib.extra(r.task, slices.Concat(impl.files, r.task.files))
	if err != nil {
		return nil, err
	}
	own := File{impl.File, r.task.Module, impl.local}
	if len(extra) > 0 {
		own.Name = path.Join(r.task.Module.Name, impl.local)
	}
	in := &prepared{}
	for _, f := range append([]File{own}, extra...) {
		if f.Name == own.Name && len(in.files) > 0 {
			continue // it names itself among its files
		}
		s, err := f.staged(ctx)
		if err != nil {
			return nil, err
		}
		in.files = append(in.files, s)
	}
	if in.env, in.stdin, err = encode(r.params, impl.InputMethod); err != nil {
		return nil, err
	}
	r.ready[impl] = in
	return in, nil
}

// encode writes parameters in the way that an input method wants: as variables
// PT_name, texts as they are and all else as JSON, as a JSON object on standard
// input, or both.
func encode(params *ordered.Map, method string) (env []string, stdin []byte, err error) {
	if method == "" {
		method = InputBoth
	}
	if method == InputBoth || method == InputEnvironment {
		for name, v := range params.All() {
			text, is := v.(string)
			if !is {
				var b strings.Builder
				if err := safetext.WriteJSON(&b, v); err != nil {
					return nil, nil, err
				}
				text = b.String()
			}
			if strings.ContainsRune(text, 0) {
				return nil, nil, fault.New(palError, "The parameter '%s' has a NUL byte, which no environment variable can have; only a task whose input_method is stdin could take it.", name)
			}
			env = append(env, "PT_"+name+"="+text)
		}
	}
	if method == InputBoth || method == InputStdin {
		var b bytes.Buffer
		if err := safetext.WriteJSON(&b, params); err != nil {
			return nil, nil, err
		}
		stdin = b.Bytes()
	}
	return env, stdin, nil
}

// agentFeature is the feature of targets that have Puppet's agent, and with it
// Ruby.
const agentFeature = "puppet-agent"

// shellFeature is that of all targets with a POSIX shell.
const shellFeature = "shell"

// choose finds the first implementation for a target's features.
func (r *Run) choose(ctx context.Context, t *inventory.Target, device bool) (*Implementation, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	features := map[string]bool{shellFeature: true}
	for _, f := range d.Features {
		features[f] = true
	}
	// Local targets have the feature without having an agent: what needs none
	// comes first there, and what does needs a Ruby at least.
	if d.Transport == "local" && features[agentFeature] {
		without := maps.Clone(features)
		delete(without, agentFeature)
		if impl := r.task.suits(without, device); impl != nil {
			return impl, nil
		}
	}
	if impl := r.task.suits(features, device); impl != nil {
		return impl, nil
	}
	return nil, &fault.Error{Kind: "bolt/no-implementation", Msg: fmt.Sprintf("No suitable implementation of %s for %s", r.task.Name, t.SafeName())}
}

// suits returns the first implementation that needs none but these features.
func (t *Task) suits(features map[string]bool, device bool) *Implementation {
	for i := range t.Implementations {
		impl := &t.Implementations[i]
		if impl.Remote == device && !slices.ContainsFunc(impl.Requirements, func(f string) bool { return !features[f] }) {
			return impl
		}
	}
	return nil
}

// deviceData is what a task for a device learns of it, as _target.
func deviceData(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	s, err := t.Settings(ctx)
	if err != nil {
		return nil, err
	}
	about := &ordered.Map{}
	for k, v := range d.Config.All() {
		if secret, is := v.(transport.Secret); is {
			v = secret.Reveal()
		}
		about.Set(k, v)
	}
	set := func(k string, v any, has bool) {
		if has {
			about.Set(k, v)
		}
	}
	set("name", t.Name, true)
	set("uri", t.URI, t.URI != "")
	set("protocol", d.Protocol(), d.Protocol() != "")
	set("user", s.Dest.User, s.Dest.User != "")
	set("password", s.Dest.Password.Reveal(), s.Dest.Password.IsSet())
	set("host", s.Host, s.Host != "")
	set("port", int64(s.Dest.Port), s.Dest.Port != 0)
	return about, nil
}

// partial keeps what a task had printed before it was lost or ended.
func partial(res *run.Result, out *run.Capture, err error) error {
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}
	switch e.Class {
	case transport.ClassTimeout, transport.ClassLost, transport.ClassCancelled:
		if out.Len(run.Stdout) > 0 {
			var b bytes.Buffer
			if werr := out.WriteStream(&limited{w: &b, left: maxPartial}, run.Stdout); werr == nil || b.Len() > 0 {
				res.Value = ordered.Of(outputKey, b.String())
			}
		}
	}
	return err
}
