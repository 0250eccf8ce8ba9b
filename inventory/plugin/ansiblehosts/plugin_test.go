package ansiblehosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/ansiblehosts"
	"bolt/transport/all"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a project with files.
type world struct {
	dir    string
	plugin *ansiblehosts.Plugin
	config *ordered.Map
	warned []string
}

func project(t testing.TB, files map[string]string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	w.plugin = &ansiblehosts.Plugin{Project: w.dir, Home: "/home/me", Environ: []string{"PATH=" + os.Getenv("PATH"), "ME=ann", "BRACES={{ x }}"},
		Warn: func(id, text string) { w.warned = append(w.warned, text) }}
	return w
}

func (w *world) resolve(ctx context.Context, ref *ordered.Map) (any, error) {
	return w.plugin.Resolve(ctx, &ordered.Map{}, ref)
}

// inventory makes an inventory of the text of inventory.yaml.
func (w *world) inventory(t testing.TB, text string) *inventory.Inventory {
	t.Helper()
	v, err := yaml.Decode([]byte(text), "inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plugins := plugin.New(plugin.Options{Project: w.dir, Natives: []plugin.Native{{Name: "ansible", Configures: ansiblehosts.Configures, Resolve: w.plugin.Resolve}},
		Config: w.config})
	inv, err := inventory.New(t.Context(), v.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), File: "inventory.yaml", Resolve: plugins.Resolve,
		Warn: func(id, text string) { w.warned = append(w.warned, id+": "+text) }})
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// multiplied are 15 variables, each with the next one twice.
func multiplied() string {
	var b strings.Builder
	for i := range 15 {
		fmt.Fprintf(&b, "a%d='{{ a%d }}{{ a%[2]d }}' ", i+1, i+2)
	}
	return b.String() + "a16=x"
}

