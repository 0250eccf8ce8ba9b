package ansiblehosts_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bolt/format/ordered"
)

// asking compares with the ansible of this machine (package ansible-core):
//
//	go test ./inventory/plugin/ansiblehosts -run OtherHosts -ask
var asking = flag.Bool("ask", false, "ask ansible what templates are")

// otherHosts is an inventory whose hosts name each other.
const otherHosts = `lone
[web]
w1
w2 ip=10.1.0.2
[db]
d1 ip=10.2.0.1 ansible_host='{{ ip }}' color=red
d2 ip='10.2.0.{{ n }}' n=2
[eu:children]
db
web
[empty]
[db:vars]
zone=z{{ color | default('none') }}
`

// TestTemplatesUseOtherHosts checks templates of the host w1 that use groups and the variables of
// other hosts. The expected values are the output of Ansible's debug module.
func TestTemplatesUseOtherHosts(t *testing.T) {
	tests := []struct{ template, want string }{
		{"{{ groups['db'][0] }}", "d1"},
		{"{{ groups.db.1 }}", "d2"},
		{"{{ groups['db'][-1] }}", "d2"},
		{"{{ groups['eu'] | first }}", "d1"},
		{"{{ groups.eu|last }}", "w2"},
		{"{{ groups['eu'] | join('-') }}", "d1-d2-w1-w2"},
		{"{{ groups['ungrouped'][0] }}", "lone"},
		{"{{ hostvars['w2'].ip }}", "10.1.0.2"},
		{"{{ hostvars[groups['db'][0]]['ip'] }}", "10.2.0.1"},
		{"{{ hostvars.d1.ansible_host }}", "10.2.0.1"},
		{"{{ hostvars['d2']['ip'] }}", "10.2.0.2"},
		{"{{ hostvars['d1'].zone }}-{{ hostvars['d2'].zone }}", "zred-znone"},
		{"{{ hostvars[groups['db'] | last].inventory_hostname }}", "d2"},
		{"{{ hostvars['nobody'].ip | default('10.9.9.9') }}", "10.9.9.9"},
		{"{{ hostvars['w1'].ip | default(groups['empty'][0]) | default('none') }}", "none"},
		{"{{ groups['empty'] | first | default(hostvars[inventory_hostname].inventory_hostname) }}", "w1"},
		{"{{ (groups['db'] | first) }}.{{ group_names | join(',') }}", "d1.eu,web"},
	}
	for _, tt := range tests {
		t.Run(tt.template, func(t *testing.T) {
			w := project(t, map[string]string{"hosts": otherHosts, "host_vars/w1.yml": "ansible_host: \"" + tt.template + "\"\n"})
			v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts", "as", "targets"))
			if err != nil {
				t.Fatal(err)
			}
			section := v.([]any)[1].(*ordered.Map).Value("config").(*ordered.Map).Value("ssh").(*ordered.Map)
			if got := asJSON(t, section); got != `{"host":"`+tt.want+`"}` {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if *asking {
				out, err := exec.Command("ansible", "-i", w.dir+"/hosts", "w1", "-m", "debug", "-a", "msg="+tt.template).CombinedOutput()
				if err != nil || !strings.Contains(string(out), `"msg": "`+tt.want+`"`) {
					t.Errorf("Ansible says %s, %v", out, err)
				}
			}
		})
	}
}

// TestTemplateWithoutValueFails checks that a template without a value refuses the target with
// an error that names the file.
func TestTemplateWithoutValueFails(t *testing.T) {
	for template, why := range map[string]string{
		"{{ groups['none'][0] }}":           "needs the variable none",
		"{{ groups['db'][5] }}":             "needs the variable 5",
		"{{ groups }}":                      "only Ansible can evaluate",
		"{{ hostvars['d1'] }}":              "only Ansible can evaluate",
		"{{ hostvars['w1'].ansible_host }}": "its template uses itself",
		"{{ groups['db'] }}":                "is not a string",
		"{{ groups['db' }}":                 "only Ansible can evaluate",
		"{{ groups[['db'] }}":               "only Ansible can evaluate",
		strings.Repeat("(", 30) + "{{ " + strings.Repeat("(", 30) + " }}": "only Ansible can evaluate",
		"{{ 'a' 'b' }}": "only Ansible can evaluate",
		"{{ '\\\\x' }}": "only Ansible can evaluate",
	} {
		w := project(t, map[string]string{"hosts": otherHosts, "group_vars/web.yml": "ansible_host: \"" + template + "\"\n"})
		inv := w.inventory(t, "_plugin: ansible\npath: hosts\n")
		list, err := inv.Targets(t.Context(), []string{"w1", "d1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = list[0].Settings(t.Context())
		if want := "Target w1 cannot be used: ansible_host, set in " + w.dir + "/group_vars/web.yml: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %s… %s", template, err, want, why)
		}
		if _, err := list[1].Settings(t.Context()); err != nil {
			t.Errorf("another target fails, too: %v", err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{{ groups['db'][0] }}", "{{ hostvars[groups.db|first].ip|default('x', true) }}", "{{ (a.b)|join(',') }}", "{{ lookup('env', 'ME') }}", "{{-1}}", "{{ a[ }}"} {
		f.Add(seed)
	}
	w := project(f, map[string]string{"hosts": otherHosts})
	f.Fuzz(func(t *testing.T, template string) {
		text, err := ordered.Of("all", ordered.Of("hosts", ordered.Of("w1", ordered.Of("ansible_host", template)))).MarshalJSON()
		if err != nil {
			return
		}
		if err := os.WriteFile(w.dir+"/more.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", []any{"hosts", "more.json"})); err != nil {
			t.Fatal(err)
		}
	})
}
