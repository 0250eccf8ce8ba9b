package selinux

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var semanageTypes = map[string]resource.Type{"Selinux_port": Port(), "Selinux_permissive": Permissive(), "Selinux_fcontext": Fcontext(), "Selinux_fcontext_equivalence": Equivalence()}

// The lists are in the form of semanage of policycoreutils 3.4, for which these tests have a stand-in: semanage needs a kernel with
// SELinux.
const (
	portList  = "http_cache_port_t              tcp      8080, 8118, 8123, 10001-10010\nhttp_port_t                    tcp      80, 81, 443\ndns_port_t                     udp      53\n"
	localList = "http_port_t                    tcp      8080, 9000\n"
)

func TestPort(t *testing.T) {
	for _, c := range []struct{ params, out, ran string }{
		{`"low_port":81,"high_port":"81","seltype":"http_port_t"`, "unchanged", ""},
		{`"low_port":8080,"high_port":8080,"seltype":"http_port_t"`, "unchanged", ""},
		{`"low_port":8118,"high_port":8118,"seltype":"http_port_t"`, "changed seltype_changed", "port -m -t http_port_t -p tcp 8118"},
		{`"low_port":10001,"high_port":10010,"seltype":"http_cache_port_t"`, "unchanged", ""},
		{`"low_port":7000,"high_port":7010,"seltype":"x_t"`, "changed selinux_port_created", "port -a -t x_t -p tcp 7000-7010"},
		{`"low_port":9000,"high_port":9000,"ensure":"absent"`, "changed selinux_port_removed", "port -d -p tcp 9000"},
		{`"low_port":80,"high_port":80,"ensure":"absent"`, "unchanged", ""},
		{`"low_port":7000,"high_port":7000,"ensure":"absent"`, "unchanged", ""},
	} {
		m := providertest.Scripted(t, "semanage", semanageTypes, answer("semanage port -l -n -C", localList), answer("semanage port -l -n", portList))
		r := `Selinux_port[p] {"protocol":"tcp",` + c.params + "}"
		m.Want("noop", m.Apply(true, r), "Selinux_port[p] "+strings.Replace(c.out, "changed s", "noop s", 1))
		m.Want(c.params, m.Apply(false, r), "Selinux_port[p] "+c.out)
		want := "semanage port -l -n; semanage port -l -n -C"
		if c.ran != "" {
			want += "; semanage " + c.ran
		}
		m.Want("commands", strings.Join(m.Argv, "; "), want)
	}
	m := providertest.Scripted(t, "semanage", semanageTypes, answer("semanage port -l -n", portList))
	m.Apply(true, `Selinux_port[a] {"protocol":"tcp","low_port":1,"high_port":1,"seltype":"a_t"}`, `Selinux_port[b] {"protocol":"udp","low_port":1,"high_port":1,"seltype":"a_t"}`)
	m.Want("two queries for all", strings.Join(m.Argv, "; "), "semanage port -l -n; semanage port -l -n -C")
}

func TestPermissive(t *testing.T) {
	const list = "\nBuiltin Permissive Types\n\n\nCustomized Permissive Types\n\nmine_t\n"
	for _, c := range []struct{ resource, out, ran string }{
		{`Selinux_permissive[mine_t]`, "unchanged", ""},
		{`Selinux_permissive[x] {"seltype":"other_t"}`, "changed selinux_permissive_created", "permissive -a other_t"},
		{`Selinux_permissive[mine_t] {"ensure":"absent"}`, "changed selinux_permissive_removed", "permissive -d mine_t"},
		{`Selinux_permissive[other_t] {"ensure":"absent"}`, "unchanged", ""},
	} {
		m := providertest.Scripted(t, "semanage", semanageTypes, answer("semanage permissive -l", list))
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want(c.resource, m.Apply(false, c.resource), ref+" "+c.out)
		m.Want("command", strings.TrimPrefix(strings.Join(m.Argv, "; "), "semanage permissive -l"), strings.TrimSuffix("; semanage "+c.ran, "; semanage "))
	}
}

