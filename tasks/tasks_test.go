package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"bolt/event"
	"bolt/event/capture"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/modules"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/all"
	"bolt/transport/local"
)

// world is a module path in its own directory, with its warnings.
type world struct {
	dir string
	lib *tasks.Library

	mu    sync.Mutex // guards warns
	warns []string
}

// newWorld writes files, which are executable except metadata.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := modules.NewPath(modules.Module{Name: "proj", Dir: filepath.Join(w.dir, "proj")}, filepath.Join(w.dir, "modules")).
		With(fstest.MapFS{
			"builtin/tasks/init.json":   {Data: []byte(`{"extensions": {"bolt": {"native": "echo"}}, "description": "ours"}`)},
			"builtin/tasks/script.sh":   {Data: []byte("#!/bin/sh\necho built in\n"), Mode: fs.FileMode(0o444)},
			"builtin/tasks/script.json": {Data: []byte(`{"files": ["builtin/files/"]}`)},
			"builtin/files/a/b.txt":     {Data: []byte("b")},
		})
	w.lib = tasks.NewLibrary(tasks.Options{
		Modules: path,
		Type: func(_ context.Context, text string) (value.Type, error) {
			return value.ParseType(text)
		},
		Warn: func(id, text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warns = append(w.warns, id+": "+text)
		},
	})
	return w
}

func kindOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Kind
	}
	return fmt.Sprintf("%T", err)
}

const sh = "#!/bin/sh\n"

