package plugin_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/modules"
)

// A fakeTask is a task: its parameters, nil if it takes everything, and what
// it does.
type fakeTask struct {
	takes []string
	about string
	do    func(params *ordered.Map) (*ordered.Map, error)
}

// fakeTasks stands for the tasks of modules.
type fakeTasks struct {
	tasks map[string]fakeTask

	mu    sync.Mutex
	calls []string
}

func (f *fakeTasks) Parameters(_ context.Context, task string) (names []string, everything, ok bool, err error) {
	t, ok := f.tasks[task]
	return t.takes, t.takes == nil, ok, nil
}

func (f *fakeTasks) Description(_ context.Context, task string) (string, error) {
	return f.tasks[task].about, nil
}

func (f *fakeTasks) Run(_ context.Context, task string, params *ordered.Map, runAs string) (*ordered.Map, error) {
	f.mu.Lock()
	f.calls = append(f.calls, task+" "+runAs)
	f.mu.Unlock()
	t, ok := f.tasks[task]
	if !ok {
		return nil, fault.New("bolt/unknown-task", "Could not find a task named '%s'.", task)
	}
	for k := range params.All() {
		if t.takes != nil && !strings.HasPrefix(k, "_") && !slices.Contains(t.takes, k) {
			return nil, fault.New("bolt/validation-error", "Task %s:\n has no parameter named '%s'", task, k)
		}
	}
	return t.do(params)
}

// identity returns its parameters as the value.
func identity(params *ordered.Map) (*ordered.Map, error) { return ordered.Of("value", params), nil }

func failing(*ordered.Map) (*ordered.Map, error) {
	return nil, &fault.Error{Kind: "puppetlabs.tasks/task-error", Msg: "The task failed with exit code 1", Details: ordered.Of("exit_code", int64(1))}
}

// world is a project with modules and the tasks that they are said to have.
func world(t *testing.T, files map[string]string, tasks map[string]fakeTask) (plugin.Options, *fakeTasks) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fake := &fakeTasks{tasks: tasks}
	return plugin.Options{
		Project: dir,
		Modules: modules.NewPath(modules.Module{Name: "own", Dir: dir}, filepath.Join(dir, "modules")),
		Tasks:   fake,
		Env:     func(name string) (string, bool) { return strings.CutPrefix(name, "ENV_") },
		Warn:    func(id, text string) { t.Errorf("warning %s: %s", id, text) },
	}, fake
}

// modulesWithPlugins are those that most tests use.
func modulesWithPlugins(t *testing.T) (plugin.Options, *fakeTasks) {
	return world(t, map[string]string{
		"modules/identity/bolt_plugin.json":   "{}",
		"modules/named/bolt_plugin.json":      `{"hooks": {"resolve_reference": {"task": "named"}, "secret_encrypt": {"task": "identity::resolve_reference"}}}`,
		"modules/bad_result/bolt_plugin.json": `{"hooks": {"resolve_reference": {"task": "empty"}, "secret_decrypt": {"task": "empty"}}}`,
		"modules/failing/bolt_plugin.json":    `{"hooks": {"resolve_reference": {"task": "failing"}, "secret_createkeys": {"task": "failing"}}}`,
		"modules/checked/bolt_plugin.json":    "{}",
		"modules/config/bolt_plugin.json":     `{"config": {}}`,
		"modules/nohash/bolt_plugin.json":     `[]`,
		"modules/junk/bolt_plugin.json":       `{"hooks": `,
		"modules/hooks/bolt_plugin.json":      `{"hooks": []}`,
		"modules/spec/bolt_plugin.json":       `{"hooks": {"resolve_reference": "x"}}`,
		"modules/lost/bolt_plugin.json":       `{"hooks": {"resolve_reference": {"task": "lost::nowhere"}}}`,
		"modules/nothing/bolt_plugin.json":    `{}`,
		"modules/plain/tasks/x.sh":            "",
		"bolt_plugin.json":                    `{}`,
	}, map[string]fakeTask{
		"identity::resolve_reference": {takes: []string{"value"}, about: "Returns its value.", do: identity},
		"named":                       {takes: []string{"required", "optional"}, do: identity},
		"anything":                    {do: identity},
		"empty":                       {do: func(*ordered.Map) (*ordered.Map, error) { return ordered.Of("sesame", "open", "b", int64(1)), nil }},
		"failing":                     {do: failing},
		"checked::resolve_reference":  {takes: []string{"v"}, do: identity},
		"checked::validate_resolve_reference": {takes: []string{"v"}, do: func(params *ordered.Map) (*ordered.Map, error) {
			if params.Value("v") == "bad" {
				return failing(params)
			}
			return &ordered.Map{}, nil
		}},
		"own::resolve_reference": {do: identity},
	})
}