// TestConfig: the configuration that variables of a host called h make.
func TestConfig(t *testing.T) {
	tests := []struct{ name, vars, config, warns string }{
		{"nothing", "", `"ssh":{"host":"h"}`, ""},
		{"address", "ansible_host=10.0.0.1 ansible_port=2222 ansible_user=ann", `"ssh":{"host":"10.0.0.1","port":2222,"user":"ann"}`, ""},
		{"old names", "ansible_ssh_host=a ansible_ssh_port=22 ansible_ssh_user=u ansible_ssh_pass=p", `"ssh":{"host":"a","port":22,"user":"u","password":"p"}`, ""},
		{"IPv6", "ansible_host=[::1]", `"ssh":{"host":"::1"}`, ""},
		{"numbers as texts", `ansible_port="'22'" ansible_user=1000 ansible_password=123456`, `"ssh":{"host":"h","port":22,"user":"1000","password":"123456"}`, ""},
		{"bad port", "ansible_port=70000", `"ssh":{"host":"h"}`, "refused: ansible_port, set in the host 'h' of hosts: it is not a whole number from 1 to 65535"},
		{"key", "ansible_ssh_private_key_file=~/.ssh/id", `"ssh":{"host":"h","private-key":"~/.ssh/id"}`, ""},
		{"host keys", "ansible_host_key_checking=False ansible_timeout=5", `"ssh":{"host":"h","host-key-check":false,"connect-timeout":5}`, ""},
		{"fish", "ansible_shell_type=fish", `"ssh":{"host":"h","login-shell":"fish"}`, ""},
		{"become", "ansible_become=true ansible_become_password=x", `"ssh":{"host":"h","sudo-password":"x","run-as":"root"}`, ""},
		{"become user", "ansible_become=yes ansible_become_user=pg ansible_become_exe=/opt/sudo", `"ssh":{"host":"h","sudo-executable":"/opt/sudo","run-as":"pg"}`, ""},
		{"no become", "ansible_become_user=pg", `"ssh":{"host":"h"}`, ""},
		{"doas", "ansible_become=1 ansible_become_method=community.general.doas ansible_become_flags=-x", `"ssh":{"host":"h","sudo-executable":"doas","run-as":"root"}`, "ansible_become_flags is ignored"},
		{"su", "ansible_become=1 ansible_become_method=su ansible_become_user=pg ansible_su_user=app ansible_become_password=x", `"ssh":{"host":"h","sudo-executable":"su","sudo-password":"x","run-as":"app"}`, ""},
		{"su elsewhere", "ansible_become=1 ansible_become_method=ansible.builtin.su ansible_become_exe=/opt/bin/su ansible_sudo_user=no", `"ssh":{"host":"h","sudo-executable":"/opt/bin/su","run-as":"root"}`, ""},
		{"su of another name", "ansible_become=1 ansible_become_method=su ansible_become_exe=/opt/mysu", `"ssh":{"host":"h"}`, "refused: ansible_become_exe, set in the host 'h' of hosts: the program of the method 'su' must be named su"},
		{"pbrun", "ansible_become=1 ansible_become_method=pbrun", `"ssh":{"host":"h"}`, "refused: ansible_become_method, set in the host 'h' of hosts: the method 'pbrun' is not supported; use sudo, su or doas"},
		{"method without become", "ansible_become_method=pbrun", `"ssh":{"host":"h"}`, ""},
		{"become user that is unknown", "ansible_become=1 ansible_become_user='{{ who }}'", `"ssh":{"host":"h","run-as":"root"}`, "refused: ansible_become_user, set in the host 'h' of hosts: its template needs the variable who"},
		{"runas", "ansible_connection=winrm ansible_become=1 ansible_become_method=runas ansible_become_user=A", `"winrm":{"host":"h"}`, "refused: ansible_become_method, set in the host 'h' of hosts: run-as is not supported with the transport winrm"},
		{"enable", "ansible_connection=network_cli ansible_become=1 ansible_become_method=enable", `"remote":{"host":"h"}`, "refused: ansible_become_method"},
		{"lines", `ansible_connection="'a\\nb'"`, `"ssh":{"host":"h"}`, "refused: ansible_connection, set in the host 'h' of hosts: the connection 'a b' is not supported"},
		{"interpreters", "ansible_python_interpreter=/usr/bin/python3 ansible_ruby_interpreter=auto", `"ssh":{"host":"h","interpreters":{".py":"/usr/bin/python3"}}`, ""},
		{"local", "ansible_connection=local ansible_become=1", `"local":{"run-as":"root"}`, ""},
		{"docker", "ansible_connection=community.docker.docker ansible_host=c1", `"docker":{"host":"c1"}`, ""},
		{"podman", "ansible_connection=containers.podman.podman", `"podman":{"host":"h"}`, ""},
		{"unknown connection", "ansible_connection=aws_ssm", `"ssh":{"host":"h"}`, "refused: ansible_connection, set in the host 'h' of hosts: the connection 'aws_ssm' is not supported"},
		{"network", "ansible_connection=ansible.netcommon.network_cli ansible_user=n ansible_become=1", `"remote":{"host":"h","user":"n"}`, ""},
		{"winrm", "ansible_connection=winrm ansible_port=5985 ansible_user=A ansible_password=p", `"winrm":{"host":"h","port":5985,"user":"A","password":"p","ssl":false}`, ""},
		{"winrm scheme", "ansible_connection=winrm ansible_winrm_scheme=http", `"winrm":{"host":"h","ssl":false,"port":5985}`, ""},
		{"psrp", "ansible_connection=ansible.builtin.psrp ansible_host=a ansible_psrp_host=b ansible_psrp_user=u ansible_psrp_port=443 ansible_psrp_cert_validation=ignore ansible_psrp_auth=basic ansible_psrp_connection_timeout=7 ansible_psrp_path=wsman ansible_winrm_scheme=http",
			`"winrm":{"host":"b","port":443,"user":"u","ssl-verify":false,"connect-timeout":7,"basic-auth-only":true}`, ""},
		{"psrp by certificate", "ansible_connection=psrp ansible_psrp_certificate_pem=/c.pem", `"winrm":{"host":"h"}`, "refused: ansible_psrp_certificate_pem, set in the host 'h' of hosts: it is not supported"},
		{"psrp endpoint", "ansible_connection=psrp ansible_psrp_configuration_name=jea", `"winrm":{"host":"h"}`, "refused: ansible_psrp_configuration_name"},
		{"winrm certificates", "ansible_connection=winrm ansible_winrm_server_cert_validation=ignore ansible_winrm_transport=basic", `"winrm":{"host":"h","ssl-verify":false,"basic-auth-only":true}`, ""},
		{"winrm kerberos", "ansible_connection=winrm ansible_user=a@corp.example ansible_winrm_transport=kerberos", `"winrm":{"host":"h","user":"a@corp.example","realm":"CORP.EXAMPLE"}`, ""},
		{"jump", "ansible_ssh_common_args='-J bastion -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ControlMaster=auto'", `"ssh":{"host":"h","proxyjump":"bastion","host-key-check":false}`, ""},
		{"ProxyJump", "ansible_ssh_extra_args='-oProxyJump=a,b -o ConnectTimeout=7 -p 23'", `"ssh":{"host":"h","proxyjump":"a,b","connect-timeout":7,"port":23}`, ""},
		{"ProxyCommand", `ansible_ssh_common_args='-o ProxyCommand="ssh -W %h:%p -q -p 2200 -l jim bastion"'`, `"ssh":{"host":"h","proxyjump":"jim@bastion:2200"}`, ""},
		{"old ProxyCommand", `ansible_ssh_common_args='-o ProxyCommand="ssh me@bastion nc %h %p"'`, `"ssh":{"host":"h","proxyjump":"me@bastion"}`, ""},
		{"other ProxyCommand", `ansible_ssh_common_args='-o ProxyCommand="sshpass -p hunter2 ssh -W %h:%p b"'`, `"ssh":{"host":"h","proxy-command":"sshpass -p hunter2 ssh -W %h:%p b"}`, ""},
		{"ProxyCommand with a key", `ansible_ssh_common_args='-o ProxyCommand="ssh -i /bastion.pem -W %h:%p -q me@bastion" -i /k.pem'`, `"ssh":{"host":"h","proxy-command":"ssh -i /bastion.pem -W %h:%p -q me@bastion","private-key":"/k.pem"}`, ""},
		{"command and jump", `ansible_ssh_args='-o ProxyCommand="nc %h %p" -J b' ansible_ssh_extra_args='-o ProxyCommand=other'`, `"ssh":{"host":"h","proxy-command":"nc %h %p"}`, ""},
		{"no command", `ansible_ssh_args='-o ProxyCommand='`, `"ssh":{"host":"h"}`, "refused: ansible_ssh_args, set in the host 'h' of hosts: -o ProxyCommand is not supported"},
		{"another host", `ansible_ssh_extra_args='-o HostName=x -o CertificateFile=y'`, `"ssh":{"host":"h"}`, "-o HostName is not supported; ansible_ssh_extra_args, set in the host 'h' of hosts: -o CertificateFile is not supported"},
		{"empty words", `ansible_ssh_common_args="-o ProxyCommand=\"ssh '' -W %h:%p\" '' -"`, `"ssh":{"host":"h","proxy-command":"ssh '' -W %h:%p"}`, "not supported"},
		{"other options", `ansible_ssh_common_args='-o Ciphers=x -b 10.0.0.1 -o IdentityFile=/k -i /l'`, `"ssh":{"host":"h","private-key":"/k"}`, "-o Ciphers is not supported"},
		{"another ssh_config", `ansible_ssh_common_args='-F /etc/x'`, `"ssh":{"host":"h"}`, "refused: ansible_ssh_common_args, set in the host 'h' of hosts: -F is not supported"},
		{"new host keys", `ansible_ssh_common_args='-o StrictHostKeyChecking=accept-new -o User=me -o StrictHostKeyChecking=no'`, `"ssh":{"host":"h","user":"me"}`, "new keys are accepted only if ssh_config sets it"},
		{"asked about host keys", `ansible_ssh_args='-o StrictHostKeyChecking="ask"'`, `"ssh":{"host":"h","host-key-check":true}`, ""},
		{"keepalive", `ansible_ssh_common_args='-o ServerAliveInterval=30 -o ServerAliveCountMax=3'`, `"ssh":{"host":"h","keepalive":30}`, ""},
		{"keepalive off", `ansible_ssh_common_args='-o ServerAliveInterval=0'`, `"ssh":{"host":"h"}`, "-o ServerAliveInterval is not supported and is ignored"},
		{"keepalives missed", `ansible_ssh_common_args='-o ServerAliveCountMax=5'`, `"ssh":{"host":"h"}`, "-o ServerAliveCountMax is not supported and is ignored"},
		{"open quote", `ansible_ssh_common_args="-o 'x"`, `"ssh":{"host":"h"}`, "refused: ansible_ssh_common_args, set in the host 'h' of hosts: a quote is not closed"},
		{"template", `ansible_host='{{ inventory_hostname_short }}.int' ansible_user='{{ who }}' who='{{ lookup("env", "ME") }}'`, `"ssh":{"host":"h.int","user":"ann"}`, ""},
		{"template with default", `ansible_user="{{ nobody | default('x') }}" ansible_port='{{ p | default(22) }}'`, `"ssh":{"host":"h","port":22,"user":"x"}`, ""},
		{"template of a map", `ansible_user="{{ m.a['b'] }}" m="{'a': {'b': 'deep'}}"`, `"ssh":{"host":"h","user":"deep"}`, ""},
		{"undefined", `ansible_user={{x}}`, `"ssh":{"host":"h"}`, "refused: ansible_user, set in the host 'h' of hosts: its template needs the variable x, which is not set"},
		{"filters", `ansible_user='{{ x | upper | lower | trim }}{{ n|string }}' ansible_port='{{ p|int }}' x=" Y " n=5 p="'23'"`, `"ssh":{"host":"h","port":23,"user":"y5"}`, ""},
		{"other filter", `ansible_user='{{ x | hash("md5") }}' x=y`, `"ssh":{"host":"h"}`, "refused: ansible_user, set in the host 'h' of hosts: only Ansible can evaluate the template"},
		{"condition", `ansible_host='{{ a if b else c }}' a=1`, `"ssh":{"host":"h"}`, "refused: ansible_host, set in the host 'h' of hosts: only Ansible"},
		{"password", `ansible_password='{{ x | hash("md5") }}' x=y`, `"ssh":{"host":"h"}`, "ansible_password is ignored: only Ansible"},
		{"text with braces", `ansible_user='{{ lookup("env", "BRACES") }}'`, `"ssh":{"host":"h","user":"{{ x }}"}`, ""},
		{"loop", `ansible_user='{{ x }}' x='{{ ansible_user }}'`, `"ssh":{"host":"h"}`, "its template uses itself"},
		{"names that multiply", `ansible_user='{{ a1 }}' ` + multiplied(), `"ssh":{"host":"h"}`, "uses more than"},
		{"text that multiplies", `ansible_user='{{ a }}{{ a }}{{ a }}' a=` + strings.Repeat("x", 8<<10), `"ssh":{"host":"h"}`, "larger than 16 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := project(t, map[string]string{"hosts": "h " + tt.vars + "\n"})
			v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts", "as", "targets"))
			if err != nil {
				t.Fatal(err)
			}
			config := v.([]any)[0].(*ordered.Map).Value("config").(*ordered.Map)
			transport := config.Value("transport").(string)
			config.Delete("transport")
			section := config.Value(transport).(*ordered.Map)
			all := strings.Join(w.warned, "\n")
			if why, refused := section.Value("refuse").(string); refused {
				all += "refused: " + strings.ReplaceAll(why, w.dir+"/", "")
				section.Delete("refuse")
			}
			if got := asJSON(t, config); got != "{"+tt.config+"}" {
				t.Errorf("got %s, want {%s}", got, tt.config)
			}
			if !strings.HasPrefix(tt.config, `"`+transport) {
				t.Errorf("the transport is %s", transport)
			}
			if !strings.Contains(all, tt.warns) || (tt.warns == "") != (all == "") || strings.Contains(all, "hunter2") {
				t.Errorf("warned %q, want %q", all, tt.warns)
			}
		})
	}
}

