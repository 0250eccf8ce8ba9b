package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"bolt/apply/agent"
	"bolt/apply/plugins"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
)

func parse(t *testing.T, v any) *catalog.Catalog {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type m = map[string]any

func declared(ref string, params m) m {
	r, err := catalog.ParseRef(ref)
	if err != nil {
		panic(err)
	}
	return m{"type": r.Type, "title": r.Title, "kind": "compilable_type", "tags": []string{strings.ToLower(r.Type)}, "parameters": params}
}

// A reply is a host whose puppet writes a report and prints a text.
func reply(printed string, code int, reported any) (*resource.Host, *[]string) {
	h := resource.NewHost()
	var argv []string
	h.Run = func(_ context.Context, c *resource.Command) (*resource.Output, error) {
		argv = c.Argv
		if !c.Session {
			return nil, errors.New("it can be interrupted")
		}
		if reported != nil {
			text, err := json.Marshal(reported)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(argv[slices.Index(argv, "--lastrunreport")+1], text, 0o600); err != nil {
				return nil, err
			}
		}
		return &resource.Output{Stderr: []byte(printed), Code: code}, nil
	}
	return h, &argv
}

func line(r *report.Result) string {
	text := fmt.Sprintf("%s %s", r.Ref, r.Status)
	if r.Refreshed {
		text += " refreshed"
	}
	if r.Generated {
		text += " from " + r.Parent.String()
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	for _, e := range r.Events {
		text += fmt.Sprintf("; %s %s %s %s -> %s (%s)%s", e.Property, e.Name, e.Outcome, e.Is, e.Should, e.Message, strings.ReplaceAll(e.Diff, "\n", "|"))
	}
	return text
}

func TestReport(t *testing.T) {
	c := parse(t, m{"name": "n", "resources": []any{
		declared("File[/a]", m{"content": "new"}),
		declared("File[/d/]", m{"recurse": true}),
		declared("Exec[x]", m{"command": "/bin/x"}),
		declared("Exec[y]", m{"command": "/bin/y"}),
		declared("Mine[m]", m{"value": []any{"sword", "swordfish"}}),
		declared("Mine[late]", m{}),
		declared("Schedule[s]", m{}),
		declared("Resources[cron]", m{"purge": true}),
	}})
	c.Find(catalog.Ref{Type: "Mine", Title: "m"}).Sensitive = []string{"value"}
	event := func(property, name, status string, more m) m {
		e := m{"audited": false, "property": property, "name": name, "status": status, "message": name + " done", "time": "2026-01-02T03:04:05.000000006+00:00"}
		for k, v := range more {
			e[k] = v
		}
		return e
	}
	status := func(path string, more m, events ...any) m {
		s := m{"containment_path": []string{"Stage[main]", "Main", path}, "evaluation_time": 0.5, "time": "2026-01-02T03:04:05+00:00", "events": events}
		for k, v := range more {
			s[k] = v
		}
		return s
	}
	log := func(level, source, message string) m {
		return m{"level": level, "source": source, "message": message, "time": "2026-01-02T03:04:05+00:00"}
	}
	h, argv := reply("", 6, m{"status": "failed", "resource_statuses": m{
		"File[/a]":    status("File[/a]", m{"changed": true}, event("content", "content_changed", "success", m{"previous_value": "{md5}0", "desired_value": "e21kNX0x"})),
		"File[/d]":    status("File[/d]", m{"changed": true}, event("mode", "mode_changed", "success", m{"previous_value": "0750", "desired_value": "0755"})),
		"File[/d/x]":  status("File[/d/x]", m{"changed": true}, event("ensure", "file_created", "success", nil)),
		"File[/d/y]":  status("File[/d/y]", m{}),
		"Exec[x]":     status("Exec[x]", m{"failed": true, "changed": true}, event("returns", "executed_command", "success", nil), m{"property": nil, "name": "resource_error", "status": "failure", "message": "it is swordfish", "time": "2026-01-02T03:04:05+00:00"}),
		"Exec[y]":     status("Exec[y]", m{"skipped": true}),
		"Mine[m]":     status("Mine[m]", m{"changed": true}, event("value", "value_changed", "noop", m{"previous_value": "a", "desired_value": "b"}), event("", "refresh", "success", nil)),
		"Schedule[s]": status("Schedule[s]", m{"skipped": true}),
		"Cron[c]":     status("Cron[c]", m{"changed": true}, event("ensure", "removed", "success", nil)),
	}, "logs": []any{
		log("notice", "/Stage[main]/Main/File[/a]/content", "\n--- /a\t2026\n+++ /tmp/puppet-file-1\t2026\n@@ -1 +1 @@\n-old\n+new\n"),
		log("notice", "/Stage[main]/Main/File[/a]/content", "content_changed done"),
		log("notice", "/Stage[main]/Main/Exec[x]/returns", "a line"),
		log("notice", "/Stage[main]/Main/Exec[y]", "Dependency Exec[x] has failures: true"),
		log("warning", "/Stage[main]/Main/Exec[y]", "Skipping because of failed dependencies"),
		log("alert", "Puppet", "swordfish is wrong"),
		log("notice", "Class[Main]", "Would have triggered 'refresh' from 1 event"),
		log("notice", "Puppet", "Applied catalog in 0.1 seconds"),
		log("notice", "Puppet", "the text of a notify"),
	}})
	var got []string
	job := &agent.Job{Catalog: c, Dir: t.TempDir(), Noop: true, Tags: []string{"a", "b"}, SkipTags: []string{"c"}}
	err := job.Apply(t.Context(), h, "/bin/puppet",
		func(r *report.Result) { got = append(got, line(r)) },
		func(l *report.Log) { got = append(got, fmt.Sprintf("%s %s: %s", l.Level, l.Ref, l.Message)) })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"notice Exec[x]: a line",
		"err : [redacted] is wrong",
		"notice : the text of a notify",
		"File[/a] changed; content content_changed success {md5}0 -> {md5}1 (content_changed done)--- /a|+++ /a|@@ -1 +1 @@|-old|+new|",
		"File[/d/] changed; mode mode_changed success 0750 -> 0755 (mode_changed done)",
		"Exec[x] failed; returns executed_command success  ->  (executed_command done);  resource_error failure  ->  (it is [redacted])",
		"Exec[y] skipped: Exec[x] failed",
		"Mine[m] noop refreshed; value value_changed noop [redacted] -> [redacted] (value_changed done);  refresh success  ->  (refresh done)",
		"Mine[late] skipped: Puppet ended before it came to the resource",
		"Resources[cron] skipped: Puppet ended before it came to the resource",
		"Cron[c] changed from Resources[cron]; ensure removed success  ->  (removed done)",
		"File[/d/x] changed from File[/d/]; ensure file_created success  ->  (file_created done)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	args := strings.Join(*argv, " ")
	for _, want := range []string{"--noop", "--tags a,b", "--skip_tags c", "--no-show_diff"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q lacks %q", args, want)
		}
	}
	if strings.Contains(args, "swordfish") {
		t.Errorf("%q", args)
	}
}

func TestRefused(t *testing.T) {
	c := parse(t, m{"name": "n", "resources": []any{declared("Mine[m]", m{"value": m{"__ptype": "Sensitive", "__pvalue": "swordfish"}})}})
	for name, test := range map[string]struct {
		printed  string
		reported any
		want     string
	}{
		"no report":        {"Error: Facter: no\nError: Could not run: the type swordfish\n", nil, "Puppet: Could not run: the type [redacted]"},
		"no error":         {"strange\n", nil, "Puppet: strange"},
		"nothing":          {"", nil, "Puppet ended with exit code 1 and printed nothing"},
		"failed as whole":  {"", m{"status": "failed", "logs": []any{m{"level": "err", "message": "Found 1 dependency cycle"}}}, "Puppet: Found 1 dependency cycle"},
		"without a reason": {"", m{"status": "failed"}, "Puppet failed, and its report has no reason"},
	} {
		h, _ := reply(test.printed, 1, test.reported)
		err := (&agent.Job{Catalog: c, Dir: t.TempDir()}).Apply(t.Context(), h, "/bin/puppet", func(*report.Result) { t.Error(name, ": a result") }, func(*report.Log) {})
		var refused *agent.RefusedError
		if !errors.As(err, &refused) || err.Error() != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFind(t *testing.T) {
	h := resource.NewHost()
	h.Root, h.Env = t.TempDir(), []string{"PATH=/usr/bin:/bin"}
	if _, err := agent.Find(h); !errors.Is(err, agent.ErrNoPuppet) {
		t.Errorf("%v", err)
	}
	for _, dir := range []string{agent.Install, "/usr/bin"} {
		if err := os.MkdirAll(filepath.Join(h.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Root, dir, "puppet"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := agent.Find(h); got != dir+"/puppet" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestPuppet applies a catalog with the real Puppet: contents of sources, a tree, a type that only Ruby knows.
func TestPuppet(t *testing.T) {
	puppet, err := exec.LookPath("puppet")
	if err != nil {
		t.Log(err)
		return
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	program := filepath.Join(dir, "puppet")
	script := fmt.Sprintf("#!/bin/sh\nverb=$1; shift\nexec %s \"$verb\" --confdir %s --vardir %s/var \"$@\"\n", puppet, conf, dir)
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	contents := make(map[string]string)
	meta := func(relative, text string) m {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		contents[sum] = text
		return m{"path": "/nowhere", "relative_path": relative, "links": "manage", "owner": 0, "group": 0, "mode": 0o640, "type": "file", "checksum": m{"type": "sha256", "value": "{sha256}" + sum}}
	}
	one := meta("", "one\n")
	one["relative_path"], one["source"] = nil, "puppet:///modules/m/one"
	root := m{"path": "/nowhere", "relative_path": ".", "links": "manage", "owner": 0, "group": 0, "mode": 0o755, "type": "directory", "checksum": m{"type": "", "value": ""}}
	sub := m{"path": "/nowhere", "relative_path": "sub", "links": "manage", "owner": 0, "group": 0, "mode": 0o755, "type": "directory", "checksum": m{"type": "", "value": ""}}
	at := func(name string) string { return filepath.Join(dir, name) }
	c := parse(t, m{
		"name": "n1", "resources": []any{
			m{"type": "Stage", "title": "main", "kind": "compilable_type"}, m{"type": "Class", "title": "main", "kind": "unknown"},
			declared("File["+at("one")+"]", m{"source": "puppet:///modules/m/one"}),
			declared("File["+at("tree")+"]", m{"ensure": "directory", "recurse": true, "source": "puppet:///modules/m/tree"}),
			declared("Mine["+at("mine")+"]", m{"content": "text"}),
			m{"type": "File", "title": at("secret"), "kind": "compilable_type", "parameters": m{"content": "swordfish"}, "sensitive_parameters": []string{"content"}},
		},
		"edges":              []any{m{"source": "Stage[main]", "target": "Class[main]"}},
		"metadata":           m{at("one"): one},
		"recursive_metadata": m{at("tree"): m{"puppet:///modules/m/tree": []any{root, sub, meta("sub/x", "two\n")}}},
	})
	code, err := plugins.Pack([]plugins.Module{{Name: "m", Lib: fstest.MapFS{"puppet/type/mine.rb": &fstest.MapFile{Data: []byte(`
Puppet::Type.newtype(:mine) do
  newparam(:name, :namevar => true)
  newproperty(:content) do
    def retrieve; File.exist?(resource[:name]) ? File.read(resource[:name]) : :absent; end
    def set(v); File.write(resource[:name], v); end
  end
end
`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(noop bool, tags ...string) (lines []string) {
		h := resource.NewHost()
		h.Env = os.Environ()
		h.Content = func(sum string) (io.ReadCloser, error) {
			if text, has := contents[sum]; has {
				return io.NopCloser(strings.NewReader(text)), nil
			}
			return nil, fs.ErrNotExist
		}
		job := &agent.Job{Catalog: c, Dir: t.TempDir(), Plugins: strings.NewReader(string(code)), Noop: noop, Tags: tags}
		err := job.Apply(t.Context(), h, program, func(r *report.Result) {
			for _, e := range r.Events {
				if strings.Contains(e.Is+e.Should+e.Message+e.Diff, "swordfish") {
					t.Errorf("%+v", e)
				}
			}
			lines = append(lines, strings.ReplaceAll(fmt.Sprintf("%s %s", r.Ref, r.Status), dir+"/", ""))
		}, func(l *report.Log) {
			if l.Level == report.Err || strings.Contains(l.Message, "swordfish") {
				t.Errorf("%+v", l)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	declaredOnly := func(s report.Status) []string {
		return []string{fmt.Sprint("File[one] ", s), fmt.Sprint("File[tree] ", s), fmt.Sprint("Mine[mine] ", s), fmt.Sprint("File[secret] ", s)}
	}
	below := func(s report.Status) []string {
		return append(declaredOnly(s), fmt.Sprint("File[tree/sub/x] ", s), fmt.Sprint("File[tree/sub] ", s))
	}
	check := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", what, got)
		}
	}
	check("noop", apply(true), below(report.Noop))
	check("tags", apply(false, "mine"), []string{"File[one] skipped", "File[tree] skipped", "Mine[mine] changed", "File[secret] skipped"})
	if err := os.Remove(at("mine")); err != nil {
		t.Fatal(err)
	}
	check("first", apply(false), below(report.Changed))
	contents = nil // the machine has them
	check("again", apply(false), declaredOnly(report.Unchanged))
	for name, want := range map[string]string{"one": "one\n", "tree/sub/x": "two\n", "mine": "text", "secret": "swordfish"} {
		if got, err := os.ReadFile(at(name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestStop checks that the end of a run can be requested before Puppet has come to a resource: it is not a refusal of the catalog. Programs that
// Puppet starts have the RUBYOPT of the host.
func TestStop(t *testing.T) {
	c := parse(t, m{"name": "n", "resources": []any{declared("Exec[x]", m{"command": "/bin/x"})}})
	stop := filepath.Join(t.TempDir(), "run.stop")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, _ := reply("", 1, m{"status": "failed", "resource_statuses": m{}})
	h.Env = []string{"RUBYOPT=-W0", "LANG=C"}
	run := h.Run
	var env []string
	h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		env = c.Env
		return run(ctx, c)
	}
	job := &agent.Job{Catalog: c, Dir: t.TempDir(), Stop: stop}
	var got []string
	err := job.Apply(t.Context(), h, "/bin/puppet", func(r *report.Result) { got = append(got, line(r)) }, func(*report.Log) {})
	if err != nil || !slices.Equal(got, []string{"Exec[x] skipped: Puppet ended before it came to the resource"}) {
		t.Errorf("%q, %v", got, err)
	}
	if want := []string{"RUBYOPT=-r" + filepath.Join(job.Dir, "stop.rb") + " -W0", "BOLT_STOP=" + stop, "BOLT_RUBYOPT=-W0", "LANG=C"}; !slices.Equal(env, want) {
		t.Errorf("%q", env)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Fatalf("%v; scripts/setup.sh installs Ruby", err)
	}
	cmd := exec.CommandContext(t.Context(), ruby, "-e", "$stdout.sync = true; module Puppet; class Application; def self.stop!; puts [ENV['RUBYOPT'], ENV['BOLT_STOP']].inspect; exit!(true); end; end; end; sleep")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); string(out) != "[\"-W0\", nil]\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
