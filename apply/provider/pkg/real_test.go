//go:build roots

package pkg

import (
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
)

// otherRoot is a root with the package managers of other systems.
func otherRoot(t *testing.T, setup string) *providertest.Machine {
	t.Helper()
	return providertest.New(t, providertest.OtherRoot(t), setup, types)
}

const makeRPMs = `
rm -f /etc/debian_version; mkdir -p /srv/rpm
mk() {
	d=$(mktemp -d); n=$1; v=$2; r=$3; shift 3
	{ printf 'Name: %s\nVersion: %s\nRelease: %s\nSummary: demo\nLicense: x\nBuildArch: noarch\n' $n $v $r; for l; do echo "$l"; done
	printf '%%description\ndemo\n%%install\nmkdir -p %%{buildroot}/opt; echo %s > %%{buildroot}/opt/%s\n%%files\n/opt/%s\n' $v $n $n; } > $d/x.spec
	rpmbuild -bb --define "_topdir $d" --define "_rpmdir /srv/rpm" $d/x.spec >$d/log 2>&1 || { cat $d/log; exit 1; }; rm -rf $d
}
for v in 1.0 1.5 2.0; do mk demo-a $v 1; mk demo-b $v 1 'Epoch: 1'; mk demo-c $v 1; done
mk demo-dep 1.0 1 'Requires: demo-old'; mk demo-old 1.0 1; mk demo-gone 1.0 1; mk demo-multi 1.0 1 'Provides: demo-virtual'
createrepo_c -q /srv/rpm
`

const rpmStates = `rpm -qa --qf '%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}\n' 'demo-*' | sort`

func TestRPM(t *testing.T) {
	m := otherRoot(t, makeRPMs+"rpm -i /srv/rpm/noarch/demo-b-1.0-1.noarch.rpm /srv/rpm/noarch/demo-old-1.0-1.noarch.rpm /srv/rpm/noarch/demo-dep-1.0-1.noarch.rpm /srv/rpm/noarch/demo-gone-1.0-1.noarch.rpm /srv/rpm/noarch/demo-multi-1.0-1.noarch.rpm")
	file := func(name, version, ensure string) string {
		return `Package[demo-` + name + `] {"provider":"rpm","ensure":"` + ensure + `","source":"/srv/rpm/noarch/demo-` + name + `-` + version + `-1.noarch.rpm"}`
	}
	resources := []string{file("a", "1.5", "present"), file("b", "2.0", "latest"), file("c", "1.5", "1.5-1"), `Package[demo-gone] {"provider":"rpm","ensure":"absent"}`, `Package[demo-virtual] {"provider":"rpm"}`, `Package[never] {"provider":"rpm","ensure":"absent"}`}
	want := `Package[demo-a] changed package_installed
Package[demo-b] changed package_changed
Package[demo-c] changed package_installed
Package[demo-gone] changed package_removed
Package[demo-virtual] unchanged
Package[never] unchanged`
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop "))
	m.Want("first", m.Apply(false, resources...), want)
	m.Want("states", m.Shell(rpmStates), "demo-a 1.5\ndemo-b 1:2.0\ndemo-c 1.5\ndemo-dep 1.0\ndemo-multi 1.0\ndemo-old 1.0")
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("older, and newer with a release", m.Apply(false, file("a", "1.0", "1.0"), file("c", "2.0", "2.0-1")), "Package[demo-a] changed package_changed\nPackage[demo-c] changed package_changed")
	got := m.Apply(false, `Package[demo-old] {"provider":"rpm","ensure":"absent"}`, `Package[demo-c] {"provider":"rpm","ensure":"absent"}`, file("none", "1", "present"))
	if !strings.Contains(got, "demo-old] failed") || !strings.Contains(got, "is needed by") || !strings.Contains(got, "demo-c] changed") || !strings.Contains(got, "demo-none] failed") {
		t.Error(got)
	}
	m.Want("states", m.Shell(rpmStates), "demo-a 1.0\ndemo-b 1:2.0\ndemo-dep 1.0\ndemo-multi 1.0\ndemo-old 1.0")
}

