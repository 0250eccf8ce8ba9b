package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/format/valuedata"
	"bolt/internal/readfile"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
)

// called holds the arguments of a function that acts on targets: the executor,
// the targets, a description and options.
type called struct {
	x           *Executor
	targets     []*inventory.Target
	description value.Value
	options     *options
}

// actSignatures returns the signatures of such a function, with and without a
// description. head contains the parameters before the targets.
func actSignatures(head string, heads int, do func(c *eval.Call, in *called) (value.Value, error)) []eval.Signature {
	signature := func(params string, hasDescription bool) eval.Signature {
		return eval.Signature{Params: head + "TargetSpec $targets" + params, Returns: "ResultSet", Run: func(c *eval.Call) (value.Value, error) {
			in := &called{x: of(&c.Site)}
			if hasDescription {
				in.description = c.Arg(heads + 1)
			}
			last := heads + 1
			if hasDescription {
				last++
			}
			hash, _ := c.Arg(last).(*value.Hash)
			var err error
			if in.options, err = in.x.parseOptions(c, hash); err != nil {
				return nil, err
			}
			if in.targets, err = in.x.resolve(&c.Site, c.Args[heads]); err != nil {
				return nil, err
			}
			return do(c, in)
		}}
	}
	return []eval.Signature{signature(", Hash[String[1], Any] $options = {}", false), signature(", Optional[String] $description, Hash[String[1], Any] $options = {}", true)}
}

// acting returns the functions that act on targets.
func acting() []*eval.Function {
	return []*eval.Function{
		{Name: "run_command", Doc: "Runs a command on targets.", Signatures: actSignatures("String[1] $command, ", 1, func(c *eval.Call, in *called) (value.Value, error) {
			line := string(c.Args[0].(value.String))
			return in.x.do(c, &act{function: c.Name, object: line, action: "command", about: "command '" + line + "'", targets: in.targets,
				do: &run.Command{Line: line, Env: in.options.env}}, in.description, in.options)
		})},
		{Name: "run_script", Doc: "Runs a script of the controller on targets.", Signatures: actSignatures("String[1] $script, ", 1, runScript)},
		{Name: "run_task", Doc: "Runs a task on targets.", Signatures: actSignatures("String[1] $task, ", 1, runTask)},
		{Name: "run_task_with", Doc: "Runs a task on targets with the parameters that the block returns for each target.", Signatures: taskWith()},
		{Name: "upload_file", Doc: "Copies a file or directory of the controller to targets.", Signatures: actSignatures("String[1] $source, String[1] $destination, ", 2, upload)},
		{Name: "download_file", Doc: "Copies a file or directory of targets to the controller, below the project's directory downloads.",
			Signatures: actSignatures("String[1] $source, String[1] $destination, ", 2, download)},
		{Name: "write_file", Doc: "Writes a string to a file on targets.", Signatures: []eval.Signature{{
			Params: "String $content, String[1] $destination, TargetSpec $targets, Hash[String[1], Any] $options = {}", Returns: "ResultSet", Run: writeFile}}},
		{Name: "wait_until_available", Doc: "Waits until targets can be connected to.", Signatures: []eval.Signature{{
			Params: "TargetSpec $targets, Hash[String[1], Any] $options = {}", Returns: "ResultSet", Run: waitUntilAvailable}}},
	}
}

// lineOnly returns an error of the function in the form of Puppet Bolt, which
// raises it without a column.
func lineOnly(err error) error {
	f, ok := caught(err)
	if !ok {
		f = failf(palError, "%v", err)
		if e, is := err.(*fault.Error); is {
			f.Msg = e.Msg
		}
	}
	g := *f
	g.Kind, g.lineOnly, g.Err, g.Details = palError, true, err, value.NewHash()
	return &g
}

