package firewall

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
	"bolt/internal/roottest"
)

var types = map[string]resource.Type{"Firewall": Type(), "Firewallchain": Chain()}

// A machine is a disposable root with a network namespace of its own, in which the real iptables works.
type machine struct {
	*providertest.Machine
	t   *testing.T
	ns  string
	ran []string
}

func newMachine(t *testing.T, setup string) *machine {
	t.Helper()
	m := &machine{Machine: providertest.New(t, "/", "mkdir -p /run; rm -f /usr/sbin/netfilter-persistent", types), t: t, ns: filepath.Join(t.TempDir(), "net")}
	if err := os.WriteFile(m.ns, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.exec("unshare", "--net="+m.ns, "true")
	t.Cleanup(func() { m.exec("umount", m.ns) })
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		m.ran = append(m.ran, filepath.Base(c.Argv[0])+" "+strings.Join(c.Argv[1:], " "))
		in := *c
		in.Argv = append([]string{"nsenter", "--net=" + m.ns}, roottest.Argv(m.Root, c.Argv)...)
		return resource.Exec(ctx, &in)
	}
	m.shell(setup)
	return m
}

func (m *machine) exec(argv ...string) string {
	m.t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(m.t.Context()), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", argv, err, out)
	}
	return string(out)
}

func (m *machine) shell(script string) string {
	m.t.Helper()
	return m.exec("nsenter", "--net="+m.ns, "chroot", m.Root, "sh", "-ec", script)
}

// lines returns the rules in a table, without the chain INPUT of filter.
func (m *machine) lines(save string) string {
	m.t.Helper()
	return m.shell(save + " | grep '^-A' | sed 's/^-A INPUT //' || true")
}

