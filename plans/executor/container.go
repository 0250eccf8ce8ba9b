package executor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/environment"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/safetext"
	"bolt/plans/docker"
	"bolt/puppet/eval"
	"bolt/puppet/stdlib"
	"bolt/puppet/value"
)

// containerFailure is the kind of a failure of run_container.
const containerFailure = "bolt/container-failure"

// Container returns the result whose failure f is.
func (f *Failure) Container() (r *event.ContainerResult, ok bool) {
	if f.Kind != containerFailure || !f.acted {
		return nil, false
	}
	image, _ := f.Details.GetString("object")
	h, _ := f.Details.GetString("value")
	d, err := Data(h)
	v, ok := d.(*ordered.Map)
	return &event.ContainerResult{Image: value.ToString(image), Value: v}, ok && err == nil
}

func containerOf(v value.Value) *event.ContainerResult {
	o, ok := v.(*value.Object)
	if !ok {
		return nil
	}
	r, _ := o.Payload().(*event.ContainerResult)
	return r
}

func containerData(o *value.Object) (value.Value, error) { return valuedata.Of(containerOf(o).Map()) }

// newContainerResult implements ContainerResult.new(value).
func newContainerResult(data any, args []value.Value) (value.Value, error) {
	if x, _ := environment.Host(data).(*Executor); x != nil && len(args) == 1 {
		if h, ok := args[0].(*value.Hash); ok {
			m, err := plainMap("the value of ContainerResult.new", h)
			if err != nil {
				return nil, err
			}
			if inner, ok := m.Value("value").(*ordered.Map); ok && m.Len() == 1 {
				m = inner
			}
			return x.o.Language.types.containerResult.Wrap(&event.ContainerResult{Value: m}), nil
		}
	}
	return nil, eval.Errorf("type-mismatch", "ContainerResult.new expects a hash")
}

// aboutContainers returns run_container and the members of ContainerResult.
func aboutContainers() []*eval.Function {
	about := func(name, params string, tell func(c *eval.Call, r *event.ContainerResult) value.Value) *eval.Function {
		return member("ContainerResult", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, containerOf(c.Args[0])), nil })
	}
	data := func(name, params string, tell func(c *eval.Call, r *event.ContainerResult) (value.Value, error)) *eval.Function {
		return member("ContainerResult", name, params, func(c *eval.Call) (value.Value, error) { return tell(c, containerOf(c.Args[0])) })
	}
	key := func(name string) *eval.Function {
		return data(name, "", func(_ *eval.Call, r *event.ContainerResult) (value.Value, error) {
			return valuedata.Of(r.Value.Value(name))
		})
	}
	return []*eval.Function{
		one("run_container", "Runs a container on this machine with docker.", "String[1] $image, Hash[String[1], Any] $options = {}", runContainer),
		key("stdout"), key("stderr"),
		data("value", "", func(_ *eval.Call, r *event.ContainerResult) (value.Value, error) { return valuedata.Of(r.Value) }),
		data("to_data", "", func(c *eval.Call, _ *event.ContainerResult) (value.Value, error) {
			return containerData(c.Args[0].(*value.Object))
		}),
		about("ok", "", func(_ *eval.Call, r *event.ContainerResult) value.Value { return value.Bool(r.Err() == nil) }),
		about("status", "", func(_ *eval.Call, r *event.ContainerResult) value.Value { return value.String(r.Status()) }),
		data("error", "", func(_ *eval.Call, r *event.ContainerResult) (value.Value, error) {
			if e := r.Err(); e != nil {
				return errorObject(e)
			}
			return value.Undef{}, nil
		}),
		data("[]", "String[1] $key", func(c *eval.Call, r *event.ContainerResult) (value.Value, error) {
			return valuedata.Of(r.Value.Value(string(c.Args[1].(value.String))))
		}),
	}
}

