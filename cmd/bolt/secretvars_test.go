package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport/transporttest"
)

// secretVars is a plan that gives Sensitive variables and parameters to commands,
// scripts and tasks. It prints the result of each.
const secretVars = `plan site::p(String $secret) {
  ['my-pw', 'db.password', 'PS1', 'ENV', 'IFS', 'BASH_X', '1ST'].each |$name| {
    $c = catch_errors() || { run_command('echo begun', 'via', '_env_vars' => {$name => Sensitive($secret)}) }
    out::message("command ${name}: ${c.kind} ${c.msg}")
    $s = catch_errors() || { run_script('site/s.sh', 'via', '_env_vars' => {$name => {'a' => Sensitive($secret)}}) }
    out::message("script ${name}: ${s.kind} ${s.msg}")
  }
  $t = run_task('site::env', 'via', 'pw' => Sensitive($secret))
  out::message("task: ${t.first['_output']}")
  $g = run_command('test "$PW_1" = "` + secretVarsText + `" && echo it is there', 'via', '_env_vars' => {'PW_1' => Sensitive($secret)})
  out::message("command: ${g.first['stdout']}")
  $o = run_command('printenv PS1', 'via', '_env_vars' => {'PS1' => 'everybody knows'})
  out::message("not secret: ${o.first['stdout']}")
}
`

// secretVarsText is a secret that the text of the plan does not contain in one piece.
const secretVarsText = `"'tr0ub4dor-'"var"`

// TestSecretVariables checks that no Sensitive variable or parameter is in a
// command line on the way to a command under sudo.
func TestSecretVariables(t *testing.T) {
	free := transporttest.Users(t).Free.Name
	const secret = `tr0ub4dor-var`
	server := sshtest.Start(t, sshtest.Options{})
	dir := t.TempDir()
	log := filepath.Join(dir, "sudo.log")
	files := map[string]string{
		"bolt-project.yaml": "name: site\n",
		"inventory.yaml":    fmt.Sprintf("targets: [{name: via, uri: host1}]\nconfig: {ssh: {run-as: %s, sudo-executable: %s}}\n", free, filepath.Join(dir, "sudo")),
		"sudo":              fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >>%s\nexec sudo \"$@\"\n", log),
		"plans/p.pp":        strings.ReplaceAll(secretVars, secretVarsText, `tr0ub4dor""-var`),
		"files/s.sh":        "#!/bin/sh\necho begun\n",
		"tasks/env.json":    `{"input_method": "environment"}`,
		"tasks/env.sh":      "#!/bin/sh\ntest \"$PT_pw\" = tr0ub4dor\"\"-var && echo it has it\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	params := filepath.Join(dir, "params.json")
	if err := os.WriteFile(params, []byte(`{"secret": "`+secret+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var seen []string
	var watching sync.WaitGroup
	watching.Go(func() { seen = watchProcesses(stop, secret) })
	var out lockedBuffer
	err := startBoltIn(t, dir, server, &out, "plan", "run", "site::p", "--params", "@"+params).Wait()
	close(stop)
	watching.Wait()
	said := out.String()
	if err != nil {
		t.Errorf("the plan ended with %v", err)
	}
	for _, name := range []string{"my-pw", "db.password", "PS1", "ENV", "IFS", "BASH_X", "1ST"} {
		for _, what := range []string{"command", "script"} {
			if want := fmt.Sprintf("%s %s: bolt/validation-error The environment variable '%s' is Sensitive", what, name, name); !strings.Contains(said, want) {
				t.Errorf("no %q", want)
			}
		}
	}
	for _, want := range []string{
		"\ntask: it has it\n", "\ncommand: it is there\n", "\nnot secret: everybody knows\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(said, "begun") {
		t.Error("an action with a variable that cannot be kept secret was begun")
	}
	if t.Failed() {
		t.Logf("bolt printed:\n%s", said)
	}
	for _, s := range seen {
		if !strings.Contains(s, "/environ: ") { // which other users cannot read
			t.Errorf("the secret is in %s", s)
		}
	}
	switch line := readFile(t, log); {
	case strings.Contains(line, secret):
		t.Errorf("the secret is in sudo's arguments:\n%s", line)
	case !strings.Contains(line, "everybody knows"):
		t.Errorf("sudo's arguments are not all there, so looking there shows nothing:\n%s", line)
	}
}