const site = `solo
[web]
web[01:02] ansible_port=2222
[db]
db1 ansible_password=pw color=red
localhost
[a:children]
web
[b:children]
web
db
[b:vars]
color=blue
[all:vars]
ansible_user=deploy
ansible_become=yes
site=x
[twin]
twin
`

// TestReferenceWorksAtEachPlace checks that a reference at each place of a file
// returns the same targets, groups and data.
func TestReferenceWorksAtEachPlace(t *testing.T) {
	places := map[string]string{
		"whole":             "_plugin: ansible\npath: hosts\n",
		"groups":            "groups:\n  _plugin: ansible\n  path: hosts\n  as: groups\n",
		"one of the groups": "groups:\n- {name: mine, targets: [x]}\n- _plugin: ansible\n  path: hosts\n  as: groups\n",
		"targets":           "targets:\n- _plugin: ansible\n  path: hosts\n  as: targets\n",
	}
	for name, text := range places {
		t.Run(name, func(t *testing.T) {
			w := project(t, map[string]string{"hosts": site})
			inv := w.inventory(t, text)
			members := map[string]string{"all": "solo,web01,web02,db1,localhost,twin", "web": "web01,web02", "a": "web01,web02",
				"b": "web01,web02,db1,localhost", "db": "db1,localhost", "ungrouped": "solo", "twin": "twin"}
			for group, want := range members {
				if strings.Contains(text, "as: targets") && group != "all" && group != "twin" {
					continue
				}
				list, err := inv.Targets(t.Context(), []string{group})
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, t := range list {
					if t.Name != "x" {
						names = append(names, t.Name)
					}
				}
				wanted := strings.Split(want, ",")
				slices.Sort(names)
				slices.Sort(wanted)
				if name == "groups" && group == "ungrouped" || name == "one of the groups" && group == "ungrouped" {
					wanted = []string{"solo", "twin"}
				}
				if !slices.Equal(names, wanted) {
					t.Errorf("%s: %v, want %v", group, names, wanted)
				}
			}
			for target, want := range map[string]string{
				"web01":     `ssh {"site":"x","color":"blue"} deploy@web01:2222 as root`,
				"db1":       `ssh {"site":"x","color":"red"} deploy@db1:0 as root`,
				"localhost": `ssh {"site":"x","color":"blue"} deploy@localhost:0 as root`,
			} {
				list, err := inv.Targets(t.Context(), []string{target})
				if err != nil {
					t.Fatal(err)
				}
				data, err := list[0].Data(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s, err := list[0].Settings(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				vars := ordered.Of("site", data.Vars.Value("site"), "color", data.Vars.Value("color"))
				if data.Vars.Len() != 2 {
					t.Errorf("%s has %v", target, data.Vars.Keys())
				}
				got := fmt.Sprintf("%s %s %s@%s:%d as %s", data.Transport, asJSON(t, vars), s.User, s.Host, s.Dest.Port, s.RunAs.User)
				if got != want {
					t.Errorf("%s: %s, want %s", target, got, want)
				}
			}
			if len(w.warned) > 0 {
				t.Errorf("warned %q", w.warned)
			}
		})
	}
}

// TestGroupAllConfiguresOtherTargets checks the configuration that the group
// all has for targets that Ansible does not know.
func TestGroupAllConfiguresOtherTargets(t *testing.T) {
	w := project(t, map[string]string{"hosts": "[all:vars]\nansible_user=deploy\nansible_password=pw\nansible_host=10.0.0.1\nansible_timeout=22\nv=1\nw=1\n[g]\na\nb w=2 ansible_user=me ansible_timeout={{nope}}\n"})
	v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"config":{"transport":"ssh","ssh":{"user":"deploy"}},"vars":{"v":1,"w":1},` +
		`"targets":[{"name":"a","config":{"ssh":{"host":"10.0.0.1","password":"pw","connect-timeout":22}}},` +
		`{"name":"b","config":{"ssh":{"host":"10.0.0.1","user":"me","password":"pw"}},"vars":{"w":2}}],` +
		`"groups":[{"name":"g","targets":["a","b"]}]}`
	if got := asJSON(t, v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGroupAllWithoutSecretVariables checks a variable of all that is a secret
// on one host.
func TestGroupAllWithoutSecretVariables(t *testing.T) {
	w := project(t, map[string]string{"hosts.json": `{"all": {"vars": {"v": 1}, "hosts": {"a": {}, "b": {"v": {"__ansible_vault": "x"}}, "c": {"v": 2}}}}`})
	v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*ordered.Map)
	if got, want := asJSON(t, m.Value("targets")), `[{"name":"a","config":{"ssh":{"host":"a"}},"vars":{"v":1}},{"name":"b","config":{"ssh":{"host":"b"}}},{"name":"c","config":{"ssh":{"host":"c"}},"vars":{"v":2}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if m.Value("vars") != nil {
		t.Errorf("all has %s", asJSON(t, m.Value("vars")))
	}
}

// TestSkipsHostsThatBoltCannotHave checks names and values that bolt does not
// support.
func TestSkipsHostsThatBoltCannotHave(t *testing.T) {
	w := project(t, map[string]string{"hosts": "höst\nall\nok x={'_plugin':'exec'}\n[m]\nm\nok\n[a,b]\nok2\n[top:children]\na,b\nm\n"})
	v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	got := asJSON(t, v.(*ordered.Map).Value("groups"))
	if want := `[{"name":"top","targets":["ok2","m","ok"]}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i, want := range []string{"höst: the host is left out: names of targets are ASCII", "all: the host is left out", "a,b: the group is left out", "m: the group is left out: a target has its name"} {
		if !slices.ContainsFunc(w.warned, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%d: warned %q, want %q", i, w.warned, want)
		}
	}
	w.inventory(t, "_plugin: ansible\npath: hosts\n")
}

// TestBlanksBecomeUnderscores checks that a host with blanks in its name becomes a target with
// underscores, unless another host or a group has that name.
func TestBlanksBecomeUnderscores(t *testing.T) {
	w := project(t, map[string]string{"hosts": "[g]\n'my host' ansible_host=10.0.0.1\n'a b'\na_b\n[h]\n'my host'\n"})
	inv := w.inventory(t, "_plugin: ansible\npath: hosts\n")
	for _, group := range []string{"g", "h"} {
		list, err := inv.Targets(t.Context(), []string{group})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := list[0].Settings(t.Context()); err != nil || list[0].Name != "my_host" || s.Host != "10.0.0.1" {
			t.Errorf("%s: got %s, %v, %v", group, list[0].Name, s.Host, err)
		}
	}
	all := strings.Join(w.warned, "\n")
	if !strings.Contains(all, "my host: the target's name has underscores") || !strings.Contains(all, "a b: the host is left out") {
		t.Errorf("warned %q", w.warned)
	}
}

// TestOneWarning: one for all hosts.
func TestOneWarning(t *testing.T) {
	w := project(t, map[string]string{"hosts": "web[01:50].example.com ansible_password='{{ x | hash }}'\n"})
	if _, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "path", "hosts")); err != nil {
		t.Fatal(err)
	}
	want := "Ansible inventory, web[01-50].example.com: ansible_password is ignored: only Ansible can evaluate the template"
	if len(w.warned) != 1 || w.warned[0] != want {
		t.Errorf("warned %q", w.warned)
	}
}

func vaultCase(t *testing.T, name, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../ansible/testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "-- "+file+" --\n")
	text, _, _ = strings.Cut(text, "\n-- ")
	return text + "\n"
}

func TestVault(t *testing.T) {
	files := map[string]string{
		"hosts": "[web]\na ansible_become=yes\nb\n", "pass": "hunter2\n", "pass.sh": "#!/bin/sh\necho hunter2\n", "wrong": "hunter3\n",
		"group_vars/web/vault.yml": vaultCase(t, "vault-file", "group_vars/web/vault.yml"),
		"group_vars/web/plain.yml": vaultCase(t, "vault-values", "group_vars/web.yml") + "\nansible_user: 'u{{ note }}'\n",
	}
	var config *ordered.Map
	resolved := func(password string) (*world, *inventory.Target) {
		w := project(t, files)
		w.config = config
		inv := w.inventory(t, "_plugin: ansible\npath: hosts\n"+password)
		list, err := inv.Targets(t.Context(), []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		return w, list[0]
	}
	for _, password := range []string{"vault_password_file: pass\n", "vault_password_file: pass.sh\n"} {
		w, target := resolved(password)
		data, err := target.Data(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := target.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Dest.Password.Reveal() + "|" + s.RunAs.Password.Reveal() + "|" + s.User; got != "in line|s3cret|utext with: colon" {
			t.Errorf("got %s", got)
		}
		if shown := asJSON(t, data.Vars) + asJSON(t, data.Config); strings.Contains(shown, "s3cret") || strings.Contains(shown, "in line") || data.Vars.Len() != 1 {
			t.Errorf("the data show %s", shown)
		}
		if all := strings.Join(w.warned, "\n"); !strings.Contains(all, "the variable labelled is left out: it is a secret") || strings.Contains(all, "s3cret") {
			t.Errorf("warned %q", all)
		}
	}
	config = ordered.Of("ansible", ordered.Of("vault_password_file", "pass"))
	_, target := resolved("")
	if s, err := target.Settings(t.Context()); err != nil || s.RunAs.Password.Reveal() != "s3cret" {
		t.Errorf("by the project's configuration: %v", err)
	}
	config = nil
	// Without the password, targets that need none can be used.
	delete(files, "group_vars/web/vault.yml")
	_, target = resolved("")
	_, err := target.Data(t.Context())
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Msg, "plugin ansible") || !strings.Contains(f.Msg, "vault_password_file") {
		t.Errorf("got %v", err)
	}
	_, target = resolved("vault_password_file: wrong\n")
	if _, err := target.Data(t.Context()); err == nil || !strings.Contains(err.Error(), "the vault password is wrong") || strings.Contains(err.Error(), "hunter3") {
		t.Errorf("got %v", err)
	}
}

func TestConfigFile(t *testing.T) {
	w := project(t, map[string]string{
		"play/ansible.cfg": "# x\n[defaults]\ninventory = hosts, more ; two\nremote_user: ann\nprivate_key_file = keys/id\nhost_key_checking=False\n" +
			"vault_password_file =\n[privilege_escalation]\nbecome = true\n[ssh_connection]\nssh_args = -o ControlMaster=auto\n  -J gate\nnonsense\n[broken\n",
		"play/hosts": "a\nb ansible_user=bob ansible_become=no\n", "play/more": "c\n", "none.cfg": "[defaults]\n",
	})
	v, err := w.resolve(t.Context(), ordered.Of("_plugin", "ansible", "config", "play/ansible.cfg", "as", "targets"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(asJSON(t, v), w.dir, "DIR")
	rest := `"private-key":"DIR/play/keys/id","host-key-check":false,"proxyjump":"gate"`
	want := `[{"name":"a","config":{"transport":"ssh","ssh":{"host":"a","user":"ann",` + rest + `,"run-as":"root"}}},` +
		`{"name":"b","config":{"transport":"ssh","ssh":{"host":"b","user":"bob",` + rest + `}}},` +
		`{"name":"c","config":{"transport":"ssh","ssh":{"host":"c","user":"ann",` + rest + `,"run-as":"root"}}}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := w.resolve(t.Context(), ordered.Of("config", "none.cfg")); err == nil || !strings.Contains(err.Error(), "does not set an inventory") {
		t.Errorf("got %v", err)
	}
	if _, err := w.resolve(t.Context(), ordered.Of("config", "no.cfg")); err == nil || !strings.Contains(err.Error(), "no.cfg") {
		t.Errorf("got %v", err)
	}
}

func TestScripts(t *testing.T) {
	w := project(t, map[string]string{
		"inv.sh":                "#!/bin/sh\necho '{\"g\": [\"a\"], \"_meta\": {\"hostvars\": {\"a\": {\"ansible_host\": \"'$ME'\"}}}}'\n",
		"fail.sh":               "#!/bin/sh\necho no credentials >&2\nexit 1\n",
		"slow.sh":               "#!/bin/sh\n[ \"$1\" = --list ] || sleep 100\necho '{\"g\": [\"a\", \"b\"]}'\n",
		"aws.yml":               "plugin: aws_ec2\n",
		"bin/ansible-inventory": "#!/bin/sh\necho \"{\\\"g\\\": [\\\"$(basename $2 .yml)\\\"], \\\"_meta\\\": {\\\"hostvars\\\": {}}}\"\n",
	})
	one := func(pairs ...any) string {
		v, err := w.resolve(t.Context(), ordered.Of("as", "targets").Merge(ordered.Of(pairs...)))
		if err != nil {
			return err.Error()
		}
		return asJSON(t, v)
	}
	if got := one("path", "inv.sh"); !strings.Contains(got, `"host":"ann"`) {
		t.Errorf("got %s", got)
	}
	if got := one("path", "fail.sh"); !strings.Contains(got, "fail.sh: the program") || !strings.Contains(got, "no credentials") {
		t.Errorf("got %s", got)
	}
	if got := one("path", "slow.sh", "timeout", int64(1)); !strings.Contains(got, "the inventory was not read within 1s") {
		t.Errorf("got %s", got)
	}
	if got := one("path", "aws.yml"); !strings.Contains(got, "format: ansible-inventory") {
		t.Errorf("got %s", got)
	}
	t.Setenv("PATH", filepath.Join(w.dir, "bin")+":"+os.Getenv("PATH"))
	if got := one("path", "aws.yml", "format", "ansible-inventory"); !strings.Contains(got, `"name":"aws"`) {
		t.Errorf("got %s", got)
	}
}

func TestBadReferences(t *testing.T) {
	w := project(t, map[string]string{"hosts": "a\n"})
	for says, ref := range map[string]*ordered.Map{
		"requires a 'path'":                           ordered.Of(),
		"'as' is inventory, groups or targets":        ordered.Of("path", "hosts", "as", "list"),
		"'format' is ini, yaml":                       ordered.Of("path", "hosts", "format", "xml"),
		"has no option 'paht'":                        ordered.Of("path", "hosts", "paht", "x"),
		"no such file or directory":                   ordered.Of("path", "none"),
		"the value is not encrypted by ansible-vault": ordered.Of("vaulted", "x", "vault_password_file", "hosts"),
		"set vault_password_file":                     ordered.Of("vaulted", "x"),
		"the vault password file: stat":               ordered.Of("vaulted", "x", "vault_password_file", "none"),
	} {
		if _, err := w.resolve(t.Context(), ref); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestManyHostsAreFast checks that 5,000 hosts with many variables of their
// groups take little time and memory.
func TestManyHostsAreFast(t *testing.T) {
	w := project(t, many(5000))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	inv := w.inventory(t, "_plugin: ansible\npath: hosts\n")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(inv.AllTargets()); n != 5000 {
		t.Errorf("%d targets", n)
	}
	if mb := (after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)) >> 20; mb > 60 {
		t.Errorf("it takes %d MiB", mb)
	}
	runtime.KeepAlive(inv)
}

func many(n int) map[string]string {
	var hosts, all strings.Builder
	for i := range 50 {
		fmt.Fprintf(&hosts, "[rack%d]\nnode%d-[001:%03d].example.com ansible_user=deploy rack=%d\n[rack%d:vars]\nansible_become=yes\nrow=%d\n", i, i, n/50, i, i, i/10)
	}
	for i := range 100 {
		fmt.Fprintf(&all, "setting_%d: value %d\n", i, i)
	}
	return map[string]string{"hosts": hosts.String(), "group_vars/all.yml": all.String()}
}

func BenchmarkInventory(b *testing.B) {
	w := project(b, many(5000))
	b.ReportAllocs()
	for b.Loop() {
		w.inventory(b, "_plugin: ansible\npath: hosts\n")
	}
}

func FuzzVariables(f *testing.F) {
	for _, s := range []string{"-o ProxyCommand='ssh -W %h:%p b' -J x", "{{ a.b['c'] | default('x') }}", "{{ lookup('env','X') }}{% if %}", "-o", "-", "-o ProxyCommand=\"ssh '' -W\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		value, err := json.Marshal(s)
		if err != nil {
			return
		}
		data := fmt.Sprintf(`{"all": {"hosts": {"h": {"ansible_ssh_common_args": %[1]s, "ansible_user": %[1]s, "ansible_port": %[1]s, "ansible_host": %[1]s, "ansible_become": %[1]s, "v": %[1]s}}}}`, value)
		w := project(t, map[string]string{"hosts.json": data, "ansible.cfg": s})
		if _, err := w.resolve(t.Context(), ordered.Of("path", "hosts.json", "config", "ansible.cfg")); err != nil {
			t.Fatal(err)
		}
	})
}
