package firewalld

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Firewalld_port": Port(), "Firewalld_service": Service(), "Firewalld_rich_rule": RichRule(), "Firewalld_zone": Zone()}

// list is the output of --list-all-zones in the form of firewalld 1.3. The programs are stand-ins: firewalld needs a system bus.
const list = `block
  target: %%REJECT%%
  icmp-block-inversion: no
  interfaces: 
  sources: 
  services: 
  ports: 
  protocols: 
  forward: yes
  masquerade: no
  forward-ports: 
  source-ports: 
  icmp-blocks: 
  rich rules: 

public (active)
  target: default
  icmp-block-inversion: no
  interfaces: eth0
  sources: 10.0.0.0/8
  services: dhcpv6-client ssh
  ports: 8080/tcp 9000-9010/udp
  protocols: 
  forward: yes
  masquerade: yes
  forward-ports: 
	port=80:proto=tcp:toport=8080:toaddr=
  source-ports: 
  icmp-blocks: 
  rich rules: 
	rule family="ipv4" source address="192.168.1.2/32" service name="ssh" accept
`

const policies = "to-world\n  priority: -1\n  target: CONTINUE\n  ports: 53/udp\n  rich rules: \n"

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(text)}}
}

func code(begin string, n int) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Code: n}}
}

// machine is a host on which firewalld runs, or does not.
func machine(t *testing.T, online bool) *providertest.Machine {
	t.Helper()
	answers := []providertest.Answer{answer("firewall-cmd --permanent --list-all-zones", list), answer("firewall-cmd --permanent --list-all-policies", policies),
		code("firewall-cmd --permanent --zone=public --query-rich-rule=rule family=\"ipv4\" port", 0), code("firewall-cmd --permanent --zone=public --query", 1)}
	if !online {
		answers = append([]providertest.Answer{code("firewall-cmd --state", 252), answer("firewall-offline-cmd --list-all-zones", list)}, answers...)
	}
	return providertest.Scripted(t, "firewall-cmd firewall-offline-cmd", types, answers...)
}

func TestEntries(t *testing.T) {
	const zone = `"zone":"public"`
	for _, c := range []struct {
		resource, out, ran string
		offline            bool
	}{
		{`Firewalld_port[p] {` + zone + `,"port":8080,"protocol":"tcp"}`, "unchanged", "", false},
		{`Firewalld_port[443] {` + zone + `,"protocol":"tcp"}`, "changed firewalld_port_created", "firewall-cmd --permanent --zone=public --add-port=443/tcp", false},
		{`Firewalld_port[p] {` + zone + `,"port":"9000-9010","protocol":"udp","ensure":"absent"}`, "changed firewalld_port_removed", "firewall-cmd --permanent --zone=public --remove-port=9000-9010/udp", false},
		{`Firewalld_port[p] {` + zone + `,"port":443,"protocol":"tcp"}`, "changed firewalld_port_created", "firewall-offline-cmd --zone=public --add-port=443/tcp", true},
		{`Firewalld_port[p] {"policy":"to-world","port":53,"protocol":"udp"}`, "unchanged", "", false},
		{`Firewalld_port[p] {"policy":"to-world","port":53,"protocol":"tcp"}`, "changed firewalld_port_created", "firewall-cmd --permanent --policy=to-world --add-port=53/tcp", false},
		{`Firewalld_service[ssh] {` + zone + `}`, "unchanged", "", false},
		{`Firewalld_service[x] {` + zone + `,"service":"https"}`, "changed firewalld_service_created", "firewall-cmd --permanent --zone=public --add-service=https; firewall-cmd --reload", false},
		{`Firewalld_service[ssh] {` + zone + `,"ensure":"absent"}`, "changed firewalld_service_removed", "firewall-cmd --permanent --zone=public --remove-service=ssh; firewall-cmd --reload", false},
		{`Firewalld_service[ssh] {` + zone + `,"ensure":"absent"}`, "changed firewalld_service_removed", "firewall-offline-cmd --zone=public --remove-service-from-zone=ssh", true},
		{`Firewalld_rich_rule[r] {` + zone + `,"source":"192.168.1.2/32","service":"ssh","action":"accept"}`, "unchanged", "", false},
		{`Firewalld_rich_rule[r] {` + zone + `,"port":{"port":"80","protocol":"tcp"},"action":"accept"}`, "unchanged", `firewall-cmd --permanent --zone=public --query-rich-rule=rule family="ipv4" port port="80" protocol="tcp" accept`, false},
		{`Firewalld_rich_rule[r] {` + zone + `,"family":"ipv6","priority":-5,"source":{"ipset":"bad","invert":true},"dest":"2001:db8::1","forward_port":{"port":"1","protocol":"udp","to_port":"2"},"log":{"prefix":"a b","limit":"1/m"},"action":{"action":"reject","type":"icmp6-adm-prohibited"}}`, "changed firewalld_rich_rule_created",
			`firewall-cmd --permanent --zone=public --query-rich-rule=RULE; firewall-cmd --permanent --zone=public --add-rich-rule=RULE`, false},
		{`Firewalld_rich_rule[r] {` + zone + `,"raw_rule":"rule family=\"ipv4\" source address=\"192.168.1.2/32\" service name=\"ssh\" accept","ensure":"absent"}`, "changed firewalld_rich_rule_removed",
			`firewall-cmd --permanent --zone=public --remove-rich-rule=rule family="ipv4" source address="192.168.1.2/32" service name="ssh" accept`, false},
	} {
		m := machine(t, !c.offline)
		ref, _, _ := strings.Cut(c.resource, " {")
		m.Want(c.resource+" noop", m.Apply(true, c.resource), ref+" "+strings.Replace(c.out, "changed ", "noop ", 1))
		m.Want(c.resource, m.Apply(false, c.resource), ref+" "+c.out)
		got := strings.ReplaceAll(strings.Join(m.Argv[2:], "; "), `rule priority="-5" family="ipv6" source NOT ipset="bad" destination address="2001:db8::1" forward-port port="1" protocol="udp" to-port="2" log prefix="a b" limit value="1/m" reject type="icmp6-adm-prohibited"`, "RULE")
		m.Want(c.resource+" commands", got, c.ran)
	}
	m := machine(t, true)
	m.Apply(true, `Firewalld_port[a] {"zone":"public","port":1,"protocol":"tcp"}`, `Firewalld_port[b] {"zone":"block","port":1,"protocol":"tcp"}`)
	m.Want("one query", strings.Join(m.Argv, "; "), "firewall-cmd --state; firewall-cmd --permanent --list-all-zones")
}

