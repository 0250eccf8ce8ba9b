package pkg

import (
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Package": Type()}

// makeDebs is a script with the command mk NAME VERSION [FIELD…], which makes a package for /srv, and index, which makes /srv
// the only repository.
const makeDebs = `
mk() {
	d=$(mktemp -d); n=$1; v=$2; shift 2
	mkdir -p $d/DEBIAN $d/opt $d/etc
	{ printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: demo\n' $n $v; for f; do echo "$f"; done; } > $d/DEBIAN/control
	echo $v > $d/opt/$n; echo $v > $d/etc/$n.conf; echo /etc/$n.conf > $d/DEBIAN/conffiles
	case $n in *broken*) printf '#!/bin/sh\nexit 1\n' > $d/DEBIAN/postinst; chmod 755 $d/DEBIAN/postinst;; esac
	chmod -R go-w $d; dpkg-deb -b --root-owner-group $d /srv/${n}_$v.deb >/dev/null; rm -r $d
}
index() {
	cd /srv; : > Packages
	for f in *.deb; do
		{ dpkg-deb -f $f; echo "Filename: ./$f"; echo "Size: $(stat -c %s $f)"; echo "SHA256: $(sha256sum $f | cut -d' ' -f1)"; echo; } >> Packages
	done
	rm -rf /etc/apt/sources.list* /var/lib/apt/lists/* /etc/apt/preferences*; mkdir -p /var/lib/apt/lists/partial
	echo 'deb [trusted=yes] file:/srv ./' > /etc/apt/sources.list
	apt-get -qq update
}
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d
`

func aptMachine(t *testing.T, setup string) *providertest.Machine {
	return providertest.New(t, "/", makeDebs+setup, types)
}

// states are the lines of dpkg of some packages.
func states(m *providertest.Machine, names string) string {
	return m.Shell("dpkg-query -W -f '${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\\n' " + names + " 2>/dev/null || true")
}

// transactions are the commands of apt-get and dpkg that change something, without the options that all have.
func transactions(m *providertest.Machine) string {
	var list []string
	for _, line := range m.Argv {
		for _, p := range []string{"apt-get ", "dpkg ", "debconf-set-selections "} {
			if strings.HasPrefix(line, p) {
				line = strings.Replace(line, "-q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o APT::Cmd::Pattern-Only=true ", "", 1)
				list = append(list, strings.Replace(line, "-o DPkg::Options::=--force-confold ", "", 1))
			}
		}
	}
	return strings.Join(list, "\n")
}

// Packages of one kind of change are one transaction, and one name that does not exist fails alone.
func TestApt(t *testing.T) {
	m := aptMachine(t, `for p in a b c d e old1 old2 kept; do mk demo-$p 1.0; done; mk demo-d 2.0; mk demo-e 2.0; mk demo-e 1.5; index
apt-get install -qq -y demo-old1 demo-old2 demo-kept demo-d=1.0 >/dev/null`)
	resources := []string{
		`Package[demo-a]`, `Package[demo-b] {"ensure":"installed"}`, `Package[no-such-package] {"ensure":"latest"}`, `Package[demo-c] {"ensure":"1.0"}`,
		`Package[demo-old1] {"ensure":"absent"}`, `Package[demo-old2] {"ensure":"purged"}`, `Package[demo-kept] {"mark":"hold"}`,
		`Package[demo-d] {"ensure":"latest"}`, `Package[demo-e] {"ensure":">=1.0 <2.0"}`, `Package[never] {"ensure":"absent"}`, `Package[neither] {"ensure":"purged"}`,
	}
	want := `Package[demo-a] changed package_installed
Package[demo-b] changed package_installed
Package[demo-c] changed package_installed
Package[demo-d] changed package_changed
Package[demo-e] changed package_installed
Package[demo-kept] changed mark_changed
Package[demo-old1] changed package_removed
Package[demo-old2] changed package_purged
Package[neither] unchanged
Package[never] unchanged
Package[no-such-package] `
	before := states(m, "'demo-*'")
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop ")+"noop package_installed")
	m.Want("states after noop", states(m, "'demo-*'"), before)
	m.Want("commands of noop", transactions(m), "")
	failed := "failed package_installed: change of ensure from purged to latest failed: apt-get: exit code 100: E: Unable to locate package no-such-package"
	m.Want("first", m.Apply(false, resources...), want+failed)
	m.Want("states", states(m, "'demo-*'"), `demo-a install installed 1.0
demo-b install installed 1.0
demo-c install installed 1.0
demo-d install installed 2.0
demo-e install installed 1.5
demo-kept hold installed 1.0
demo-old1 deinstall config-files 1.0`)
	m.Want("transactions", transactions(m), `apt-get --allow-downgrades install demo-a demo-b no-such-package demo-c=1.0 demo-d demo-e=1.5
apt-get install demo-a demo-b no-such-package
apt-get install demo-a
apt-get install demo-b no-such-package
apt-get install demo-b
apt-get install no-such-package
apt-get --allow-downgrades install demo-c=1.0 demo-d demo-e=1.5
apt-get remove demo-old1
apt-get purge demo-old2
dpkg --set-selections < demo-kept hold`)
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("transactions of the second", transactions(m), "apt-get install no-such-package")
	m.Want("queries", m.Argv[0], "dpkg-query -W -f "+dpkgFormat)
	m.Want("candidates", m.Argv[1], "apt-cache policy no-such-package demo-d")
}

// A range of versions, a downgrade, a held package, configuration files that were changed by hand.
func TestAptVersions(t *testing.T) {
	m := aptMachine(t, `for v in 1.0 1.5 2.0; do for p in a b c d; do mk demo-$p $v; done; done; index
apt-get install -qq -y demo-a=2.0 demo-b=1.0 demo-c=1.0 demo-d=1.0 >/dev/null
apt-mark hold demo-b; echo changed > /etc/demo-c.conf; echo changed > /etc/demo-d.conf`)
	resources := []string{
		`Package[demo-a] {"ensure":"<1.5"}`, `Package[demo-b] {"ensure":"2.0","mark":"hold"}`, `Package[demo-c] {"ensure":"1.5"}`,
		`Package[demo-d] {"ensure":"latest","configfiles":"replace"}`,
	}
	m.Want("first", m.Apply(false, resources...), `Package[demo-a] changed package_changed
Package[demo-b] changed package_changed
Package[demo-c] changed package_changed
Package[demo-d] changed package_changed`)
	m.Want("states", states(m, "'demo-*'"), `demo-a install installed 1.0
demo-b hold installed 2.0
demo-c install installed 1.5
demo-d install installed 2.0`)
	m.Want("configuration", m.Shell("cat /etc/demo-c.conf /etc/demo-d.conf"), "changed\n2.0")
	second := m.Apply(false, resources...)
	if strings.Contains(second, "changed ") {
		t.Error(second)
	}
	m.Want("none in range", m.Apply(false, `Package[demo-a] {"ensure":">3"}`), `Package[demo-a] failed package_changed: change of ensure from 1.0 to >3 failed: apt has no version of demo-a in the range ">3"`)
	m.Want("held", m.Apply(false, `Package[demo-a] {"ensure":"held"}`, `Package[demo-b] {"mark":"none"}`), "Package[demo-a] changed mark_changed\nPackage[demo-b] changed mark_changed")
	m.Want("removal of a held package", m.Apply(false, `Package[demo-a] {"ensure":"absent"}`, `Package[demo-b] {"ensure":"absent"}`), "Package[demo-a] changed package_removed\nPackage[demo-b] changed package_removed")
	m.Want("purge of leftovers", m.Apply(false, `Package[demo-a] {"ensure":"purged"}`), "Package[demo-a] changed package_purged")
	m.Want("states", states(m, "demo-a demo-b"), "demo-b deinstall config-files 2.0")
}

// A package whose script fails is half configured, fails, and does not fail others.
func TestAptBroken(t *testing.T) {
	m := aptMachine(t, `mk demo-a 1.0; mk demo-broken 1.0; mk demo-z 1.0; mk demo-w 1.0; index`)
	got := m.Apply(false, `Package[demo-a]`, `Package[demo-broken]`, `Package[demo-z]`, `Package[demo-w] {"install_options":["--no-install-recommends",{"-o":"APT::Get::Purge=false"}]}`)
	statuses := ""
	for line := range strings.Lines(got) {
		f := strings.Fields(line)
		statuses += f[0] + " " + f[1] + "\n"
	}
	m.Want("statuses", statuses, "Package[demo-a] changed\nPackage[demo-broken] failed\nPackage[demo-w] changed\nPackage[demo-z] changed")
	m.Want("states", states(m, "'demo-*'"), `demo-a install installed 1.0
demo-broken install half-configured 1.0
demo-w install installed 1.0
demo-z install installed 1.0`)
	if len(m.Logs) == 0 || !strings.Contains(m.Logs[0], "The package is as wanted, although apt reported a failure") {
		t.Errorf("logs: %q", m.Logs)
	}
	m.Want("again", m.Apply(false, `Package[demo-broken] {"ensure":"absent"}`), "Package[demo-broken] unchanged")
	m.Want("purged", m.Apply(false, `Package[demo-broken] {"ensure":"purged"}`), "Package[demo-broken] changed package_purged")
}

// Files, virtual names, answers to questions.
func TestAptOthers(t *testing.T) {
	m := aptMachine(t, `mk demo-a 1.0; mk demo-b 1.0 'Provides: demo-virtual, demo-versioned (= 3)'; index; dpkg -i demo-b_1.0.deb >/dev/null; mk demo-c 1.0; echo 'demo demo/question string yes' > /srv/answers`)
	m.Want("first", m.Apply(false, `Package[demo-c] {"source":"/srv/demo-c_1.0.deb"}`, `Package[demo-virtual] {"allow_virtual":true}`, `Package[demo-versioned] {"allow_virtual":true}`,
		`Package[named] {"name":"demo-a","responsefile":"/srv/answers"}`, `Package[none] {"name":"demo-a","ensure":"2.0","source":"/srv/demo-a_1.0.deb","require":"Package[named]"}`), `Package[demo-c] changed package_installed
Package[demo-versioned] unchanged
Package[demo-virtual] unchanged
Package[named] changed package_installed
Package[none] failed package_changed: change of ensure from 1.0 to 2.0 failed: /srv/demo-a_1.0.deb has the version 1.0, and not 2.0`)
	m.Want("removal by a virtual name", m.Apply(false, `Package[demo-virtual] {"allow_virtual":true,"ensure":"absent"}`), "Package[demo-virtual] changed package_removed")
	m.Want("states", states(m, "demo-b"), "demo-b deinstall config-files 1.0")
	m.Write("etc/apt/sources.list", "deb cdrom:[Debian]/ bookworm main\n", 0o644)
	m.Want("disc", m.Apply(false, `Package[demo-x]`), "Package[demo-x] failed package_installed: change of ensure from purged to present failed: /etc/apt/sources.list has a disc as a source: apt would ask for it. Set allowcdrom to allow that")
}

func TestDpkg(t *testing.T) {
	m := aptMachine(t, `cd /srv; for p in a b c; do mk demo-$p 1.0; done; mk demo-b 2.0-1; mk demo-broken 1.0; dpkg -i demo-b_1.0.deb >/dev/null; echo no > bad.deb`)
	file := func(name, version, ensure string) string {
		return `Package[demo-` + name + `] {"provider":"dpkg","ensure":"` + ensure + `","source":"/srv/demo-` + name + `_` + version + `.deb"}`
	}
	resources := []string{file("a", "1.0", "present"), file("b", "2.0-1", "latest"), file("c", "1.0", "latest"), `Package[no-source] {"provider":"dpkg"}`, `Package[bad] {"provider":"dpkg","source":"/srv/bad.deb"}`}
	got := m.Apply(false, resources...)
	for _, want := range []string{
		"Package[demo-a] changed package_installed", "Package[demo-b] changed package_changed", "Package[demo-c] changed package_installed",
		"Package[no-source] failed package_installed: change of ensure from purged to present failed: dpkg installs packages from files only: set the parameter source",
		"Package[bad] failed package_installed: change of ensure from purged to present failed: dpkg: exit code 1: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line begins with %q:\n%s", want, got)
		}
	}
	m.Want("states", states(m, "'demo-*'"), "demo-a install installed 1.0\ndemo-b install installed 2.0-1\ndemo-c install installed 1.0")
	if second := m.Apply(false, resources[:3]...); strings.Contains(second, "changed ") {
		t.Error(second)
	}
	broken := m.Apply(false, file("broken", "1.0", "present"), `Package[demo-b] {"provider":"dpkg","ensure":"latest"}`)
	if !strings.Contains(broken, "Package[demo-broken] failed") || !strings.Contains(broken, "Package[demo-b] failed: dpkg installs packages from files only: set the parameter source") {
		t.Error(broken)
	}
	m.Want("removal", m.Apply(false, `Package[demo-a] {"provider":"dpkg","ensure":"absent"}`, `Package[demo-b] {"provider":"dpkg","ensure":"purged"}`), "Package[demo-a] changed package_removed\nPackage[demo-b] changed package_purged")
	m.Want("states", states(m, "demo-a demo-b"), "demo-a deinstall config-files 1.0")
}

