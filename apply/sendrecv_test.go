package apply_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply"
	"bolt/apply/provider"
	"bolt/apply/provider/hosttest"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
)

// TestSendRecv has senders and receivers, which are declared in the wrong order.
func TestSendRecv(t *testing.T) {
	for _, c := range []struct {
		name      string
		noop      bool
		resources []string
		want      string
	}{
		{"the output of a command", false, []string{
			`Value[v] {"recv":{"any":{"kind":"exec","name":"e","key":"output"}}}`,
			`Notify[n] {"recv":{"message":{"kind":"value","name":"v","key":"any"}}}`,
			`Exec[e] {"command":"echo out; echo err >&2","provider":"shell"}`,
		}, "Exec[e] changed returns(notrun -> 0)\nNotify[n] changed message(absent -> out\nerr\n)\n"},
		{"one stream", false, []string{
			`Notify[n] {"recv":{"message":{"kind":"exec","name":"e","key":"stderr"}}}`,
			`Exec[e] {"command":"echo out; echo err >&2","provider":"shell"}`,
		}, "Exec[e] changed returns(notrun -> 0)\nNotify[n] changed message(absent -> err\n)\n"},
		{"a secret", false, []string{
			`Exec[e] {"command":{"sensitive":"echo hunter2"},"provider":"shell"}`,
			`Value[v] {"recv":{"any":{"kind":"exec","name":"e","key":"output"}}}`,
			`Notify[n] {"recv":{"message":{"kind":"value","name":"v","key":"any"}}}`,
		}, "Exec[e] changed returns(notrun -> 0)\nNotify[n] changed message([redacted] -> [redacted])\n"},
		{"a command that does not run", false, []string{
			`Exec[e] {"command":"echo x","provider":"shell","onlyif":"false"}`,
			`Notify[n] {"recv":{"message":{"kind":"exec","name":"e","key":"output"}}}`,
			`Notify[m] {"recv":{"message":{"kind":"value","name":"v","key":"any"}}}`,
			`Value[v] {"recv":{"any":{"kind":"exec","name":"e","key":"output"}}}`,
		}, "Notify[n] skipped: it receives message from Exec[e], which sent no output in this run\n" +
			"Value[v] skipped: it receives any from Exec[e], which sent no output in this run\n" +
			"Notify[m] skipped: it receives message from Value[v], which was skipped\n"},
		{"a command that fails", false, []string{
			`Exec[e] {"command":"false","provider":"shell"}`,
			`Notify[n] {"recv":{"message":{"kind":"exec","name":"e","key":"output"}}}`,
		}, "Exec[e] failed FAILED change of returns from notrun to 0 failed: 'false' exited with code 1, not 0\n" +
			"Notify[n] skipped: it depends on Exec[e], which failed\n"},
		{"noop", true, []string{
			`Exec[e] {"command":"echo x","provider":"shell"}`,
			`Value[v] {"recv":{"any":{"kind":"exec","name":"e","key":"output"}}}`,
			`Notify[n] {"recv":{"message":{"kind":"value","name":"v","key":"any"}}}`,
			`Value[w] {"any":5}`,
			`Notify[m] {"recv":{"message":{"kind":"value","name":"w","key":"any"}}}`,
		}, "Exec[e] noop returns(notrun -> 0)\nValue[v] noop: any would be known after Exec[e] has run\n" +
			"Notify[n] noop: message would be known after Value[v] has run\nNotify[m] noop message(absent -> 5)\n"},
		{"a refresh that noop prevents", true, []string{
			`Notify[first] {"notify":"Exec[e]"}`,
			`Exec[e] {"command":"echo x","provider":"shell","refreshonly":true}`,
			`Notify[n] {"recv":{"message":{"kind":"exec","name":"e","key":"output"}}}`,
		}, "Notify[first] noop message(absent -> first)\nNotify[n] noop: message would be known after Exec[e] has run\n"},
		{"a wrong kind of value", false, []string{
			`Value[v] {"any":5}`,
			`Value[w] {"recv":{"any":{"kind":"value","name":"v","key":"any"}}}`,
			`Cron[c] {"user":"root","recv":{"command":{"kind":"value","name":"w","key":"any"}}}`,
		}, "Cron[c] failed FAILED The parameter command must be a string, and received an integer (it was received)\n"},
		{"a value that the type rejects", false, []string{
			`Value[v] {"any":"rw"}`,
			`File[/no/such/file] {"recv":{"mode":{"kind":"value","name":"v","key":"any"}}}`,
		}, "File[/no/such/file] failed FAILED The parameter mode must be an octal mode such as '0644', or a symbolic mode such as 'u=rw,go=r', and is \"rw\" (it was received)\n"},
		{"a NUL character", false, []string{
			`Exec[e] {"command":"printf 'a\\0b'","provider":"shell"}`,
			`Value[w] {"recv":{"any":{"kind":"exec","name":"e","key":"output"}}}`,
		}, "Exec[e] changed returns(notrun -> 0)\nValue[w] failed FAILED The parameter any must not have a NUL character in it (it was received)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := hosttest.Apply(t, hosttest.Host(t), provider.All(), c.noop, c.resources...)
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestReceivedContent checks a file whose content is received: its second run changes nothing, and it comes after its sender.
func TestReceivedContent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	resources := []string{
		`File[` + name + `] {"recv":{"content":{"kind":"value","name":"v","key":"any"}}}`,
		`Value[v] {"any":{"sensitive":"hunter2"}}`,
	}
	h := hosttest.Host(t)
	got := hosttest.Apply(t, h, provider.All(), false, resources...)
	data, _ := os.ReadFile(name)
	if !strings.Contains(got, "File["+name+"] changed") || strings.Contains(got, "hunter2") || string(data) != "hunter2" {
		t.Errorf("got %s, content %q", got, data)
	}
	if got := hosttest.Apply(t, h, provider.All(), false, resources...); got != "" {
		t.Errorf("second run: %s", got)
	}
}

func TestRecvErrors(t *testing.T) {
	const n = `Notify[n] {"recv":{"message":{"kind":"%","name":"x","key":"output"}}}`
	for _, c := range []struct{ resources, want string }{
		{strings.Replace(n, "%", "exec", 1), "The parameter recv names Exec[x], which the catalog does not have"},
		{strings.Replace(n, "%", "file", 1), "The parameter recv names File[x], but resources of its type do not send values; only Exec, Http_check, Kv, Password or Value do"},
		{strings.Replace(n, "%", "value", 1) + "\n" + `Value[x] {"any":1}`, "names output of Value[x], which it does not send; it sends any"},
		{`Value[v] {"recv":{"any":{"kind":"value","name":"v","key":"any"}}}`, "names the resource itself"},
		{`Cron[c] {"user":"root","recv":{"command":{"kind":"value","name":"x","key":"any"}}}` + "\n" + `Value[x] {"any":true}`, "gives command a boolean, which must be a string"},
		{`Exec[/bin/true] {"recv":{"command":{"kind":"value","name":"x","key":"any"}}}`, "resources of the type Exec do not receive values; only Cron, File, Kv, Notify or Value do"},
		{`Notify[n] {"recv":{"withpath":{"kind":"value","name":"x","key":"any"}}}`, "names withpath, which cannot receive a value; message can"},
		{`Notify[n] {"message":"m","recv":{"message":{"kind":"value","name":"x","key":"any"}}}`, "names message, which already has a value"},
		{`Notify[n] {"recv":[]}`, "recv must be a hash"},
		{`Notify[n] {"recv":{"message":5}}`, "recv: message must be a hash with the keys kind, name and key"},
		{`Notify[n] {"recv":{"message":{"kind":"exec","name":"","key":"output"}}}`, "recv: name of message must be a string that is not empty"},
		{`Notify[n] {"recv":{"message":{"kind":"exec","name":"x","key":"output","more":1}}}`, "can have the keys kind, name and key only"},
		{`Value[v]`, "The parameter any must be given, or received"},
	} {
		_, err := hosttest.Try(t, hosttest.Host(t), provider.All(), false, strings.Split(c.resources, "\n")...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.resources, err, c.want)
		}
	}
}

// TestGraphSendRecv applies a graph, whose keys are applied in groups. A value that arrives wrong does not disturb the
// others of its group.
func TestGraphSendRecv(t *testing.T) {
	c := &catalog.Catalog{Graph: true}
	recv := func(param, kind, name, key string) *ordered.Map {
		return ordered.Of(param, ordered.Of("kind", kind, "name", name, "key", key))
	}
	for _, r := range []struct {
		typ, title string
		params     *ordered.Map
	}{
		{"Kv", "late", ordered.Of(catalog.RecvParam, recv("value", "kv", "first", "value"))},
		{"Kv", "wrong", ordered.Of(catalog.RecvParam, recv("value", "value", "copy", "any"))},
		{"Kv", "also late", ordered.Of(catalog.RecvParam, recv("value", "kv", "first", "value"))},
		{"Kv", "unsent", ordered.Of(catalog.RecvParam, recv("value", "kv", "none", "value"))},
		{"Kv", "first", ordered.Of("value", "x")},
		{"Kv", "none", ordered.Of()},
		{"Value", "number", ordered.Of("any", int64(5))},
		{"Value", "copy", ordered.Of(catalog.RecvParam, recv("any", "value", "number", "any"))},
		{"Notify", "secret", ordered.Of(catalog.RecvParam, recv("message", "password", "p", "password"), "meta", ordered.Of("retry", int64(1)))},
		{"Password", "p", ordered.Of()},
		{"Value", "hidden", ordered.Of("any", "x", "meta", ordered.Of("hidden", true))},
		{"Notify", "of hidden", ordered.Of(catalog.RecvParam, recv("message", "value", "hidden", "any"))},
	} {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: r.typ, Title: r.title}, Kind: catalog.KindType, Params: r.params}); err != nil {
			t.Fatal(err)
		}
	}
	run, err := apply.Prepare(c, hosttest.Host(t), apply.Options{Types: provider.All()})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	if _, err := run.Apply(t.Context(), func(r *report.Result) {
		text := string(r.Status) + " " + r.Reason
		for _, e := range r.Events {
			text += e.Message
		}
		got[r.Ref.String()] = text
	}); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"Kv[late]": "changed value changed from absent to x", "Kv[also late]": "changed value changed from absent to x",
		"Kv[wrong]":  "failed The parameter value must be a string, and received an integer (it was received)",
		"Kv[unsent]": "skipped it receives value from Kv[none], which sent no value in this run",
		"Kv[first]":  "changed value changed from absent to x", "Kv[none]": "unchanged ",
		"Value[number]": "unchanged ", "Value[copy]": "unchanged ", "Password[p]": "changed a password was made",
		"Notify[secret]": "changed message was logged", "Value[hidden]": "skipped it is hidden",
		"Notify[of hidden]": "skipped it receives message from Value[hidden], which was skipped",
	} {
		if got[ref] != want {
			t.Errorf("%s: got %q, want %q", ref, got[ref], want)
		}
	}
}