// TestRules applies rules with the real iptables. The lines are recorded: the module 8.5.0 with Puppet 7.23 made them of the same
// resources in a root and a network namespace like these. There are two exceptions: it has the matches of 109 in another
// order, and it refuses the log_level of 108, because log is in small letters.
func TestRules(t *testing.T) {
	for _, c := range []struct{ name, params, line string }{
		{"100 http", `"dport":[80,"443"],"jump":"accept"`, `-p tcp -m multiport --dports 80,443 -m comment --comment "100 http" -j ACCEPT`},
		{"101 ssh", `"dport":22,"source":"10.0.0.5","jump":"ACCEPT"`, `-s 10.0.0.5/32 -p tcp -m tcp --dport 22 -m comment --comment "101 ssh" -j ACCEPT`},
		{"102 range", `"proto":"udp","dport":"5000-5010","source":"10.1.2.3/255.255.0.0","jump":"drop"`, `-s 10.1.0.0/16 -p udp -m udp --dport 5000:5010 -m comment --comment "102 range" -j DROP`},
		{"103 ping", `"proto":"icmp","icmp":"echo-request","limit":"5/second","burst":9,"jump":"accept"`, `-p icmp -m icmp --icmp-type 8 -m limit --limit 5/sec --limit-burst 9 -m comment --comment "103 ping" -j ACCEPT`},
		{"104 state", `"proto":"all","state":["RELATED","ESTABLISHED"],"jump":"accept"`, `-m state --state RELATED,ESTABLISHED -m comment --comment "104 state" -j ACCEPT`},
		{"105 ctstate", `"proto":"all","ctstate":["! NEW","INVALID"],"jump":"drop"`, `-m conntrack ! --ctstate INVALID,NEW -m comment --comment "105 ctstate" -j DROP`},
		{"106 lo", `"proto":"all","iniface":"! lo","destination":"! 127.0.0.0/8","jump":"reject","reject":"icmp-port-unreachable"`, `! -d 127.0.0.0/8 ! -i lo -m comment --comment "106 lo" -j REJECT --reject-with icmp-port-unreachable`},
		{"107 it's a log", `"proto":"tcp","jump":"LOG","log_prefix":"a \"b\" ","log_level":"debug","log_uid":true`, `-p tcp -m comment --comment "107 it\'s a log" -j LOG --log-prefix "a \"b\" " --log-level 7 --log-uid`},
		{"108 log", `"proto":"tcp","jump":"log","log_level":"warn"`, `-p tcp -m comment --comment "108 log" -j LOG`},
		{"109 flags", `"tcp_flags":"FIN,SYN,RST,ACK SYN","src_range":"10.0.0.1-10.0.0.9","mac_source":"00:1b:21:aa:bb:cc","pkttype":"multicast","jump":"accept"`,
			`-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -m iprange --src-range 10.0.0.1-10.0.0.9 -m mac --mac-source 00:1b:21:aa:bb:cc -m pkttype --pkt-type multicast -m comment --comment "109 flags" -j ACCEPT`},
		{"110 recent", `"recent":"update","rseconds":60,"rhitcount":3,"rname":"ssh","rsource":true,"jump":"drop"`, `-p tcp -m recent --update --seconds 60 --hitcount 3 --name ssh --mask 255.255.255.255 --rsource -m comment --comment "110 recent" -j DROP`},
		{"111 connlimit", `"connlimit_above":10,"connlimit_mask":32,"dport":22,"jump":"reject","reject":"tcp-reset"`, `-p tcp -m tcp --dport 22 -m connlimit --connlimit-above 10 --connlimit-mask 32 --connlimit-saddr -m comment --comment "111 connlimit" -j REJECT --reject-with tcp-reset`},
		{"112 not ports", `"sport":["! 1","2"],"jump":"accept"`, `-p tcp -m multiport ! --sports 1,2 -m comment --comment "112 not ports" -j ACCEPT`},
		{"113 no port", `"dport":"! 25","jump":"accept"`, `-p tcp -m tcp ! --dport 25 -m comment --comment "113 no port" -j ACCEPT`},
		{"114 hashlimit", `"hashlimit_name":"h","hashlimit_upto":"10/sec","hashlimit_mode":"srcip","jump":"accept"`, `-p tcp -m hashlimit --hashlimit-upto 10/sec --hashlimit-burst 5 --hashlimit-mode srcip --hashlimit-name h -m comment --comment "114 hashlimit" -j ACCEPT`},
		{"115 string", `"string":"a b","string_algo":"bm","jump":"drop"`, `-p tcp -m string --string "a b" --algo bm -m comment --comment "115 string" -j DROP`},
		{"116 types", `"proto":"all","dst_type":"LOCAL","src_type":"! LOCAL","jump":"accept"`, `-m addrtype ! --src-type LOCAL -m addrtype --dst-type LOCAL -m comment --comment "116 types" -j ACCEPT`},
		{"117 mark", `"proto":"all","match_mark":"1","jump":"accept"`, `-m mark --mark 0x1 -m comment --comment "117 mark" -j ACCEPT`},
		{"118 time", `"proto":"all","time_start":"8:00","time_stop":"17:00","week_days":["Mon","Tue"],"kernel_timezone":true,"jump":"accept"`, `-m time --timestart 08:00:00 --timestop 17:00:00 --weekdays Mon,Tue --datestop 2038-01-19T03:14:07 --kerneltz -m comment --comment "118 time" -j ACCEPT`},
		{"119 every", `"proto":"all","stat_mode":"random","stat_probability":0.25,"jump":"accept"`, `-m statistic --mode random --probability 0.25000000000 -m comment --comment "119 every" -j ACCEPT`},
		{"120 any", `"source":"0.0.0.0/0","proto":"6","jump":"accept","isfragment":false`, `-p tcp -m comment --comment "120 any" -j ACCEPT`},
		{"121 length", `"proto":"all","length":"100:200","mss":null,"jump":"accept"`, `-m length --length 100:200 -m comment --comment "121 length" -j ACCEPT`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "true")
			r := "Firewall[" + c.name + "] {" + c.params + "}"
			m.Want("noop", m.Apply(true, r), "Firewall["+c.name+"] noop firewall_created")
			m.Want("new", m.Apply(false, r), "Firewall["+c.name+"] changed firewall_created")
			m.Want("again", m.Apply(false, r), "Firewall["+c.name+"] unchanged")
			m.Want("rule", m.lines("iptables-save"), c.line)
			m.Want("absent", m.Apply(false, "Firewall["+c.name+`] {"ensure":"absent"}`), "Firewall["+c.name+"] changed firewall_removed")
			m.Want("rule", m.lines("iptables-save"), "")
		})
	}
}