func TestZone(t *testing.T) {
	for _, c := range []struct{ params, out, ran string }{
		{`[public] {"target":"default","interfaces":["eth0"],"sources":"10.0.0.0/8","masquerade":true}`, "unchanged", ""},
		{`[block] {"target":"REJECT"}`, "unchanged", ""},
		{`[public] {"target":"DROP"}`, "changed target_changed", "--zone=public --set-target=DROP"},
		{`[public] {"interfaces":["eth1","eth2"],"masquerade":false}`, "changed interfaces_changed masquerade_changed",
			"--zone=public --add-interface=eth1; --zone=public --add-interface=eth2; --zone=public --remove-interface=eth0; --zone=public --remove-masquerade"},
		{`[public] {"sources":[],"icmp_blocks":["echo-request"],"icmp_block_inversion":true}`, "changed sources_changed icmp_blocks_changed icmp_block_inversion_changed",
			"--zone=public --remove-source=10.0.0.0/8; --zone=public --add-icmp-block=echo-request; --zone=public --add-icmp-block-inversion"},
		{`[new] {"target":"%%REJECT%%","sources":["ipset:a"],"masquerade":true,"description":"my zone","short":"New"}`, "changed firewalld_zone_created",
			"--new-zone=new; --zone=new --set-target=%%REJECT%%; --zone=new --add-source=ipset:a; --zone=new --add-masquerade; --zone=new --set-description=my zone; --zone=new --set-short=New"},
		{`[public] {"ensure":"absent"}`, "changed firewalld_zone_removed", "--delete-zone=public"},
	} {
		m := machine(t, true)
		ref, _, _ := strings.Cut("Firewalld_zone"+c.params, " {")
		noop := strings.Replace(c.out, "changed ", "noop ", 1)
		m.Want(c.params+" noop", m.Apply(true, "Firewalld_zone"+c.params), ref+" "+noop)
		m.Want(c.params, m.Apply(false, "Firewalld_zone"+c.params), ref+" "+c.out)
		var ran []string
		for _, line := range m.Argv[2:] {
			if line != "firewall-cmd --reload" {
				ran = append(ran, strings.TrimPrefix(line, "firewall-cmd --permanent "))
			}
		}
		m.Want(c.params+" commands", strings.Join(ran, "; "), c.ran)
		if reloaded := m.Argv[len(m.Argv)-1] == "firewall-cmd --reload"; reloaded != (c.ran != "") {
			t.Errorf("%s: reload is %v", c.params, reloaded)
		}
	}
	m := machine(t, true)
	m.Want("purge", m.Apply(false, `Firewalld_zone[public] {"purge_ports":true,"purge_services":true,"purge_rich_rules":true}`, `Firewalld_port[p] {"zone":"public","port":8080,"protocol":"tcp"}`,
		`Firewalld_service[ssh] {"zone":"public"}`), "Firewalld_port[p] unchanged\nFirewalld_service[ssh] unchanged\nFirewalld_zone[public] changed purge_rich_rules_changed purge_services_changed purge_ports_changed")
	m.Want("purge, commands", strings.Join(m.Argv[2:6], "\n"), `firewall-cmd --permanent --zone=public --remove-rich-rule=rule family="ipv4" source address="192.168.1.2/32" service name="ssh" accept
firewall-cmd --permanent --zone=public --remove-service=dhcpv6-client
firewall-cmd --permanent --zone=public --remove-port=9000-9010/udp
firewall-cmd --reload`)
}

