package tasks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/readfile"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
)

// A Native is a task that this program performs itself. The result, or the error
// in it, is the output of the task.
type Native func(ctx context.Context, params *ordered.Map) (*ordered.Map, error)

// A Helper performs a task on a target without the task's file. The value, or the
// error in it, is the output of the task. If done is false, the Helper has changed
// nothing, and the file must run.
type Helper func(ctx context.Context, site *run.Site, params *ordered.Map) (value *ordered.Map, done bool, err error)

// RunOptions configure a run of a task. The zero value is a plain run.
type RunOptions struct {
	Noop bool
	// RunAs is the user to run as and overrides the targets' own settings; "": no
	// override.
	RunAs string
	// Natives perform tasks; the keys are the names in Task.Native.
	Natives map[string]Native
	// Helpers perform tasks on targets that support it; the keys are the names in
	// Task.Helper.
	Helpers map[string]Helper
}

// A Run is a task with its parameters as an action on targets.
type Run struct {
	task   *Task
	from   *Library
	params *ordered.Map // checked, with _noop and _task
	opts   RunOptions
	native Native
	parts  []func() (*part, error) // of each implementation, made on its first use
	large  chan struct{}           // limits the reading of large results
}

var (
	_ run.DeviceAction = (*Run)(nil)
	_ run.LocalAction  = (*Run)(nil)
)

// largeAtOnce is how many large results are read at once. The parsed data takes
// many times the size of the result.
const largeAtOnce = 2

// Run returns an action of a task. params must be the result of Check. Files are
// read under ctx. Errors are *fault.Error.
func (l *Library) Run(ctx context.Context, t *Task, params *ordered.Map, o RunOptions) (*Run, error) {
	r := &Run{task: t, from: l, params: params.Clone(), opts: o, large: make(chan struct{}, largeAtOnce)}
	if o.Noop {
		if !t.SupportsNoop {
			return nil, &fault.Error{Kind: palError, Msg: "Task does not support noop", Hint: fmt.Sprintf("The metadata of task %s does not set supports_noop.", t.Name)}
		}
		r.params.Set("_noop", true)
	}
	r.params.Set("_task", t.Name)
	if t.Native != "" {
		if r.native = o.Natives[t.Native]; r.native == nil {
			return nil, fault.New(palError, "This program must perform the task %s itself, but does not have %s.", t.Name, t.Native)
		}
		return r, nil
	}
	var missing error // why an implementation cannot be used
	usable := false   // an implementation can be used
	for i := range t.Implementations {
		impl := &t.Implementations[i]
		files, err := l.travels(t, impl)
		if err != nil {
			missing = err
			r.parts = append(r.parts, func() (*part, error) { return nil, err })
			continue
		}
		usable = true
		in := &part{installed: len(files) > 1 || files[0].Name != impl.File}
		if in.env, in.stdin, err = l.encode(t, r.params, impl.InputMethod); err != nil {
			return nil, err
		}
		r.parts = append(r.parts, sync.OnceValues(func() (*part, error) {
			for _, f := range files {
				s, err := f.staged(ctx)
				if err != nil {
					return nil, err
				}
				in.files = append(in.files, s)
			}
			// If its interpreter runs it, the file need not be executable. To make
			// it executable would require an additional process on every target.
			if in.interpreter = shebang(in.files[0].Data); in.interpreter != nil {
				in.files[0].Mode &^= 0o111
			}
			return in, nil
		}))
	}
	if !usable {
		return nil, missing
	}
	return r, nil
}

// maxFiles limits the files of a task, which are in memory while it runs.
const maxFiles = readfile.Payload

