package project

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name   string
		files  []string
		change func(w world, s *Sources)
		dir    string
		origin Origin
		named  string
	}{
		{name: "nothing", dir: "home/.puppetlabs/bolt", origin: User},
		{name: "nothing and no home", change: func(_ world, s *Sources) { s.Home = "" }, dir: "system", origin: System},
		{name: "here", files: []string{"cwd/bolt-project.yaml"}, dir: "cwd", origin: Local, named: "p"},
		{name: "above", files: []string{"cwd/bolt-project.yaml", "cwd/a/b/"},
			change: func(w world, s *Sources) { s.Cwd = w.path("cwd/a/b") }, dir: "cwd", origin: Local, named: "p"},
		{name: "nearest", files: []string{"cwd/bolt-project.yaml", "cwd/a/bolt-project.yaml", "cwd/a/b/"},
			change: func(w world, s *Sources) { s.Cwd = w.path("cwd/a/b") }, dir: "cwd/a", origin: Local, named: "p"},
		{name: "Boltdir first", files: []string{"cwd/bolt-project.yaml", "cwd/Boltdir/bolt-project.yaml"},
			dir: "cwd/Boltdir", origin: Embedded, named: "p"},
		{name: "Boltdir above", files: []string{"cwd/Boltdir/", "cwd/a/b/"},
			change: func(w world, s *Sources) { s.Cwd = w.path("cwd/a/b") }, dir: "cwd/Boltdir", origin: Embedded},
		{name: "nearer file before Boltdir above", files: []string{"cwd/Boltdir/", "cwd/a/bolt-project.yaml"},
			change: func(w world, s *Sources) { s.Cwd = w.path("cwd/a") }, dir: "cwd/a", origin: Local, named: "p"},
		{name: "Boltdir that is a file", files: []string{"cwd/Boltdir"}, dir: "home/.puppetlabs/bolt", origin: User},
		{name: "bolt-project.yaml that is a directory", files: []string{"cwd/bolt-project.yaml/"},
			dir: "home/.puppetlabs/bolt", origin: User},
		{name: "option", files: []string{"cwd/bolt-project.yaml", "other/bolt-project.yaml"},
			change: func(w world, s *Sources) { s.Dir = w.path("other") }, dir: "other", origin: FromOption, named: "p"},
		{name: "option, relative, without a file", files: []string{"cwd/bolt-project.yaml", "other/"},
			change: func(_ world, s *Sources) { s.Dir = "../other" }, dir: "other", origin: FromOption},
		{name: "option with Boltdir", files: []string{"other/Boltdir/", "other/bolt-project.yaml"},
			change: func(w world, s *Sources) { s.Dir = w.path("other") }, dir: "other/Boltdir", origin: FromOption},
		{name: "option with ~", files: []string{"home/x/"},
			change: func(_ world, s *Sources) { s.Dir = "~/x" }, dir: "home/x", origin: FromOption},
		{name: "environment first", files: []string{"cwd/bolt-project.yaml", "other/", "env/bolt-project.yaml"},
			change: func(w world, s *Sources) { s.Dir, s.FromEnv = w.path("other"), w.path("env") },
			dir:    "env", origin: FromEnvironment, named: "p"},
		{name: "environment, missing", change: func(w world, s *Sources) { s.FromEnv = w.path("none") },
			dir: "none", origin: FromEnvironment},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := make(map[string]string)
			for _, name := range tt.files {
				files[name] = "name: p\n"
			}
			w := newWorld(t, files)
			s := w.sources()
			if tt.change != nil {
				tt.change(w, &s)
			}
			p, err := Find(t.Context(), s, func(id, text string) { t.Errorf("warning %s: %s", id, text) })
			if err != nil {
				t.Fatal(err)
			}
			if w.strip(p.Dir) != tt.dir || p.Origin != tt.origin || p.Name != tt.named {
				t.Errorf("got %s, %s, %q, want %s, %s, %q", w.strip(p.Dir), p.Origin, p.Name, tt.dir, tt.origin, tt.named)
			}
			if tt.origin == User && !isDir(p.Dir) {
				t.Error("the default project was not made")
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	const project = "cwd/bolt-project.yaml"
	tests := []struct {
		name, text string
		change     func(w world, s *Sources)
		kind       string
		parts      []string
	}{
		{name: "missing", change: func(_ world, s *Sources) { s.Dir = "nope" }, kind: "bolt/project-error",
			parts: []string{"Could not find project at nope"}},
		{name: "not a directory", change: func(_ world, s *Sources) { s.Dir = "bolt-project.yaml" }, kind: "bolt/project-error"},
		{name: "world-writable", change: func(w world, _ *Sources) { w.check(os.Chmod(w.path("cwd"), 0o777)) },
			kind: "bolt/world-writable-error", parts: []string{"cwd", "BOLT_PROJECT='"}},
		{name: "world-writable, option", change: func(w world, s *Sources) {
			w.check(os.Chmod(w.path("cwd"), 0o1777))
			s.Dir = w.path("cwd")
		}, kind: "bolt/world-writable-error"},
		{name: "world-writable, default", change: func(w world, s *Sources) {
			w.check(os.MkdirAll(w.path("home/.puppetlabs/bolt"), 0o755))
			w.check(os.Chmod(w.path("home/.puppetlabs/bolt"), 0o777))
			s.Cwd = "/"
		}, kind: "bolt/world-writable-error"},
		{name: "not YAML", text: "a: [", kind: "bolt/file-error", parts: []string{"Could not parse project file at " + project}},
		{name: "a list", text: "- a", kind: "bolt/file-error", parts: []string{"Content should be a Hash or empty, not Array"}},
		{name: "wrong types", text: "concurrency: many\ncolor: 1\nlog: {console: {level: loud}, x: off}\nmodules: a\nplugin-cache: {}\nformat: xml",
			kind: "bolt/validation-error", parts: []string{
				"Invalid configuration at " + project + ":\n",
				"  Value at 'concurrency' must be of type Integer\n",
				"  Value at 'color' must be of type Boolean\n",
				"  Value at 'log.console.level' must be one of trace, debug, info, warn, error, fatal\n",
				"  Value at 'log.x' must be of type String or Hash\n",
				"  Value at 'modules' must be of type Array\n",
				"  Value at 'plugin-cache' is missing required keys ttl\n",
				"  Value at 'format' must be one of human, json, rainbow"}},
		{name: "too small", text: "concurrency: 0", kind: "bolt/validation-error", parts: []string{"Value at 'concurrency' must be a minimum of 1"}},
		{name: "plugin reference", text: "name: {_plugin: env_var}", kind: "bolt/validation-error",
			parts: []string{"Value at 'name' is a plugin reference, which is unsupported at this location"}},
		{name: "name", text: "name: Bad-Name", kind: "bolt/validation-error", parts: []string{"'Bad-Name'", project}},
		{name: "empty name", text: "name: ''", kind: "bolt/validation-error"},
		{name: "name with newline", text: `name: "a\n"`, kind: "bolt/validation-error"},
		{name: "built-in name", text: "name: boltlib", kind: "bolt/validation-error", parts: []string{"'boltlib'"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{project: tt.text})
			s := w.sources()
			if tt.change != nil {
				tt.change(w, &s)
			}
			_, err := Find(t.Context(), s, nil)
			w.wantError(err, tt.kind, tt.parts...)
		})
	}

	t.Run("world-writable, environment", func(t *testing.T) {
		w := newWorld(t, map[string]string{project: "name: p"})
		w.check(os.Chmod(w.path("cwd"), 0o777))
		s := w.sources()
		s.FromEnv = w.path("cwd")
		if p, err := Find(t.Context(), s, nil); err != nil || p.Name != "p" {
			t.Errorf("got %v, %v", p, err)
		}
	})
}