func TestFailures(t *testing.T) {
	const r = `Firewalld_port[1] {"zone":"public","protocol":"tcp"}`
	m := providertest.Scripted(t, "", types)
	m.Want("no program", m.Apply(false, r, `Firewalld_zone[z]`), "Firewalld_port[1] failed: the program firewall-cmd is missing. Install the package firewalld on the target\n"+
		"Firewalld_zone[z] failed: the program firewall-cmd is missing. Install the package firewalld on the target")
	m = providertest.Scripted(t, "firewall-cmd", types, answer("firewall-cmd --permanent --list-all-zones", "\x00\xff\x1b[31m\n x\n"))
	m.Want("noise", m.Apply(false, r), `Firewalld_port[1] failed: firewalld printed "x", which is not a setting`)
	m = providertest.Scripted(t, "firewall-cmd", types, answer("firewall-cmd --permanent --list-all-zones", list),
		providertest.Answer{Begin: "firewall-cmd --permanent --zone=none", Out: resource.Output{Code: 112, Stderr: []byte("Error: INVALID_ZONE: none\n")}})
	m.Want("no zone", m.Apply(false, `Firewalld_port[1] {"zone":"none","protocol":"tcp"}`), "Firewalld_port[1] failed firewalld_port_created: change of ensure from absent to present failed: firewall-cmd: exit code 112: Error: INVALID_ZONE: none")
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, r), "Firewalld_port[1] failed: firewall-cmd: timed out")
	for text, want := range map[string]string{
		`Firewalld_port[1] {"protocol":"tcp"}`:                                     "The parameter zone must be given, or policy",
		`Firewalld_port[1] {"protocol":"tcp","zone":"a","policy":"b"}`:             "The parameter policy cannot be used together with zone",
		`Firewalld_port[x] {"protocol":"tcp","zone":"a"}`:                          "The parameter port must be a number",
		`Firewalld_port[1] {"zone":"a"}`:                                           "The parameter protocol must be given",
		`Firewalld_service[--reload] {"zone":"a"}`:                                 "The parameter service must be a word",
		`Firewalld_rich_rule[r] {"zone":"a","service":"a","protocol":"b"}`:         "The parameter protocol cannot be used together with service",
		`Firewalld_rich_rule[r] {"zone":"a","action":"let"}`:                       "The parameter action must be accept",
		`Firewalld_rich_rule[r] {"zone":"a","priority":40000}`:                     "The parameter priority must be a number",
		`Firewalld_rich_rule[r] {"zone":"a","source":"a\" accept rule"}`:           "The parameter source must have no quotes",
		`Firewalld_rich_rule[r] {"zone":"a","source":{"address":"a","ipset":"b"}}`: "The parameter source must have an address or an ipset",
		`Firewalld_zone[a-name-that-is-too-long]`:                                  "The parameter name must have 1 to 17 characters",
		`Firewalld_zone[z] {"sources":["a b"]}`:                                    "The parameter sources must be words",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(list)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse(text)
		if err == nil && len(all) > strings.Count(text, "\n")+1 {
			t.Errorf("%d zones", len(all))
		}
	})
}

// TestUnordered checks that a declared rule is found in the list of firewalld, which has its own order and quotes.
func TestUnordered(t *testing.T) {
	printed := `rule priority="10" family="ipv4" source address="192.0.2.1" accept`
	if got := unordered(`rule family=ipv4 priority=10 source address=192.0.2.1 accept`); got != unordered(printed) {
		t.Errorf("the rule is %s", got)
	}
	if unordered(`rule priority="0" accept`) != unordered("rule accept") {
		t.Error("the default of priority counts")
	}
	if unordered(`rule family="ipv4" accept`) == unordered(`rule family="ipv4" drop`) {
		t.Error("different rules are equal")
	}
}