// A package that a reboot left half configured is finished.
func TestInterrupted(t *testing.T) {
	m := aptMachine(t, `mk demo-a 1.0; mk demo-b 1.0; index; dpkg --unpack demo-a_1.0.deb >/dev/null; dpkg-query -s demo-a > /var/lib/dpkg/updates/0000`)
	m.Want("noop", m.Apply(true, `Package[demo-b] {"ensure":"latest"}`), "Package[demo-b] noop package_installed")
	m.Want("statuses", m.Apply(false, `Package[demo-a]`, `Package[demo-b] {"ensure":"latest"}`), "Package[demo-a] changed package_installed\nPackage[demo-b] changed package_installed")
	m.Want("states", states(m, "'demo-*'"), "demo-a install installed 1.0\ndemo-b install installed 1.0")
	m.Want("transactions", transactions(m), "dpkg --force-confold --configure -a\napt-get install demo-a demo-b")
}

// A transaction that does not get the lock is not tried again.
func TestLock(t *testing.T) {
	answer := func(begin, out, errs string, code int) providertest.Answer {
		return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(out), Stderr: []byte(errs), Code: code}}
	}
	m := providertest.Scripted(t, "apt-get dpkg-query", types, answer("apt-get", "", "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt)\n", 100))
	text := "failed package_installed: change of ensure from purged to present failed: apt-get: exit code 100: E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt)"
	m.Want("statuses", m.Apply(false, `Package[a]`, `Package[b]`), "Package[a] "+text+"\nPackage[b] "+text)
	m.Want("transactions", transactions(m), "apt-get install a b")
}