func TestFind(t *testing.T) {
	w := newWorld(t, map[string]string{
		"proj/tasks/init.sh":              sh,
		"proj/tasks/one.sh":               sh,
		"proj/tasks/one.json":             `{"description": "One", "supports_noop": true, "private": true, "odd": 1, "input_method": "telepathy"}`,
		"proj/tasks/empty.json":           "",
		"proj/tasks/empty.sh":             sh,
		"proj/tasks/two.sh":               sh,
		"proj/tasks/two.py":               sh,
		"proj/tasks/readme.md":            "",
		"proj/tasks/Upper.sh":             sh,
		"proj/tasks/alone.json":           "{}",
		"proj/tasks/notjson.json":         "{\n  \"a\": [1,\n}",
		"proj/tasks/notjson.sh":           sh,
		"proj/tasks/list.json":            "[]",
		"proj/tasks/list.sh":              sh,
		"proj/tasks/types.json":           `{"description": 1, "parameters": {"a": 2}, "files": [3], "implementations": [{}, 4], "private": "no"}`,
		"proj/tasks/types.sh":             sh,
		"proj/tasks/badtype.json":         `{"parameters": {"a": {"type": "Optional["}}}`,
		"proj/tasks/badtype.sh":           sh,
		"proj/tasks/lost.json":            `{"implementations": [{"name": "gone.sh"}]}`,
		"proj/tasks/impl.json":            `{"implementations": [{"name": "two.sh", "requirements": ["x"]}, {"name": "one.sh", "input_method": "stdin", "remote": true}], "input_method": "environment"}`,
		"proj/tasks/native.json":          `{"extensions": {"bolt": {"native": "echo"}}}`,
		"proj/tasks/native.sh":            sh,
		"proj/tasks/outputs.json":         `{"outputs": {"v": {"aggregate": "sum"}}}`,
		"proj/tasks/outputs.sh":           sh,
		"proj/tasks/sub/deep.sh":          sh,
		"proj/tasks/names.json":           `{"parameters": {"my-pw": {}, "": {}, "_task": {}}}`,
		"proj/tasks/names.sh":             sh,
		"proj/tasks/folder.json":          `{"implementations": [{"name": "sub"}]}`,
		"proj/tasks/local.json":           `{"remote": true, "implementations": [{"name": "one.sh", "remote": false}, {"name": "names.sh"}]}`,
		"modules/second/tasks/bad.sh":     sh,
		"modules/extra/tasks/init.sh":     sh,
		"modules/proj/tasks/hidden.sh":    sh,
		"modules/extra/tasks/x.conf":      "",
		"modules/builtin/tasks/script.sh": sh,
		"modules/builtin/tasks/init.sh":   sh,
	})
	tests := []struct{ name, kind, says string }{
		{"proj", "", ""},
		{"proj::one", "", ""},
		{"proj::empty", "", ""},
		{"extra", "", ""},
		{"proj::impl", "", ""},
		{"proj::native", "", ""},
		{"proj::names", "bolt/pal-error", "'parameters.my-pw' must be named with lowercase letters"},
		{"proj::folder", "bolt/pal-error", "specifies missing implementation sub"},
		{"proj::local", "", ""},
		{"proj::init", tasks.UnknownTask, "Could not find a task named 'proj::init'"},
		{"proj::on", tasks.UnknownTask, "Did you mean proj::one?"},
		{"prok", tasks.UnknownTask, "Did you mean proj?"},
		{"proj::deep", tasks.UnknownTask, ""},
		{"proj::sub::deep", tasks.UnknownTask, ""},
		{"proj::hidden", tasks.UnknownTask, ""},
		{"proj::Upper", tasks.UnknownTask, ""},
		{"proj::readme", tasks.UnknownTask, ""},
		{"extra::x", tasks.UnknownTask, ""},
		{"", tasks.UnknownTask, ""},
		{"../proj", tasks.UnknownTask, ""},
		{"proj::../../x", tasks.UnknownTask, ""},
		{"proj::two", "bolt/pal-error", "Multiple executables were found in directory"},
		{"proj::alone", "bolt/pal-error", "No source besides task metadata was found in directory"},
		{"proj::notjson", "bolt/pal-error", "notjson.json, line 2"},
		{"proj::list", "bolt/pal-error", "must be a JSON object"},
		{"proj::types", "bolt/pal-error", "'description' must be a string\n  'private' must be true or false\n  'files' must be a list of strings\n  'parameters.a' must be an object\n  implementations: 'name' must be the name of a file\n  'implementations' must be an object"},
		{"proj::badtype", "bolt/pal-error", ""},
		{"proj::lost", "bolt/pal-error", "specifies missing implementation gone.sh"},
		{"proj::outputs", "bolt/pal-error", "outputs.v: 'aggregate' must be one of summary, average, min, max, count-by"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.lib.Find(t.Context(), tt.name)
			if tt.kind == "" {
				if err != nil || got.Name != tt.name {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if err == nil || kindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %s: %v", kindOf(err), err)
			}
		})
	}
	if err := os.Symlink("nowhere", filepath.Join(w.dir, "proj/tasks/empty.json.new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.dir, "proj/tasks/empty.json.new"), filepath.Join(w.dir, "proj/tasks/empty.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.lib.Find(t.Context(), "proj::empty"); err == nil || !strings.Contains(err.Error(), "it is neither a file nor a link to a file") {
		t.Errorf("metadata that leads nowhere: %v", err)
	}
	one, _ := w.lib.Find(t.Context(), "proj::one")
	if one.Description != "One" || !one.SupportsNoop || !one.Private || one.Typed {
		t.Errorf("metadata: %+v", one)
	}
	if all := strings.Join(w.warns, "\n"); !strings.Contains(all, "unknown_task_metadata_keys") || !strings.Contains(all, "odd") || !strings.Contains(all, "telepathy") {
		t.Errorf("warnings: %s", all)
	}
	impl, _ := w.lib.Find(t.Context(), "proj::impl")
	if a, b := impl.Implementations[0], impl.Implementations[1]; a.InputMethod != "environment" || b.InputMethod != "stdin" || !b.Remote || a.Remote {
		t.Errorf("implementations: %+v", impl.Implementations)
	}
	if short, err := w.lib.Find(t.Context(), "::proj::one"); err != nil || short.Name != "proj::one" {
		t.Errorf("a name from the top: %v, %v", short, err)
	}
	remote, _ := w.lib.Find(t.Context(), "proj::local")
	if a, b := remote.Implementations[0], remote.Implementations[1]; a.Remote || !b.Remote {
		t.Errorf("implementations: %+v", remote.Implementations)
	}
	if native, _ := w.lib.Find(t.Context(), "proj::native"); native.Native != "" {
		t.Error("a module of the user is done by the program")
	}
	_, err := w.lib.Find(t.Context(), "proj::badtype")
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Hint, "the type of parameter 'a' in ") || !strings.Contains(f.Hint, "badtype.json") {
		t.Errorf("place: %#v", err)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t, map[string]string{
		"proj/tasks/init.sh": sh, "proj/tasks/b.sh": sh, "proj/tasks/b.json": `{"description": "B", "private": true}`,
		"proj/tasks/bad.sh": sh, "proj/tasks/bad.json": "{", "modules/extra/tasks/a.py": sh, "modules/none/files/x": "",
		"proj/tasks/b_linux.sh": sh, "modules/extra/tasks/worse.sh": sh, "modules/extra/tasks/worse.json": "]",
		"modules/extra/tasks/nofile.json": `{"description": "no file"}`, "modules/extra/tasks/twice.sh": sh, "modules/extra/tasks/twice.py": sh,
		"modules/extra/tasks/lacks.sh": sh, "modules/extra/tasks/lacks.json": `{"implementations": [{"name": "a.py"}, {"name": "gone.sh"}]}`,
		"modules/extra/tasks/has.json": `{"implementations": [{"name": "a.py"}]}`, "modules/extra/tasks/empty.json": `{"implementations": []}`,
	})
	if err := os.Symlink("nowhere", filepath.Join(w.dir, "proj/tasks/dangling.sh")); err != nil {
		t.Fatal(err)
	}
	list, err := w.lib.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %q %v %s", s.Name, s.Description, s.Private, s.Module.Name))
	}
	want := []string{`builtin "ours" false builtin`, `builtin::script "" false builtin`, `extra::a "" false extra`, `extra::empty "" false extra`, `extra::has "" false extra`, `proj "" false proj`,
		`proj::b "B" true proj`, `proj::b_linux "" false proj`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	slices.Sort(w.warns)
	warns := strings.Join(w.warns, "\n")
	for _, want := range []string{"worse.json", "bad.json", "No source besides task metadata was found in directory " + filepath.Join(w.dir, "modules/extra/tasks") + " for task extra::nofile",
		"Multiple executables were found in directory " + filepath.Join(w.dir, "modules/extra/tasks") + " for task extra::twice", "extra::lacks specifies missing implementation gone.sh"} {
		if !strings.Contains(warns, want) {
			t.Errorf("no warning about %q in\n%s", want, warns)
		}
	}
	if len(w.warns) != 5 {
		t.Errorf("%d warnings:\n%s", len(w.warns), warns)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.lib.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a list that was ended: %v", err)
	}
}

const typed = `{"supports_noop": true, "parameters": {
	"name": {"type": "String[1]"},
	"count": {"type": "Optional[Integer[1,5]]", "default": 3},
	"level": {"type": "Enum[low, high]", "default": "low"},
	"secret": {"type": "Optional[Pattern[/^s/]]", "sensitive": true},
	"opts": {"type": "Optional[Hash[String, Variant[Integer, Array[String]]]]"},
	"any": {},
	"pin": {"type": "Optional[Integer[1,5]]", "sensitive": true},
	"large": {"type": "Optional[Integer]"}}}`

func TestParams(t *testing.T) {
	w := newWorld(t, map[string]string{"proj/tasks/p.sh": sh, "proj/tasks/p.json": typed, "proj/tasks/free.sh": sh,
		"proj/tasks/none.sh": sh, "proj/tasks/none.json": `{"parameters": {}}`})
	tests := []struct{ task, given, want, says string }{
		{"p", `{"name": "n"}`, `{"name":"n","count":3,"level":"low"}`, ""},
		{"p", `{"name": "n", "count": null, "any": null}`, `{"name":"n","count":3,"any":null,"level":"low"}`, ""},
		{"p", `{"name": "n", "any": {"a": [1.5, true]}}`, `{"name":"n","any":{"a":[1.5,true]},"count":3,"level":"low"}`, ""},
		{"p", `{"name": "n", "large": 123456789012345678901}`, `{"name":"n","large":123456789012345678901,"count":3,"level":"low"}`, ""},
		{"p", `{"name": "n", "count": 123456789012345678901}`, "", "parameter 'count' expects an Integer[1, 5] value or undef, got 123456789012345678901"},
		{"p", `{"name": "n", "pin": 123456789012345678901}`, "", "parameter 'pin' expects a value of type"},
		{"p", `{"name": "n", "pin": {"hunter2": 123456789012345678901}}`, "", "parameter 'pin' expects a value of type"},
		{"p", `{"nope": 1, "count": "x", "level": "mid", "opts": {"a": [1]}}`, "", "Task proj::p:\n has no parameter named 'nope'\n" +
			" expects a value for parameter 'name'\n parameter 'count' expects an Integer[1, 5] value or undef, got String\n" +
			" parameter 'level' expects 'high' or 'low', got 'mid'\n parameter 'opts' entry 'a' index 0 expects a String value, got Integer"},
		{"p", `{"name": "", "secret": "hunter2"}`, "", "parameter 'secret' expects a value of type"},
		{"free", `{"a": 1, "b": "x"}`, `{"a":1,"b":"x"}`, ""},
		{"free", `{"FOO": 1}`, "", "cannot have a parameter named 'FOO'"},
		{"none", `{"a": 1}`, "", "has no parameter named 'a'"},
		{"none", `{}`, `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.task+" "+tt.given, func(t *testing.T) {
			task, err := w.lib.Find(t.Context(), "proj::"+tt.task)
			if err != nil {
				t.Fatal(err)
			}
			v, err := ordered.ParseJSON([]byte(tt.given))
			if err != nil {
				t.Fatal(err)
			}
			got, err := task.Check(v.(*ordered.Map))
			if tt.says != "" {
				if err == nil || kindOf(err) != "bolt/pal-error" || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v, %v", got, err)
				} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(tt.given, "pin") && strings.Contains(err.Error(), "12345") {
					t.Errorf("it shows what is sensitive: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(got); string(text) != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	w := newWorld(t, map[string]string{"proj/tasks/p.sh": sh, "proj/tasks/p.json": typed})
	task, err := w.lib.Find(t.Context(), "proj::p")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		want       any
	}{
		{"name", "123", "123"}, {"name", `"x"`, "x"}, {"name", "", ""}, {"name", "null", "null"}, {"name", "{bad", "{bad"},
		{"count", "3", int64(3)}, {"count", "9", "9"}, {"count", "null", nil}, {"count", "x", "x"},
		{"any", "true", true}, {"any", "yes", "yes"}, {"any", " 7", int64(7)}, {"any", "1e3", 1000.0}, {"unknown", "[1]", []any{int64(1)}},
		{"large", "123456789012345678901", json.Number("123456789012345678901")}, {"count", "123456789012345678901", "123456789012345678901"},
	} {
		got := task.Read(tt.name, tt.text)
		if big, ok := got.(*big.Int); ok {
			got = json.Number(big.String())
		}
		if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", tt.want, tt.want) {
			t.Errorf("%s=%s: %T %v, want %T %v", tt.name, tt.text, got, got, tt.want, tt.want)
		}
	}
}

func TestFiles(t *testing.T) {
	w := newWorld(t, map[string]string{
		"proj/tasks/good.sh":              sh,
		"proj/tasks/good.json":            `{"files": ["extra/files/dir/", "proj/lib/x.rb"], "implementations": [{"name": "good.sh", "files": ["proj/scripts/s.sh", "extra/files/dir/one.txt"]}]}`,
		"proj/lib/x.rb":                   "x",
		"proj/scripts/s.sh":               "s",
		"modules/extra/files/dir/one.txt": "1",
		"modules/extra/files/dir/sub/two": "2",
		"modules/extra/files/dir/.git/x":  "not this",
		"modules/extra/files/dir/.hidden": "nor this",
		"proj/tasks/bad.sh":               sh,
	})
	task, err := w.lib.Find(t.Context(), "proj::good")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range w.lib.Files(task) {
		got = append(got, f.Name)
	}
	if want := []string{"good.sh", "extra/files/dir/one.txt", "extra/files/dir/sub/two", "proj/lib/x.rb", "proj/scripts/s.sh"}; !slices.Equal(got, want) || w.warns != nil {
		t.Errorf("got %q, warned %q", got, w.warns)
	}
	for name, says := range map[string]string{
		"nope/files/x": "Could not find module nope", "extra/manifests/x": "mount points", "extra/files/../../../x": "relative paths",
		"extra/files/none": "Could not find", "extra/files/dir": "must include a trailing slash", "proj/lib/x.rb/": "cannot include a trailing slash",
		"extra": "mount points", "extra/files": "is a directory of the module",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, "proj/tasks/bad.json"), []byte(fmt.Sprintf(`{"files": [%q]}`, name)), 0o644); err != nil {
			t.Fatal(err)
		}
		task, err := w.lib.Find(t.Context(), "proj::bad")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "proj/tasks/bad.json"), []byte(`{"files": ["nope/files/x", "proj/lib/x.rb"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	bad, err := w.lib.Find(t.Context(), "proj::bad")
	if err != nil {
		t.Fatal(err)
	}
	if files := w.lib.Files(bad); len(files) != 2 || len(w.warns) != 1 || !strings.Contains(w.warns[0], "Could not find module nope") {
		t.Errorf("with a file missing: %v, warned %q", files, w.warns)
	}
	if err := os.Symlink("..", filepath.Join(w.dir, "modules/extra/files/dir/loop")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{}); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("a link back: %v", err)
	}
}

// here runs a task on this machine.
func (w *world) here(t *testing.T, name, params, config string, o tasks.RunOptions) *event.Result {
	t.Helper()
	task, err := w.lib.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ordered.ParseJSON([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	checked, err := task.Check(v.(*ordered.Map))
	if err != nil {
		t.Fatal(err)
	}
	action, err := w.lib.Run(t.Context(), task, checked, o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := ordered.ParseJSON([]byte(`{"targets": [{"name": "here", "config": {"transport": "local"}},
		{"name": "device", "uri": "switch://user@device.example:1234/path", "config": {"transport": "remote", "remote": {"run-on": "here", "model": "x", "private-key": {"key-data": "KEY"}, "password": "pw"}}},
		{"name": "loop", "config": {"transport": "remote", "remote": {"run-on": "device"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.New(t.Context(), data.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), Config: map[string]*ordered.Map{
		"local": ordered.Of("tmpdir", w.dir, "interpreters", ordered.Of(".say", "/bin/echo"))}})
	if err != nil {
		t.Fatal(err)
	}
	if config == "" {
		config = "here"
	}
	targets, err := inv.Targets(t.Context(), []string{config})
	if err != nil {
		t.Fatal(err)
	}
	var res *event.Result
	err = run.New(local.NewDialer(local.Options{}), run.Options{}).Run(t.Context(), action, targets, event.Func(func(_ context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			res = end.Result
			res.Output.Retain()
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// shown returns a result as JSON, with the test's directory as DIR.
func (w *world) shown(t *testing.T, res *event.Result) string {
	t.Helper()
	var b strings.Builder
	if err := res.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), w.dir, "DIR")
}

func TestRun(t *testing.T) {
	echo := sh + "env | grep ^PT_ | LC_ALL=C sort; echo \"stdin: $(cat)\"\n"
	w := newWorld(t, map[string]string{
		"proj/tasks/both.sh":      echo,
		"proj/tasks/both.json":    `{"supports_noop": true}`,
		"proj/tasks/env.sh":       echo,
		"proj/tasks/env.json":     `{"input_method": "environment"}`,
		"proj/tasks/stdin.sh":     echo,
		"proj/tasks/stdin.json":   `{"input_method": "stdin"}`,
		"proj/tasks/files.sh":     sh + `cd "$PT__installdir" && find . -type f | LC_ALL=C sort; stat -c %a . proj/tasks/files.sh proj/files/f; cat | grep -c _installdir`,
		"proj/tasks/files.json":   `{"files": ["proj/files/f"]}`,
		"proj/files/f":            "f",
		"proj/tasks/say.say":      "not a program",
		"proj/tasks/empty.sh":     sh,
		"proj/tasks/count.sh":     sh + `echo "$(printenv PT_a | wc -c) $(wc -c)"`,
		"proj/tasks/word.sh":      sh,
		"proj/tasks/envlost.py":   "#!/usr/bin/env nosuchpython\n",
		"proj/tasks/lost.py":      "#!/nonexistent/python -u\n",
		"proj/tasks/nofile.sh":    sh,
		"proj/tasks/nofile.json":  `{"files": ["proj/files/none"]}`,
		"proj/tasks/fails.sh":     sh + "exit 7",
		"proj/tasks/failtext.sh":  sh + "echo out; exit 7",
		"proj/tasks/failerr.sh":   sh + "echo why >&2; exit 7",
		"proj/tasks/error.sh":     sh + `echo '{"_error": {"msg": "no", "extra": 1}, "x": 2}'`,
		"proj/tasks/badmsg.sh":    sh + `echo '{"_error": {"text": "no"}}'`,
		"proj/tasks/badkind.sh":   sh + `echo '{"_error": "no"}'; exit 3`,
		"proj/tasks/list.sh":      sh + `echo '[1]'`,
		"proj/tasks/bytes.sh":     sh + `printf 'a\377'`,
		"proj/tasks/secret.sh":    sh + `echo '{"_sensitive": {"pw": "hunter2"}, "x": 1}'`,
		"proj/tasks/device.sh":    sh + `cat`,
		"proj/tasks/device.json":  `{"remote": true, "input_method": "stdin"}`,
		"proj/tasks/promise.sh":   sh + `echo '{"n": "x"}'`,
		"proj/tasks/promise.json": `{"outputs": {"n": {"type": "Integer"}, "m": {"type": "String"}}}`,
		"proj/tasks/killed.sh":    sh + `kill -9 $$`,
		"proj/tasks/large.sh":     sh + `head -c 17000000 /dev/zero | tr '\0' x`,
		"proj/tasks/ruby.sh":      sh + `echo shell`,
		"proj/tasks/ruby.rb":      "",
		"proj/tasks/ruby.json":    `{"implementations": [{"name": "ruby.rb", "requirements": ["puppet-agent"]}, {"name": "ruby.sh", "requirements": ["shell"]}]}`,
		"proj/tasks/agent.json":   `{"implementations": [{"name": "ruby.sh", "requirements": ["puppet-agent"]}]}`,
		"proj/tasks/null.sh":      sh + `echo '{"_error": null, "x": 1}'; exit 3`,
		"proj/tasks/nullok.sh":    sh + `echo '{"_error": null}'`,
		"proj/tasks/oddmsg.sh":    sh + `echo '{"_error": {"msg": 5, "details": "text"}}'`,
		"proj/tasks/selff.sh":     sh + `test -d "$PT__installdir/proj/tasks" && echo told`,
		"proj/tasks/selff.json":   `{"files": ["proj/tasks/selff.sh"]}`,
		"proj/tasks/inside.sh":    sh + `nosuchcommand`,
		"proj/tasks/noisy.sh":     sh + `head -c 3000000 /dev/zero | tr '\0' x >&2; echo '{"ok": true}'`,
		"proj/tasks/notjson.sh":   sh + `echo '{"_sensitive": "hunter2", "x": 1e400}'`,
		"proj/tasks/bom.sh":       sh + `printf '\357\273\277{"_sensitive": "hunter2", "x": 1}'`,
		"proj/tasks/behind.sh":    sh + `echo warning; echo '{"_sensitive": "hunter2"}'`,
		"proj/tasks/inerr.sh":     sh + `echo '{"_error": {"msg": "m", "_sensitive": "hunter2"}}'`,
		"proj/tasks/open.sh":      sh + `echo '{"open": '`,
		"proj/tasks/never.json":   `{"implementations": [{"name": "ruby.sh", "requirements": ["windows"]}]}`,
	})
	const head = `{"target":"here","action":"task","object":"proj::`
	tests := []struct{ task, params, target, want string }{
		{"both", `{"a": "x y", "b": [1, 2.0], "c": null}`, "", head + `both","status":"success","value":{"_output":"PT__task=proj::both\nPT_a=x y\nPT_b=[1,2.0]\nPT_c=null\nstdin: {\"a\":\"x y\",\"b\":[1,2.0],\"c\":null,\"_task\":\"proj::both\"}\n"}}`},
		{"env", `{"a": "x"}`, "", head + `env","status":"success","value":{"_output":"PT__task=proj::env\nPT_a=x\nstdin: \n"}}`},
		{"stdin", `{"a": "x"}`, "", head + `stdin","status":"success","value":{"_output":"stdin: {\"a\":\"x\",\"_task\":\"proj::stdin\"}\n"}}`},
		{"files", `{}`, "", head + `files","status":"success","value":{"_output":"./proj/files/f\n./proj/tasks/files.sh\n700\n644\n755\n1\n"}}`},
		{"empty", `{}`, "", head + `empty","status":"success","value":{"_output":""}}`},
		{"fails", `{}`, "", head + `fails","status":"failure","value":{"_output":"","_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task failed with exit code 7 and no output","details":{"exit_code":7}}}}`},
		{"failtext", `{}`, "", head + `failtext","status":"failure","value":{"_output":"out\n","_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task failed with exit code 7","details":{"exit_code":7}}}}`},
		{"failerr", `{}`, "", head + `failerr","status":"failure","value":{"_output":"","_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task failed with exit code 7 and no stdout, but stderr contained:\nwhy\n","details":{"exit_code":7}}}}`},
		{"error", `{}`, "", head + `error","status":"failure","value":{"x":2,"_error":{"msg":"no","extra":1,"kind":"bolt/error","details":{}}}}`},
		{"badmsg", `{}`, "", head + `badmsg","status":"failure","value":{"_error":{"kind":"bolt/invalid-task-error","msg":"Invalid error returned from task proj::badmsg: {\"text\"=>\"no\"}. Error must be an object with a msg key.","details":{"original_error":{"text":"no"}}}}}`},
		{"badkind", `{}`, "", head + `badkind","status":"failure","value":{"_error":{"kind":"bolt/invalid-task-error","msg":"Invalid error returned from task proj::badkind: \"no\". Error must be an object with a msg key.","details":{"original_error":"no"}}}}`},
		{"list", `{}`, "", head + `list","status":"success","value":{"_output":"[1]\n"}}`},
		{"bytes", `{}`, "", head + `bytes","status":"failure","value":{"_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task result contained invalid UTF-8 on stdout","details":{}}}}`},
		{"secret", `{}`, "", head + `secret","status":"success","value":{"_sensitive":"Sensitive [value redacted]","x":1}}`},
		{"promise", `{}`, "", head + `promise","status":"failure","value":{"n":"x","_error":{"kind":"bolt/invalid-task-output","issue_code":"TASK_ERROR","msg":"The result of task proj::promise does not match the outputs in its metadata: 'n' expects an Integer value, got String; 'm' is missing","details":{}}}}`},
		{"killed", `{}`, "", head + `killed","status":"failure","value":{"_output":"","_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task was ended by signal KILL and no output","details":{}}}}`},
		{"ruby", `{}`, "", head + `ruby","status":"success","value":{"_output":"shell\n"}}`},
		{"agent", `{}`, "", head + `agent","status":"success","value":{"_output":"shell\n"}}`},
		{"null", `{}`, "", head + `null","status":"failure","value":{"x":1,"_error":{"kind":"puppetlabs.tasks/task-error","issue_code":"TASK_ERROR","msg":"The task failed with exit code 3","details":{"exit_code":3}}}}`},
		{"nullok", `{}`, "", head + `nullok","status":"success","value":{}}`},
		{"oddmsg", `{}`, "", head + `oddmsg","status":"failure","value":{"_error":{"msg":5,"details":"text","kind":"bolt/error"}}}`},
		{"selff", `{}`, "", head + `selff","status":"success","value":{"_output":"told\n"}}`},
		{"noisy", `{}`, "", head + `noisy","status":"success","value":{"ok":true}}`},
		{"open", `{}`, "", head + `open","status":"success","value":{"_output":"{\"open\": \n"}}`},
		{"never", `{}`, "", `{"target":"here","action":"task","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"bolt/no-implementation","msg":"No suitable implementation of proj::never for here"}}}`},
		{"device", `{"a": 1}`, "device", `{"target":"device","action":"task","object":"proj::device","status":"success","value":{"a":1,"_task":"proj::device","_target":{"run-on":"here","model":"x","private-key":{"key-data":"KEY"},"password":"pw","name":"device","uri":"switch://user@device.example:1234/path","protocol":"switch","user":"user","host":"device.example","port":1234}}}`},
		{"device", `{}`, "", `{"target":"here","action":"task","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"bolt/no-implementation","msg":"No suitable implementation of proj::device for here"}}}`},
		{"env", `{}`, "device", `{"target":"device","action":"task","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"bolt/no-implementation","msg":"No suitable implementation of proj::env for here"}}}`},
		{"device", `{}`, "loop", `{"target":"loop","action":"task","object":null,"status":"failure","value":{"_error":{"details":{},"kind":"bolt/invalid-remote-target","msg":"device is not a valid run-on target for loop since is also remote."}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.task+" "+tt.target, func(t *testing.T) {
			res := w.here(t, "proj::"+tt.task, tt.params, tt.target, tasks.RunOptions{})
			if got := w.shown(t, res); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if res.Output != nil {
				t.Error("output is kept that nobody closes")
			}
		})
	}
	t.Run("noop", func(t *testing.T) {
		if got := w.shown(t, w.here(t, "proj::both", "{}", "", tasks.RunOptions{Noop: true})); !strings.Contains(got, `PT__noop=true\nPT__task`) || !strings.Contains(got, `{\"_noop\":true,`) {
			t.Errorf("got %s", got)
		}
		task, err := w.lib.Find(t.Context(), "proj::env")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{Noop: true}); err == nil || err.Error() != "Task does not support noop" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("interpreter", func(t *testing.T) {
		if got := w.shown(t, w.here(t, "proj::say", "{}", "", tasks.RunOptions{})); !strings.Contains(got, `/say.say\n`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("no interpreter", func(t *testing.T) {
		res := w.here(t, "proj::lost", "{}", "", tasks.RunOptions{})
		if res.OK() || !strings.Contains(res.Err.Hint, "lost.py requires /nonexistent/python -u, which may not exist") {
			t.Errorf("got %+v", res.Err)
		}
	})
	t.Run("interpreters", func(t *testing.T) {
		for text, want := range map[string]string{
			"#!/bin/sh\necho \"$0\" | sed s,.*/,,": "word.sh\n", "#! /bin/sh -e\nfalse; echo no": "", "#!/usr/bin/env sh\necho env": "env\n",
			"#!/bin/sh\t\necho tab": "tab\n", "echo none": "none\n", "#!sh\necho relative": "", "#!/bin/echo a  b \n": "a  b ",
		} {
			if err := os.WriteFile(filepath.Join(w.dir, "proj/tasks/word.sh"), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			res := w.here(t, "proj::word", "{}", "", tasks.RunOptions{})
			if got, _ := res.Value.Value("_output").(string); !strings.HasPrefix(got, want) {
				t.Errorf("%q: got %q, %v", text, got, res.Err)
			}
		}
	})
	t.Run("an interpreter that env does not find", func(t *testing.T) {
		res := w.here(t, "proj::envlost", "{}", "", tasks.RunOptions{})
		if res.OK() || !strings.Contains(res.Err.Hint, "envlost.py requires /usr/bin/env nosuchpython, which may not exist") {
			t.Errorf("got %+v", res.Err)
		}
	})
	t.Run("a command is missing", func(t *testing.T) {
		res := w.here(t, "proj::inside", "{}", "", tasks.RunOptions{})
		if res.OK() || res.Err.Hint != "" {
			t.Errorf("got %+v", res.Err)
		}
	})
	t.Run("secrets that cannot be read", func(t *testing.T) {
		for name, want := range map[string]string{"notjson": "may contain secrets", "behind": "may contain secrets", "bom": `"x":1`, "inerr": "redacted"} {
			res := w.here(t, "proj::"+name, "{}", "", tasks.RunOptions{})
			if got := w.shown(t, res); strings.Contains(got, "hunter2") || !strings.Contains(got, want) {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
	t.Run("large parameters", func(t *testing.T) {
		large := `{"a": "` + strings.Repeat("x", 200_000) + `"}`
		if got := w.shown(t, w.here(t, "proj::count", large, "", tasks.RunOptions{})); !strings.Contains(got, `"_output":"0 200030\n"`) {
			t.Errorf("got %s", got)
		}
		task, err := w.lib.Find(t.Context(), "proj::env")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.lib.Run(t.Context(), task, ordered.Of("a", strings.Repeat("x", 200_000)), tasks.RunOptions{}); err == nil || !strings.Contains(err.Error(), "limit for an environment variable") {
			t.Errorf("got %v", err)
		}
		if _, err := w.lib.Run(t.Context(), task, ordered.Of("a", "x\x00"), tasks.RunOptions{}); err == nil || !strings.Contains(err.Error(), "NUL byte") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		task, err := w.lib.Find(t.Context(), "proj::nofile")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{}); err == nil || !strings.Contains(err.Error(), "Could not find") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		res := w.here(t, "proj::large", "{}", "", tasks.RunOptions{})
		if res.OK() || !strings.Contains(res.Err.Msg, "limit of 16 MiB") {
			t.Errorf("got %v", res.Err)
		}
	})
	t.Run("sensitive", func(t *testing.T) {
		res := w.here(t, "proj::secret", "{}", "", tasks.RunOptions{})
		if strings.Contains(fmt.Sprintf("%+v %#v", res, res.Value), "hunter2") {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("built in", func(t *testing.T) {
		if got := w.shown(t, w.here(t, "builtin::script", "{}", "", tasks.RunOptions{})); !strings.Contains(got, `"_output":"built in\n"`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("native", func(t *testing.T) {
		echo := func(_ context.Context, params *ordered.Map) (*ordered.Map, error) {
			return ordered.Of("got", params, "_error", ordered.Of("msg", "told")), nil
		}
		res := w.here(t, "builtin", `{"a": 1}`, "", tasks.RunOptions{Natives: map[string]tasks.Native{"echo": echo}})
		if got := w.shown(t, res); !strings.Contains(got, `"value":{"got":{"a":1,"_task":"builtin"},"_error":{"msg":"told"`) {
			t.Errorf("got %s", got)
		}
	})
	left, err := filepath.Glob(filepath.Join(w.dir, "*-*-*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestStream checks that the output of a task is shown as it arrives, up to the
// position where an object with secrets may begin.
func TestStream(t *testing.T) {
	w := newWorld(t, map[string]string{
		"proj/tasks/text.sh":   sh + `printf '\n  '; sleep 0.1; echo "words {"; echo err >&2`,
		"proj/tasks/object.sh": sh + `printf ' \n'; sleep 0.1; echo '{"_sensitive": "x"}'; echo err >&2`,
		"proj/tasks/blank.sh":  sh + `echo`,
		"proj/tasks/behind.sh": sh + `echo warning; sleep 0.1; echo 'x {"_sensitive":'; sleep 0.1; echo '"hunter2"}'; echo more`,
	})
	for name, want := range map[string]string{"text": "\n  words |err\n", "object": " \n|err\n", "blank": "\n|", "behind": "warning\nx |"} {
		task, err := w.lib.Find(t.Context(), "proj::"+name)
		if err != nil {
			t.Fatal(err)
		}
		action, err := w.lib.Run(t.Context(), task, &ordered.Map{}, tasks.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var said [2]string
		err = run.New(local.NewDialer(local.Options{}), run.Options{Stream: true}).Run(t.Context(), action, localhost(t), event.Func(func(_ context.Context, e event.Event) error {
			if piece, ok := e.(event.TargetOutput); ok {
				said[piece.Stream] += string(piece.Data)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got := said[capture.Stdout] + "|" + said[capture.Stderr]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// FuzzMetadata reads arbitrary metadata. Find must return a task or an error with
// a message.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{typed, `{}`, `[]`, `{"parameters": {"a": {"type": "Struct[{a=>Integer}]"}}}`, `{"files": ["x/files/"]}`,
		`{"implementations": [{"name": "../../etc/passwd"}]}`, `{"outputs": {"a": null}}`, `{"extensions": {"bolt": 1}}`} {
		f.Add([]byte(s))
	}
	w := newWorld(f, map[string]string{"proj/tasks/f.sh": sh})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(w.dir, "proj/tasks/f.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		task, err := w.lib.Find(t.Context(), "proj::f")
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		for _, impl := range task.Implementations {
			if strings.Contains(impl.File, "/") {
				t.Errorf("an implementation elsewhere: %q", impl.File)
			}
		}
		for _, p := range task.Parameters {
			if !modules.ValidName(p.Name) {
				t.Errorf("a parameter that no variable can be named for: %q", p.Name)
			}
		}
		_ = w.lib.Files(task)
		if params, err := task.Check(&ordered.Map{}); err == nil {
			_, _ = w.lib.Run(t.Context(), task, params, tasks.RunOptions{})
		}
	})
}