func runContainer(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	hash, _ := c.Arg(1).(*value.Hash)
	o := containerOptions{container: docker.Container{Image: string(c.Args[0].(value.String))}}
	if err := o.read(c.Context(), x, hash); err != nil {
		return nil, err
	}
	v, err := x.effect(c, shown(c.Args), true, func() (any, error) {
		if err := makeVolumes(o.container.Volumes); err != nil {
			return nil, err
		}
		return x.container(c, &o.container)
	})
	if err != nil {
		return nil, err
	}
	result := &event.ContainerResult{Image: o.container.Image}
	if result.Value, _ = v.(*ordered.Map); result.Value == nil {
		result.Value = ordered.Of("stdout", "", "stderr", "") // the run treats it as done
	}
	if result.Err() == nil || o.catch {
		return x.o.Language.types.containerResult.Wrap(result), nil
	}
	typed, err := valuedata.Of(result.Value)
	if err != nil {
		return nil, err
	}
	failure := failf(containerFailure, "Running container '%s' failed.", result.Image)
	failure.acted = true
	failure.Details = value.NewHash(
		value.Entry{Key: value.String("value"), Value: typed},
		value.Entry{Key: value.String("object"), Value: value.String(result.Image)})
	return nil, failure
}

// container runs a container and returns the value of its result.
func (x *Executor) container(c *eval.Call, what *docker.Container) (*ordered.Map, error) {
	at := x.place(c)
	it := &event.Container{Image: what.Image, Quiet: flowOf(&c.Site).quiet, Secrets: secretNames(c.Args)}
	if err := x.emit(c.Context(), event.ContainerBegin{Container: it}); err != nil {
		return nil, err
	}
	result := &event.ContainerResult{Image: what.Image}
	x.apart(func() { result.Value = containerValue(c.Context(), what, at.File, at.Line) })
	_ = x.emit(c.Context(), event.ContainerEnd{Container: it, Result: result}) // which stops the run
	return result.Value, context.Cause(c.Context())
}

// containerValue runs a container and returns the outcome as the value of a
// ContainerResult. file and line are the position of the call in the plan.
func containerValue(ctx context.Context, c *docker.Container, file string, line int) *ordered.Map {
	details := &ordered.Map{}
	if file != "" {
		details = ordered.Of("file", file, "line", int64(line))
	}
	failed := func(msg string) *ordered.Map {
		return ordered.Of("_error", ordered.Of("kind", "puppetlabs.tasks/container-error", "issue_code", "CONTAINER_ERROR", "msg", msg, "details", details))
	}
	out, err := docker.Run(ctx, c)
	if err != nil {
		return failed(fmt.Sprintf("The container '%s' failed: %v", c.Image, err))
	}
	stderr := safetext.String(string(out.Stderr))
	if out.ExitCode != 0 {
		details.Set("exit_code", int64(out.ExitCode))
		msg := fmt.Sprintf("The container '%s' failed with exit code %d", c.Image, out.ExitCode)
		if said := strings.TrimSpace(stderr); said != "" {
			msg += ": " + said
		}
		return failed(msg)
	}
	return ordered.Of("stdout", safetext.String(string(out.Stdout)), "stderr", stderr, "exit_code", int64(0))
}

// makeVolumes makes the directories of volumes that do not exist on this
// machine. A name without a slash is a volume of docker's own.
func makeVolumes(list []docker.Volume) error {
	for _, v := range list {
		if _, err := os.Stat(v.Host); err == nil || !strings.Contains(v.Host, "/") {
			continue
		}
		if err := os.MkdirAll(v.Host, 0o755); err != nil {
			return fault.File(v.Host, err, "The directory %s for a volume of the container could not be made: %v", v.Host, fault.WithoutPath(err))
		}
	}
	return nil
}

// containerOptions are the options of run_container. Each name may begin with
// an underscore.
type containerOptions struct {
	container docker.Container
	catch     bool
}