// A refresh counts as carried out.
func TestRefresh(t *testing.T) {
	m := aptMachine(t, "mk demo-a 1.0; index")
	m.Want("refresh", m.Apply(false, `Package[demo-a] {"notify":"Package[dpkg]"}`, `Package[dpkg] {"reinstall_on_refresh":true}`), "Package[demo-a] changed package_installed\nPackage[dpkg] changed refresh")
}

func TestRefused(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	for _, c := range []struct{ params, want string }{
		{`"provider":"dpkg","ensure":"1.0"`, `The parameter ensure is "1.0", and dpkg cannot install a certain version`},
		{`"provider":"npm","ensure":"purged"`, "The parameter ensure is purged, and npm does not distinguish this from absent"},
		{`"provider":"brew"`, `The parameter provider is "brew": bolt has apk, apt, dnf, dpkg, gem, npm, pacman, pip, pip3, rpm, yum, zypper`},
		{`"ensure":"absent","mark":"hold"`, "The parameter mark has no meaning with ensure => absent"},
		{`"ensure":"disabled"`, "The parameter ensure is disabled, which is for modules of dnf: bolt cannot apply them"},
		{`"ensure":"-oX"`, `The parameter ensure must be a state or a version, and is "-oX"`},
		{`"name":"-x"`, `The parameter name must not begin with - or have the end of a line in it, and is "-x"`},
		{`"install_options":[1]`, "The parameter install_options must be a list of strings and of hashes of strings"},
		{`"install_options":{"sensitive":["--token=x"]}`, "The parameter install_options must not be Sensitive: it becomes an argument of a program, and every user of the machine can see arguments"},
	} {
		m.Want(c.params, m.Apply(false, `Package[p] {`+c.params+`}`), "refused: Package[p]: "+c.want)
	}
	m.Want("no manager", m.Apply(false, "Package[p]"), `Package[p] failed: the system "" has no package manager that bolt knows. Set the parameter provider`)
	m.Want("no program", m.Apply(false, `Package[p] {"provider":"gem"}`), "Package[p] failed package_installed: change of ensure from absent to present failed: the host does not have the package manager gem")
	const pip = `{"provider":"pip","command":"/opt/app/bin/pip"`
	m.Want("noop before another resource makes the program", m.Apply(true, `Package[a] `+pip+`}`, `Package[b] `+pip+`,"ensure":"latest"}`, `Package[c] `+pip+`,"ensure":"absent"}`),
		"Package[a] noop package_installed\nPackage[b] noop package_installed\nPackage[c] unchanged")
	m.Want("noop with a command without a path", m.Apply(true, `Package[a] {"provider":"pip","command":"pip3.11"}`), "Package[a] noop package_installed")
	m.Want("no command", m.Apply(false, `Package[a] `+pip+`,"ensure":"1.0"}`), "Package[a] failed package_installed: change of ensure from absent to 1.0 failed: the host does not have the program /opt/app/bin/pip")
}