func TestFindWarnings(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []string
		texts []string
	}{
		{"unknown key", map[string]string{"cwd/bolt-project.yaml": "name: p\nnope: 1"}, []string{"unknown_option"},
			[]string{"Unknown option 'nope' at cwd/bolt-project.yaml."}},
		{"transports", map[string]string{"cwd/bolt-project.yaml": "name: p\ntransport: ssh\nssh: {user: u}"},
			[]string{"unknown_option", "unknown_option", "project_transport_config"}, []string{"", "", "transport, ssh"}},
		{"deprecated", map[string]string{"cwd/bolt-project.yaml": "name: p\nfuture: {file_paths: true}"}, []string{"file_paths_option"},
			[]string{"Option 'future.file_paths' at cwd/bolt-project.yaml is deprecated."}},
		{"no name, but plans", map[string]string{"cwd/bolt-project.yaml": "{}", "cwd/plans/": "", "cwd/tasks/": ""},
			[]string{"missing_project_name"}, []string{"plans"}},
		{"no name, no content", map[string]string{"cwd/bolt-project.yaml": "", "cwd/scripts/": ""}, nil, nil},
		{"default project that cannot be made", map[string]string{"home/.puppetlabs": "a file"}, []string{"non_writeable_project"},
			[]string{"home/.puppetlabs"}},
		{"everything that has no effect yet", map[string]string{"cwd/bolt-project.yaml": `
name: depot
analytics: true
apply-settings: {evaltrace: true, log_level: notice, show_diff: false, trace: false}
compile-concurrency: 1
concurrency: 20
disable-warnings: []
hiera-config: hiera.yaml
module-install: {forge: {baseurl: https://forge.example.com, authorization_token: {_plugin: env_var}}, proxy: https://p}
modulepath: [modules]
modules: [a-b, {name: c-d, version_requirement: 1.x}, {git: https://x, ref: main}]
plans: [a, 'b::*']
plugin-cache: {ttl: 0}
plugin-hooks: {puppet_library: {plugin: task, task: x}}
plugins: {pkcs7: {keysize: 1024}, vault: {_plugin: yaml, filepath: x}}
policies: [depot::pol]
puppetdb: {server_urls: [https://x:8081], cacert: a, token: {_plugin: x}, connect_timeout: 5, headers: {a: b}}
puppetdb-instances: {a: {server_urls: []}}
rerunfile: .r.json
save-rerun: true
spinner: false
stream: false
tasks: [a]
trusted-external-command: /bin/true
`}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			var ids, texts []string
			_, err := Find(t.Context(), w.sources(), func(id, text string) {
				ids, texts = append(ids, id), append(texts, w.strip(text))
			})
			w.check(err)
			if !slices.Equal(ids, tt.want) {
				t.Fatalf("warnings %q %q, want %q", ids, texts, tt.want)
			}
			for i, part := range tt.texts {
				if !strings.Contains(texts[i], part) {
					t.Errorf("warning %q does not say %q", texts[i], part)
				}
			}
		})
	}
}
