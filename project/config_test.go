package project

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/transport/all"
)

func TestDefaults(t *testing.T) {
	w := newWorld(t, nil)
	c, ids, err := w.load(w.sources(), nil)
	if err != nil || ids != nil {
		t.Fatal(err, ids)
	}
	dir := w.path("home/.puppetlabs/bolt")
	got := *c
	got.Project, got.Settings, got.sources = nil, nil, nil
	want := Config{
		Format: "human", Color: true, Spinner: true,
		Concurrency: 100, CompileConcurrency: runtime.NumCPU(),
		Log: logging.Options{ConsoleLevel: slog.LevelWarn, Color: true,
			Files: []logging.File{{Path: dir + "/bolt-debug.log", Level: slog.LevelDebug, Optional: true}}},
		Modulepath:  []string{dir + "/modules", dir + "/.modules"},
		HieraConfig: dir + "/hiera.yaml",
		Rerun:       Rerun{dir + "/.rerun.json"}, SaveRerun: true,
		Transport: "ssh", Transports: map[string]*ordered.Map{},
		Pool:          Pool{Mode: PoolAuto},
		FactMaxAge:    DefaultFactAge,
		ModuleInstall: &ordered.Map{},
		Plugins:       &ordered.Map{},
		PluginHooks:   &ordered.Map{},
	}
	for _, name := range []string{"choria", "docker", "jail", "local", "lxd", "podman", "remote", "ssh", "winrm"} {
		want.Transports[name] = &ordered.Map{}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Config{}), cmp.Transformer("json", asJSON)); diff != "" {
		t.Error(diff)
	}
	if got := c.sources["concurrency"]; got != "default" {
		t.Errorf("source %q", got)
	}
}