func TestFcontext(t *testing.T) {
	for _, c := range []struct{ resource, out, ran string }{
		{`Selinux_fcontext[a] {"pathspec":"/srv(/.*)?","seltype":"var_t"}`, "unchanged", ""},
		{`Selinux_fcontext[a] {"pathspec":"/srv(/.*)?","seltype":"httpd_sys_content_t"}`, "changed seltype_changed", "fcontext -m -t httpd_sys_content_t -f a /srv(/.*)?"},
		{`Selinux_fcontext[a] {"pathspec":"/srv(/.*)?","file_type":"d","seltype":"var_t"}`, "changed selinux_fcontext_created", "fcontext -a -t var_t -f d /srv(/.*)?"},
		{`Selinux_fcontext[a] {"pathspec":"/own","file_type":"f","seltype":"own_t","seluser":"user_u"}`, "changed seltype_changed seluser_changed", "fcontext -m -t own_t -f f -s user_u /own"},
		{`Selinux_fcontext[a] {"pathspec":"/none","file_type":"l","seltype":"<<none>>"}`, "unchanged", ""},
		{`Selinux_fcontext[a] {"pathspec":"/own","file_type":"f","ensure":"absent"}`, "changed selinux_fcontext_removed", "fcontext -d -t local_t -f f /own"},
		{`Selinux_fcontext[a] {"pathspec":"/srv(/.*)?","ensure":"absent"}`, "unchanged", ""}, // of the policy
		{`Selinux_fcontext[a] {"pathspec":"/missing","ensure":"absent"}`, "unchanged", ""},
		{`Selinux_fcontext_equivalence[/a] {"target":"/var/a"}`, "unchanged", ""},
		{`Selinux_fcontext_equivalence[/b] {"target":"/var/b"}`, "changed selinux_fcontext_equivalence_created", "fcontext -a -e /var/b /b"},
		{`Selinux_fcontext_equivalence[/a] {"target":"/var/b"}`, "changed target_changed", "fcontext -N -d -e /var/a /a; semanage fcontext -a -e /var/b /a"},
		{`Selinux_fcontext_equivalence[/a] {"ensure":"absent"}`, "changed selinux_fcontext_equivalence_removed", "fcontext -d -e /var/a /a"},
	} {
		m := providertest.Scripted(t, "semanage", semanageTypes)
		m.Write("etc/selinux/config", "# x\nSELINUX=enforcing\nSELINUXTYPE=mls\n", 0o644)
		m.Write("etc/selinux/mls/contexts/files/file_contexts", "/srv(/.*)?\tsystem_u:object_r:var_t:s0\n/own\t--\tsystem_u:object_r:var_t:s0\n\x00noise\n", 0o644)
		m.Write("etc/selinux/mls/contexts/files/file_contexts.local", "# local\n/own    --    system_u:object_r:local_t:s0\n/none -l <<none>>\n", 0o644)
		m.Write("etc/selinux/mls/contexts/files/file_contexts.subs", "/a /var/a\n", 0o644)
		ref, _, _ := strings.Cut(c.resource, " {")
		if c.out != "unchanged" {
			m.Want("noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		}
		m.Want(c.resource, m.Apply(false, c.resource), ref+" "+c.out)
		m.Want("commands", strings.Join(m.Argv, "; "), strings.TrimSuffix("semanage "+c.ran, "semanage "))
	}
}

func TestSemanageFailures(t *testing.T) {
	const r = `Selinux_port[p] {"protocol":"tcp","low_port":1,"high_port":1,"seltype":"a_t"}`
	m := providertest.Scripted(t, "", semanageTypes)
	m.Want("no program", m.Apply(false, r), "Selinux_port[p] failed: the program semanage is missing. Install the package policycoreutils-python-utils (policycoreutils-python before RHEL 8) on the target")
	m.Want("no policy", m.Apply(false, `Selinux_fcontext[a] {"pathspec":"/a","seltype":"a_t"}`), "Selinux_fcontext[a] failed: the machine has no SELinux: /etc/selinux/config is missing")
	m = providertest.Scripted(t, "semanage", semanageTypes, failure("semanage", "ValueError: SELinux policy is not managed or store cannot be accessed.\n"))
	m.Want("disabled", m.Apply(false, r), "Selinux_port[p] failed: semanage: exit code 1: ValueError: SELinux policy is not managed or store cannot be accessed.")
	m = providertest.Scripted(t, "semanage", semanageTypes, answer("semanage", "\x00\xff\x1b[31m\n"))
	m.Want("noise", m.Apply(false, r), `Selinux_port[p] failed: semanage printed "[31m", which is not a type with a protocol and ports`)
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, r), "Selinux_port[p] failed: semanage: timed out")
	for text, want := range map[string]string{
		`Selinux_port[p] {"low_port":1,"high_port":1,"seltype":"a_t"}`:                                   "The parameter protocol must be tcp or udp",
		`Selinux_port[p] {"protocol":"tcp","low_port":0,"high_port":1,"seltype":"a_t"}`:                  "The parameter low_port must be a number",
		`Selinux_port[p] {"protocol":"tcp","low_port":2,"high_port":1,"seltype":"a_t"}`:                  "The parameter high_port must not be below",
		`Selinux_port[p] {"protocol":"tcp","low_port":1,"high_port":1}`:                                  "The parameter seltype must be given",
		`Selinux_port[p] {"protocol":"tcp","low_port":1,"high_port":1,"seltype":"-x"}`:                   "The parameter seltype must be a word",
		`Selinux_port[p] {"protocol":"tcp","low_port":1,"high_port":1,"seltype":"a_t","source":"local"}`: "The parameter source",
		`Selinux_fcontext[a] {"seltype":"a_t"}`:                                                          "The parameter pathspec must be",
		`Selinux_fcontext[a] {"pathspec":"/a","seltype":"a_t","file_type":"x"}`:                          "The parameter file_type must be",
		`Selinux_fcontext[a] {"pathspec":"/a","seltype":"a_t","selrange":"s0"}`:                          "The parameter selrange cannot be set",
		`Selinux_fcontext_equivalence[a] {"target":"/b"}`:                                                "The parameter path must be an absolute path",
		`Selinux_fcontext_equivalence[/a]`:                                                               "The parameter target must be an absolute path",
		`Selinux_permissive[-x]`:                                                                         "The parameter seltype must be a word",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzContexts(f *testing.F) {
	f.Add("/a -- system_u:object_r:a_t:s0\n/b <<none>>\n")
	f.Fuzz(func(t *testing.T, text string) {
		all := make(map[[2]string]label)
		parseContexts(text, true, all)
		for key, l := range all {
			if len(key[1]) != 1 || key[0] == "" {
				t.Errorf("%q %+v", key, l)
			}
		}
		ports := make(map[string]portState)
		_ = parsePorts(text, true, ports)
	})
}
