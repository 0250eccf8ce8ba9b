package selinux

import (
	"bytes"
	"context"
	"encoding/binary"
	"os/exec"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Selboolean": Boolean(), "Selmodule": Module()}

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(text)}}
}

func failure(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stderr: []byte(text), Code: 1}}
}

func TestBoolean(t *testing.T) {
	for _, c := range []struct{ params, is, out, ran string }{
		{`"value":"on"`, "b --> off\n", "changed value_changed", "getsebool b; setsebool b on"},
		{`"value":true,"persistent":true`, "b --> off\n", "changed value_changed", "getsebool b; setsebool -P b on"},
		{`"value":false`, "b --> on\n", "changed value_changed", "getsebool b; setsebool b off"},
		{`"value":"off"`, "b --> off\n", "unchanged", "getsebool b"},
		{`"persistent":true`, "b --> off\n", "unchanged", ""},
		{`"value":"on"`, "\x00\xff\x1b[31m", `failed: getsebool printed "[31m", which has no state`, "getsebool b"},
	} {
		m := providertest.Scripted(t, "getsebool setsebool", types, answer("getsebool", c.is))
		r := "Selboolean[b] {" + c.params + "}"
		noop := strings.Replace(c.out, "changed value", "noop value", 1)
		m.Want("noop", m.Apply(true, r), "Selboolean[b] "+noop)
		m.Want(c.params, m.Apply(false, r), "Selboolean[b] "+c.out)
		m.Want("commands", strings.Join(m.Argv, "; "), c.ran)
	}
}

// compiled is the file of a module with a version.
func compiled(version string) string {
	var b bytes.Buffer
	number := func(n uint32) { _ = binary.Write(&b, binary.LittleEndian, n) }
	text := func(s string) { number(uint32(len(s))); b.WriteString(s) }
	number(packageMagic)
	number(1)
	number(2)
	for range 3 {
		number(7)
	}
	text("SE Linux Module")
	text("more")
	b.WriteString(strings.Repeat("x", afterHeaders))
	text("m")
	text(version)
	return b.String()
}

func TestModule(t *testing.T) {
	pack := func(text string) string {
		cmd := exec.CommandContext(t.Context(), "bzip2", "-c")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, c := range []struct{ name, params, list, stored, out, ran string }{
		{"new", ``, "other 1\n", "", "changed selmodule_created", "--install FILE"},
		{"loaded", ``, "other 1\nm\t1.0\n", "", "unchanged", ""},
		{"absent", `,"ensure":"absent"`, "m 1.0\n", "", "changed selmodule_removed", "--remove m"},
		{"absent already", `,"ensure":"absent"`, "mm 1.0\n", "", "unchanged", ""},
		{"same version", `,"syncversion":true`, "m 2.0\n", "", "unchanged", ""},
		{"other version", `,"syncversion":true`, "m 1.0\n", "", "changed syncversion_changed", "--upgrade FILE"},
		{"not synced", `,"syncversion":false`, "m 1.0\n", "", "unchanged", ""},
		{"no versions, same", `,"syncversion":true`, "m\n", pack(compiled("2.0")), "unchanged", ""},
		{"no versions, not packed", `,"syncversion":true`, "m\n", compiled("2.0"), "unchanged", ""},
		{"no versions, other", `,"syncversion":true`, "m\n", pack(compiled("1.0")), "changed syncversion_changed", "--upgrade FILE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := providertest.Scripted(t, "semodule", types, answer("semodule --list", c.list))
			m.Write("m.pp", compiled("2.0"), 0o644)
			if c.stored != "" {
				m.Write("var/lib/selinux/targeted/active/modules/400/m/hll", c.stored, 0o600)
			}
			r := `Selmodule[m] {"selmodulepath":"` + m.Root + `/m.pp"` + c.params + `}`
			m.Want("noop", m.Apply(true, r), "Selmodule[m] "+strings.Replace(strings.Replace(c.out, "changed sel", "noop sel", 1), "changed sync", "noop sync", 1))
			m.Want("result", m.Apply(false, r), "Selmodule[m] "+c.out)
			want := "semodule --list"
			if c.ran != "" {
				want += "; semodule " + strings.ReplaceAll(c.ran, "FILE", m.Root+"/m.pp")
			}
			m.Want("commands", strings.Join(m.Argv, "; "), want)
		})
	}
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	m.Want("no programs", m.Apply(false, `Selboolean[b] {"value":"on"}`, `Selmodule[m]`),
		"Selboolean[b] failed: the program getsebool is missing. Install the tools of SELinux on the target\nSelmodule[m] failed: the program semodule is missing. Install the tools of SELinux on the target")
	m = providertest.Scripted(t, "getsebool setsebool semodule", types, failure("getsebool", "getsebool:  SELinux is disabled\n"), failure("semodule", "semodule: \x00\x1bno store\n"))
	m.Want("disabled", m.Apply(false, `Selboolean[b] {"value":"on"}`, `Selmodule[m]`),
		"Selboolean[b] failed: getsebool: exit code 1: SELinux is disabled\nSelmodule[m] failed: semodule: exit code 1: no store")
	m = providertest.Scripted(t, "getsebool setsebool semodule", types, answer("getsebool", "b --> off"), failure("setsebool", "denied\n"), answer("semodule --list", "m 1\n"))
	m.Write("m.pp", "\x8f\xff\x7c\xf9 not a module", 0o644)
	m.Want("refused", m.Apply(false, `Selboolean[b] {"value":"on"}`, `Selmodule[m] {"syncversion":true,"selmodulepath":"`+m.Root+`/m.pp"}`, `Selmodule[m2] {"name":"m","syncversion":true,"selmodulepath":"/none"}`),
		"refused: Selmodule[m2]: another Selmodule has the name \"m\", too")
	m.Want("failed", m.Apply(false, `Selboolean[b] {"value":"on"}`, `Selmodule[m] {"syncversion":true,"selmodulepath":"`+m.Root+`/m.pp"}`),
		"Selboolean[b] failed value_changed: change of value from off to on failed: setsebool: exit code 1: denied\nSelmodule[m] failed: "+m.Root+"/m.pp: it is not a compiled module of SELinux")
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, `Selboolean[b] {"value":"on"}`), "Selboolean[b] failed: getsebool: timed out")
	for text, want := range map[string]string{
		`Selboolean[-P] {"value":"on"}`:            "The parameter name must be a word",
		`Selboolean[b] {"value":"maybe"}`:          "The parameter value must be on, off",
		`Selmodule[a b]`:                           "The parameter name must be a word",
		`Selmodule[m] {"selmodulepath":"m.pp"}`:    "The parameter selmodulepath must be an absolute path",
		`Selmodule[m] {"ensure":"loaded"}`:         "The parameter ensure cannot be",
		`Selmodule[m] {"syncversion":"sometimes"}`: "The parameter syncversion must be true or false",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add([]byte(compiled("1")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := versionOf(data); err == nil && len(data) < 12 {
			t.Error("too short")
		}
	})
}
