package exampletest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/internal/buildtest"
)

// listing prints what a change of a setting can change.
const listing = `{ find /etc /opt /sys /run/units /var/lib/apt /var/cache/apt /var/lib/dpkg /usr/lib/locale -printf '%p %s %m %T@ %l\n'; hostname; nft list ruleset; } 2>&1 | sort`

// TestSettings runs the commands of docs/settings.md in a disposable root, each of them twice. The page must show all manifests of
// examples/settings. testdata/settings.sh describes the stand-ins for systemctl and modprobe.
func TestSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the test makes and enters a root: run it as root")
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(root, "examples", "settings")
	manifests, err := filepath.Glob(filepath.Join(example, "*.pp"))
	if err != nil || len(manifests) < 13 {
		t.Fatalf("%q, %v", manifests, err)
	}
	for _, file := range manifests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if !strings.Contains(string(page), fmt.Sprintf("\n```puppet\n%s```\n\n```console\n$ bolt apply %s -t web --noop\n$ bolt apply %s -t web\n```\n", text, name, name)) {
			t.Errorf("docs/settings.md does not show %s with its commands", name)
		}
	}

	var script strings.Builder
	fmt.Fprintf(&script, "sh /srv/project/settings.sh\ncd /srv/project\n")
	var commands []string
	run := func(command string) {
		commands = append(commands, command)
		fmt.Fprintf(&script, "echo @@@\n%s 2>&1 || echo exit: $?\n", command)
	}
	for _, s := range console(string(page)) {
		if !strings.HasPrefix(s.command, "bolt ") {
			continue
		}
		if strings.HasSuffix(s.command, " --noop") {
			run(listing + " >/tmp/before")
		}
		run(s.command)
		if strings.HasSuffix(s.command, " --noop") {
			run(listing + " >/tmp/after; diff /tmp/before /tmp/after")
		} else {
			run(s.command)
		}
	}
	for _, c := range settingsCases {
		run("bolt apply -t web " + c.options)
	}
	for _, c := range settingsStates {
		run(c.command)
	}
	printed := inSettings(t, example, script.String(), len(commands))
	states := len(commands) - len(settingsStates)
	for i, c := range settingsStates {
		if printed[states+i] != c.want {
			t.Errorf("%s printed\n%s\nwant\n%s", c.command, printed[states+i], c.want)
		}
	}
	cases := states - len(settingsCases)
	for i, c := range settingsCases {
		for _, want := range c.want {
			if !strings.Contains(printed[cases+i], want) {
				t.Errorf("bolt apply -t web %s printed\n%s\nwant %s", c.options, printed[cases+i], want)
			}
		}
	}
	for i, command := range commands[:cases] {
		switch out := printed[i]; {
		case strings.HasPrefix(command, "bolt ") && strings.HasSuffix(command, " --noop"):
			if !strings.Contains(out, ": would ") || strings.Contains(out, ", noop: 0") || !strings.Contains(out, "changed: 0, failed: 0,") {
				t.Errorf("%s printed\n%s", command, out)
			}
		case strings.HasPrefix(command, "bolt ") && slices.Index(commands, command) == i: // the first run
			if strings.Contains(out, "changed: 0,") || !strings.Contains(out, ", failed: 0,") || !strings.Contains(out, "skipped: 0, ") {
				t.Errorf("%s printed\n%s", command, out)
			}
		case strings.HasPrefix(command, "bolt "):
			if !strings.Contains(out, "changed: 0, failed: 0,") || !strings.Contains(out, "skipped: 0, ") {
				t.Errorf("%s printed, the second time\n%s", command, out)
			}
		case out != "":
			t.Errorf("%s printed\n%s", command, out)
		}
	}
}

