package config

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/transport"
)

// sshFacts returns the local facts that the ssh program uses.
func sshFacts(t testing.TB) Local {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	f := CurrentLocal("", os.LookupEnv)
	f.home, f.user = u.HomeDir, u.Username
	return f
}

// writeConfig writes files to a new directory and returns the path of the
// first. "DIR" in a text stands for that directory.
func writeConfig(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range files {
		name := filepath.Join(dir, fmt.Sprintf("config%d", i))
		text = strings.ReplaceAll(text, "DIR", dir)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "config0")
}

// loadText loads a configuration and returns it with the log.
func loadText(t testing.TB, files ...string) (*Files, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	c, err := readFiles(sshFacts(t), writeConfig(t, files...), "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return c, &log
}

// askSSH returns the output of "ssh -G", by keyword.
func askSSH(t testing.TB, config, host, user string, port int) map[string][]string {
	t.Helper()
	args := []string{"-G", "-F", config}
	if user != "" {
		args = append(args, "-l", user)
	}
	if port != 0 {
		args = append(args, "-p", fmt.Sprint(port))
	}
	cmd := exec.Command("ssh", append(args, "--", host)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ssh -G (the OpenSSH client must be installed): %v\n%s", err, stderr.String())
	}
	said := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		said[k] = append(said[k], v)
	}
	return said
}

// inSSHWords converts a Host to the format of "ssh -G", as far as possible.
// defaults is the output of ssh without a file.
func inSSHWords(h Host, local Local, defaults map[string][]string) map[string][]string {
	one := func(s, keyword string) []string {
		if s == "" {
			return defaults[keyword]
		}
		return []string{s}
	}
	flag := func(b bool) []string {
		if b {
			return []string{"yes"}
		}
		return []string{"no"}
	}
	seconds := func(d time.Duration, keyword string) []string {
		if d == 0 {
			return defaults[keyword]
		}
		return []string{fmt.Sprint(int(d / time.Second))}
	}
	files := func(list []string) []string {
		if len(list) == 0 {
			return []string{"none"}
		}
		return []string{strings.Join(list, " ")}
	}
	m := map[string][]string{
		"hostname":       {h.HostName},
		"user":           {h.User},
		"port":           {fmt.Sprint(h.Port)},
		"identitiesonly": flag(h.IdentitiesOnly),
		"hashknownhosts": flag(h.HashKnownHosts),

		"gssapiauthentication":      flag(h.GSSAPIAuthentication),
		"gssapidelegatecredentials": flag(h.GSSAPIDelegateCredentials),
		"hostkeyalias":              one(h.HostKeyAlias, "hostkeyalias"),
		"identityagent":             one(h.IdentityAgent, "identityagent"),
		"proxyjump":                 one(h.ProxyJump, "proxyjump"),
		"proxycommand":              one(h.ProxyCommand, "proxycommand"),
		"connecttimeout":            seconds(h.ConnectTimeout, "connecttimeout"),
		"serveraliveinterval":       seconds(h.ServerAliveInterval, "serveraliveinterval"),
		"certificatefile":           h.CertificateFiles,
		"userknownhostsfile":        files(h.UserKnownHostsFiles),
		"globalknownhostsfile":      files(h.GlobalKnownHostsFiles),
		"identityfile":              h.IdentityFiles,
	}
	m["sendenv"], m["setenv"] = h.SendEnv, h.SetEnv
	m["requesttty"] = defaults["requesttty"]
	if h.RequestTTY {
		m["requesttty"] = []string{"force"}
	}
	m["revokedhostkeys"] = one(h.RevokedHostKeys, "revokedhostkeys")
	m["bindaddress"] = one(h.BindAddress, "bindaddress")
	m["addressfamily"] = one(h.AddressFamily, "addressfamily")
	m["requiredrsasize"] = defaults["requiredrsasize"]
	if h.RequiredRSASize != 0 {
		m["requiredrsasize"] = []string{fmt.Sprint(h.RequiredRSASize)}
	}
	if h.User == "" {
		m["user"] = []string{local.user}
	}
	if h.Port == 0 {
		m["port"] = []string{"22"}
	}
	switch n := h.ServerAliveCountMax; n {
	case 0:
		m["serveralivecountmax"] = defaults["serveralivecountmax"]
	case -1:
		m["serveralivecountmax"] = []string{"0"}
	default:
		m["serveralivecountmax"] = []string{fmt.Sprint(n)}
	}
	switch s := h.StrictHostKeyChecking; s {
	case "":
		m["stricthostkeychecking"] = defaults["stricthostkeychecking"]
	case "yes":
		m["stricthostkeychecking"] = []string{"true"}
	case "no", "off":
		m["stricthostkeychecking"] = []string{"false"}
	default:
		m["stricthostkeychecking"] = []string{s}
	}
	for keyword, list := range map[string]string{
		"ciphers": h.Ciphers, "kexalgorithms": h.KexAlgorithms, "macs": h.MACs,
		"hostkeyalgorithms": h.HostKeyAlgorithms, "pubkeyacceptedalgorithms": h.PubkeyAcceptedAlgorithms,
		"casignaturealgorithms": h.CASignatureAlgorithms,
	} {
		if list == "" || !strings.ContainsAny(list[:1], "+-^") { // ssh -G prints the result of these
			m[keyword] = one(list, keyword)
		}
	}
	return m
}