// TestTables checks rules in other tables, and rules of ip6tables.
func TestTables(t *testing.T) {
	m := newMachine(t, "true")
	list := []string{
		`Firewall[100 snat] {"chain":"POSTROUTING","table":"nat","proto":"all","outiface":"eth0","jump":"MASQUERADE","random_fully":true}`,
		`Firewall[110 dnat] {"chain":"PREROUTING","table":"nat","dport":80,"jump":"DNAT","todest":"10.0.0.1:8080"}`,
		`Firewall[120 mark] {"chain":"PREROUTING","table":"mangle","proto":"all","jump":"MARK","set_mark":"1000"}`,
		`Firewall[130 mss] {"chain":"FORWARD","table":"mangle","tcp_flags":"SYN,RST SYN","jump":"TCPMSS","clamp_mss_to_pmtu":true}`,
		`Firewall[140 notrack] {"chain":"OUTPUT","table":"raw","proto":"udp","jump":"CT","notrack":true}`,
		`Firewall[150 dscp] {"chain":"OUTPUT","table":"mangle","proto":"udp","jump":"DSCP","set_dscp_class":"ef"}`,
		`Firewall[160 six] {"protocol":"IPv6","source":"2001:db8::/32","dport":"22","jump":"accept"}`,
		`Firewall[170 six] {"provider":"ip6tables","proto":"ipv6-icmp","icmp":"neighbour-solicitation","hop_limit":255,"action":"accept"}`,
	}
	for i, want := range []string{"noop firewall_created", "changed firewall_created", "unchanged"} {
		for line := range strings.Lines(m.Apply(i == 0, list...)) {
			if !strings.HasSuffix(strings.TrimSpace(line), want) {
				t.Errorf("run %d: %s", i, line)
			}
		}
	}
	m.Want("nat", m.lines("iptables-save -t nat"), `-A PREROUTING -p tcp -m tcp --dport 80 -m comment --comment "110 dnat" -j DNAT --to-destination 10.0.0.1:8080
-A POSTROUTING -o eth0 -m comment --comment "100 snat" -j MASQUERADE --random-fully`)
	m.Want("mangle", m.lines("iptables-save -t mangle"), `-A PREROUTING -m comment --comment "120 mark" -j MARK --set-xmark 0x3e8/0xffffffff
-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -m comment --comment "130 mss" -j TCPMSS --clamp-mss-to-pmtu
-A OUTPUT -p udp -m comment --comment "150 dscp" -j DSCP --set-dscp 0x2e`)
	m.Want("raw", m.lines("iptables-save -t raw"), `-A OUTPUT -p udp -m comment --comment "140 notrack" -j CT --notrack`)
	m.Want("six", m.lines("ip6tables-save"), `-s 2001:db8::/32 -p tcp -m tcp --dport 22 -m comment --comment "160 six" -j ACCEPT
-p ipv6-icmp -m icmp6 --icmpv6-type 135 -m hl --hl-eq 255 -m comment --comment "170 six" -j ACCEPT`)
}