// file returns the path of a file of the controller that a plan names.
func (x *Executor) file(ref string) (string, error) {
	path := x.o.Modules.Find(ref)
	if _, err := os.Stat(path); err != nil {
		return "", lineOnly(failf("", "No such file or directory: %s", ref))
	}
	return path, nil
}

func runScript(c *eval.Call, in *called) (value.Value, error) {
	ref := string(c.Args[0].(value.String))
	path, err := in.x.file(ref)
	if err != nil {
		return nil, err
	}
	data, err := readfile.Read(c.Context(), path, readfile.Payload)
	if err != nil {
		return nil, lineOnly(err)
	}
	var args []string
	if given, ok := in.options.rest.Get("arguments"); ok {
		list, ok := given.([]any)
		if !ok {
			return nil, failf("bolt/validation-error", "Option 'arguments' must be an array")
		}
		for _, a := range list {
			args = append(args, textOf(a))
		}
	}
	return in.x.do(c, &act{function: c.Name, object: ref, action: "script", about: "script " + path, targets: in.targets,
		do: &run.Script{Path: path, Data: data, Args: args, Env: in.options.env, Interpret: in.x.o.Interpret}, marks: []any{contentOf(data)}}, in.description, in.options)
}

// textOf returns data as a program gets it in an argument or a variable. Data
// that is not a string becomes JSON.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	if err := safejson.Write(&b, v); err != nil {
		return fmt.Sprint(v)
	}
	return b.String()
}

func runTask(c *eval.Call, in *called) (value.Value, error) {
	name := string(c.Args[0].(value.String))
	t, err := in.x.o.Tasks.Find(c.Context(), name)
	if err != nil {
		return nil, err
	}
	action, err := in.x.taskAction(c.Context(), t, in.options.rest, in.options)
	if err != nil {
		return nil, lineOnly(err)
	}
	return in.x.do(c, &act{function: c.Name, object: name, action: "task", about: "task " + name, targets: in.targets, do: action}, in.description, in.options)
}

// taskAction returns the action of a task with checked parameters.
func (x *Executor) taskAction(ctx context.Context, t *tasks.Task, params *ordered.Map, o *options) (*tasks.Run, error) {
	checked, err := t.Check(params)
	if err != nil {
		return nil, err
	}
	return x.o.Tasks.Run(ctx, t, checked, tasks.RunOptions{Noop: o.noop, Natives: x.o.Natives, Helpers: x.o.Helpers})
}

// taskWith returns the signatures of run_task_with.
func taskWith() []eval.Signature {
	list := actSignatures("String[1] $task, ", 1, func(c *eval.Call, in *called) (value.Value, error) {
		name := string(c.Args[0].(value.String))
		t, err := in.x.o.Tasks.Find(c.Context(), name)
		if err != nil {
			return nil, err
		}
		a := &act{function: c.Name, object: name, action: "task", about: "task " + name, targets: in.targets,
			each: make(map[*inventory.Target]run.Action), failed: make(map[*inventory.Target]*event.Result)}
		for _, target := range in.targets {
			v, err := c.Yield(in.x.target(target))
			if err != nil {
				return nil, err
			}
			params, ok := v.(*value.Hash)
			if !ok {
				return nil, failf("bolt/validation-error", "The block of run_task_with must return a Hash, got %s for %s", value.DescribeValue(v), target.Name)
			}
			m, err := plainMap("the parameters for "+target.Name, params)
			if err != nil {
				return nil, err
			}
			action, err := in.x.taskAction(c.Context(), t, m, in.options)
			if err != nil {
				f := in.x.failure(err)
				a.failed[target] = &event.Result{Target: target, Action: "task",
					Err: &event.Error{Kind: f.Kind, Msg: f.Msg, Class: event.ClassFailed, Details: &ordered.Map{}}}
				continue
			}
			a.each[target] = action
			a.marks = append(a.marks, shown([]value.Value{params})...)
		}
		return in.x.do(c, a, in.description, in.options)
	})
	for i := range list {
		list[i].Block = "Callable[1, 1]"
	}
	return list
}