// compareWithSSH compares our settings for a host with those of ssh.
func compareWithSSH(t *testing.T, c *Files, path, host, user string, port int, defaults map[string][]string) {
	t.Helper()
	want := askSSH(t, path, host, user, port)
	h, err := c.lookup(host, user, port)
	if err != nil {
		t.Errorf("lookup %s: %v", host, err)
		return
	}
	got := inSSHWords(h, c.local, defaults)
	for _, keyword := range []string{"identityfile", "certificatefile", "identityagent", "proxycommand"} {
		// ssh -G does not expand ~ in these. Its output without a file
		// corresponds to nil.
		var list []string
		for _, v := range want[keyword] {
			if rest, ok := strings.CutPrefix(v, "~"); ok {
				v = c.local.home + rest
			}
			if v != "none" || keyword == "identityagent" {
				list = append(list, v)
			}
		}
		if keyword == "identityfile" && h.IdentityFiles == nil {
			if !slices.Equal(want[keyword], defaults[keyword]) {
				t.Errorf("%s: identityfile unset, ssh -G says %q", host, want[keyword])
			}
			list = nil
		}
		want[keyword] = list
	}
	if !slices.Equal(want["requesttty"], []string{"force"}) {
		want["requesttty"] = defaults["requesttty"] // the others do not differ here
	}
	for keyword, have := range got {
		if !slices.Equal(have, want[keyword]) {
			t.Errorf("%s@%s:%d: %s is %q, ssh -G says %q", user, host, port, keyword, have, want[keyword])
		}
	}
}