// TestChanges checks that a rule is changed in its place, and that new rules get the places of the module.
func TestChanges(t *testing.T) {
	m := newMachine(t, `iptables -A INPUT -i lo -j ACCEPT; iptables -A INPUT -p tcp --dport 1 -m comment --comment "100 a" -j ACCEPT
iptables -A INPUT -p tcp --dport 3 -m comment --comment "300 c" -j ACCEPT; iptables -A INPUT -m comment --comment "by hand" -j LOG`)
	m.ran = nil
	m.Want("new", m.Apply(false, `Firewall[200 b] {"dport":2,"jump":"accept"}`, `Firewall[050 z] {"dport":5,"jump":"accept"}`, `Firewall[900 last] {"dport":9,"jump":"accept"}`),
		"Firewall[050 z] changed firewall_created\nFirewall[200 b] changed firewall_created\nFirewall[900 last] changed firewall_created")
	m.Want("commands", strings.Join(m.ran, "\n"), `iptables-save 
iptables -w -t filter -I INPUT 3 -p tcp --dport 2 -m comment --comment 200 b -j ACCEPT
iptables -w -t filter -I INPUT 1 -p tcp --dport 5 -m comment --comment 050 z -j ACCEPT
iptables -w -t filter -I INPUT 6 -p tcp --dport 9 -m comment --comment 900 last -j ACCEPT`)
	order := m.shell(`iptables-save | sed -n 's/^-A INPUT.*--comment "\([^"]*\)".*/\1/p; s/^-A INPUT -i lo.*/lo/p'`)
	m.Want("order", order, "050 z\nlo\n100 a\n200 b\n300 c\n900 last\nby hand")
	m.Want("warning", strings.Join(m.Logs, "\n"), "Firewall[900 last] warning: The rules are in force, but cannot be saved for the next boot: the machine has neither netfilter-persistent nor iptables-services")
	m.Want("change", m.Apply(false, `Firewall[200 b] {"dport":[22,21],"source":"10.0.0.0/8","jump":"drop"}`), "Firewall[200 b] changed source_changed dport_changed jump_changed")
	m.Want("rule", m.shell("iptables -S INPUT 4"), `-A INPUT -s 10.0.0.0/8 -p tcp -m multiport --dports 22,21 -m comment --comment "200 b" -j DROP`)
	m.Want("order of a list", m.Apply(false, `Firewall[200 b] {"dport":["21","22"],"jump":"drop"}`), "Firewall[200 b] unchanged")
	m.Want("move", m.Apply(false, `Firewall[200 b] {"chain":"OUTPUT","dport":["21","22"],"jump":"drop"}`), "Firewall[200 b] changed chain_changed")
	m.Want("moved", m.shell("iptables -S OUTPUT 1; iptables -S INPUT 4"), "-A OUTPUT -p tcp -m multiport --dports 21,22 -m comment --comment \"200 b\" -j DROP\n"+
		`-A INPUT -p tcp -m tcp --dport 3 -m comment --comment "300 c" -j ACCEPT`)
	m.Want("a flag", m.Apply(false, `Firewall[100 a] {"dport":1,"jump":"accept","isfragment":false}`), "Firewall[100 a] unchanged")
	m.Want("refused by iptables", m.Apply(false, `Firewall[400 x] {"iniface":"toolongtoolongtoolong","jump":"accept"}`),
		`Firewall[400 x] failed firewall_created: change of ensure from absent to present failed: iptables: exit code 2: iptables v1.8.9 (nf_tables): interface name `+"`toolongtoolongtoolong' must be shorter than IFNAMSIZ (15); Try `iptables -h' or 'iptables --help' for more information.")
}

