package builtin

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"bolt/puppet/check"
	"bolt/puppet/syntax"
)

// metadata is what the tests look at of a task's metadata.
type metadata struct {
	Description     string
	Private         bool
	InputMethod     string `json:"input_method"`
	SupportsNoop    bool   `json:"supports_noop"`
	Parameters      map[string]parameter
	Files           []string
	Implementations []struct {
		Name         string
		Requirements []string
		InputMethod  string `json:"input_method"`
		Files        []string
	}
	Extensions struct {
		Bolt struct {
			Native, Helper string
			HereOnly       bool `json:"here_only"`
		}
	}
}

type parameter struct {
	Type, Description string
	Default           any
	Sensitive         bool
}

// tasks reads the metadata of all tasks: by their path.
func tasks(t *testing.T) map[string]metadata {
	t.Helper()
	names, err := fs.Glob(Files(), "*/tasks/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := make(map[string]metadata)
	for _, name := range names {
		text, err := fs.ReadFile(Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.DisallowUnknownFields()
		var m metadata
		if err := d.Decode(&m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all[name] = m
	}
	return all
}

// TestAllAreEmbedded: what lies here is in the program.
func TestAllAreEmbedded(t *testing.T) {
	here, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range here {
		if !e.IsDir() || slices.Contains([]string{"httprequest", "terraformcli"}, e.Name()) {
			continue
		}
		err := fs.WalkDir(os.DirFS("."), e.Name(), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			want, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			got, err := fs.ReadFile(Files(), name)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s is not in the program: %v", name, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTasks: what metadata names is there, every script has metadata, and an
// implementation is as a task of its own what it is as an implementation.
func TestTasks(t *testing.T) {
	all := tasks(t)
	for name, m := range all {
		dir := path.Dir(name)
		if m.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for p, d := range m.Parameters {
			if d.Type == "" || d.Description == "" {
				t.Errorf("%s: parameter %s has no type or no description", name, p)
			}
		}
		files := slices.Clone(m.Files)
		for _, i := range m.Implementations {
			files = append(files, i.Files...)
			own, ok := all[path.Join(dir, strings.TrimSuffix(i.Name, ".sh")+".json")]
			if _, err := fs.Stat(Files(), path.Join(dir, i.Name)); err != nil || !ok {
				t.Errorf("%s: implementation %s has no file or no metadata: %v", name, i.Name, err)
			}
			if path.Join(dir, i.Name) == strings.TrimSuffix(name, "json")+"sh" {
				continue // it is the task's own file
			}
			if !own.Private || own.InputMethod != i.InputMethod || own.SupportsNoop != m.SupportsNoop || !slices.Equal(own.Files, i.Files) {
				t.Errorf("%s: implementation %s differs from its own metadata", name, i.Name)
			}
			for p, d := range m.Parameters {
				if own.Parameters[p] != d {
					t.Errorf("%s: implementation %s has another parameter %s", name, i.Name, p)
				}
			}
		}
		for _, f := range files {
			module, rest, _ := strings.Cut(f, "/")
			if _, err := fs.Stat(Files(), path.Join(module, rest)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			// A project can have its own module of the same name, without that file.
			if own, _, _ := strings.Cut(name, "/"); module != own && !strings.HasSuffix(module, "_task_helper") {
				t.Errorf("%s needs %s, a file of a module that is not for the tasks of others", name, f)
			}
		}
		if _, err := fs.Stat(Files(), strings.TrimSuffix(name, "json")+"sh"); err != nil && len(m.Implementations) == 0 && m.Extensions.Bolt.Native == "" {
			t.Errorf("%s has nothing to run", name)
		}
		if m.Extensions.Bolt.Helper != "" && len(m.Implementations) == 0 {
			t.Errorf("%s has no file for targets without the helper", name)
		}
	}
	scripts, err := fs.Glob(Files(), "*/tasks/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, s := range scripts {
		text, err := fs.ReadFile(Files(), s)
		if err != nil || !strings.HasPrefix(string(text), "#!/bin/sh\n") {
			t.Errorf("%s does not begin with #!/bin/sh: %v", s, err)
		}
		if strings.Contains(string(text), "eval ") {
			t.Errorf("%s evaluates text", s)
		}
		if _, ok := all[strings.TrimSuffix(s, "sh")+"json"]; !ok {
			t.Errorf("%s has no metadata", s)
		}
	}
}

// TestNames: tasks that people can see have the names and parameters that
// those of Puppet Bolt have (bolt task show).
func TestNames(t *testing.T) {
	want := map[string]string{
		"facts/tasks/init.json":                               "",
		"http_request/tasks/init.json":                        "base_url body cacert cert follow_redirects headers json_endpoint key max_redirects method path",
		"openvox_bootstrap/tasks/check.json":                  "test version",
		"openvox_bootstrap/tasks/configure.json":              "csr_attributes puppet_conf puppet_service_enabled puppet_service_running",
		"openvox_bootstrap/tasks/install.json":                "apt_source collection package stop_service version yum_source",
		"openvox_bootstrap/tasks/install_build_artifact.json": "artifacts_source package version",
		"package/tasks/init.json":                             "action manager_options name provider version",
		"pkcs7/tasks/secret_createkeys.json":                  "force keysize private_key public_key",
		"pkcs7/tasks/secret_decrypt.json":                     "encrypted_value private_key public_key",
		"pkcs7/tasks/secret_encrypt.json":                     "plaintext_value public_key",
		"puppet_agent/tasks/install.json":                     "absolute_source apt_source collection install_options mac_source password retry stop_service username version windows_source yum_source",
		"puppet_agent/tasks/version.json":                     "",
		"puppet_conf/tasks/init.json":                         "action section setting value",
		"reboot/tasks/init.json":                              "message shutdown_only timeout",
		"reboot/tasks/last_boot_time.json":                    "",
		"service/tasks/init.json":                             "action force name provider",
		"terraform/tasks/apply.json":                          "dir state state_out target var var_file",
		"terraform/tasks/destroy.json":                        "dir state state_out target var var_file",
		"terraform/tasks/initialize.json":                     "dir",
		"terraform/tasks/output.json":                         "dir state",
		"terraform/tasks/refresh.json":                        "dir state state_out target var var_file",
	}
	got := make(map[string]string)
	for name, m := range tasks(t) {
		if m.Private {
			continue
		}
		var names []string
		for p := range m.Parameters {
			names = append(names, p)
		}
		slices.Sort(names)
		got[name] = strings.Join(names, " ")
	}
	for name := range want {
		if p, ok := got[name]; !ok || p != want[name] {
			t.Errorf("%s has the parameters %q, want %q", name, p, want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d tasks, want %d", len(got), len(want))
	}
}

// TestPlans: plans and functions are right as far as can be told without
// running them.
func TestPlans(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"*/plans/*.pp", "*/functions/*.pp"} {
		names, err := fs.Glob(Files(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			seen++
			text, err := fs.ReadFile(Files(), name)
			if err != nil {
				t.Fatal(err)
			}
			file := syntax.NewFile(name, string(text))
			o := syntax.Options{Tasks: strings.Contains(name, "/plans/")}
			program, err := syntax.Parse(file, o)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, p := range check.Program(program, check.Options{Tasks: o.Tasks}) {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	if seen < 14 {
		t.Errorf("found %d plans and functions", seen)
	}
}