// TestConfigAgainstSSH compares with the real client. "DIR" in a text is the
// directory of the files.
func TestConfigAgainstSSH(t *testing.T) {
	type ask struct {
		host, user string
		port       int
	}
	hosts := func(names ...string) (list []ask) {
		for _, n := range names {
			list = append(list, ask{host: n})
		}
		return list
	}
	tests := []struct {
		name  string
		files []string
		ask   []ask
	}{
		{"empty", []string{""}, hosts("web1", "WEB1.Example.COM", "192.0.2.1", "2001:db8::1")},
		{"settings before any Host", []string{"User bob\nPort 2200\n"}, hosts("web1")},
		{"first value wins", []string{"Host web*\n  User one\nHost *\n  User two\n  Port 77\n"}, hosts("web1", "db1")},
		{"negated pattern", []string{"Host *.example.com !db.example.com\n  User x\n"}, hosts("a.example.com", "db.example.com", "other")},
		{"negated pattern alone", []string{"Host !db\n  User x\n"}, hosts("db", "web")},
		{"question mark", []string{"Host web?\n  User x\n"}, hosts("web", "web1", "web12")},
		{"stars", []string{"Host *a*b*\n  User x\n"}, hosts("ab", "xaxxbx", "ba", "a")},
		{"case of Host", []string{"Host Web1\n  User x\nHost web2\n User y\n"}, hosts("web1", "Web1", "WEB2")},
		{"HostName", []string{"Host web\n  HostName Web1.Example.COM\n"}, hosts("web")},
		{"HostName with %h", []string{"Host *\n  HostName %h.example.com\n"}, hosts("web")},
		{"HostName with %%", []string{"Host *\n  HostName a%%b\n"}, hosts("web")},
		{"HostName is an address", []string{"Host v6\n  HostName 2001:0DB8:0:0::1\n"}, hosts("v6")},
		{"equals signs", []string{"Host=web1\n  User=bob\n  Port = 23\n  IdentityFile =/k1\n  ConnectTimeout= 5\n"}, hosts("web1")},
		{"quotes", []string{"Host \"web1\" 'web2'\n  IdentityFile \"/a b/c\"\n  IdentityFile /a\\ b\n  IdentityFile '/x\"y'\n User b\"o\"b\n"}, hosts("web1", "web2")},
		{"comments", []string{"# one\n  # two\nHost web1 # three web2\n  User bob # four\n  IdentityFile /k#1\n"}, hosts("web1", "web2")},
		{"white space", []string{"\tHost\tweb1 \r\n\t\tUser \t bob\t\r\n\n\n  Port 24   \n"}, hosts("web1")},
		{"case of keywords", []string{"HOST web1\n  uSER bob\n  pORT 25\n"}, hosts("web1")},
		{"no newline at the end", []string{"Host web1\n  User bob"}, hosts("web1")},
		{"several keys", []string{"Host web1\n IdentityFile /k1\n IdentityFile ~/k2\nHost *\n IdentityFile /k3\n IdentityFile /k1\n CertificateFile /c1\n CertificateFile ~/c2\n"}, hosts("web1", "db1")},
		{"no key", []string{"IdentityFile none\n"}, hosts("web1")},
		{"no key and one", []string{"IdentityFile none\nIdentityFile /k1\n"}, hosts("web1")},
		{"flags", []string{"IdentitiesOnly yes\nHashKnownHosts TRUE\nStrictHostKeyChecking accept-new\n"}, hosts("web1")},
		{"Kerberos", []string{"Host web1\nGSSAPIAuthentication yes\nHost *\nGSSAPIAuthentication no\nGSSAPIDelegateCredentials yes\n"}, hosts("web1", "web2")},
		{"more flags", []string{"IdentitiesOnly no\nHashKnownHosts false\nStrictHostKeyChecking off\n"}, hosts("web1")},
		{"strict", []string{"StrictHostKeyChecking true\n"}, hosts("web1")},
		{"agent", []string{"Host a\n IdentityAgent none\nHost b\n IdentityAgent /sock\nHost c\n IdentityAgent ~/sock.%h\n"}, hosts("a", "b", "c", "d")},
		{"times", []string{"ConnectTimeout 1m30s\nServerAliveInterval 2h\nServerAliveCountMax 0\n"}, hosts("web1")},
		{"time none is unset", []string{"ConnectTimeout none\nConnectTimeout 7\n"}, hosts("web1")},
		{"known hosts", []string{"Host a\n UserKnownHostsFile ~/kh /kh.%h.%n.%p.%r.%u.%k.%%.%i.%L.%l.%d\nHost b\n UserKnownHostsFile none\n GlobalKnownHostsFile none\nHost c\n UserKnownHostsFile ${HOME}/kh\n GlobalKnownHostsFile /a \"/b\"\nHost e\n HostKeyAlias ALIAS\n UserKnownHostsFile /%k\n"}, hosts("a", "b", "c", "d", "e")},
		{"hash of the connection", []string{"User bob\nPort 2022\nHostName real.%h\nUserKnownHostsFile /kh.%C\n"}, []ask{{host: "web1"}, {"web1", "amy", 1}}},
		{"proxy command", []string{"Host a\n ProxyCommand nc -X 5 h p # no comment\nHost b\n ProxyCommand none\nHost c\n ProxyCommand=ssh -W \"x y\" j\n"}, hosts("a", "b", "c")},
		{"proxy jump", []string{"Host a\n ProxyJump u@j:23\nHost b\n ProxyJump j1,j2:24\nHost c\n ProxyJump none\nHost d\n ProxyJump ssh://u@j:25 # comment\nHost *\n ProxyJump other\n"}, hosts("a", "b", "c", "d", "e")},
		{"jump before command", []string{"ProxyJump j\nProxyCommand c\n"}, hosts("web1")},
		{"command before jump", []string{"ProxyCommand c\nProxyJump j\n"}, hosts("web1")},
		{"no jump, then command", []string{"ProxyJump none\nProxyCommand c\n"}, hosts("web1")},
		{"no command, then jump", []string{"ProxyCommand none\nProxyJump j\n"}, hosts("web1")},
		{"algorithms", []string{"Ciphers aes256-ctr,aes128-ctr\nKexAlgorithms curve25519-sha256\nMACs hmac-sha2-256\nHostKeyAlgorithms ssh-ed25519\nPubkeyAcceptedKeyTypes ssh-ed25519\n"}, hosts("web1")},
		{"host, user and port are given", []string{"Host web1\n User bob\n Port 26\n"}, []ask{{"web1", "amy", 27}, {"web1", "amy", 0}, {"web1", "", 28}}},
		{"Match all", []string{"Host x\n User a\nMatch all\n User b\n"}, hosts("x", "y")},
		{"Match host and user", []string{"Match host web* user bob\n Port 30\nMatch host web*\n Port 31\n"}, []ask{{"web1", "bob", 0}, {"web1", "amy", 0}, {"db", "bob", 0}, {"bob", "", 0}, {"user", "", 0}}},
		{"Match sees User and HostName", []string{"Host a\n User bob\n HostName WEB1\nMatch user bob\n Port 32\nMatch host web1\n IdentityFile /k\nMatch originalhost A\n ConnectTimeout 3\n"}, hosts("a", "web1")},
		{"Match with negation and lists", []string{"Match host web*,!web2 !user root,amy\n Port 33\nMatch !originalhost web1\n IdentityFile /k\n"}, []ask{{"web1", "bob", 0}, {"web2", "bob", 0}, {"web1", "amy", 0}, {"db", "x", 0}}},
		{"Match with equals signs", []string{"Match host=web1 !user=amy\n Port 38\n"}, []ask{{"web1", "bob", 0}, {"web1", "amy", 0}, {"db", "bob", 0}}},
		{"Match localuser", []string{"Match localuser root\n Port 34\nMatch localuser nobody\n User x\n"}, hosts("web1")},
		{"Match !all", []string{"Match !all\n Port 35\n"}, hosts("web1")},
		{"Match final", []string{"Host short\n HostName long.example.com\n User bob\nMatch final host *.example.com\n Port 36\n User late\nMatch final all\n IdentityFile /f\nHost *.example.com\n ConnectTimeout 4\n"}, hosts("short", "x")},
		{"Match canonical without it", []string{"Match canonical all\n Port 37\n"}, hosts("web1")},
		{"Include", []string{"Include DIR/config1\nHost *\n Port 40\n User late\n", "User first\nHost web*\n Port 41\n"}, hosts("web1", "db1")},
		{"Include inside a Host", []string{"Host web*\n Include DIR/config1\n Port 42\n", "User inc\nHost web1 db1\n IdentityFile /k\nMatch all\n ConnectTimeout 9\n"}, hosts("web1", "web2", "db1")},
		{"Include keeps the block", []string{"Host web*\n Include DIR/config1\n User after\nHost *\n Port 43\n", "Host none\n User no\n"}, hosts("web1", "db1")},
		{"Include with a glob", []string{"Include DIR/conf*[12] DIR/nothing*\n", "User one\n", "User two\nPort 44\n"}, hosts("web1")},
		{"nested Include", []string{"Host w*\n Include DIR/config1\n", "Host *1\n Include DIR/config2\n User mid\n", "Match host web*\n Port 45\n"}, hosts("web1", "w1", "x1", "web2")},
		{"limits of host keys", []string{"Host a\n RevokedHostKeys /r\n RequiredRSASize 3072\n CASignatureAlgorithms ssh-ed25519\nHost b\n RevokedHostKeys none\n"}, hosts("a", "b", "c")},
		{"source address", []string{"Host a\n BindAddress 192.0.2.1\n AddressFamily INET\nHost b\n AddressFamily inet6\nHost c\n AddressFamily any\nHost *\n BindAddress 192.0.2.9\n AddressFamily inet6\n"}, hosts("a", "b", "c", "d")},
		{"settings we do not use", []string{"Compression yes\nControlMaster auto\nForwardAgent no\nTunnel no\nPermitLocalCommand no\nLocalCommand x\nUser bob\nCanonicalDomains a b\n"}, hosts("web1")},
		{"environment", []string{"SendEnv LANG LC_*\nHost a\n SetEnv A=b \"C=d e\"\n SendEnv -LC_* X?\nHost *\n SetEnv LATE=1\n SendEnv -none LAST\n"}, hosts("a", "b")},
		{"terminal", []string{"Host a\n RequestTTY force\nHost b\n RequestTTY yes\nHost c\n RequestTTY no\nHost d\n RequestTTY auto\nHost *\n RequestTTY Force\n"}, hosts("a", "b", "c", "d", "e")},
		{"Match exec", []string{"Match exec true\n User a\nMatch !exec \"exit 3\" host web1\n Port 3\nMatch exec false\n IdentityFile /no\nMatch host web1 exec \"test %h-%n-%p-%r = long-web1-3-a\"\n ConnectTimeout 4\nHost web1\n HostName long\nMatch exec \"test %h = long\"\n ServerAliveInterval 5\n"}, hosts("web1", "db")},
		{"Match exec runs after what stands before it", []string{"Match host web1 exec \"test -e DIR/ran && exit 1; touch DIR/ran; rm DIR/ran\"\n User once\nMatch host none exec \"touch DIR/none\"\n User no\nMatch exec \"test -e DIR/none\"\n User ran\n"}, hosts("web1", "db")},
		{"Match exec in the final pass", []string{"Host short\n HostName long\nMatch final exec \"test %h = long\"\n User late\n"}, hosts("short", "x")},
	}
	defaults := askSSH(t, "/dev/null", "web1", "", 0)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeConfig(t, test.files...)
			var log bytes.Buffer
			c, err := readFiles(sshFacts(t), path, "", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if log.Len() > 0 {
				t.Errorf("a good file is complained about: %s", log.String())
			}
			for _, a := range test.ask {
				if test.name == "agent" && a.host == "c" {
					h, err := c.lookup("c", "", 0)
					if want := c.local.home + "/sock.c"; err != nil || h.IdentityAgent != want {
						t.Errorf("agent of c is %q (%v), want %q", h.IdentityAgent, err, want)
					}
					continue // not every version of ssh -G expands it
				}
				compareWithSSH(t, c, path, a.host, a.user, a.port, defaults)
			}
		})
	}
}