// TestSentInWatch applies parts of a catalog, one after the other, as a watch does.
func TestSentInWatch(t *testing.T) {
	dir := t.TempDir()
	recv := func(kind, name, key string) *ordered.Map {
		return ordered.Of("content", ordered.Of("kind", kind, "name", name, "key", key))
	}
	h, sent := hosttest.Host(t), make(map[catalog.Ref]apply.Sent)
	check := func(text string, only ...catalog.Ref) string {
		t.Helper()
		c := &catalog.Catalog{}
		for _, r := range []struct {
			typ, title string
			params     *ordered.Map
		}{
			{"Value", "v", ordered.Of("any", text)},
			{"Exec", "e", ordered.Of("command", "echo x >> "+dir+"/ran; echo out", "provider", "shell")},
			{"File", dir + "/v", ordered.Of("recv", recv("value", "v", "any"))},
			{"File", dir + "/e", ordered.Of("recv", recv("exec", "e", "output"))},
		} {
			if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: r.typ, Title: r.title}, Kind: catalog.KindType, Params: r.params}); err != nil {
				t.Fatal(err)
			}
		}
		o := apply.Options{Types: provider.All(), Sent: sent}
		if only != nil {
			o.Only = make(map[catalog.Ref]bool)
			for _, ref := range only {
				o.Only[ref] = true
			}
		}
		run, err := apply.Prepare(c, h, o)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		if _, err := run.Apply(t.Context(), func(r *report.Result) {
			lines = append(lines, strings.ReplaceAll(r.Ref.String(), dir, "")+" "+string(r.Status))
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		return strings.Join(lines, ", ")
	}
	file := func(name string) string {
		data, _ := os.ReadFile(dir + name)
		return string(data)
	}
	if got, want := check("a"), "Exec[e] changed, File[/e] changed, File[/v] changed, Value[v] unchanged"; got != want {
		t.Errorf("first: %s", got)
	}
	if err := os.WriteFile(dir+"/e", []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := check("a", catalog.Ref{Type: "File", Title: dir + "/e"}); got != "File[/e] changed" || file("/e") != "out\n" || file("/ran") != "x\n" {
		t.Errorf("a receiver: %s, %q, the command ran %q", got, file("/e"), file("/ran"))
	}
	if got := check("a", catalog.Ref{Type: "Value", Title: "v"}); got != "Value[v] unchanged" {
		t.Errorf("a sender of the same value: %s", got)
	}
	if got := check("b", catalog.Ref{Type: "Value", Title: "v"}); got != "File[/v] changed, Value[v] unchanged" || file("/v") != "b" {
		t.Errorf("a sender of a new value: %s, %q", got, file("/v"))
	}
}
