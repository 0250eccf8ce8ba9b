package alternatives

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Alternatives": Type(), "Alternative_entry": Entry()}

const setup = `mkdir -p /opt/a; for p in one two three; do printf '#!/bin/sh\necho %s\n' $p > /opt/a/$p; chmod 755 /opt/a/$p; done
update-alternatives --install /usr/bin/bolt-alt bolt-alt /opt/a/one 10
update-alternatives --install /usr/bin/bolt-alt bolt-alt /opt/a/two 20`

// TestDebian applies resources with the real update-alternatives in a disposable root. The events are the same as with Puppet 7.23 and
// the module, except that a changed entry keeps the manual mode.
func TestDebian(t *testing.T) {
	m := providertest.New(t, "/", setup, types)
	for _, c := range []struct{ name, resource, out, after string }{
		{"set", `Alternatives[bolt-alt] {"path":"/opt/a/one"}`, "changed path_changed", "manual /opt/a/one"},
		{"auto", `Alternatives[bolt-alt] {"mode":"auto"}`, "changed mode_changed", "auto /opt/a/two"},
		{"manual", `Alternatives[bolt-alt] {"mode":"manual","path":"/opt/a/two"}`, "changed mode_changed", "manual /opt/a/two"},
		{"new entry", `Alternative_entry[/opt/a/three] {"altlink":"/usr/bin/bolt-alt","altname":"bolt-alt","priority":30}`, "changed alternative_entry_created", "manual /opt/a/two"},
		{"priority", `Alternative_entry[/opt/a/two:/usr/bin/bolt-alt] {"altname":"bolt-alt","priority":"40"}`, "changed priority_changed", "manual /opt/a/two"},
		{"link", `Alternative_entry[/opt/a/two] {"altlink":"/usr/bin/bolt-alt2","altname":"bolt-alt","priority":"40"}`, "changed altlink_changed", "manual /opt/a/two"},
		{"removed", `Alternative_entry[/opt/a/three] {"ensure":"absent","altlink":"/usr/bin/bolt-alt2","altname":"bolt-alt"}`, "changed alternative_entry_removed", "manual /opt/a/two"},
		{"new name", `Alternative_entry[/opt/a/one] {"ensure":"present","altlink":"/usr/bin/bolt-new","altname":"bolt-new","priority":1}`, "changed alternative_entry_created", "manual /opt/a/two"},
	} {
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want(c.name+", noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		m.Want(c.name, m.Apply(false, c.resource), ref+" "+c.out)
		m.Want(c.name+", again", m.Apply(false, c.resource), ref+" unchanged")
		m.Want(c.name+", state", m.Shell(`update-alternatives --get-selections | awk '$1 == "bolt-alt" {print $2, $3}'`), c.after)
	}
	m.Want("programs", m.Shell("bolt-alt2; bolt-new; test ! -e /usr/bin/bolt-alt"), "two\none")
	m.Want("no such choice", m.Apply(false, `Alternatives[bolt-alt] {"path":"/opt/a/none"}`),
		"Alternatives[bolt-alt] failed path_changed: change of path from /opt/a/two to /opt/a/none failed: update-alternatives: exit code 2: error: alternative /opt/a/none for bolt-alt not registered; not setting")
	m.Want("no such name", m.Apply(true, `Alternatives[bolt-none] {"path":"/opt/a/one"}`, `Alternatives[bolt-none2] {"mode":"auto"}`),
		"Alternatives[bolt-none2] noop mode_changed\nAlternatives[bolt-none] noop path_changed")
	m.Want("one query", strings.Join(m.Argv, "; "), "update-alternatives --get-selections")
	m.Want("absent already", m.Apply(false, `Alternative_entry[/opt/a/none] {"ensure":"absent","altname":"bolt-none"}`, `Alternative_entry[/opt/a/three] {"ensure":"absent","altname":"bolt-alt"}`),
		"Alternative_entry[/opt/a/none] unchanged\nAlternative_entry[/opt/a/three] unchanged")
}

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(text)}}
}