// travels returns the files to send for an implementation, its executable first.
func (l *Library) travels(t *Task, impl *Implementation) ([]File, error) {
	names := slices.Concat(impl.files, t.files)
	extra, errs := l.extra(t, names)
	if errs != nil {
		return nil, errs[0]
	}
	own := File{impl.File, t.Module, impl.local}
	if len(names) > 0 {
		own.Name = path.Join(t.Module.Name, impl.local)
	}
	files := []File{own}
	var size int64
	for _, f := range extra {
		if f.Name == own.Name {
			continue // the executable is also listed in files
		}
		if info, err := f.Module.Stat(f.Local); err == nil {
			size += info.Size()
		}
		files = append(files, f)
	}
	if size > maxFiles {
		return nil, fault.New(palError, "The files of task %s have %d MiB together, but the limit is %d MiB. Upload them with \"bolt file upload\" before you run the task.",
			t.Name, size>>20, maxFiles>>20)
	}
	return files, nil
}

// Name and Object implement run.Action.
func (r *Run) Name() string   { return "task" }
func (r *Run) Object() string { return r.task.Name }

// OnDevices returns true: tasks can support devices.
func (r *Run) OnDevices() bool { return true }

// Digest returns the digest of the files of all implementations. It leaves out
// files that cannot be read: their error is reported where they are needed.
func (r *Run) Digest() string {
	h := sha256.New()
	for _, part := range r.parts {
		p, err := part()
		if err != nil {
			continue
		}
		for _, f := range p.files {
			fmt.Fprintf(h, "%q %x\n", f.Name, sha256.Sum256(f.Data))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Here reports whether this program itself performs the task.
func (r *Run) Here() bool { return r.native != nil }

// WarnHere warns if this program itself performs the task for a target that is not
// this machine.
func (r *Run) WarnHere(targets []*inventory.Target, warn func(id, text string)) {
	if r.Here() && slices.ContainsFunc(targets, func(t *inventory.Target) bool { return t.Name != "localhost" }) {
		warn("runs_here", fmt.Sprintf("bolt performs the task %s on this machine for each target. It does not connect to the targets and ignores --run-as. "+
			"To avoid this warning, run the task on localhost.", r.Object()))
	}
}

// Task returns the task.
func (r *Run) Task() *Task { return r.task }

// Params returns the checked parameters, and the names of the parameters that the
// task declares as sensitive.
func (r *Run) Params() (params *ordered.Map, sensitive []string) {
	params = r.params.Clone()
	params.Delete("_task")
	for i := range r.task.Parameters {
		if p := &r.task.Parameters[i]; p.Sensitive {
			if _, given := params.Get(p.Name); given {
				sensitive = append(sensitive, p.Name)
			}
		}
	}
	return params, sensitive
}

// RunAs returns the user to run as, which overrides the targets' own settings; "":
// no override.
func (r *Run) RunAs() string { return r.opts.RunAs }

// A part is the data that an implementation sends to every target.
type part struct {
	files     []transport.File // the executable first
	installed bool             // the task gets the path of its files
	// interpreter is the command in the first line of the executable; nil if there
	// is none.
	interpreter []string
	env         []string
	stdin       []byte
}

// Do runs the task on one target, in one session.
func (r *Run) Do(ctx context.Context, site *run.Site) error {
	if r.native != nil {
		if err := r.checkHere(ctx, site.Target); err != nil {
			return err
		}
		value, err := r.native(ctx, r.params)
		if err == nil {
			r.task.judge(site.Result, value)
		}
		return err
	}
	device := site.Via != site.Target
	// With noop, and as another user than the target's, the file must run.
	if help := r.opts.Helpers[r.task.Helper]; help != nil && !device && !site.Settings.PowerShell && !r.opts.Noop && r.opts.RunAs == "" {
		value, done, err := help(ctx, site, r.params)
		if err == nil && done {
			r.task.judge(site.Result, value)
		}
		if err != nil || done {
			return err
		}
	}
	shell := shellFeature
	if site.Settings.PowerShell {
		shell = powershellFeature
	}
	i, err := r.choose(ctx, site.Via, shell, device)
	if err != nil {
		return err
	}
	in, err := r.parts[i]()
	if err != nil {
		return err
	}
	impl := &r.task.Implementations[i]
	cmd := site.Command()
	if r.opts.RunAs != "" {
		cmd.RunAs.User = r.opts.RunAs
	}
	cmd.Files = in.files
	cmd.Argv = []string{"./" + in.files[0].Name}
	onPowerShell := site.Settings.PowerShell
	if !onPowerShell {
		cmd.Interpreter = in.interpreter
	}
	if words := site.Settings.Interpreters[path.Ext(impl.File)]; words != nil {
		cmd.Interpreter = words
	}
	if site.Settings.Dest.Protocol == localProtocol {
		if cmd.Interpreter, err = r.from.ruby(r.task, impl.File, cmd.Interpreter); err != nil {
			return err
		}
	}
	cmd.Env, cmd.Stdin = in.env, in.stdin
	method := impl.InputMethod
	switch {
	case onPowerShell && byName(method, impl.File) && cmd.Interpreter == nil:
		method = InputStdin // of an object that becomes named parameters
		cmd.Env, cmd.Named = nil, true
	case method == InputPowerShell:
		cmd.Stdin = nil
	}
	if device {
		about, err := deviceData(ctx, site.Target)
		if err != nil {
			return err
		}
		if err := add(cmd, method, "_target", about); err != nil {
			return err
		}
	}
	if in.installed {
		if cmd.ScriptDir == "" {
			cmd.ScriptDir = transport.NewPrivateName()
		}
		if onPowerShell { // its directory for temporary files belongs to the user
			cmd.TellDir = true
		} else if err := add(cmd, method, "_installdir", transport.PrivateDir(cmd.TmpDir, cmd.ScriptDir)); err != nil {
			return err
		}
	}
	stdout, stderr := &buffer{most: maxResult}, &buffer{most: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	status, err := site.Exec(ctx, cmd, '{')
	if err != nil {
		return partial(site.Result, stdout, err)
	}
	if len(stdout.data) > largeResult {
		r.large <- struct{}{}
		defer func() { <-r.large }()
	}
	r.task.result(site.Result, stdout, stderr, status)
	if res := site.Result; res.Err != nil && res.Err.Given == nil {
		res.Err.Hint = advice(impl.File, in.files[0].Data, site.Settings.Interpreters[path.Ext(impl.File)], status, stdout, stderr)
	}
	return nil
}

// checkHere returns an error if a task that only acts on this machine has another
// machine as its target, or must run as another user.
func (r *Run) checkHere(ctx context.Context, t *inventory.Target) error {
	if !r.task.HereOnly {
		return nil
	}
	settings, err := t.Settings(ctx)
	switch {
	case err != nil:
		return err
	case settings.Dest.Protocol != localProtocol:
		return &fault.Error{Kind: "bolt/no-implementation",
			Msg:  fmt.Sprintf("The task %s runs on this machine only, but the target %s has the transport %s.", r.task.Name, t.SafeName(), settings.Dest.Protocol),
			Hint: "Run it on localhost."}
	case settings.RunAs.User != "" || r.opts.RunAs != "":
		return &fault.Error{Kind: "bolt/no-implementation",
			Msg:  fmt.Sprintf("The task %s always runs as the user who runs bolt, but run-as is set.", r.task.Name),
			Hint: "Remove run-as for localhost, or run bolt as the other user."}
	}
	return nil
}

// shebang reads the first line of a script as the kernel does (execve(2),
// "Interpreter scripts"): a program and at most one argument. It returns nil if
// there is no such line, or if the line is unusual and must be left to the kernel.
func shebang(data []byte) []string {
	const most = 127 // bytes of the line; older kernels truncate longer lines
	line, _, _ := bytes.Cut(data[:min(len(data), most+1)], []byte("\n"))
	text, ok := strings.CutPrefix(string(line), "#!")
	if !ok || len(line) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return nil
	}
	program, argument, _ := strings.Cut(strings.Trim(text, " \t"), " ")
	if strings.Contains(program, "\t") || !strings.HasPrefix(program, "/") {
		return nil
	}
	if argument = strings.Trim(argument, " \t"); argument != "" {
		return []string{program, argument}
	}
	return []string{program}
}

// advice returns a hint about the cause of a task's failure, including text on
// standard error that is not shown elsewhere; "" if there is none.
func advice(name string, data []byte, interpreter []string, status transport.Status, stdout, stderr *buffer) string {
	if len(stdout.data) > 0 {
		return lastWords(stderr)
	}
	if len(interpreter) > 0 {
		return ""
	}
	if hint := run.NotStarted(name, data, status, string(stderr.data)); hint != "" {
		return hint
	}
	if bytes.HasPrefix(data, []byte("#!")) {
		return ""
	}
	switch ext := path.Ext(name); ext {
	case "", ".sh":
		return ""
	case ".ps1":
		return "PowerShell scripts require a target with PowerShell. Use the transport winrm."
	default:
		return fmt.Sprintf("The first line of %s does not begin with #!, so a shell ran the file. Add such a line, or set interpreters for the extension %s in the target's configuration.", name, ext)
	}
}

// maxWords is the maximum length of standard error in a hint.
const maxWords = 400

// lastWords returns the end of a failed task's standard error. If the task also
// printed to stdout, only stdout is its result.
func lastWords(stderr *buffer) string {
	said := strings.TrimSpace(strings.ToValidUTF8(string(stderr.data), "\uFFFD"))
	if said == "" {
		return ""
	}
	if len(said) > maxWords {
		said = "…" + strings.ToValidUTF8(said[len(said)-maxWords:], "")
	}
	return "The task's standard error: " + said
}

// maxVariable is the maximum size on Linux of a variable with its name
// (MAX_ARG_STRLEN in execve(2)).
const maxVariable = 128<<10 - 1

// byName reports whether a file gets its parameters by name, as PowerShell passes
// them to scripts.
func byName(method, file string) bool {
	return method == InputPowerShell || method == "" && strings.EqualFold(path.Ext(file), ".ps1")
}

// wants reports whether an input method uses variables, and whether it uses
// standard input. Named parameters are sent on standard input.
func wants(method string) (env, stdin bool) {
	switch method {
	case "", InputBoth:
		return true, true
	case InputEnvironment:
		return true, false
	}
	return false, true // InputStdin, InputPowerShell
}

// encode writes parameters for an input method: as variables PT_name, as a JSON
// object on standard input, or both.
func (l *Library) encode(t *Task, params *ordered.Map, method string) (env []string, stdin []byte, err error) {
	toEnv, toStdin := wants(method)
	if toEnv {
		for name, v := range params.All() {
			entry, err := variable(name, v)
			if err != nil {
				return nil, nil, err
			}
			if len(entry) > maxVariable {
				if !toStdin {
					return nil, nil, fault.New(palError, "The parameter '%s' of task %s has %d KiB, but the limit for an environment variable is %d KiB. Use a task whose input_method is stdin.",
						name, t.Name, len(entry)>>10, maxVariable>>10)
				}
				l.o.Warn("large_parameter", fmt.Sprintf("The parameter '%s' of task %s is too large for an environment variable: the task gets it only on standard input.", name, t.Name))
				continue
			}
			env = append(env, entry)
		}
	}
	if toStdin {
		var b bytes.Buffer
		if err := safejson.Write(&b, params); err != nil {
			return nil, nil, err
		}
		stdin = b.Bytes()
	}
	return slices.Clip(env), slices.Clip(stdin), nil
}

// variable returns a parameter as a variable: a string unchanged, other values as
// JSON.
func variable(name string, v any) (string, error) {
	text, is := v.(string)
	if !is {
		var b strings.Builder
		if err := safejson.Write(&b, v); err != nil {
			return "", err
		}
		text = b.String()
	}
	if strings.ContainsRune(text, 0) {
		return "", fault.New(palError, "The parameter '%s' contains a NUL byte, which is not possible in an environment variable. Use a task whose input_method is stdin.", name)
	}
	return "PT_" + name + "=" + text, nil
}

// add adds a parameter to a command. It copies the existing data of the command,
// which is shared.
func add(cmd *transport.Cmd, method, name string, v any) error {
	toEnv, toStdin := wants(method)
	if toEnv {
		entry, err := variable(name, v)
		if err != nil {
			return err
		}
		cmd.Env = append(slices.Clip(cmd.Env), entry)
	}
	if toStdin && len(cmd.Stdin) > 0 { // it is an object with at least _task
		var b bytes.Buffer
		b.Write(cmd.Stdin[:len(cmd.Stdin)-1])
		b.WriteString(`,"` + name + `":`)
		if err := safejson.Write(&b, v); err != nil {
			return err
		}
		b.WriteByte('}')
		cmd.Stdin = b.Bytes()
	}
	return nil
}

// agentFeature is the feature of targets with Puppet's agent, which includes Ruby.
const agentFeature = "puppet-agent"

// shellFeature is the feature of all targets with a POSIX shell, and
// powershellFeature that of all other targets.
const (
	shellFeature      = "shell"
	powershellFeature = "powershell"
)

// choose returns the first implementation for a target's features and its shell's
// feature.
func (r *Run) choose(ctx context.Context, t *inventory.Target, shell string, device bool) (int, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return 0, err
	}
	has := func(f string) bool { return f == shell || slices.Contains(d.Features, f) }
	// If a target is only assumed to have an agent, it may have none. Then an
	// implementation that does not require the agent takes precedence.
	if d.AgentAssumed {
		without := func(f string) bool { return f != agentFeature && has(f) }
		if i := r.task.suits(without, device); i >= 0 {
			return i, nil
		}
	}
	if i := r.task.suits(has, device); i >= 0 {
		return i, nil
	}
	return 0, &fault.Error{Kind: "bolt/no-implementation", Hint: r.task.unsuited(append([]string{shell}, d.Features...), device),
		Msg: fmt.Sprintf("No suitable implementation of %s for %s", r.task.Name, t.SafeName())}
}

// unsuited returns the reason why no implementation suits a target.
func (t *Task) unsuited(features []string, device bool) string {
	var needs []string
	for _, impl := range t.Implementations {
		if impl.Remote == device {
			needs = append(needs, impl.File+" requires "+strings.Join(impl.Requirements, ", "))
		}
	}
	switch {
	case needs != nil:
		return fmt.Sprintf("Features of the target are %s; %s.", strings.Join(features, ", "), strings.Join(needs, "; "))
	case device:
		return "The target is a device, but the task is not for devices (\"remote\": true in its metadata)."
	}
	return "The task is only for devices (\"remote\": true in its metadata), which are targets of the transport remote."
}

// suits returns the first implementation whose required features all exist; -1 if
// there is none.
func (t *Task) suits(has func(feature string) bool, device bool) int {
	return slices.IndexFunc(t.Implementations, func(impl Implementation) bool {
		return impl.Remote == device && !slices.ContainsFunc(impl.Requirements, func(f string) bool { return !has(f) })
	})
}

// deviceData returns the data about a device that a task gets as _target.
func deviceData(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	s, err := t.Settings(ctx)
	if err != nil {
		return nil, err
	}
	about := inventory.Reveal(d.Config.Clone()).(*ordered.Map)
	set := func(k string, v any, has bool) {
		if has {
			about.Set(k, v)
		}
	}
	set("name", t.Name, true)
	set("uri", d.URI, d.URI != "")
	set("protocol", d.Protocol(), d.Protocol() != "")
	set("user", s.Dest.User, s.Dest.User != "")
	set("password", s.Dest.Password.Reveal(), s.Dest.Password.IsSet())
	set("host", s.Host, s.Host != "")
	set("port", int64(s.Dest.Port), s.Dest.Port != 0)
	return about, nil
}

// partial stores the output of a task that was lost or ended.
func partial(res *event.Result, stdout *buffer, err error) error {
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}
	switch e.Class {
	case transport.ClassTimeout, transport.ClassLost, transport.ClassCancelled:
		if len(stdout.data) > 0 {
			res.Value = ordered.Of(outputKey, stdout.shown("the task did not end"))
		}
	}
	return err
}