func TestModulePlugins(t *testing.T) {
	o, _ := modulesWithPlugins(t)
	o.Config = ordered.Of(
		"named", ordered.Of("required", "from config", "optional", ordered.Of("_plugin", "env_var", "var", "ENV_x")),
		"checked", ordered.Of("random", "x"),
		"failing", &ordered.Map{},
		"anything", "not asked for",
	)
	p := plugin.New(o)
	const invalid, failed, broken = "bolt/validation-error", "bolt/plugin-error", "bolt/invalid-plugin-data"
	for _, c := range []struct {
		name       string
		ref        *ordered.Map
		want       any
		kind, says string
	}{
		{"a module", ordered.Of("_plugin", "identity", "value", "x", "_cache", ordered.Of("ttl", int64(0))), ordered.Of("value", "x", "_boltdir", o.Project), "", ""},
		{"configured", ordered.Of("_plugin", "named", "optional", "mine"), ordered.Of("required", "from config", "optional", "mine", "_boltdir", o.Project), "", ""},
		{"the project", ordered.Of("_plugin", "own", "any", "thing"), ordered.Of("any", "thing", "_boltdir", o.Project), "", ""},
		{"bad parameters", ordered.Of("_plugin", "identity", "unexpected", "x"), nil, invalid, "Task identity::resolve_reference:\n has no parameter named 'unexpected'"},
		{"no value", ordered.Of("_plugin", "bad_result"), nil, failed, "Error executing plugin bad_result from resolve_reference in bad_result: Plugin bad_result result did not include a value, it has sesame, b"},
		{"failure", ordered.Of("_plugin", "failing"), nil, failed, "Error executing plugin failing from resolve_reference in failing: The task failed with exit code 1"},
		{"bad config", ordered.Of("_plugin", "checked"), nil, invalid, "Config for checked plugin contains unexpected key random"},
		{"without bolt_plugin.json", ordered.Of("_plugin", "plain"), nil, "bolt/unknown-plugin", "Unknown plugin: 'plain'"},
		{"no module", ordered.Of("_plugin", "nosuch"), nil, "bolt/unknown-plugin", "Unknown plugin: 'nosuch'"},
		{"key config", ordered.Of("_plugin", "config"), nil, broken, "Found unsupported key 'config'"},
		{"a list", ordered.Of("_plugin", "nohash"), nil, broken, "must be a JSON object"},
		{"no JSON", ordered.Of("_plugin", "junk"), nil, broken, "bolt_plugin.json: line 1"},
		{"hooks are a list", ordered.Of("_plugin", "hooks"), nil, broken, "'hooks' must be a hash"},
		{"hook is text", ordered.Of("_plugin", "spec"), nil, broken, "the hook resolve_reference"},
		{"unknown task", ordered.Of("_plugin", "lost"), nil, broken, "'lost::nowhere'"},
		{"no hooks", ordered.Of("_plugin", "nothing"), nil, "bolt/unsupported-hook", "Plugin nothing does not support resolve_reference"},
		{"task", ordered.Of("_plugin", "task", "task", "anything", "parameters", ordered.Of("a", int64(1))), ordered.Of("a", int64(1)), "", ""},
		{"task without parameters", ordered.Of("_plugin", "task", "task", "anything"), &ordered.Map{}, "", ""},
		{"task without name", ordered.Of("_plugin", "task"), nil, invalid, "Task plugin requires that the 'task' is specified"},
		{"task with a list", ordered.Of("_plugin", "task", "task", "anything", "parameters", []any{}), nil, invalid, "'parameters' is a Hash"},
		{"task that is none", ordered.Of("_plugin", "task", "task", "nosuch"), nil, "bolt/unknown-task", "Could not find a task named 'nosuch'."},
		{"task with bad parameters", ordered.Of("_plugin", "task", "task", "named", "parameters", ordered.Of("n", int64(1))), nil, invalid, "Task named:\n has no parameter named 'n'"},
		{"task without value", ordered.Of("_plugin", "task", "task", "empty"), nil, failed, "Error executing plugin task from resolve_reference in task: Task result did not return 'value'"},
		{"task that fails", ordered.Of("_plugin", "task", "task", "failing"), nil, failed, "Error executing plugin task from resolve_reference in task: The task failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := p.Resolve(t.Context(), c.ref.Value("_plugin").(string), c.ref)
			if c.kind == "" {
				if err != nil || !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %v, %v, want %v", got, err, c.want)
				}
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != c.kind || !strings.Contains(f.Msg, c.says) {
				t.Errorf("got %v", err)
			} else if f.Details.Len() > 0 {
				t.Errorf("details %v", f.Details)
			}
			if err != nil && strings.Contains(err.Error(), "open") {
				t.Error("the message has the result's value")
			}
		})
	}
}

