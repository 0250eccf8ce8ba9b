package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/internal/sshtest"
)

// canaries are secrets by their sources.
type canaries map[string]string

// new returns a secret that occurs nowhere else.
func (v canaries) new(place string) string {
	v[place] = "canary-" + rand.Text()
	return v[place]
}

// in lists the sources whose secrets are in a text.
func (v canaries) in(text []byte) (places []string) {
	for place, secret := range v {
		if bytes.Contains(text, []byte(secret)) {
			places = append(places, place)
		}
	}
	return places
}

// inFiles searches for the secrets in all files of a desk, except the files named in
// but. looked is the number of searched files.
func (v canaries) inFiles(t *testing.T, d *desk, but ...string) (looked int) {
	t.Helper()
	for _, dir := range []string{d.dir, filepath.Dir(d.socket())} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || slices.Contains(but, e.Name()) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if looked++; v.in(text) != nil {
				t.Errorf("%s has the secrets of %q", path, v.in(text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"trace.log", "bolt-debug.log", "audit.jsonl", ".rerun.json"} {
		if info, err := os.Stat(filepath.Join(d.dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("there is nothing in %s, so looking there shows nothing: %v", name, err)
		}
	}
	return looked
}

// write writes a file of the desk's project.
func (d *desk) write(name, text string, mode fs.FileMode) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
}

// TestSecretSources uses secrets from every source in many ways, and searches for them
// in all output and in all written files, except the plugin cache, which is configured
// to contain them.
func TestSecretSources(t *testing.T) {
	d := newDesk(t, sshtest.Start(t, sshtest.Options{}))
	secrets := canaries{}
	for _, name := range []string{"MODULE", "CACHED", "PASSWORD", "KEYDATA", "CONFIGURED"} {
		d.env = append([]string{"CANARY_" + name + "=" + secrets.new(name)}, d.env...)
	}
	write := func(name, text string) { t.Helper(); d.write(name, text, 0o600) }
	write("bolt-project.yaml", "name: p\n")
	d.works("secret", "createkeys")
	encrypted := func(place string) string {
		t.Helper()
		cmd := d.command("secret", "encrypt", "-")
		cmd.Stdin = strings.NewReader(secrets.new(place))
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("{_plugin: pkcs7, encrypted_value: '%s'}", bytes.TrimSpace(text))
	}
	write("bolt-project.yaml", fmt.Sprintf(`
name: p
modulepath: [modules]
audit: {path: audit.jsonl, required: true}
log: {trace.log: {level: trace, append: true}, console: {level: trace}}
plugins: {m: {token: %s}}
puppetdb: {server_urls: ["http://127.0.0.1:1"], token: %s}
`, encrypted("plugins"), encrypted("puppetdb")))
	write("modules/m/bolt_plugin.json", `{"sensitive": true}`)
	write("modules/m/tasks/resolve_reference.sh", `#!/bin/sh
[ -n "$PT_token" ] || exit 7
if [ "$PT_which" = FAILS ]; then
	echo "{\"_error\": {\"kind\": \"m/refused\", \"msg\": \"refused: $PT_token, $PT_given\", \"details\": {\"token\": \"$PT_token\"}}}"
	exit 1
fi
eval "echo \"{\\\"value\\\": \\\"\$CANARY_$PT_which\\\"}\""
`)
	write("modules/m/tasks/resolve_reference.json", `{"parameters": {"which": {"type": "String"}, "token": {"type": "Optional[String]"}, "given": {"type": "Optional[String]"}}}`)
	write("modules/m/tasks/use.sh", "#!/bin/sh\necho \"{\\\"length\\\": ${#PT_pw}}\"\n[ -z \"$PT_fail\" ] || exit 5\n")
	write("modules/m/tasks/use.json", `{"parameters": {"pw": {"type": "String", "sensitive": true}, "fail": {"type": "Optional[Boolean]"}}}`)
	write("modules/m/tasks/device.sh", "#!/bin/sh\ncase \"$PT__target\" in *canary*) echo '{\"seen\": true}';; *) exit 6;; esac\n")
	write("modules/m/tasks/device.json", `{"remote": true}`)
	write("modules/m/plans/use.pp", `
plan m::use(Sensitive[String] $given) {
  $t = get_target('host1')
  $pk = $t.vars['pk']
  unless $pk =~ /^canary-/ { fail_plan('the variable is not what it is') }
  run_task('m::use', $t, pw => $pk)
  run_task('m::use', $t, pw => $given)
  run_command('test ${#PW} -gt 20', $t, _env_vars => { 'PW' => Sensitive($t.vars['mod']) })
  run_task('m::use', $t, pw => $pk, fail => true, _catch_errors => true)
  return run_command('exit 3', $t, _catch_errors => true)
}
`)
	write("modules/m/plans/line.pp", "plan m::line() {\n  $t = get_target('host1')\n  $r = run_command(\"true ${t.vars['pk']}\", $t)\n  return $r.ok\n}\n")
	write("modules/m/plans/printed.pp", "plan m::printed() {\n  $t = get_target('host1')\n  return run_command(\"echo ${t.vars['pk']}\", $t)\n}\n")
	write("modules/m/plans/said.pp", `
plan m::said(String $ends) {
  $t = get_target('host1')
  $pk = $t.vars['pk']
  out::message("said ${pk}")
  out::verbose("verbose ${pk}")
  notice("noticed ${pk}")
  warning("warned ${pk}")
  case $ends {
    'fail_plan': { fail_plan("failed ${pk}", 'm/kind', { 'deep' => [{ 'pk' => $pk }] }) }
    'fail': { fail("failed ${pk}") }
    'command': { run_command("true ${pk}; exit 3", $t) }
    'parallel': { parallelize([1, 2]) |$n| { run_command("true ${pk}; exit 3", $t, "described ${pk}") } }
    default: { return Error("failed ${pk}", 'm/kind') }
  }
}
`)
	write("inventory.yaml", fmt.Sprintf(`
targets:
  - uri: host1
    vars:
      pk: %s
      mod: {_plugin: m, which: MODULE}
      cached: {deep: [{_plugin: m, which: CACHED, _cache: {ttl: 600}}]}
    facts: {token: %s}
    config:
      ssh: {password: {_plugin: m, which: PASSWORD}, sudo-password: %s, connect-timeout: 5}
  - name: device
    uri: remote://device
    config: {transport: remote, remote: {run-on: host1, token: %s, login: {_plugin: m, which: CONFIGURED}}}
  - name: badkey
    uri: ssh://host9
    config: {ssh: {user: nobody, private-key: {key-data: {_plugin: m, which: KEYDATA}}, batch-mode: true}}
  - name: broken
    vars: {v: {_plugin: m, which: FAILS, given: %s}}
`, encrypted("var"), encrypted("fact"), encrypted("sudo"), encrypted("device"), encrypted("given to a plugin")))
	given := secrets.new("parameter")
	commands := []struct {
		args []string
		ok   bool
		list bool // the command prints a list, so it does not have ndjson
	}{
		{[]string{"inventory", "show", "--detail", "-t", "host1,device,badkey"}, true, true},
		{[]string{"inventory", "show", "--detail", "-t", "broken"}, false, true},
		{[]string{"inventory", "show", "-q", "nodes[certname] { }"}, false, true},
		{[]string{"command", "run", "true", "-t", "host1"}, true, false},
		{[]string{"command", "run", "exit 3", "-t", "host1,badkey,broken"}, false, false},
		{[]string{"command", "run", "id -un", "-t", "host1", "--run-as", "root"}, true, false},
		{[]string{"task", "run", "m::use", "pw=" + given, "-t", "host1"}, true, false},
		{[]string{"task", "run", "m::use", "pw=" + given, "fail=true", "-t", "host1"}, false, false},
		{[]string{"task", "run", "m::use", "--params", `{"pw": ["` + given + `"]}`, "-t", "host1"}, false, false},
		{[]string{"task", "run", "m::device", "-t", "device"}, true, false},
		{[]string{"plan", "run", "m::use", "given=" + given, "--journal"}, true, false},
		{[]string{"plugin", "show"}, true, true},
		{[]string{"plan", "runs"}, true, true},
		{[]string{"audit", "show"}, true, true},
	}
	for _, c := range commands {
		for _, format := range []string{"human", "json", "ndjson"} {
			if c.list && format == "ndjson" {
				continue
			}
			out, code := d.bolt(append(c.args, "--format", format, "--trace", "--log-level", "trace")...)
			if c.args[0] == "plugin" || c.args[0] == "audit" || c.args[0] == "plan" && c.args[1] == "runs" {
				out, code = d.bolt(append(c.args, "--format", format)...)
			}
			if ok := code == 0; ok != c.ok {
				t.Errorf("bolt %q --format %s ended with %d:\n%s", c.args[:2], format, code, out)
			}
			if found := secrets.in([]byte(out)); found != nil {
				t.Errorf("bolt %q --format %s shows the secrets of %q:\n%s", c.args[:2], format, found, out)
			}
		}
	}
	out, _ := d.bolt("plan", "run", "m::use", "given="+given, "--log-level", "warn")
	if !strings.Contains(out, "exit code 3") && !strings.Contains(out, "Failed on") {
		t.Errorf("the plan did not come to its end:\n%s", out)
	}
	if found := secrets.in([]byte(readFile(t, filepath.Join(d.dir, ".plugin_cache.json")))); len(found) != 1 || found[0] != "CACHED" {
		t.Errorf("the cache has the secrets of %q, so looking for them elsewhere shows nothing", found)
	}
	if looked := secrets.inFiles(t, d, ".plugin_cache.json"); looked < 20 {
		t.Errorf("looked into %d files only", looked)
	}
	// A secret that a plan writes into a command line, a message or an error is not
	// shown, however the plan ends.
	for _, format := range []string{"human", "json", "ndjson"} {
		for plan, want := range map[string]string{"m::line": "true", "m::said ends=fail_plan": "failed [redacted]", "m::said ends=fail": "failed [redacted]",
			"m::said ends=command": "said [redacted]", "m::said ends=parallel": "said [redacted]", "m::said ends=error": "failed [redacted]"} {
			out, code := d.bolt(append([]string{"plan", "run", "--verbose", "--journal", "--format", format, "--log-level", "trace"}, strings.Fields(plan)...)...)
			if found := secrets.in([]byte(out)); found != nil || code == 0 != (plan == "m::line" || plan == "m::said ends=error") || !strings.Contains(out, want) {
				t.Errorf("bolt plan run %s --format %s ended with %d, has the secrets of %q:\n%s", plan, format, code, found, out)
			}
			if format != "json" && strings.HasSuffix(plan, "command") && !strings.Contains(out, "true [redacted]; exit 3") {
				t.Errorf("bolt plan run %s --format %s does not show the step:\n%s", plan, format, out)
			}
		}
	}
	if out := d.works("plan", "runs", "--format", "json"); secrets.in([]byte(out)) != nil || !strings.Contains(out, "failed [redacted]") {
		t.Errorf("bolt plan runs:\n%s", out)
	}
	log := readFile(t, filepath.Join(d.dir, "trace.log"))
	if found := secrets.in([]byte(log)); found != nil || !strings.Contains(log, "noticed [redacted]") {
		t.Errorf("trace.log has the secrets of %q", found)
	}
	// The output of a command and the value of the plan are shown unchanged.
	if out := d.works("plan", "run", "m::printed", "--format", "json"); strings.Count(out, "canary-") < 3 || !strings.Contains(out, `"object":"echo canary-`) {
		t.Errorf("the plan did not use its variable:\n%s", out)
	}
	text := readFile(t, filepath.Join(d.dir, "audit.jsonl"))
	if found := secrets.in([]byte(text)); found != nil || !strings.Contains(text, `"object":"true [redacted]"`) {
		t.Errorf("the audit log has the secrets of %q", found)
	}
}