// configWriter writes random configurations that OpenSSH accepts.
type configWriter struct {
	r *rand.Rand
}

func (w configWriter) pick(list ...string) string { return list[w.r.IntN(len(list))] }

func (w configWriter) pattern() string {
	return w.pick("", "", "!") + w.pick("web1", "web2", "db1", "web*", "*", "?b1", "*.example.com", "*1", "WEB1", "a.example.com")
}

func (w configWriter) line(include string) string {
	arg := ""
	switch w.r.IntN(16) {
	case 0, 1:
		arg = "Host" + w.pick(" ", "=", " = ", "\t") + w.pattern() + w.pick("", " "+w.pattern(), " "+w.pattern()+" "+w.pattern())
	case 2, 3:
		arg = "Match " + w.pick("host ", "originalhost ", "!host ", "host ") + strings.TrimPrefix(w.pattern(), "!") + w.pick("", ","+w.pattern()) +
			w.pick("", "", " user bob", " !user bob", " user amy,b*", " localuser root", " final", " canonical")
	case 4:
		arg = w.pick("Match all", "Match user bob", "Match final all", "Match !all", "Match localuser *")
	case 5:
		if include == "" {
			return ""
		}
		arg = "Include " + w.pick("", "\"") + include
		arg += arg[len("Include "):][:strings.Count(arg, "\"")]
	case 6, 7:
		arg = "User" + w.pick(" ", "=") + w.pick("bob", "amy", "'root'", "b\"o\"b")
	case 8:
		arg = "HostName " + w.pick("%h.example.com", "web1", "WEB2.example.com", "192.0.2.7", "db1")
	case 9:
		arg = "Port " + fmt.Sprint(1+w.r.IntN(60000))
	case 10, 11:
		arg = w.pick("IdentityFile", "identityfile", "CertificateFile") + w.pick(" ", " = ") + w.pick("/k1", "~/k2", "\"/k 3\"", "/k4")
	case 12:
		arg = w.pick("ProxyJump u@j1:22,j2", "ProxyJump none", "ProxyJump j3", "ProxyCommand nc a b", "ProxyCommand none")
	case 13:
		arg = w.pick("StrictHostKeyChecking no", "StrictHostKeyChecking yes", "StrictHostKeyChecking accept-new", "HashKnownHosts yes", "IdentitiesOnly yes", "IdentitiesOnly no", "HostKeyAlias one", "HostKeyAlias Two")
	case 14:
		arg = "UserKnownHostsFile " + w.pick("/kh.%h.%r", "~/kh /kh2.%k.%n", "/kh.%p.%d.%u") // not %C: since OpenSSH 9.6 it includes the jump host
	case 15:
		arg = w.pick("ConnectTimeout 5", "ConnectTimeout 1m", "ConnectTimeout none", "ServerAliveInterval 9", "ServerAliveCountMax 4", "SendEnv A*", "SendEnv -A* B", "SetEnv X=1 Y=2", "RequestTTY force", "ForwardAgent no")
	}
	return w.pick("", "  ", "\t") + arg + w.pick("", "", " ", "\r") + "\n"
}