// settingsCases are applied after the manifests of the page.
var settingsCases = []struct {
	options string
	want    []string
}{
	// A mistake leaves the old state.
	{`-e 'setting::sudo { "deploy": rules => ["deploy ALL=(root NOPASSWD: ALL"] }'`, []string{"syntax error", "failed: 1", "exit: 1"}},
	{`-e 'class { "setting::nftables": rules => "table inet filter {\n" }'`, []string{"syntax error", "failed: 1", "skipped: 1", "exit: 1"}},
	{`-e 'class { "setting::timezone": zone => "Europe/Berlim" }'`, []string{"Exec[time zone Europe/Berlim exists]: failed", "skipped: 2", "exit: 1"}},
	{`-e 'class { "setting::timezone": zone => "../../etc/shadow" }'`, []string{"expects a match for Pattern", "exit: 1"}},
	{`-e 'setting::apt_source { "other": uris => ["file:///srv/repo"], suites => ["none"], components => ["main"] }'`, []string{"Exec[apt-get update other]: failed", "exit: 1"}},
	// The failed update is tried again.
	{`-e 'setting::apt_source { "other": uris => ["file:///srv/repo"], suites => ["none"], components => ["main"] }'`, []string{"Exec[apt-get update other]: failed", "changed: 0, failed: 1", "exit: 1"}},

	// Changes, and what is not wanted any longer.
	{`-e 'class { "setting::nftables": rules => "table inet t {\n}\n" }'`, []string{"Service[nftables]: refreshed", "changed: 2, failed: 0"}},
	{`-e 'setting::unit { "app.service": content => "[Service]\nExecStart=/bin/true\n", enable => false }'`, []string{"Service[app.service]: enable changed from true to false", "Service[app.service]: refreshed", "failed: 0"}},
	{`-e 'setting::unit { "app.service": ensure => absent }'`, []string{"changed: 3, failed: 0"}},
	{`-e 'setting::unit { "app.service": ensure => absent }'`, []string{"changed: 0, failed: 0"}},
	{`-e 'setting::timer { "clean-uploads": ensure => absent }'`, []string{"changed: 4, failed: 0"}},
	{`-e 'setting::timer { "clean-uploads": ensure => absent }'`, []string{"changed: 0, failed: 0"}},
	{`-e 'setting::dropin { "limits": unit => "cron.service", ensure => absent }'`, []string{"changed: 2, failed: 0"}},
	{`-e 'setting::dropin { "limits": unit => "cron.service", ensure => absent }'`, []string{"changed: 0, failed: 0"}},
	{`-e 'setting::kernel_module { "loop": ensure => blacklisted }'`, []string{"Exec[modprobe -r loop]: executed successfully", "changed: 3, failed: 0"}},
	{`-e 'setting::kernel_module { "loop": ensure => blacklisted }'`, []string{"changed: 0, failed: 0"}},
	{`-e 'setting::venv { "/opt/app": packages => { "requests" => "latest", "gunicorn" => "absent" } }'`, []string{"Package[/opt/app requests]: ensure changed from 2.32.3 to 2.32.4", "Package[/opt/app gunicorn]: ensure changed from 23.0.0 to absent", "changed: 2, failed: 0"}},
	{`-e 'setting::apt_source { "bad name": uris => ["file:///srv/repo"] }'`, []string{"expects a match for Pattern", "exit: 1"}},
	{`-e 'setting::apt_source { "pgdg": ensure => absent, key => "/x.asc" }'`, []string{"changed: 2, failed: 0"}},
	{`-e 'setting::apt_source { "pgdg": ensure => absent, key => "/x.asc" }'`, []string{"changed: 0, failed: 0"}},
	// A source whose key all sources share.
	{`-e 'file { "/etc/apt/trusted.gpg.d/own.asc": source => "/srv/repo/key.asc" } -> setting::apt_source { "own": uris => ["file:///srv/repo"], suites => ["${facts[os][distro][codename]}-pgdg"], components => ["main"] }'`, []string{"Exec[apt-get update own]: executed successfully", "changed: 3, failed: 0"}},
	{`-e 'file { "/etc/apt/trusted.gpg.d/own.asc": source => "/srv/repo/key.asc" } -> setting::apt_source { "own": uris => ["file:///srv/repo"], suites => ["${facts[os][distro][codename]}-pgdg"], components => ["main"] }'`, []string{"changed: 0, failed: 0"}},
	{`-e 'setting::sudo { ["other", "more"]: ensure => absent }'`, []string{"changed: 0, failed: 0"}},
}

// settingsStates are the states at the end.
var settingsStates = []struct{ command, want string }{
	{"readlink /etc/localtime; cat /etc/timezone", "/usr/share/zoneinfo/Europe/Berlin\nEurope/Berlin\n"},
	{"locale -a | grep _; cat /etc/default/locale", "de_DE.utf8\nen_GB.utf8\nLANG=en_GB.UTF-8\n"},
	{"hostname; cat /etc/hostname; grep web01 /etc/hosts", "web01\nweb01\n127.0.1.1\tweb01.example.com\tweb01\n"},
	{"cat /etc/modules-load.d/setting-br_netfilter.conf /etc/modprobe.d/setting-usb-storage.conf; grep modprobe /run/calls",
		"br_netfilter\nblacklist usb-storage\ninstall usb-storage /bin/false\nmodprobe br_netfilter\nmodprobe loop\nmodprobe -r usb-storage\nmodprobe -r loop\n"},
	{"stat -c '%a %U' /etc/sudoers.d/deploy; grep -c 'NOPASSWD: /usr/bin/systemctl' /etc/sudoers.d/deploy", "440 root\n1\n"},
	{"grep nftables /run/calls | grep -v 'show\\|is-'", "systemctl start -- nftables\nsystemctl unmask -- nftables\nsystemctl enable -- nftables\nsystemctl reload nftables\n"},
	{"/opt/app/bin/python -c 'import requests; print(requests.version)'", "2.32.4\n"},
	{"dpkg-query -W -f '${Version}\\n' postgresql-client-17; apt-mark showhold", "17.0-1\nmariadb-client\nmariadb-server\n"},
	{"cat /etc/apt/preferences.d/backports.pref", "Package: golang-*\nPin: release n=bookworm-backports\nPin-Priority: 600\n"},
}

// inSettings runs a script in a disposable root with a project, and returns the text after each of n lines @@@.
func inSettings(t *testing.T, example, script string, n int) []string {
	t.Helper()
	output(t, "scripts/helpers.sh")
	bolt, project := buildtest.Build(t, root, "cmd/bolt"), filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(project, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(project, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	const inventory = "groups: [{name: web, targets: [{name: web01.example.com, config: {transport: local}}]}]\n"
	if err := os.WriteFile(filepath.Join(project, "inventory.yaml"), []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	out := output(t, "unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--kill-child", "sh", "-ec", inRoot, "sh", "/", project, bolt, script, t.TempDir())
	printed := strings.Split(out, "@@@\n")[1:]
	if len(printed) != n {
		t.Fatalf("%d of %d commands ended:\n%s", len(printed), n, out)
	}
	return printed
}