func TestDnf(t *testing.T) {
	m := otherRoot(t, makeRPMs+`mkdir -p /etc/yum.repos.d; printf '[demo]\nname=demo\nbaseurl=file:///srv/rpm\nenabled=1\ngpgcheck=0\n' > /etc/yum.repos.d/demo.repo
dnf -q -y --releasever=1 install demo-b-1.0 demo-old demo-dep demo-gone demo-multi 2>/dev/null`)
	p := func(name, params string) string {
		return `Package[` + name + `] {"provider":"dnf","install_options":["--releasever=1"]` + params + `}`
	}
	resources := []string{
		p("demo-a", `,"ensure":"<2.0"`), p("demo-b", `,"ensure":"latest"`), p("demo-c.noarch", `,"ensure":"1.5"`), p("demo-gone", `,"ensure":"absent"`), p("demo-virtual", ""),
		p("no-such-package", ""), p("never", `,"ensure":"purged"`),
	}
	want := `Package[demo-a] changed package_installed
Package[demo-b] changed package_changed
Package[demo-c.noarch] changed package_installed
Package[demo-gone] changed package_removed
Package[demo-virtual] unchanged
Package[never] unchanged
`
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop ")+"Package[no-such-package] noop package_installed")
	got := m.Apply(false, resources...)
	m.Want("first", got, want+"Package[no-such-package] failed package_installed: change of ensure from purged to present failed: dnf: exit code 1: Error: Unable to find a match: no-such-package")
	m.Want("states", m.Shell(rpmStates), "demo-a 1.5\ndemo-b 1:2.0\ndemo-c 1.5\ndemo-dep 1.0\ndemo-multi 1.0\ndemo-old 1.0")
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("older and newer", m.Apply(false, p("demo-a", `,"ensure":"1.0-1"`), p("demo-b", `,"ensure":"1.5"`), p("demo-c", `,"ensure":">1.5-1"`)), "Package[demo-a] changed package_changed\nPackage[demo-b] changed package_changed\nPackage[demo-c] changed package_changed")
	m.Want("states", m.Shell(rpmStates), "demo-a 1.0\ndemo-b 1:1.5\ndemo-c 2.0\ndemo-dep 1.0\ndemo-multi 1.0\ndemo-old 1.0")
	got = m.Apply(false, p("demo-old", `,"ensure":"absent"`))
	if !strings.Contains(got, "failed") || !strings.Contains(got, "is needed by") {
		t.Error(got)
	}
	m.Want("purged with dependents", m.Apply(false, p("demo-old", `,"ensure":"purged"`)), "Package[demo-old] changed package_purged")
	m.Want("file", m.Apply(false, p("demo-old", `,"source":"/srv/rpm/noarch/demo-old-1.0-1.noarch.rpm"`)), "Package[demo-old] changed package_installed")
	m.Want("states", m.Shell(rpmStates), "demo-a 1.0\ndemo-b 1:1.5\ndemo-c 2.0\ndemo-multi 1.0\ndemo-old 1.0")
	for _, line := range m.Argv {
		if strings.HasPrefix(line, "dnf") && !strings.HasPrefix(line, "dnf -q -y ") {
			t.Error(line)
		}
	}
}

func TestZypper(t *testing.T) {
	m := otherRoot(t, makeRPMs+`zypper -q --non-interactive ar -G file:///srv/rpm demo >/dev/null; zypper -q --non-interactive --gpg-auto-import-keys refresh >/dev/null
rpm -i /srv/rpm/noarch/demo-b-1.0-1.noarch.rpm /srv/rpm/noarch/demo-gone-1.0-1.noarch.rpm /srv/rpm/noarch/demo-multi-1.0-1.noarch.rpm`)
	p := func(name, params string) string { return `Package[` + name + `] {"provider":"zypper"` + params + `}` }
	resources := []string{
		p("demo-a", `,"ensure":"<2.0"`), p("demo-b", `,"ensure":"latest"`), p("demo-c", `,"ensure":"1.5"`), p("demo-gone", `,"ensure":"absent"`), p("demo-virtual", ""),
		p("no-such-package", ""), p("demo-old", ""),
	}
	want := `Package[demo-a] changed package_installed
Package[demo-b] changed package_changed
Package[demo-c] changed package_installed
Package[demo-gone] changed package_removed
Package[demo-old] changed package_installed
Package[demo-virtual] unchanged
`
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop ")+"Package[no-such-package] noop package_installed")
	m.Want("first", m.Apply(false, resources...), want+"Package[no-such-package] failed package_installed: change of ensure from absent to present failed: zypper: exit code 104: No provider of 'no-such-package' found.")
	m.Want("states", m.Shell(rpmStates), "demo-a 1.5\ndemo-b 1:2.0\ndemo-c 1.5\ndemo-multi 1.0\ndemo-old 1.0")
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("older and newer", m.Apply(false, p("demo-a", `,"ensure":"1.0-1"`), p("demo-c", `,"ensure":">1.5-1"`)), "Package[demo-a] changed package_changed\nPackage[demo-c] changed package_changed")
	m.Want("states", m.Shell(rpmStates), "demo-a 1.0\ndemo-b 1:2.0\ndemo-c 2.0\ndemo-multi 1.0\ndemo-old 1.0")
}