func TestProjectSettings(t *testing.T) {
	w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": `
name: depot
tasks: [depot, 'depot::*']
plans: []
policies: [depot::pol, 7, 'site*']
modules: [a-b, {name: c-d, version_requirement: '>= 1'}]
module-install: {forge: {baseurl: "http://forge.example"}}
plugins: {vault: {url: x}}
plugin-cache: {ttl: 60}
`, "system/bolt-defaults.yaml": "plugins: {vault: {url: y, key: z}, other: {}}\nplugin-cache: {ttl: 9223372036854775807}\n"})
	c, ids, err := w.load(w.sources(), nil)
	if err != nil || ids != nil {
		t.Fatal(err, ids)
	}
	if got, want := fmt.Sprintf("%q %q %q", c.TaskFilter, c.PlanFilter, c.Policies), `["depot" "depot::*"] [] ["depot::pol" "site*"]`; got != want {
		t.Errorf("filters %s, want %s", got, want)
	}
	if c.PlanFilter == nil {
		t.Error("an empty list of plans is no list")
	}
	if len(c.ModuleSpecs) != 2 || !c.HasModules || c.ModuleSpecs[0] != "a-b" {
		t.Errorf("modules %v, %v", c.ModuleSpecs, c.HasModules)
	}
	if got := asJSON(c.ModuleInstall) + asJSON(c.Plugins); got != `{"forge":{"baseurl":"http://forge.example"}}{"vault":{"url":"x","key":"z"},"other":{}}` {
		t.Errorf("module-install and plugins: %s", got)
	}
	if c.PluginCache != time.Minute {
		t.Errorf("plugin-cache: %v", c.PluginCache)
	}
	s := w.sources()
	s.Cwd = w.path("home")
	if c, _, err = w.load(s, nil); err != nil {
		t.Fatal(err)
	}
	if c.TaskFilter != nil || c.PlanFilter != nil || c.Policies != nil || c.HasModules {
		t.Errorf("settings of no project: %q %q %q %v", c.TaskFilter, c.PlanFilter, c.Policies, c.HasModules)
	}
	if c.PluginCache < 200*365*24*time.Hour {
		t.Errorf("an endless time to live is %v", c.PluginCache)
	}
}

func asJSON(m *ordered.Map) string {
	b, err := m.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestPrecedence(t *testing.T) {
	w := newWorld(t, map[string]string{
		"system/bolt-defaults.yaml": `
concurrency: 1
color: false
format: json
spinner: false
disable-warnings: [a]
plugins: {p: {x: 1, y: 1}, q: {z: 1}}
plugin-hooks: {puppet_library: {plugin: one, keep: no}}
puppetdb: {cert: sys, key: sys}
log: {console: {level: info}, ~/sys.log: {level: debug}, common.log: {level: trace}, bolt-debug.log: {level: info}}
inventory-config:
  transport: local
  ssh: {user: sys, port: 1, interpreters: {.rb: /sys, .py: /sys}}
`,
		"home/.puppetlabs/etc/bolt/bolt-defaults.yaml": `
concurrency: 2
format: rainbow
disable-warnings: [b]
plugins: {p: {y: 2}}
plugin-hooks: {puppet_library: {plugin: two}}
puppetdb: {key: user}
log: {common.log: disable}
inventory-config:
  ssh: {port: 2, interpreters: {.rb: /user}}
  winrm: {ssl: false}
`,
		"cwd/bolt-project.yaml": `
name: p
concurrency: 3
disable-warnings: [c]
rerunfile: sub/r.json
modulepath: one:~/two:/three
hiera-config: h.yaml
future: {script_interpreter: true}
stream: true
save-rerun: false
`,
		"cwd/h.yaml": "",
		"cwd/i.yaml": "",
	})
	s := w.sources()
	flags := ordered.Of("concurrency", int64(4), "user", "flag", "private-key", "key", "log", ordered.Of("console", ordered.Of("level", "error")),
		"inventoryfile", "i.yaml", "ssl-verify", false, "verbose", true)
	c, ids, err := w.load(s, flags)
	if err != nil || ids != nil {
		t.Fatal(err, ids)
	}
	key := w.path("cwd/key")
	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"concurrency", c.Concurrency, 4},
		{"source of concurrency", c.sources["concurrency"], "command line"},
		{"color", c.Color, false},
		{"source of color", w.strip(c.sources["color"]), "system/bolt-defaults.yaml"},
		{"format", c.Format, "rainbow"},
		{"spinner", c.Spinner, false},
		{"stream", c.Stream, true},
		{"save-rerun", c.SaveRerun, false},
		{"disable-warnings", c.Log.Disabled, []string{"a", "b", "c"}},
		{"plugins", asJSON(c.hash("plugins")), `{"p":{"x":1,"y":2},"q":{"z":1}}`},
		{"plugin-hooks", asJSON(c.PluginHooks), `{"puppet_library":{"plugin":"two"}}`},
		{"puppetdb", asJSON(c.Settings.Value("puppetdb").(*ordered.Map)), `{"cert":"sys","key":"user"}`},
		{"transport", c.Transport, "local"},
		{"ssh", asJSON(c.Transports["ssh"]),
			`{"user":"flag","port":2,"interpreters":{".rb":"/user",".py":"/sys"},"private-key":"` + key + `"}`},
		{"winrm", asJSON(c.Transports["winrm"]), `{"ssl":false,"user":"flag","ssl-verify":false}`},
		{"local", asJSON(c.Transports["local"]), `{}`},
		{"console", c.Log.ConsoleLevel, slog.LevelError},
		{"log files", c.Log.Files, []logging.File{
			{Path: w.path("cwd/bolt-debug.log"), Level: slog.LevelInfo, Append: true, Optional: true},
			{Path: w.path("home/sys.log"), Level: slog.LevelDebug, Append: true}}},
		{"modulepath", c.Modulepath, []string{w.path("cwd/one"), w.path("home/two"), "/three", w.path("cwd/.modules")}},
		{"hiera-config", c.HieraConfig, w.path("cwd/h.yaml")},
		{"inventoryfile", c.InventoryFile, w.path("cwd/i.yaml")},
		{"rerunfile", c.Rerun.Path, w.path("cwd/sub/r.json")},
		{"script_interpreter", c.ScriptInterpreter, true},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s: %s", check.what, diff)
		}
	}
}

// TestRelativePaths: those of files belong to the project, those of flags to
// the working directory.
func TestRelativePaths(t *testing.T) {
	files := map[string]string{
		"cwd/inv.yaml": "", "cwd/h.yaml": "", "cwd/mods/": "",
		"other/bolt-project.yaml": "modulepath: [mods]\nhiera-config: h.yaml\nlog: {x.log: {append: false}, 'file:y.log': {}}",
		"other/h.yaml":            "",
	}
	w := newWorld(t, files)
	s := w.sources()
	s.Dir = "../other"
	c, _, err := w.load(s, nil)
	w.check(err)
	got := []string{c.Modulepath[0], c.HieraConfig, c.Log.Files[1].Path, c.Log.Files[2].Path}
	want := []string{w.path("other/mods"), w.path("other/h.yaml"), w.path("other/x.log"), w.path("other/y.log")}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if f := c.Log.Files[1]; f.Append || f.Optional || f.Level != slog.LevelWarn {
		t.Errorf("x.log: %+v", f)
	}

	c, _, err = w.load(s, ordered.Of("modulepath", "mods:/abs", "hiera-config", "h.yaml", "inventoryfile", "inv.yaml"))
	w.check(err)
	got = append([]string{c.HieraConfig, c.InventoryFile}, c.Modulepath...)
	want = []string{w.path("cwd/h.yaml"), w.path("cwd/inv.yaml"), w.path("cwd/mods"), "/abs", w.path("other/.modules")}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDisabledDebugLog(t *testing.T) {
	w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": "log: {bolt-debug.log: disable, console: disable}"})
	c, _, err := w.load(w.sources(), nil)
	w.check(err)
	if len(c.Log.Files) != 0 || c.Log.ConsoleLevel != slog.LevelWarn {
		t.Errorf("got %+v", c.Log)
	}
}

func TestConcurrency(t *testing.T) {
	for _, tt := range []struct {
		files   uint64
		config  string
		want    int
		lowered bool
	}{
		{0, "", 100, false},
		{1024, "", 100, false},
		{300, "", 100, false},
		{256, "", 36, true},
		{3, "", 1, true},
		{256, "concurrency: 50", 50, false},
	} {
		w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": tt.config})
		s := w.sources()
		s.OpenFiles = tt.files
		c, _, err := w.load(s, nil)
		w.check(err)
		if c.Concurrency != tt.want || c.ConcurrencyLowered != tt.lowered {
			t.Errorf("%+v: got %d, %v", tt, c.Concurrency, c.ConcurrencyLowered)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	const project, defaults = "cwd/bolt-project.yaml", "system/bolt-defaults.yaml"
	tests := []struct {
		name  string
		files map[string]string
		flags *ordered.Map
		kind  string
		parts []string
	}{
		{"flag format", nil, ordered.Of("format", "xml"), "bolt/validation-error",
			[]string{"Invalid configuration at command line:\n  Value at 'format' must be one of human, json, rainbow"}},
		{"flag log level", nil, ordered.Of("log", ordered.Of("console", ordered.Of("level", "loud"))), "bolt/validation-error",
			[]string{"Invalid configuration at command line:\n  Value at 'log.console.level' must be one of "}},
		{"flag concurrency", nil, ordered.Of("concurrency", int64(0)), "bolt/validation-error",
			[]string{"Value at 'concurrency' must be a minimum of 1"}},
		{"flag transport", nil, ordered.Of("transport", "telnet"), "bolt/validation-error", []string{"Value at 'transport' must be one of "}},
		{"flag of a transport", nil, ordered.Of("connect-timeout", int64(0)), "bolt/validation-error",
			[]string{"Value at 'connect-timeout' must be a minimum of 1"}},
		{"missing inventory", nil, ordered.Of("inventoryfile", "/nope.yaml"), "bolt/file-error",
			[]string{"The inventoryfile '/nope.yaml' does not exist"}},
		{"inventory is a directory", nil, ordered.Of("inventoryfile", "/"), "bolt/file-error",
			[]string{"The inventoryfile '/' is not a file"}},
		{"missing Hiera configuration", map[string]string{project: "hiera-config: nope"}, nil, "bolt/file-error",
			[]string{"The hiera-config 'cwd/nope' does not exist"}},
		{"missing external command", map[string]string{project: "trusted-external-command: nope"}, nil, "bolt/file-error",
			[]string{"The trusted-external-command 'cwd/nope' does not exist"}},
		{"default inventory is a directory", map[string]string{project: "", "cwd/inventory.yaml/": ""}, nil, "bolt/file-error",
			[]string{"The inventory file 'cwd/inventory.yaml' is not a file"}},
		{"managed modules in modulepath", map[string]string{project: "modulepath: [.modules]"}, nil, "bolt/validation-error",
			[]string{project, "cwd/.modules"}},
		{"compile-concurrency", map[string]string{project: fmt.Sprintf("compile-concurrency: %d", 2*runtime.NumCPU())}, nil,
			"bolt/validation-error", []string{project, fmt.Sprintf("less than %d", 2*runtime.NumCPU())}},
		{"defaults not YAML", map[string]string{defaults: "a: ["}, nil, "bolt/file-error",
			[]string{"Could not parse config file at " + defaults}},
		{"defaults of wrong type", map[string]string{defaults: "inventory-config: {ssh: {port: x}, transport: telnet}"}, nil,
			"bolt/validation-error", []string{"Invalid configuration at " + defaults,
				"Value at 'inventory-config.ssh.port' must be of type Integer", "Value at 'inventory-config.transport' must be one of "}},
		{"inventory-config is no map", map[string]string{defaults: "inventory-config: 1"}, nil, "bolt/validation-error",
			[]string{"Value at 'inventory-config' must be of type Hash"}},
		{"inventory-config is a reference", map[string]string{defaults: "inventory-config: {_plugin: yaml}"}, nil, "bolt/validation-error",
			[]string{"Value at 'inventory-config' is a plugin reference"}},
		{"transport is a reference", map[string]string{defaults: "inventory-config: {transport: {_plugin: yaml}}"}, nil,
			"bolt/validation-error", []string{"Value at 'inventory-config.transport' is a plugin reference"}},
		{"PuppetDB as a plugin", map[string]string{project: "plugins: {puppetdb: {}}"}, nil, "bolt/plugin-error", []string{project}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			_, _, err := w.load(w.sources(), tt.flags)
			w.wantError(err, tt.kind, tt.parts...)
		})
	}
}

func TestLoadWarnings(t *testing.T) {
	w := newWorld(t, map[string]string{
		"system/bolt-defaults.yaml": "ssh: {user: u}\nname: p\nnope: 1\ninventory-config: {bogus: 1, ssh: {port: 5}}\n",
		"cwd/bolt-project.yaml":     "modulepath: [Mods]",
		"cwd/mods/":                 "",
	})
	c, ids, err := w.load(w.sources(), nil)
	w.check(err)
	want := []string{"unknown_option", "unknown_option", "unknown_option", "unknown_option",
		"unsupported_project_config", "unsupported_inventory_config", "path_case"}
	if !slices.Equal(ids, want) {
		t.Errorf("warnings %q, want %q", ids, want)
	}
	if got := asJSON(c.Transports["ssh"]); got != `{"port":5}` {
		t.Errorf("ssh: %s", got)
	}
	if _, ok := c.Settings.Get("name"); ok {
		t.Error("bolt-defaults.yaml names the project")
	}
}

func TestReferencesStay(t *testing.T) {
	w := newWorld(t, map[string]string{
		"system/bolt-defaults.yaml": "inventory-config: {ssh: {password: {_plugin: env_var, var: X}}}"})
	c, ids, err := w.load(w.sources(), ordered.Of("user", "u"))
	if err != nil || ids != nil {
		t.Fatal(err, ids)
	}
	if got := asJSON(c.Transports["ssh"]); got != `{"password":{"_plugin":"env_var","var":"X"},"user":"u"}` {
		t.Errorf("ssh: %s", got)
	}
}

func TestFormats(t *testing.T) {
	for _, format := range []string{"human", "json", "ndjson", "rainbow"} {
		w := newWorld(t, map[string]string{"cwd/bolt-project.yaml": "format: " + format})
		for _, flags := range []*ordered.Map{nil, ordered.Of("format", format)} {
			c, ids, err := w.load(w.sources(), flags)
			if err != nil || ids != nil || c.Format != format {
				t.Errorf("%s: got %v, %q, %v", format, c, ids, err)
			}
		}
	}
}

func TestLoadCancelled(t *testing.T) {
	w := newWorld(t, nil)
	p, err := Find(t.Context(), w.sources(), nil)
	w.check(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, p, w.sources(), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestModules(t *testing.T) {
	w := newWorld(t, map[string]string{
		"cwd/bolt-project.yaml": "name: depot", "cwd/files/p.sh": "",
		"cwd/modules/extra/files/x.sh": "", "cwd/.modules/managed/files/y.sh": "",
	})
	c, _, err := w.load(w.sources(), nil)
	w.check(err)
	for ref, want := range map[string]string{
		"depot/p.sh": "cwd/files/p.sh", "extra/x.sh": "cwd/modules/extra/files/x.sh", "managed/y.sh": "cwd/.modules/managed/files/y.sh",
	} {
		if got := w.strip(c.Modules().Find(ref)); got != want {
			t.Errorf("Find(%s) = %s", ref, got)
		}
	}
}

func BenchmarkFindAndLoad(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/bolt-project.yaml", []byte("name: p\nmodules: []\nconcurrency: 20\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	s := Sources{Transports: all.Tables(all.List()), Cwd: dir, Home: dir, SystemDir: SystemDir}
	for b.Loop() {
		p, err := Find(b.Context(), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Load(b.Context(), p, s, ordered.Of("user", "u"), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPolicyNames(t *testing.T) {
	c := &Config{Project: &Project{Dir: "/p"}, Policies: []string{"a", "b", "a"}}
	if names, err := c.PolicyNames(); err != nil || fmt.Sprint(names) != "[a b]" {
		t.Errorf("%q, %v", names, err)
	}
	c.Policies = nil
	if _, err := c.PolicyNames(); err == nil || !strings.Contains(err.Error(), "/p/bolt-project.yaml") {
		t.Errorf("no list: %v", err)
	}
}