func TestValidation(t *testing.T) {
	o, fake := modulesWithPlugins(t)
	p := plugin.New(o)
	if _, err := p.Resolve(t.Context(), "checked", ordered.Of("v", "good")); err != nil {
		t.Error(err)
	}
	_, err := p.Resolve(t.Context(), "checked", ordered.Of("v", "bad"))
	if err == nil || !strings.Contains(err.Error(), "The task failed") {
		t.Errorf("got %v", err)
	}
	if want := []string{"checked::validate_resolve_reference ", "checked::resolve_reference ", "checked::validate_resolve_reference "}; !slices.Equal(fake.calls, want) {
		t.Errorf("ran %q", fake.calls)
	}
}

func TestTaskPluginPassesRunAs(t *testing.T) {
	o, fake := modulesWithPlugins(t)
	if _, err := plugin.New(o).Resolve(t.Context(), "task", ordered.Of("task", "anything", "_run_as", "root")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"anything root"}; !slices.Equal(fake.calls, want) {
		t.Errorf("ran %q", fake.calls)
	}
}

func TestConfigOfItself(t *testing.T) {
	o, _ := modulesWithPlugins(t)
	o.Config = ordered.Of(
		"identity", ordered.Of("value", ordered.Of("_plugin", "named", "required", "x")),
		"named", ordered.Of("required", ordered.Of("_plugin", "identity", "value", "x")),
	)
	p := plugin.New(o)
	var all sync.WaitGroup
	for _, name := range []string{"identity", "named", "identity", "named"} { // they do not wait for each other
		all.Go(func() {
			_, err := p.Resolve(t.Context(), name, ordered.Of("_plugin", name))
			if err == nil || !strings.Contains(err.Error(), "depends on the plugin itself") || !isPluginError(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}

func TestConfigIsResolvedOnce(t *testing.T) {
	o, fake := modulesWithPlugins(t)
	o.Config = ordered.Of("named", ordered.Of("_plugin", "task", "task", "config"))
	fake.tasks = maps.Clone(fake.tasks)
	fake.tasks["config"] = fakeTask{do: func(*ordered.Map) (*ordered.Map, error) {
		return ordered.Of("value", ordered.Of("required", "r")), nil
	}}
	p := plugin.New(o)
	for _, v := range []string{"a", "b"} {
		got, err := p.Resolve(t.Context(), "named", ordered.Of("optional", v))
		if want := ordered.Of("required", "r", "optional", v, "_boltdir", o.Project); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if want := []string{"config ", "named ", "named "}; !slices.Equal(fake.calls, want) {
		t.Errorf("ran %q", fake.calls)
	}
	o.Config = ordered.Of("named", ordered.Of("_plugin", "env_var", "var", "ENV_x"))
	if _, err := plugin.New(o).Resolve(t.Context(), "named", &ordered.Map{}); err == nil || !strings.Contains(err.Error(), "must be a Hash") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutTasks(t *testing.T) {
	o, _ := modulesWithPlugins(t)
	o.Tasks = nil
	p := plugin.New(o)
	for _, name := range []string{"identity", "task"} {
		_, err := p.Resolve(t.Context(), name, ordered.Of("task", "x"))
		if err == nil || !strings.Contains(err.Error(), "this command cannot run tasks") || !isPluginError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallRunsHook(t *testing.T) {
	o, _ := modulesWithPlugins(t)
	p := plugin.New(o)
	got, err := p.Call(t.Context(), "named", plugin.SecretEncrypt, ordered.Of("value", "x"))
	if want := ordered.Of("value", "x", "_boltdir", o.Project); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct {
		name       string
		hook       plugin.Hook
		kind, says string
	}{
		{"nosuch", plugin.SecretEncrypt, "bolt/unknown-plugin", "Unknown plugin: 'nosuch'"},
		{"identity", plugin.SecretEncrypt, "bolt/unsupported-hook", "Plugin identity does not support secret_encrypt"},
		{"env_var", plugin.SecretDecrypt, "bolt/unsupported-hook", "Plugin env_var does not support secret_decrypt"},
		{"task", plugin.PuppetLibrary, "bolt/unsupported-hook", "Plugin task does not support puppet_library"},
		{"failing", plugin.SecretCreateKeys, "puppetlabs.tasks/task-error", "The task failed with exit code 1"},
		{"bad_result", plugin.SecretDecrypt, "bolt/plugin-error", "Plugin bad_result result did not include a value"},
	} {
		_, err := p.Call(t.Context(), c.name, c.hook, &ordered.Map{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != c.kind || !strings.HasPrefix(f.Msg, c.says) || f.Details.Len() > 0 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestListsPlugins(t *testing.T) {
	o, _ := modulesWithPlugins(t)
	var warned []string
	o.Warn = func(id, text string) { warned = append(warned, id+" "+strings.Fields(text)[2]) }
	o.Config = ordered.Of("identity", ordered.Of("_plugin", "nosuch")) // it is not asked for
	list, err := plugin.New(o).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[plugin.Hook][]string)
	var hooks []plugin.Hook
	for _, l := range list {
		hooks = append(hooks, l.Hook)
		for _, p := range l.Plugins {
			got[l.Hook] = append(got[l.Hook], p.Name)
			if p.Name == "identity" && p.Description != "Returns its value." {
				t.Errorf("identity is described as %q", p.Description)
			}
		}
	}
	if !slices.Equal(hooks, plugin.Hooks()) {
		t.Errorf("hooks %v", hooks)
	}
	want := map[plugin.Hook][]string{
		plugin.PuppetLibrary:    {"task"},
		plugin.ResolveReference: {"bad_result", "checked", "env_var", "failing", "identity", "named", "own", "prompt", "task", "yaml"},
		plugin.SecretEncrypt:    {"named"},
		plugin.SecretDecrypt:    {"bad_result"},
		plugin.SecretCreateKeys: {"failing"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	slices.Sort(warned)
	if want := []string{"plugin_load_error config", "plugin_load_error hooks", "plugin_load_error junk", "plugin_load_error lost", "plugin_load_error nohash", "plugin_load_error spec"}; !slices.Equal(warned, want) {
		t.Errorf("warned %q", warned)
	}
}

// TestReferenceIsResolvedOnce checks that concurrent callers share one
// resolution of a reference.
func TestReferenceIsResolvedOnce(t *testing.T) {
	runs := make(chan struct{})
	o, fake := world(t, nil, map[string]fakeTask{"slow": {do: func(params *ordered.Map) (*ordered.Map, error) {
		<-runs
		return ordered.Of("value", []any{params}), nil
	}}})
	p := plugin.New(o)
	var all sync.WaitGroup
	results := make([]any, 20)
	for i := range results {
		all.Go(func() {
			params := ordered.Of("n", int64(i%2))
			ref := ordered.Of("_plugin", "task", "task", "slow", "parameters", params)
			if i%4 > 1 { // the order does not matter, and _cache does not
				ref = ordered.Of("parameters", params, "_cache", ordered.Of("ttl", int64(i)), "task", "slow", "_plugin", "task")
			}
			v, err := p.Resolve(t.Context(), "task", ref)
			if err != nil {
				t.Error(err)
			}
			results[i] = v
		})
	}
	close(runs)
	all.Wait()
	if len(fake.calls) != 2 {
		t.Errorf("ran %q", fake.calls)
	}
	for i, v := range results {
		if want := []any{ordered.Of("n", int64(i%2))}; !reflect.DeepEqual(v, want) {
			t.Errorf("%d: %v", i, v)
		}
	}
	results[0].([]any)[0].(*ordered.Map).Set("n", "changed")
	if reflect.DeepEqual(results[0], results[2]) {
		t.Error("a value belongs to two")
	}
}

// TestFailureIsSharedByCallers checks that all callers get the same failure,
// except a caller whose context ended.
func TestFailureIsSharedByCallers(t *testing.T) {
	began := make(chan struct{}, 1)
	o, fake := world(t, nil, map[string]fakeTask{"fail": {do: failing}})
	p := plugin.New(o)
	ref := ordered.Of("_plugin", "task", "task", "fail")
	for range 3 {
		if _, err := p.Resolve(t.Context(), "task", ref); !isPluginError(err) {
			t.Errorf("got %v", err)
		}
	}
	if len(fake.calls) != 1 {
		t.Errorf("ran %q", fake.calls)
	}

	ctx, cancel := context.WithCancel(t.Context())
	stopped := false
	fake.tasks["stop"] = fakeTask{do: func(*ordered.Map) (*ordered.Map, error) {
		if stopped {
			return ordered.Of("value", "done"), nil
		}
		stopped = true
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ref = ordered.Of("_plugin", "task", "task", "stop")
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := p.Resolve(ctx, "task", ref); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	<-began
	all.Go(func() {
		if v, err := p.Resolve(t.Context(), "task", ref); v != "done" || err != nil {
			t.Errorf("got %v, %v", v, err)
		}
	})
	time.Sleep(5 * time.Millisecond) // it waits by now, or comes too late for that, which is the same
	cancel()
	all.Wait()
}

// TestModuleBeforeBuiltIn: a module of the project's comes before what is built in,
// but not before the plugins that are no modules with Puppet Bolt either.
func TestModuleBeforeBuiltIn(t *testing.T) {
	o, fake := world(t, map[string]string{
		"modules/pkcs7/bolt_plugin.json": "{}", "modules/env_var/bolt_plugin.json": "{}", "modules/yaml/tasks/x.sh": "", "list.yaml": "[1]",
	}, map[string]fakeTask{
		"pkcs7::resolve_reference": {do: identity}, "env_var::resolve_reference": {do: identity},
	})
	p := plugin.New(o)
	got, err := p.Resolve(t.Context(), "pkcs7", ordered.Of("x", "y"))
	if want := ordered.Of("x", "y", "_boltdir", o.Project); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := p.Resolve(t.Context(), "env_var", ordered.Of("var", "ENV_x")); got != "x" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := p.Resolve(t.Context(), "yaml", ordered.Of("filepath", "list.yaml")); err != nil || !reflect.DeepEqual(got, []any{int64(1)}) {
		t.Errorf("got %v, %v", got, err)
	}
	if len(fake.calls) != 1 {
		t.Errorf("ran %q", fake.calls)
	}
	if err := os.WriteFile(filepath.Join(o.Project, "list.yaml"), []byte("[2]"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Config = ordered.Of("yaml", ordered.Of("filepath", "list.yaml"))
	if got, err := plugin.New(o).Resolve(t.Context(), "yaml", &ordered.Map{}); err != nil || !reflect.DeepEqual(got, []any{int64(2)}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// programs are plugins that are programs: their value is their name.
type programs []string

func (p programs) Names() []string { return p }

func (p programs) Plugin(name string) (plugin.Native, bool) {
	about := func(context.Context) (string, error) {
		if name == "sick" {
			return "", errors.New("it does not describe itself")
		}
		return "Program.", nil
	}
	value := func(context.Context, *ordered.Map, *ordered.Map) (any, error) { return name, nil }
	return plugin.Native{Name: name, Resolve: value, Describe: about}, slices.Contains(p, name)
}

// TestProgramIsPluginOfLastResort checks that a program is a plugin if no module
// and no built-in plugin has its name.
func TestProgramIsPluginOfLastResort(t *testing.T) {
	o, _ := world(t, map[string]string{"modules/keeper/bolt_plugin.json": "{}"}, map[string]fakeTask{"keeper::resolve_reference": {do: identity}})
	var warnings []string
	o.Warn = func(id, text string) { warnings = append(warnings, id+": "+text) }
	o.Natives = []plugin.Native{{Name: "cmdb", Resolve: func(context.Context, *ordered.Map, *ordered.Map) (any, error) { return "built in", nil }}}
	o.Programs = programs{"choria", "cmdb", "env_var", "keeper", "mine", "sick"}
	p := plugin.New(o)
	for name, want := range map[string]any{
		"mine": "mine", "choria": "choria", "cmdb": "built in", "env_var": "x",
		"keeper": ordered.Of("var", "ENV_x", "_boltdir", o.Project),
	} {
		if got, err := p.Resolve(t.Context(), name, ordered.Of("var", "ENV_x")); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
	_, err := p.Resolve(t.Context(), "other", &ordered.Map{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Hint, "keeper, mine, prompt") || !strings.Contains(f.Hint, "a program bolt-plugin-other on PATH") {
		t.Errorf("got %#v", err)
	}
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list[1].Plugins {
		lines = append(lines, e.Name+" "+e.Description)
	}
	if got := strings.Join(lines, "|"); !strings.Contains(got, "|mine Program.|") || !strings.HasPrefix(got, "choria Program.|cmdb |env_var Read a value") || strings.Contains(got, "sick") {
		t.Errorf("got %s", got)
	}
	if want := []string{"plugin_load_error: The plugin sick is not listed: it does not describe itself"}; !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q", warnings)
	}
}