// TestRedHat uses a stand-in with the output of alternatives(8) of chkconfig.
func TestRedHat(t *testing.T) {
	const java = "java - status is auto.\n link currently points to /usr/lib/jvm/b/bin/java\n" +
		"/usr/lib/jvm/a/bin/java - family java-a.x86_64 priority 10\n slave jre: /usr/lib/jvm/a\n" +
		"/usr/lib/jvm/b/bin/java - priority 20\n slave jre: /usr/lib/jvm/b\nCurrent `best' version is /usr/lib/jvm/b/bin/java.\n"
	for _, c := range []struct{ resource, out, ran string }{
		{`Alternatives[java] {"path":"/usr/lib/jvm/a/bin/java"}`, "changed path_changed", "--set java /usr/lib/jvm/a/bin/java"},
		{`Alternatives[java] {"path":"/usr/lib/jvm/b/bin/java"}`, "unchanged", ""},
		{`Alternatives[java] {"path":"java-a.x86_64"}`, "changed path_changed", "--set java java-a.x86_64"},
		{`Alternatives[java] {"mode":"auto"}`, "unchanged", ""},
		{`Alternative_entry[/usr/lib/jvm/b/bin/java] {"altname":"java","altlink":"/usr/bin/java","priority":20}`, "unchanged", ""},
		{`Alternative_entry[/usr/lib/jvm/a/bin/java] {"altname":"java","altlink":"/usr/bin/java","priority":20}`, "changed priority_changed", "--install /usr/bin/java java /usr/lib/jvm/a/bin/java 20"},
		{`Alternative_entry[/usr/lib/jvm/a/bin/java] {"altname":"java","ensure":"absent"}`, "changed alternative_entry_removed", "--remove java /usr/lib/jvm/a/bin/java"},
	} {
		m := providertest.Scripted(t, "alternatives update-alternatives", types, answer("alternatives --display java", java))
		m.Write("var/lib/alternatives/java", "auto\n/usr/bin/java\njre\n/usr/lib/jvm/jre\n\n", 0o644)
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want("noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		m.Want(c.resource, m.Apply(false, c.resource), ref+" "+c.out)
		want := "alternatives --display java"
		if c.ran != "" {
			want += "; alternatives " + c.ran
		}
		m.Want("commands", strings.Join(m.Argv, "; "), want)
	}
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	m.Want("no program", m.Apply(false, `Alternatives[a] {"mode":"auto"}`, `Alternative_entry[/a] {"altname":"a","altlink":"/b","priority":1}`),
		"Alternative_entry[/a] failed: the program update-alternatives is missing. Install the package dpkg, or chkconfig on systems of the Red Hat family\n"+
			"Alternatives[a] failed: the program update-alternatives is missing. Install the package dpkg, or chkconfig on systems of the Red Hat family")
	m = providertest.Scripted(t, "update-alternatives", types, answer("update-alternatives", "\x00\xff\x1b[31m\n"))
	m.Want("noise", m.Apply(false, `Alternatives[a] {"mode":"auto"}`, `Alternative_entry[/a] {"altname":"a","altlink":"/b","priority":1}`),
		"Alternative_entry[/a] failed: update-alternatives printed \"[31m\", which has no name\n"+
			"Alternatives[a] failed: update-alternatives printed \"[31m\", which is not a name with its mode")
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, `Alternatives[a] {"mode":"auto"}`), "Alternatives[a] failed: update-alternatives: timed out")
	for text, want := range map[string]string{
		`Alternatives[a] {"mode":"auto","path":"/a"}`:                                        "The parameter mode cannot be auto, because path is given",
		`Alternatives[a] {"mode":"manual"}`:                                                  "The parameter mode cannot be manual without path",
		`Alternatives[a] {"mode":"other"}`:                                                   "The parameter mode",
		`Alternatives[-a] {"mode":"auto"}`:                                                   "The parameter name must be a word",
		`Alternatives[a] {"path":"--all"}`:                                                   "The parameter path must be an absolute path",
		`Alternative_entry[a] {"altname":"a","altlink":"/b","priority":1}`:                   "The parameter name must be an absolute path",
		`Alternative_entry[/a] {"altlink":"/b","priority":1}`:                                "The parameter altname must be a word",
		`Alternative_entry[/a] {"altname":"a","priority":1}`:                                 "The parameter altlink must be an absolute path",
		`Alternative_entry[/a] {"altname":"a","altlink":"/b"}`:                               "The parameter priority must be a whole number",
		`Alternative_entry[/a] {"altname":"a","altlink":"/b","priority":1,"altlink_ro":"c"}`: "The parameter altlink_ro cannot be set",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Name: a\nLink: /a\nStatus: auto\nValue: /b\n\nAlternative: /b\nPriority: 1\n")
	f.Add("a - status is manual.\n link currently points to /b\n/b - family x priority 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := parseQuery(text); err == nil && (!g.known || g.link == "") {
			t.Errorf("%+v", g)
		}
		if g, err := parseDisplay(text); err == nil && g.known && g.choices == nil {
			t.Errorf("%+v", g)
		}
	})
}
