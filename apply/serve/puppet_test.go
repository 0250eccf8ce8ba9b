package serve_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"bolt/apply/frame"
	"bolt/apply/plugins"
	"bolt/apply/report"
	"bolt/apply/serve"
)

// fakePuppet writes the program puppet, which runs a script, into a directory, and returns PATH.
func fakePuppet(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	head := "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --lastrunreport) report=$2;; --modulepath) modules=$2;; --catalog) catalog=$2;; esac; shift; done\n"
	if err := os.WriteFile(filepath.Join(dir, "puppet"), []byte(head+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":/usr/bin:/bin"
}

func puppetRun(run string) serve.Request {
	return serve.Request{Run: run, Engine: serve.EnginePuppet}
}

func TestPuppetEngine(t *testing.T) {
	m := machine(t, newFake())
	c := text(t, exec("a"), exec("b"), map[string]any{"type": "Mine", "title": "m"})
	m.Env = []string{"PATH=" + t.TempDir()}
	a := apply(t, m, puppetRun("none"), pack(t, c))
	if a.code != serve.ExitRefused || a.done.Refused.Kind != frame.KindEngine || !strings.Contains(a.done.Refused.Messages[0], "no Puppet is installed there") {
		t.Errorf("without Puppet: %+v", a.done)
	}
	seen := filepath.Join(t.TempDir(), "seen")
	m.Env = []string{fakePuppet(t, `cat $modules/x/lib/code.rb >`+seen+`; stat -c %a $catalog >>`+seen+`
echo '{"status": "changed", "resource_statuses": {"Exec[a]": {"changed": true, "events": [{"property": "returns", "status": "success", "message": "ran"}]}, "Exec[b]": {}, "Mine[m]": {"failed": true}},
"logs": [{"level": "warning", "source": "Puppet", "message": "beware"}]}' >$report`)}
	code, err := plugins.Pack([]plugins.Module{{Name: "x", Lib: fstest.MapFS{"code.rb": &fstest.MapFile{Data: []byte("code\n")}}}})
	if err != nil {
		t.Fatal(err)
	}
	q := puppetRun("first")
	q.Plugins = fmt.Sprintf("%x", sha256.Sum256(code))
	if a := apply(t, m, q, pack(t, c)); a.code != serve.ExitNeed || !slices.Equal(a.need.Contents, []string{q.Plugins}) {
		t.Fatalf("it needs no plugins: %+v", a)
	}
	p := frame.NewPacker()
	if err := p.Raw(frame.TypeCatalog, c); err != nil {
		t.Fatal(err)
	}
	if err := p.Content(q.Plugins, code); err != nil {
		t.Fatal(err)
	}
	in, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	check := func(a *answer) {
		t.Helper()
		if a.done == nil || a.done.Counts != (frame.Counts{Changed: 1, Unchanged: 1, Failed: 1}) || a.code != serve.ExitFailed || a.status["Exec[a]"] != report.Changed || a.status["Mine[m]"] != report.Failed || a.logs != 1 {
			t.Errorf("%+v", a)
		}
		if got, err := os.ReadFile(seen); string(got) != "code\n600\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if left, err := os.ReadDir(filepath.Join(m.Dir, "incoming")); len(left) > 0 || err != nil {
			t.Errorf("%v, %v", left, err)
		}
	}
	check(apply(t, m, q, in))
	q.Run = "second"
	check(apply(t, m, q, pack(t, c))) // it has the plugins
	var out bytes.Buffer
	if fate := read(t, "first", m.Asked("first", false, &out), &out).fate; fate.State != frame.StateEnded || len(fate.Ended) != 2 {
		t.Errorf("%+v", fate)
	}

	m.Env = []string{fakePuppet(t, "echo 'Error: no such type' >&2; exit 1")}
	a = apply(t, m, puppetRun("refused"), pack(t, c))
	if a.code != serve.ExitRefused || a.done.Refused.Kind != frame.KindCatalog || a.done.Refused.Messages[0] != "Puppet: no such type" {
		t.Errorf("%+v", a.done.Refused)
	}
	out.Reset()
	if fate := read(t, "refused", m.Asked("refused", false, &out), &out).fate; fate.State != frame.StateEnded {
		t.Errorf("%+v", fate)
	}
}