func (w configWriter) file(include string) string {
	var b strings.Builder
	for range 3 + w.r.IntN(18) {
		b.WriteString(w.line(include))
		if w.r.IntN(8) == 0 {
			b.WriteString(w.pick("\n", "# Host *\n", "   # User x\n"))
		}
	}
	return b.String()
}

// TestConfigRandom compares with the real client over generated files.
func TestConfigRandom(t *testing.T) {
	defaults := askSSH(t, "/dev/null", "web1", "", 0)
	for seed := range uint64(100) {
		w := configWriter{rand.New(rand.NewPCG(seed, 1))}
		path := writeConfig(t, w.file("DIR/config1"), w.file("DIR/config2"), w.file(""))
		c, err := readFiles(sshFacts(t), path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			host := w.pick("web1", "web2", "db1", "a.example.com", "WEB1", "192.0.2.7")
			compareWithSSH(t, c, path, host, w.pick("", "", "bob"), w.r.IntN(2)*2222, defaults)
		}
		if t.Failed() {
			for i := range 3 {
				text, _ := os.ReadFile(strings.TrimSuffix(path, "0") + fmt.Sprint(i))
				t.Logf("seed %d, config%d:\n%s", seed, i, text)
			}
			return
		}
	}
}

// TestConfigFaults checks faults for which OpenSSH rejects the whole file. bolt
// reports their position and uses the rest.
func TestConfigFaults(t *testing.T) {
	tests := []struct {
		name, text string
		warn       string // text in the log, with the line
		user       string // user of web1
		port       int
	}{
		{"bad port", "Host web1\nPort x\nPort 7\nUser a\n", "config0:2", "a", 7},
		{"port out of range", "Port 70000\nUser a\n", "config0:1", "a", 0},
		{"missing argument", "User\nUser a\n", "config0:1", "a", 0},
		{"open quote", "User \"a\nUser b\n", "config0:1", "b", 0},
		{"two arguments", "User a b\nUser c\n", "config0:1", "c", 0},
		{"bad flag", "IdentitiesOnly perhaps\nUser a\n", "config0:1", "a", 0},
		{"bad time", "ConnectTimeout 5x\nUser a\n", "config0:1", "a", 0},
		{"bad Host applies to nobody", "Host \"web1\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"empty Host applies to nobody", "Host\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"unknown Match criterion", "Match weather fine\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"Match without an argument", "Match host\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"all with others", "Match host x user y all\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"Match exec behind what is not evaluated", "Match tagged x exec \"touch DIR/ran\"\nUser bad\nMatch all\nUser a\n", "config0:1", "a", 0},
		{"no name in SetEnv", "SetEnv =x\nUser a\n", "config0:1", "a", 0},
		{"bad RequestTTY", "RequestTTY often\nUser a\n", "config0:1", "a", 0},
		{"localnetwork, tagged", "Match host web1 localnetwork 10.0.0.0/8\nUser bad\nMatch tagged x\nUser bad\nMatch all\nUser a\n", "config0:3", "a", 0},
		{"Include of itself", "User a\nInclude DIR/config0\nPort 9\n", "config0:2", "a", 9},
		{"Include without an argument", "Include\nUser a\n", "config0:1", "a", 0},
		{"Include of an unset variable", "Include ${NO_SUCH_VARIABLE}/x\nUser a\n", "config0:1", "a", 0},
		{"Include of a bad pattern", "Include DIR/[a\nUser a\n", "config0:1", "a", 0},
		{"Include with an open quote", "Include \"DIR\nUser a\n", "config0:1", "a", 0},
		{"bad StrictHostKeyChecking", "StrictHostKeyChecking often\nUser a\n", "config0:1", "a", 0},
		{"bad count", "ServerAliveCountMax -1\nUser a\n", "config0:1", "a", 0},
		{"time too long", "ConnectTimeout 4000w\nUser a\n", "config0:1", "a", 0},
		{"ProxyCommand without a command", "ProxyCommand =\nUser a\n", "config0:1", "a", 0},
		{"empty argument", "User \"\"\nUser a\n", "config0:1", "a", 0},
		{"empty pattern", "Host web1 \"\"\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"Match without criteria", "Match # all\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"Match with an empty argument", "Match host=\nUser bad\nHost *\nUser a\n", "config0:1", "a", 0},
		{"bad RequiredRSASize", "RequiredRSASize big\nUser a\n", "config0:1", "a", 0},
		{"bad AddressFamily", "AddressFamily inet5\nUser a\n", "config0:1", "a", 0},
		{"none among known hosts files", "UserKnownHostsFile /a none\nUser a\n", "config0:1", "a", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, log := loadText(t, test.text)
			h, err := c.lookup("web1", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			if h.User != test.user || h.Port != test.port {
				t.Errorf("got user %q, port %d, want %q, %d", h.User, h.Port, test.user, test.port)
			}
			if !strings.Contains(log.String(), test.warn) {
				t.Errorf("log %q does not name %s", log.String(), test.warn)
			}
			if log.Reset(); test.name == "Match exec is not run" {
				c.lookup("web2", "", 0)
				if log.Len() > 0 {
					t.Errorf("the block is complained about twice: %s", log.String())
				}
			}
		})
	}
}

// TestConfigQuietMatch checks that bolt does not warn about a Match that could
// not apply anyway.
func TestConfigQuietMatch(t *testing.T) {
	c, log := loadText(t, "Match host db1 exec true\nUser bad\n")
	if h, err := c.lookup("web1", "", 0); err != nil || h.User != "" {
		t.Errorf("got %q, %v", h.User, err)
	}
	if log.Len() > 0 {
		t.Errorf("complaint: %s", log.String())
	}
}

// TestConfigErrors checks settings whose absence could lead to another machine
// or key.
func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name, text string
		host, user string
		want       []string
	}{
		{"unknown token", "Host web1\n IdentityFile /k.%z\n", "web1", "", []string{"config0:2", "%z"}},
		{"token that HostName does not have", "HostName %p\n", "web1", "", []string{"config0:1", "%p"}},
		{"% at the end", "ProxyCommand nc %\n", "web1", "", []string{"config0:1"}},
		{"unset variable", "IdentityFile ${NO_SUCH_VARIABLE}/k\n", "web1", "", []string{"config0:1", "NO_SUCH_VARIABLE"}},
		{"open variable", "IdentityFile ${HOME\n", "web1", "", []string{"config0:1", "${NAME}"}},
		{"unknown token in known hosts", "UserKnownHostsFile /a /%T\n", "web1", "", []string{"config0:1", "%T"}},
		{"unknown token in the agent", "IdentityAgent /%T\n", "web1", "", []string{"config0:1", "%T"}},
		{"unknown token in a certificate", "CertificateFile /%T\n", "web1", "", []string{"config0:1", "%T"}},
		{"unknown token in the jump", "ProxyJump %d\n", "web1", "", []string{"config0:1", "%d"}},
		{"no such user", "IdentityFile ~no-such-user/k\n", "web1", "", []string{"config0:1", "no-such-user"}},
		{"bad jump", "ProxyJump a:b:c\n", "web1", "", []string{"config0:1", "ProxyJump"}},
		{"jump without host", "ProxyJump u@\n", "web1", "", []string{"config0:1", "ProxyJump"}},
		{"shell characters in the host", "ProxyCommand nc %h %p\n", "a;id", "", []string{"config0:1", "not allowed in a command"}},
		{"option as host", "ProxyCommand nc %h %p\n", "-oProxy", "", []string{"config0:1"}},
		{"shell characters in the user", "ProxyCommand nc -l %r %h\n", "web1", "$(id)", []string{"config0:1"}},
		{"newline in the alias", "HostName x\nProxyCommand nc %n\n", "a\nb", "", []string{"config0:2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, _ := loadText(t, test.text+"Host other\n")
			_, err := c.lookup(test.host, test.user, 0)
			if transport.ClassOf(err) != transport.ClassUnsupported {
				t.Fatalf("got %v, want an error of class unsupported", err)
			}
			for _, w := range test.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not contain %q", err, w)
				}
			}
		})
	}
	t.Run("only for the hosts that it applies to", func(t *testing.T) {
		c, _ := loadText(t, "Host web1\n ProxyJump a:b:c\n")
		if _, err := c.lookup("web2", "", 0); err != nil {
			t.Error(err)
		}
	})
}

