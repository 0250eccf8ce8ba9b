package debconf

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Debconf": Type()}

const setup = `cd /var/cache/debconf; rm -f *.dat *-old; touch config.dat templates.dat passwords.dat
printf 'tzdata tzdata/Areas select Europe\nfoo foo/pw password s3cret\nfoo foo/both string x\nbar foo/both string x\n' | debconf-set-selections
printf 'tzdata tzdata/Areas seen false\n' | debconf-set-selections`

// TestDebian applies resources with the real debconf in a disposable root.
func TestDebian(t *testing.T) {
	m := providertest.New(t, "/", setup, types)
	for _, c := range []struct{ name, resource, out, after string }{
		{"right", `Debconf[tzdata/Areas] {"type":"select","value":" Europe "}`, "unchanged", "GET tzdata/Areas;0 Europe"},
		{"value", `Debconf[tzdata/Areas] {"type":"select","value":"Asia"}`, "changed value_changed", "GET tzdata/Areas;0 Asia"},
		{"the flag is not managed", `Debconf[tzdata/Areas] {"type":"select","value":"America"}`, "changed value_changed", "FGET tzdata/Areas seen;0 false"},
		{"flag", `Debconf[tzdata/Areas] {"type":"select","seen":true}`, "changed seen_changed", "FGET tzdata/Areas seen;0 true"},
		{"flag only", `Debconf[tzdata/Areas] {"type":"select","seen":"false"}`, "changed seen_changed", "GET tzdata/Areas;0 America"},
		{"new", `Debconf[x] {"item":"new/question","package":"other","type":"boolean","value":true,"seen":false}`, "changed debconf_created", "GET new/question;0 true"},
		{"backslashes", `Debconf[new/path] {"type":"string","value":"a\\b \\n \"c\""}`, "changed debconf_created", "GET new/path;0 a\\b"},
		{"empty", `Debconf[new/empty] {"type":"string","value":""}`, "changed debconf_created", "GET new/empty;0"},
		{"password", `Debconf[foo/pw] {"type":"password","value":{"sensitive":"other"}}`, "changed value_changed", "GET foo/pw;0 other"},
		{"absent", `Debconf[x] {"ensure":"absent","item":"new/question","package":"other"}`, "changed debconf_removed", "GET new/question;10 new/question doesn't exist"},
		{"absent already", `Debconf[new/none] {"ensure":"absent"}`, "unchanged", "GET new/none;10 new/none doesn't exist"},
	} {
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want(c.name+", noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		m.Want(c.name, m.Apply(false, c.resource), ref+" "+c.out)
		m.Want(c.name+", again", m.Apply(false, c.resource), ref+" unchanged")
		command, want, _ := strings.Cut(c.after, ";")
		m.Want(c.name+", state", m.Shell("echo '"+command+"' | debconf-communicate 2>/dev/null || true"), want)
	}
	m.Want("another package has it", m.Apply(false, `Debconf[foo/both] {"ensure":"absent","package":"baz"}`),
		"Debconf[foo/both] failed debconf_removed: change of ensure from present to absent failed: the question foo/both does not belong to the package baz alone. Set the parameter package")
	m.Want("no value", m.Apply(false, `Debconf[new/none] {"type":"string","seen":true}`), "Debconf[new/none] failed: the question new/none does not exist, and the parameter value is not given")
	m.Want("many", m.Apply(true, `Debconf[tzdata/Areas] {"type":"select","value":"America"}`, `Debconf[new/a] {"type":"string","value":"a"}`, `Debconf[a] {"item":"new/a","ensure":"absent"}`),
		"Debconf[a] unchanged\nDebconf[new/a] noop debconf_created\nDebconf[tzdata/Areas] unchanged")
	m.Want("one process", strings.Join(m.Argv, " | "), "debconf-communicate debconf < CAPB escape; GET tzdata/Areas; FGET tzdata/Areas seen; GET new/a; FGET new/a seen")
}

func TestFailures(t *testing.T) {
	const r = `Debconf[aa/b] {"type":"string","value":"v"}`
	m := providertest.Scripted(t, "", types)
	m.Want("no program", m.Apply(false, r), "Debconf[aa/b] failed: the program debconf-communicate is missing. Install the package debconf on the target")
	m = providertest.Scripted(t, "debconf-communicate", types, providertest.Answer{Begin: "debconf-communicate", Out: resource.Output{Stdout: []byte("\x00\xff\x1b\n10 x\n")}})
	m.Want("noise", m.Apply(false, r), "Debconf[aa/b] failed: debconf-communicate printed something else than the answers")
	m = providertest.Scripted(t, "debconf-communicate", types, providertest.Answer{Begin: "debconf-communicate", Out: resource.Output{Code: 1, Stderr: []byte("debconf: DbDriver \"config\": /var/cache/debconf/config.dat is locked by another process\n")}})
	m.Want("locked", m.Apply(false, r), `Debconf[aa/b] failed: debconf-communicate: exit code 1: debconf: DbDriver "config": /var/cache/debconf/config.dat is locked by another process`)
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, r), "Debconf[aa/b] failed: debconf-communicate: timed out")
	for text, want := range map[string]string{
		`Debconf[aa/b] {"value":"x"}`:                     "The parameter type must be given",
		`Debconf[a] {"type":"string"}`:                    "The parameter item must be a package and a question",
		`Debconf[aa/b] {"type":"string","package":"A"}`:   "The parameter package must be the name of a package",
		`Debconf[aa/b] {"type":"string","value":"a b\\"}`: "The parameter value must not end with a backslash",
		`Debconf[aa/b] {"type":"string","seen":"maybe"}`:  "The parameter seen",
		`Debconf[aa/b] {"type":"number","value":"1"}`:     "The parameter type cannot be",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0 a\n10 b doesn't exist\n1 c\\n\n0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parse(text); got != nil && len(got) != strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1 {
			t.Errorf("%d replies in %q", len(got), text)
		}
	})
}