func (o *containerOptions) read(ctx context.Context, x *Executor, h *value.Hash) error {
	if strings.HasPrefix(o.container.Image, "-") {
		return failf("bolt/validation-error", "The name of an image cannot begin with a hyphen, got %s", o.container.Image)
	}
	if h == nil {
		return nil
	}
	for k, v := range h.All() {
		name := strings.TrimPrefix(string(k.(value.String)), "_")
		var err error
		switch name {
		case "catch_errors":
			o.catch = value.Truthy(v)
		case "rm":
			o.container.Remove = value.Truthy(v)
		case "cmd":
			o.container.Command, err = commandOf(v)
		case "env_vars":
			o.container.Env, err = variablesOf(v)
		case "volumes":
			err = pairsOf(name, v, "strings", func(host, inside value.String) {
				o.container.Volumes = append(o.container.Volumes, docker.Volume{Host: string(host), Container: string(inside)})
			})
		case "ports":
			err = pairsOf(name, v, "integers", func(host, inside value.Int) {
				o.container.Ports = append(o.container.Ports, docker.Port{Host: int64(host), Container: int64(inside)})
			})
		case "workdir":
			dir, ok := v.(value.String)
			if !ok {
				err = optionError(name, "a string", v)
			}
			o.container.Workdir = string(dir)
		default:
			x.warn(ctx, "plan_function_options", fmt.Sprintf("The function run_container has no option '%s'; bolt ignores it.", name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func optionError(name, want string, got value.Value) error {
	return failf("bolt/validation-error", "Option '%s' of run_container must be %s, got %s", name, want, value.DescribeValue(got))
}

// commandOf reads the option cmd: a line, which is split into words as a shell
// splits it, or the words.
func commandOf(v value.Value) ([]string, error) {
	switch v := v.(type) {
	case value.String:
		words, ok := stdlib.ShellSplit(string(v))
		if !ok {
			return nil, failf("bolt/validation-error", "Option 'cmd' of run_container has a quotation mark that is not closed: %s", string(v))
		}
		return words, nil
	case *value.Array:
		words := make([]string, v.Len())
		for i, e := range v.All() {
			s, ok := e.(value.String)
			if !ok {
				return nil, optionError("cmd", "an array of strings", e)
			}
			words[i] = string(s)
		}
		return words, nil
	}
	return nil, optionError("cmd", "a string or an array of strings", v)
}

// variablesOf reads the option env_vars. Values that are not strings become
// JSON.
func variablesOf(v value.Value) ([]docker.Variable, error) {
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, optionError("env_vars", "a hash", v)
	}
	var list []docker.Variable
	for k, v := range h.All() {
		name, ok := k.(value.String)
		if !ok || name == "" || strings.Contains(string(name), "=") {
			return nil, failf("bolt/validation-error", "The keys of option 'env_vars' of run_container must be names of variables, got %s", value.Inspect(k))
		}
		text := ""
		if !value.IsUndef(v) {
			d, err := plain("the variable '"+string(name)+"' of option 'env_vars'", v)
			if err != nil {
				return nil, err
			}
			text = textOf(d)
		}
		list = append(list, docker.Variable{Name: string(name), Value: text, Secret: hides(v)})
	}
	return list, nil
}

// hides reports whether a value contains a Sensitive value.
func hides(v value.Value) bool {
	switch v := v.(type) {
	case *value.Sensitive:
		return true
	case *value.Array:
		for _, e := range v.All() {
			if hides(e) {
				return true
			}
		}
	case *value.Hash:
		for _, e := range v.All() {
			if hides(e) {
				return true
			}
		}
	}
	return false
}

// pairsOf reads an option that is a hash whose keys and values have one type.
// what is the name of that type in messages.
func pairsOf[T value.Value](name string, v value.Value, what string, add func(host, inside T)) error {
	h, ok := v.(*value.Hash)
	if !ok {
		return optionError(name, "a hash", v)
	}
	for k, v := range h.All() {
		host, ok1 := k.(T)
		inside, ok2 := v.(T)
		if !ok1 || !ok2 {
			return failf("bolt/validation-error", "Option '%s' of run_container takes only %s as keys and values, got %s => %s",
				name, what, value.Inspect(k), value.Inspect(v))
		}
		add(host, inside)
	}
	return nil
}