func TestPacman(t *testing.T) {
	m := otherRoot(t, `mkdir -p /srv/pac /var/lib/pacman
mk() {
	d=$(mktemp -d); mkdir -p $d/opt $d/etc; echo $2 > $d/opt/$1; echo $2 > $d/etc/$1.conf
	{ printf 'pkgname = %s\npkgver = %s\npkgdesc = x\narch = any\nsize = 1\nbackup = etc/%s.conf\n' $1 $2 $1; [ -z "$3" ] || echo "$3"; } > $d/.PKGINFO
	tar -C $d -cf - .PKGINFO opt etc | zstd -q > /srv/pac/$1-$2-any.pkg.tar.zst
}
for p in a b c d; do mk demo-$p 1.0-1; done; mk demo-g1 1-1 'group = demo-group'; mk demo-g2 1-1 'group = demo-group'
printf '[options]\nArchitecture = auto\nSigLevel = Never\n[demo]\nServer = file:///srv/pac\n' > /etc/pacman.conf
repo-add -q /srv/pac/demo.db.tar.gz /srv/pac/*.zst >/dev/null 2>&1; pacman -Sy >/dev/null; pacman --noconfirm -S demo-b demo-c demo-d >/dev/null; echo changed > /etc/demo-d.conf
mk demo-b 2.0-1; repo-add -q /srv/pac/demo.db.tar.gz /srv/pac/demo-b-2.0-1-any.pkg.tar.zst >/dev/null 2>&1; mk demo-file 3-1; pacman -Syy >/dev/null`)
	p := func(name, params string) string { return `Package[` + name + `] {"provider":"pacman"` + params + `}` }
	resources := []string{
		p("demo-a", ""), p("demo-b", `,"ensure":"latest"`), p("demo-c", `,"ensure":"absent"`), p("demo-d", `,"ensure":"purged"`), p("demo-group", `,"ensure":"latest"`),
		p("no-such-package", ""), p("demo-file", `,"source":"/srv/pac/demo-file-3-1-any.pkg.tar.zst"`), p("never", `,"ensure":"absent"`),
	}
	want := `Package[demo-a] changed package_installed
Package[demo-b] changed package_changed
Package[demo-c] changed package_removed
Package[demo-d] changed package_purged
Package[demo-file] changed package_installed
Package[demo-group] changed package_installed
Package[never] unchanged
`
	m.Want("noop", m.Apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop ")+"Package[no-such-package] noop package_installed")
	m.Want("first", m.Apply(false, resources...), want+"Package[no-such-package] failed package_installed: change of ensure from purged to present failed: pacman: exit code 1: error: target not found: no-such-package")
	m.Want("states", m.Shell("pacman -Q; ls /etc/demo-d*"+" 2>/dev/null || true"), "demo-a 1.0-1\ndemo-b 2.0-1\ndemo-file 3-1\ndemo-g1 1-1\ndemo-g2 1-1")
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("group", m.Apply(false, p("demo-group", `,"ensure":"absent"`)), "Package[demo-group] changed package_removed")
	m.Want("group refused", m.Apply(false, p("demo-group", `,"allow_virtual":false`)), "Package[demo-group] failed: demo-group is a group of packages, and allow_virtual is false")
	m.Want("states", m.Shell("pacman -Q"), "demo-a 1.0-1\ndemo-b 2.0-1\ndemo-file 3-1")
	m.Shell("touch /var/lib/pacman/db.lck")
	if got := m.Apply(false, p("demo-a", `,"ensure":"absent"`), p("demo-b", `,"ensure":"absent"`)); strings.Count(got, "unable to lock database") != 2 || strings.Count(strings.Join(m.Argv, "\n"), "--remove") != 1 {
		t.Errorf("%s\n%s", got, m.Argv)
	}
}

func TestPip(t *testing.T) {
	m := otherRoot(t, `mkdir -p /srv/wheels; cat > /srv/wheel.py <<'X'
import sys, zipfile
n, v = sys.argv[1:]
z = zipfile.ZipFile(f'/srv/wheels/{n}-{v}-py3-none-any.whl', 'w')
d = f'{n}-{v}.dist-info'
z.writestr(f'{n}.py', '')
z.writestr(d + '/METADATA', f'Metadata-Version: 2.1\nName: {n}\nVersion: {v}\n')
z.writestr(d + '/WHEEL', 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
z.writestr(d + '/RECORD', '')
X
for v in 1.0 1.5 1.10; do for n in demo_a demo_b demo_c; do python3 /srv/wheel.py $n $v; done; done
pip3 -q install --root-user-action=ignore --break-system-packages --no-index --find-links=/srv/wheels demo_b==1.0 demo_c==1.0`)
	p := func(name, params string) string {
		return `Package[` + name + `] {"provider":"pip3","install_options":["--break-system-packages","--no-index",{"--find-links":"/srv/wheels"}]` + params + `}`
	}
	resources := []string{p("Demo.A", `,"ensure":">=1.0 <1.10"`), p("demo-b", `,"ensure":"latest"`), p("demo_c", `,"ensure":"1.5"`), p("no-such-package", "")}
	got := m.Apply(false, resources...)
	for _, want := range []string{"Package[Demo.A] changed package_installed", "Package[demo-b] changed package_changed", "Package[demo_c] changed package_changed", "Package[no-such-package] failed package_installed: change of ensure from absent to present failed: pip3: exit code 1: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	m.Want("states", m.Shell("pip3 freeze --all | grep -i demo"), "demo_a==1.5\ndemo_b==1.10\ndemo_c==1.5")
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("removal", m.Apply(false, `Package[demo-a] {"provider":"pip3","ensure":"absent","uninstall_options":"--break-system-packages"}`), "Package[demo-a] changed package_removed")
	m.Want("states", m.Shell("pip3 freeze --all | grep -i demo"), "demo_b==1.10\ndemo_c==1.5")
}

func TestGem(t *testing.T) {
	m := otherRoot(t, `cd /srv; for v in 1.0 2.0; do for n in demo-a demo-b; do
printf 'Gem::Specification.new { |s| s.name = "%s"; s.version = "%s"; s.summary = "x"; s.authors = ["x"]; s.files = [] }\n' $n $v > x.gemspec; gem build -q x.gemspec >/dev/null 2>&1; done; done
gem install -q --local --no-document demo-b-1.0.gem >/dev/null`)
	p := func(name, params string) string { return `Package[` + name + `] {"provider":"gem"` + params + `}` }
	resources := []string{p("demo-a", `,"ensure":"1.0","source":"/srv/demo-a-1.0.gem"`), p("demo-b", `,"ensure":">=2.0","source":"/srv/demo-b-2.0.gem"`), p("demo-none", `,"source":"/srv/none.gem","install_options":"--local"`)}
	got := m.Apply(false, resources...)
	for _, want := range []string{"Package[demo-a] changed package_installed", "Package[demo-b] changed package_changed", "Package[demo-none] failed package_installed: change of ensure from absent to present failed: gem: exit code "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("removal", m.Apply(false, p("demo-b", `,"ensure":"absent"`)), "Package[demo-b] changed package_removed")
	m.Want("states", m.Shell("gem list --local | grep demo"), "demo-a (1.0)")
}

func TestNpm(t *testing.T) {
	m := otherRoot(t, `for n in demo-a demo-b; do for v in 1.0.0 2.0.0; do d=$(mktemp -d); printf '{"name":"%s","version":"%s"}' $n $v > $d/package.json; (cd $d && npm -s pack --pack-destination /srv >/dev/null); done; done
npm -s install --global --offline /srv/demo-b-1.0.0.tgz`)
	p := func(name, params string) string {
		return `Package[` + name + `] {"provider":"npm","install_options":["--offline"]` + params + `}`
	}
	resources := []string{p("demo-a", `,"source":"/srv/demo-a-1.0.0.tgz"`), p("demo-b", `,"ensure":"2.0.0","source":"/srv/demo-b-2.0.0.tgz"`), p("demo-none", "")}
	got := m.Apply(false, resources...)
	for _, want := range []string{"Package[demo-a] changed package_installed", "Package[demo-b] changed package_changed", "Package[demo-none] failed package_installed: change of ensure from absent to present failed: npm: exit code 1: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if second := m.Apply(false, resources...); strings.Contains(second, " changed") {
		t.Error(second)
	}
	m.Want("removal", m.Apply(false, p("demo-a", `,"ensure":"absent"`)), "Package[demo-a] changed package_removed")
	m.Want("states", m.Shell("npm list --global --depth=0 | grep demo"), "`-- demo-b@2.0.0")
}
