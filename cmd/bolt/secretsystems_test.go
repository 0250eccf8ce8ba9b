package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport/winrm/winrmtest"
)

// vaulted returns a text encrypted by ansible-vault, on one line of a YAML string in
// double quotes.
func vaulted(t *testing.T, password, text string) string {
	t.Helper()
	salt := []byte("salt of a test, of whatever size")
	keys, err := pbkdf2.Key(sha256.New, password, salt, 10_000, 80)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	data := []byte(text + strings.Repeat(string(rune(pad)), pad))
	cipher.NewCTR(block, keys[64:]).XORKeyStream(data, data)
	mac := hmac.New(sha256.New, keys[32:64])
	mac.Write(data)
	inner := fmt.Sprintf("%x\n%x\n%x", salt, mac.Sum(nil), data)
	return `$ANSIBLE_VAULT;1.1;AES256\n` + hex.EncodeToString([]byte(inner))
}

// TestSecretSystems is TestSecretSources for secrets that plugins get from systems
// and programs, for the passwords of these, and for transports other than ssh. Each
// system repeats everything that it received in its errors.
func TestSecretSystems(t *testing.T) {
	d := newDesk(t, sshtest.Start(t, sshtest.Options{}))
	secrets := canaries{}
	kept := secrets.new("a secret of Vault")
	login, key, backend := secrets.new("login of Vault"), secrets.new("key of PuppetDB"), secrets.new("backend of Terraform")
	token := "canary-token-of-vault"
	secrets["token of Vault"] = token
	windows := secrets.new("WinRM")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // an error becomes a request without a body
		_, password, _ := r.BasicAuth()
		switch at := r.URL.Path; {
		case at == "/v1/auth/userpass/login/bob" && strings.Contains(string(body), login):
			fmt.Fprintf(w, `{"auth":{"client_token":%q}}`, token)
		case at == "/v1/secret/data/web" && r.Header.Get("X-Vault-Token") == token:
			fmt.Fprintf(w, `{"data":{"data":{"v":%q,"windows":%q},"metadata":{"version":1}}}`, kept, windows)
		case at == "/pdb/query/v4" && r.Header.Get("X-Key") == key && strings.Contains(string(body), "nodes"):
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `[{"certname":"host1"}]`)
		case at == "/state" && password == backend:
			io.WriteString(w, `{"version": 4, "resources": []}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"errors":[%q]}`, fmt.Sprint(r.Header, password, string(body)))
		}
	}))
	t.Cleanup(server.Close)
	machine := winrmtest.New(t, winrmtest.Options{User: "Operator", Password: windows, Machine: &winrmtest.Machine{Home: t.TempDir(), Temp: t.TempDir()}})
	d.env = append([]string{"CANARY_LOGIN=" + login, "CANARY_KEY=" + key, "CANARY_EXEC=" + secrets.new("exec"), "TF_HTTP_USERNAME=bob", "TF_HTTP_PASSWORD=" + backend}, d.env...)
	d.write("bolt-project.yaml", fmt.Sprintf(`
name: p
audit: {path: audit.jsonl, required: true}
log: {trace.log: {level: trace, append: true}, console: {level: trace}}
plugins:
  vault: {server_url: %[1]q, auth: {method: userpass, user: bob, pass: {_plugin: env_var, var: CANARY_LOGIN}}}
  ansible: {vault_password_file: vault-password}
puppetdb: {server_urls: [%[1]q], headers: {X-Key: {_plugin: env_var, var: CANARY_KEY}}}
`, server.URL), 0o600)
	unlock := secrets.new("password of ansible-vault")
	d.write("vault-password", unlock+"\n", 0o600)
	d.write("tells", "#!/bin/sh\necho \"told: $*\" >&2\nexit 4\n", 0o700)
	d.write("infra/.terraform/terraform.tfstate", fmt.Sprintf(`{"version": 3, "backend": {"type": "http", "config": {"address": %q}}}`, server.URL+"/state"), 0o600)
	d.write("refused/.terraform/terraform.tfstate", fmt.Sprintf(`{"version": 3, "backend": {"type": "http", "config": {"address": %q}}}`, server.URL+"/refused"), 0o600)
	d.write("hosts", "web1 ansible_host=host1 ansible_password=\"canary-of-an-inventory\" some=thing\n", 0o600)
	secrets["inventory of Ansible"] = "canary-of-an-inventory"
	const ofVault = "{_plugin: vault, path: secret/web, field: %s, version: 2}"
	known, ofWindows := fmt.Sprintf(ofVault, "v"), fmt.Sprintf(ofVault, "windows")
	hidden := fmt.Sprintf(`{_plugin: ansible, vaulted: "%s"}`, vaulted(t, unlock, secrets.new("encrypted by ansible-vault")))
	d.write("inventory.yaml", fmt.Sprintf(`
groups:
  - name: database
    targets: {_plugin: puppetdb, query: "nodes[certname] {}"}
    vars: {v: %[1]s, all: {_plugin: vault, path: secret/web, version: 2}, list: [%[3]s]}
    facts: {f: %[1]s}
    config: {ssh: {connect-timeout: 5, password: {_plugin: exec, command: [printenv, CANARY_EXEC], format: text}, sudo-password: %[3]s}}
  - name: machines
    targets: {_plugin: terraform, dir: infra, resource_type: x, target_mapping: {uri: y}}
  - {_plugin: ansible, path: hosts, as: groups}
  - name: others
    targets:
      - {name: win, uri: "winrm://127.0.0.1:%[4]d", config: {winrm: {user: Operator, ssl: false, password: %[2]s}}}
      - {name: winwrong, uri: "winrm://127.0.0.1:%[4]d", config: {winrm: {user: Operator, ssl: false, password: %[1]s}}}
      - {name: system, uri: "ssh://127.0.0.1:1", config: {ssh: {native-ssh: true, run-as: root, sudo-password: %[1]s}}}
      - {name: box, uri: "podman://canary-no-such-box", vars: {v: %[3]s}}
      - {name: dock, uri: "docker://canary-no-such-box", vars: {v: %[1]s}}
`, known, ofWindows, hidden, machine.Port), 0o600)
	for name, ref := range map[string]string{
		"exec.yaml":      fmt.Sprintf("{_plugin: exec, command: [./tells, %s, --password=x], environment: {PW: %s}}", hidden, known),
		"vault.yaml":     "{_plugin: vault, path: secret/none, field: v, version: 2}",
		"terraform.yaml": "{_plugin: terraform, dir: refused, resource_type: x, target_mapping: {uri: y}}",
		"puppetdb.yaml":  `{_plugin: puppetdb, query: "facts[certname] {}"}`,
		"ansible.yaml":   fmt.Sprintf(`{_plugin: ansible, vault_password_file: tells, vaulted: "%s"}`, vaulted(t, "another", "x")),
		"number.yaml":    fmt.Sprintf("{_plugin: exec, command: [printenv], timeout: %s}", known),
	} {
		d.write(name, "targets: [{name: host1, vars: {known: "+known+", key: "+hidden+", v: "+ref+"}}]\n", 0o600)
	}
	const human, data, events = "human", "json", "ndjson"
	commands := []struct {
		args    []string
		ok      bool
		formats []string
	}{
		{[]string{"inventory", "show", "--detail", "-t", "all"}, true, []string{human, data}},
		{[]string{"inventory", "show", "-q", "facts[certname] {}"}, false, []string{data}},
		{[]string{"command", "run", "true", "-t", "host1"}, true, []string{human, events}},
		{[]string{"command", "run", "echo here", "-t", "win"}, true, []string{human, events}},
		{[]string{"command", "run", "true", "-t", "winwrong"}, false, []string{human, events}},
		{[]string{"command", "run", "true", "-t", "system,box,dock"}, false, []string{human, events}},
		{[]string{"facts", "collect", "-t", "host1"}, true, []string{human, events}},
		{[]string{"facts", "show", "-t", "host1"}, true, []string{human, data}},
		{[]string{"facts", "collect", "--from", "puppetdb", "-t", "host1"}, false, []string{human, events}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "exec.yaml"}, false, []string{data}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "vault.yaml"}, false, []string{data}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "terraform.yaml"}, false, []string{data}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "puppetdb.yaml"}, false, []string{data}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "ansible.yaml"}, false, []string{data}},
		{[]string{"inventory", "show", "--detail", "-t", "all", "-i", "number.yaml"}, false, []string{data}},
		{[]string{"audit", "show"}, true, []string{human, data}},
	}
	for _, c := range commands {
		for _, format := range c.formats {
			args := append(c.args, "--format", format)
			if c.args[0] != "audit" {
				args = append(args, "--trace", "--log-level", "trace")
			}
			out, code := d.bolt(args...)
			if ok := code == 0; ok != c.ok {
				t.Errorf("bolt %q ended with %d:\n%s", args, code, out)
			}
			if found := secrets.in([]byte(out)); found != nil {
				t.Errorf("bolt %q shows the secrets of %q:\n%s", args, found, out)
			}
		}
	}
	if out := d.works("inventory", "show", "--detail", "-t", "host1", "--format", "json"); strings.Count(out, "[redacted]") < 6 {
		t.Errorf("the secrets are not where they are looked for:\n%s", out)
	}
	if text := readFile(t, d.dir+"/audit.jsonl"); strings.Contains(text, `"action":"facts"`) || !strings.Contains(text, `"object":"facts"`) {
		t.Errorf("what was recorded of facts is not what was done on targets:\n%s", text)
	}
	if looked := secrets.inFiles(t, d, "vault-password", "hosts"); looked < 15 {
		t.Errorf("looked into %d files only", looked)
	}
}