func upload(c *eval.Call, in *called) (value.Value, error) {
	ref, dst := string(c.Args[0].(value.String)), string(c.Args[1].(value.String))
	path, err := in.x.file(ref)
	if err != nil {
		return nil, err
	}
	a := &act{function: c.Name, object: ref, action: "upload", about: "file upload from " + path + " to " + dst, targets: in.targets,
		do: &run.Upload{Source: path, Dest: dst}}
	if in.x.o.Journal != nil {
		a.marks = []any{treeDigest(c.Context(), path)}
	}
	return in.x.do(c, a, in.description, in.options)
}

// download empties the directory that it copies into, as Puppet Bolt does.
func download(c *eval.Call, in *called) (value.Value, error) {
	src, name := string(c.Args[0].(value.String)), string(c.Args[1].(value.String))
	if !filepath.IsLocal(name) || slices.Contains(strings.Split(filepath.ToSlash(name), "/"), ".") || filepath.Clean(name) == "." {
		return nil, failf("bolt/validation-error", "The destination of download_file must be a path below the directory downloads of the project, without '.' and '..'; got %s", name)
	}
	dir := filepath.Join(in.x.o.Downloads, name)
	empty := func() error {
		if err := os.RemoveAll(dir); err != nil {
			return fault.File(dir, err, "The directory %s of an earlier download could not be removed: %v", dir, fault.WithoutPath(err))
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fault.File(dir, err, "The directory %s could not be made: %v", dir, fault.WithoutPath(err))
		}
		return nil
	}
	return in.x.do(c, &act{function: c.Name, object: src, action: "download", about: "file download from " + src + " to " + dir, targets: in.targets,
		do: &run.Download{Source: src, Dir: dir, Limits: in.x.o.Limits}, prepare: empty}, in.description, in.options)
}

func writeFile(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	hash, _ := c.Arg(3).(*value.Hash)
	o, err := x.parseOptions(c, hash)
	if err != nil {
		return nil, err
	}
	targets, err := x.resolve(&c.Site, c.Args[2])
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "bolt-write-")
	if err != nil {
		return nil, fault.File(os.TempDir(), err, "A temporary file could not be made: %v", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(string(c.Args[0].(value.String)))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fault.File(f.Name(), err, "The temporary file %s could not be written: %v", f.Name(), fault.WithoutPath(err))
	}
	dst := string(c.Args[1].(value.String))
	return x.do(c, &act{function: c.Name, object: f.Name(), action: "upload", about: "write file " + dst, targets: targets,
		do: &run.Upload{Source: f.Name(), Dest: dst}}, nil, o)
}

// waitUntilAvailable tries to connect until it succeeds or the time is up.
func waitUntilAvailable(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	hash, _ := c.Arg(1).(*value.Hash)
	o, err := x.parseOptions(c, hash)
	if err != nil {
		return nil, err
	}
	w := &waiting{patience: 120 * time.Second, interval: time.Second}
	for key, to := range map[string]*time.Duration{"wait_time": &w.patience, "retry_interval": &w.interval} {
		if given, ok := o.rest.Get(key); ok {
			v, err := valuedata.Of(given)
			d, ok := seconds(v)
			if err != nil || !ok || d < 0 {
				return nil, failf("bolt/validation-error", "Option '%s' must be a number of seconds, got %v", key, given)
			}
			*to = d
		}
	}
	targets, err := x.resolve(&c.Site, c.Args[0])
	if err != nil {
		return nil, err
	}
	var description value.Value
	if d, ok := o.rest.Value("description").(string); ok {
		description = value.String(d)
	}
	o.timeout = 0
	w.dialer = x.o.Dialer
	return x.do(c, &act{function: c.Name, object: c.Name, action: "wait_until_available", about: "wait until available", targets: targets, do: w}, description, o)
}