func TestConfigExpansion(t *testing.T) {
	local := Local{home: "/home/me", user: "me", uid: 77, host: "desk.example.com", Env: func(n string) (string, bool) {
		v, ok := map[string]string{"SOCK": "/run/agent", "D": "/d"}[n]
		return v, ok
	}}
	path := writeConfig(t, strings.Join([]string{
		"Host web1",
		" HostName real.example.com",
		" User bob",
		" Port 2022",
		" HostKeyAlias Alias",
		" IdentityFile ~/.ssh/%h.%n.%p.%r.%u.%i.%L.%l.%d.%k.%%",
		" IdentityFile ${D}/k",
		" CertificateFile ~/c.%r",
		" IdentityAgent $SOCK",
		" UserKnownHostsFile ~/%j.kh ${D}/kh",
		" ProxyCommand nc -x '%n' %h %p %r %%",
		"Host web2",
		" ProxyJump bob@[2001:db8::1]:24,%r@gate-%n:%p",
		" IdentityAgent ${D}/agent",
		" UserKnownHostsFile /%j",
		"Host web3",
		" IdentityAgent $UNSET",
		"Host web4",
		" IdentityAgent SSH_AUTH_SOCK",
		"",
	}, "\n"))
	c, err := readFiles(local, path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(host string) Host {
		t.Helper()
		h, err := c.lookup(host, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := get("web1")
	for _, check := range []struct{ what, got, want string }{
		{"IdentityFile", h.IdentityFiles[0], "/home/me/.ssh/real.example.com.web1.2022.bob.me.77.desk.desk.example.com./home/me.alias.%"},
		{"IdentityFile", h.IdentityFiles[1], "/d/k"},
		{"CertificateFile", h.CertificateFiles[0], "/home/me/c.bob"},
		{"IdentityAgent", h.IdentityAgent, "/run/agent"},
		{"UserKnownHostsFile", h.UserKnownHostsFiles[0], "/home/me/.kh"},
		{"UserKnownHostsFile", h.UserKnownHostsFiles[1], "/d/kh"},
		{"ProxyCommand", h.ProxyCommand, "nc -x 'web1' real.example.com 2022 bob %"},
		{"ProxyJump", get("web2").ProxyJump, "bob@[2001:db8::1]:24,me@gate-web2:22"},
		{"IdentityAgent of web2", get("web2").IdentityAgent, "/d/agent"},
		{"%j", get("web2").UserKnownHostsFiles[0], "/gate-%n"},
		{"IdentityAgent of web3", get("web3").IdentityAgent, "none"},
		{"IdentityAgent of web4", get("web4").IdentityAgent, ""},
		{"default known hosts", strings.Join(get("x").UserKnownHostsFiles, " "), "/home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2"},
	} {
		if check.got != check.want {
			t.Errorf("%s is %q, want %q", check.what, check.got, check.want)
		}
	}
}

// TestConfigIndex checks that the index of Host lines does not change any
// result.
func TestConfigIndex(t *testing.T) {
	c, _ := loadText(t, manyHosts(300))
	slow, _ := loadText(t, manyHosts(300))
	slow.byName, slow.general = nil, nil
	for i := range slow.blocks {
		slow.general = append(slow.general, i)
	}
	for i := range 310 {
		for _, name := range []string{fmt.Sprintf("node%d", i), fmt.Sprintf("node%d.example.com", i)} {
			want, err1 := slow.lookup(name, "root", 0)
			got, err2 := c.lookup(name, "root", 0)
			if err1 != nil || err2 != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: %+v (%v), without the index %+v (%v)", name, got, err2, want, err1)
			}
		}
	}
}

func TestConfigConcurrentLookup(t *testing.T) {
	c, _ := loadText(t, manyHosts(50)+"Match exec true\n User x\n")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				name := fmt.Sprintf("node%d", (i+g)%50)
				if h, err := c.lookup(name, "", 0); err != nil || h.Port != 2200+(i+g)%50 {
					t.Errorf("%s: %+v, %v", name, h, err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzConfig checks that no text causes a panic, endless work, or settings from
// a file without any.
func FuzzConfig(f *testing.F) {
	f.Add("Host web*\n User \"a b\"\nMatch host x,!y final exec 'z'\nPort=22\nIdentityFile ~/%d${HOME}%%\n", "web1", "")
	f.Add("SetEnv A=b 'c=d e'\nSendEnv LC_* -L*\nRequestTTY force\nForwardAgent yes\nRemoteCommand x\n", "x", "")
	f.Add("ProxyJump ssh://a@[::1]:2/,b\nProxyCommand nc %h %p\nConnectTimeout 1w2d3h4m5s\n", "x", "bob")
	f.Add("Host\x00\nInclude /dev/null ~/x [\nMatch !all\nHost !a *\n\\\n=\n", "a", "")
	local := Local{home: "/nowhere", user: "me", Env: func(string) (string, bool) { return "v", true }}
	f.Fuzz(func(t *testing.T, text, host, user string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // it would read this machine's files
		}
		c := &Files{local: local, log: slog.New(slog.DiscardHandler), byName: make(map[string][]int), cache: make(map[searchKey]cachedHost), unused: make(map[position]string)}
		r := reader{files: c, user: true}
		r.parse("fuzz", text, nil)
		// This search cannot run commands of Match exec.
		h, err := c.Find(t.Context(), Query{Alias: host, User: user, Env: local.Env})
		if err != nil {
			return
		}
		if user != "" && h.User != user {
			t.Errorf("user %q became %q", user, h.User)
		}
		if h.ProxyCommand != "" && h.ProxyJump != "" {
			t.Error("both ProxyCommand and ProxyJump")
		}
		if slices.ContainsFunc(h.SetEnv, func(kv string) bool { return !strings.Contains(kv, "=") }) {
			t.Errorf("SetEnv %q", h.SetEnv)
		}
		if h.Port < 0 || h.Port > 65535 || h.ConnectTimeout < 0 || h.UserKnownHostsFiles == nil {
			t.Errorf("out of range: %+v", h)
		}
	})
}

// lookup calls Find with the environment that was used for reading the files.
func (c *Files) lookup(alias, user string, port int) (Host, error) {
	h, err := c.Find(context.Background(), Query{Alias: alias, User: user, Port: port, Env: c.local.Env, Execs: &Execs{}})
	if err != nil {
		return Host{}, err
	}
	return *h, nil
}