func TestChains(t *testing.T) {
	m := newMachine(t, `iptables -A INPUT -p tcp --dport 1 -m comment --comment "100 a" -j ACCEPT; iptables -A INPUT -i lo -m comment --comment "it's (mine)" -j ACCEPT; iptables -A INPUT -j LOG --log-prefix "keep me"`)
	each := func(name, r, out, save, after string) {
		t.Helper()
		ref, _, _ := strings.Cut(r, " {")
		m.Want(name+", noop", m.Apply(true, r), ref+" "+strings.Replace(out, "changed ", "noop ", 1))
		m.Want(name, m.Apply(false, r), ref+" "+out)
		m.Want(name+", again", m.Apply(false, r), ref+" unchanged")
		m.Want(name+", state", m.shell(save+" || true"), after)
	}
	each("new", `Firewallchain[MINE:filter:IPv4] {"ensure":"present"}`, "changed firewallchain_created", "iptables -S MINE", "-N MINE")
	each("policy", `Firewallchain[FORWARD:filter:IPv4] {"policy":"drop"}`, "changed policy_changed", "iptables -S FORWARD", "-P FORWARD DROP")
	each("a table that was never used", `Firewallchain[INPUT:mangle:IPv6] {"policy":"drop"}`, "changed policy_changed", "ip6tables -t mangle -S INPUT", "-P INPUT DROP")
	each("built in", `Firewallchain[INPUT:nat:IPv4] {"ensure":"present"}`, "unchanged", "true", "")
	m.Apply(false, `Firewall[100 jump] {"chain":"MINE","dport":7,"jump":"accept"}`)
	each("absent", `Firewallchain[MINE:filter:IPv4] {"ensure":"absent"}`, "changed firewallchain_removed", "iptables -S MINE 2>/dev/null | wc -l", "0")
	m.Want("purge", m.Apply(false, `Firewallchain[INPUT:filter:IPv4] {"purge":true,"ignore":["(?i)KEEP me"]}`, `Firewall[100 a] {"dport":1,"jump":"accept"}`),
		"Firewall[100 a] unchanged\nFirewall[9002 it's (mine)] changed firewall_removed\nFirewallchain[INPUT:filter:IPv4] unchanged")
	m.Want("left", m.lines("iptables-save -t filter"), "-p tcp -m tcp --dport 1 -m comment --comment \"100 a\" -j ACCEPT\n-j LOG --log-prefix \"keep me\"")
	m.Want("foreign", m.Apply(true, `Firewallchain[INPUT:filter:IPv4] {"purge":true,"ignore_foreign":true}`), "Firewall[100 a] noop firewall_removed\nFirewallchain[INPUT:filter:IPv4] unchanged")
	each("built in, absent", `Firewallchain[FORWARD:filter:IPv4] {"ensure":"absent"}`, "changed firewallchain_removed", "iptables -S FORWARD", "-P FORWARD ACCEPT")
}