// The manager depends on the system first, and on the programs that it has.
func TestPlatform(t *testing.T) {
	for _, c := range []struct{ release, programs, want string }{
		{"ID=debian", "apt-get dnf rpm dpkg", "apt"},
		{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"", "apt-get zypper", "apt"},
		{"ID=fedora\nVERSION_ID=41", "dnf yum apt-get rpm", "dnf"},
		{"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"", "yum dnf rpm", "dnf"},
		{"ID=\"centos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"7\"", "yum dnf rpm", "yum"},
		{"ID=\"ol\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"7.9\"", "yum rpm", "yum"},
		{"ID=amzn\nID_LIKE=\"centos rhel fedora\"\nVERSION_ID=2", "yum dnf rpm", "yum"},
		{"ID=amzn\nID_LIKE=fedora\nVERSION_ID=2023", "yum dnf rpm", "dnf"},
		{"ID=opensuse-leap\nID_LIKE=\"suse opensuse\"", "zypper rpm dnf", "zypper"},
		{"ID=alpine", "apk rpm", "apk"},
		{"ID=manjaro\nID_LIKE=arch", "pacman apt-get", "pacman"},
		{"ID=debian", "dpkg", "dpkg"},
		{"ID=other", "rpm", "rpm"},
	} {
		m := providertest.Scripted(t, c.programs, nil)
		m.Write("usr/lib/os-release", c.release+"\n", 0o644)
		got, err := platform(m.Host)
		if err != nil || got.name != c.want {
			t.Errorf("%s with %s: %v, %v, want %s", c.release, c.programs, got, err, c.want)
		}
	}
}