func TestFailures(t *testing.T) {
	const r = `Firewall[100 a] {"jump":"accept"}`
	m := providertest.Scripted(t, "", types)
	m.Want("no program", m.Apply(false, r, `Firewallchain[X:filter:IPv6]`),
		"Firewall[100 a] failed: the program iptables-save is missing. Install the package iptables on the target\nFirewallchain[X:filter:IPv6] failed: the program ip6tables-save is missing. Install the package iptables on the target")
	for noise, want := range map[string]string{
		"\x00\xff\x1b[31m\n":                          "a line is in no table",
		"*filter\n\xff\n":                             "a line is not a table, a chain or a rule",
		"*filter\n-A INPUT -j LOG --log-prefix \"x\n": "a rule has a quote without an end, or no chain",
	} {
		m = providertest.Scripted(t, "iptables iptables-save", types, providertest.Answer{Begin: "iptables-save", Out: resource.Output{Stdout: []byte(noise)}})
		m.Want("noise", m.Apply(false, r), "Firewall[100 a] failed: iptables-save: "+want)
	}
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, r), "Firewall[100 a] failed: iptables-save: timed out")
	for text, want := range map[string]string{
		`Firewall[a]`:                                       "The parameter name must be a number and words",
		`Firewall[9001 a]`:                                  "The parameter name cannot begin with a number from 9000",
		`Firewall[1 a] {"protocol":"IPv5"}`:                 "The parameter protocol",
		`Firewall[1 a] {"source":"example.com"}`:            "The parameter source must be an address or a network of the protocol",
		`Firewall[1 a] {"source":"2001:db8::1"}`:            "The parameter source must be an address or a network of the protocol",
		`Firewall[1 a] {"dport":"http"}`:                    "The parameter dport must be a port or a range",
		`Firewall[1 a] {"dport":["1","! 2"]}`:               "The parameter dport must be negated in its first value",
		`Firewall[1 a] {"u32":"0x0&0x0=0x0"}`:               "The parameter u32 is not supported: use --engine puppet",
		`Firewall[1 a] {"icmp":"any"}`:                      "The parameter icmp",
		`Firewall[1 a] {"log_prefix":"x"}`:                  "The parameter log_prefix cannot be used without jump => LOG",
		`Firewall[1 a] {"jump":"DNAT"}`:                     "The parameter jump needs table => nat",
		`Firewall[1 a] {"jump":"--flush"}`:                  "The parameter jump must be one line that does not begin with -",
		`Firewall[1 a] {"burst":3}`:                         "The parameter burst cannot be used without limit",
		`Firewall[1 a] {"limit":"fast"}`:                    "The parameter limit must be a rate",
		`Firewall[1 a] {"source":{"sensitive":"10.0.0.1"}}`: "The parameter source must not be Sensitive",
		`Firewallchain[INPUT:filter]`:                       "The parameter name must have the form CHAIN:TABLE:PROTOCOL",
		`Firewallchain[X:filter:ethernet]`:                  "bolt does not apply chains of ebtables",
		`Firewallchain[X:filter:IPv4] {"policy":"drop"}`:    "The parameter policy can only be set for built-in chains",
		`Firewallchain[FORWARD:nat:IPv4]`:                   "The parameter name must be a chain that the table has",
		`Firewallchain[X:filter:IPv4] {"ignore":"("}`:       "The parameter ignore must be regular expressions",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestPersist checks how the rules are saved, with stand-ins for the programs of the systems.
func TestPersist(t *testing.T) {
	for _, c := range []struct{ file, text, ran, saved string }{
		{"usr/sbin/netfilter-persistent", "", "netfilter-persistent save", ""},
		{"usr/libexec/iptables/iptables.init", "", "iptables.init save", ""},
		{"etc/os-release", "ID=arch\n", "iptables-save ", "etc/iptables/iptables.rules"},
		{"etc/os-release", "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "iptables-save ", "etc/sysconfig/iptables"},
	} {
		m := providertest.Scripted(t, "iptables iptables-save", types, providertest.Answer{Begin: "iptables-save", Out: resource.Output{Stdout: []byte("*filter\nCOMMIT\n")}})
		m.Write(c.file, c.text, 0o755)
		m.Write("etc/iptables/x", "", 0o644)
		m.Write("etc/sysconfig/x", "", 0o644)
		m.Want("changed", m.Apply(false, `Firewall[100 a] {"jump":"accept"}`, `Firewall[101 b] {"jump":"accept"}`), "Firewall[100 a] changed firewall_created\nFirewall[101 b] changed firewall_created")
		if got := strings.Join(m.Argv[3:], "; "); strings.TrimSpace(got) != strings.TrimSpace(c.ran) {
			t.Errorf("%s: %q", c.file, m.Argv)
		}
		if c.saved != "" {
			if text, err := os.ReadFile(m.Root + "/" + c.saved); err != nil || string(text) != "*filter\nCOMMIT\n" {
				t.Errorf("%s: %q, %v", c.saved, text, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT ! -s 10.0.0.0/8 -p tcp -m multiport --dports 80,443 -m comment --comment \"100 it\\'s\" -j LOG --log-prefix \"a b\"\nCOMMIT\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text)
		if err != nil {
			return
		}
		for _, c := range s.tables {
			for _, r := range c.rules {
				for param, v := range r.settings(false) {
					if len(v.values) == 0 {
						t.Errorf("%s has no value in %q", param, r.line)
					}
				}
				if n := c.position(r.chain, "500 x"); n < 1 || n > len(c.of(r.chain))+1 {
					t.Errorf("the place is %d", n)
				}
			}
		}
	})
}
