package pkg

import (
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

// The outputs are those of the programs' manuals and of recorded sessions: these managers, or their
// repositories, are not there in a test.

func answer(begin, out string, code int) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(out), Code: code}}
}

func TestApk(t *testing.T) {
	installed := "alpine-baselayout-3.4.3-r1\nbusybox-1.36.1-r2\nfont-dejavu-2.37-r5\nssl_client-1.36.1-r2\n"
	m := providertest.Scripted(t, "apk", types,
		answer("apk info -v -e fresh none", "busybox-1.36.1-r2\n", 1),
		answer("apk info -v -e fresh", "", 1),
		answer("apk info -v -e none", "", 1),
		answer("apk info -v -e /bin/sh", "busybox-1.36.1-r2\n", 0),
		answer("apk info -v -e", "busybox-1.36.1-r2\n", 1),
		answer("apk info -v", installed, 0),
		answer("apk info -v", installed+"fresh-1.0-r0\n", 0),
		answer("apk version -l < busybox font-dejavu", "Installed:                                Available:\nbusybox-1.36.1-r2                        < 1.36.1-r5 \n", 0),
		providertest.Answer{Begin: "apk --wait 300 --no-progress add --upgrade fresh none=2.0-r0 busybox", Out: resource.Output{Code: 1, Stderr: []byte("ERROR: unable to select packages:\n  none (no such package):\n    required by: world[none=2.0-r0]\n")}},
		providertest.Answer{Begin: "apk --wait 300 --no-progress add none=2.0-r0", Out: resource.Output{Code: 1, Stderr: []byte("ERROR: unable to select packages:\n  none (no such package):\n    required by: world[none=2.0-r0]\n")}})
	m.Write("etc/os-release", "ID=alpine\nVERSION_ID=3.18.4\n", 0o644)
	m.Want("statuses", m.Apply(false, `Package[fresh]`, `Package[none] {"ensure":"2.0-r0"}`, `Package[busybox] {"ensure":"latest"}`, `Package[font-dejavu] {"ensure":"latest"}`,
		`Package[/bin/sh]`, `Package[never] {"ensure":"absent","allow_virtual":false}`, `Package[ssl_client] {"ensure":"1.36.1-r2"}`), `Package[/bin/sh] unchanged
Package[busybox] failed package_changed: change of ensure from 1.36.1-r2 to 1.36.1-r5 failed: apk reported success, and the package is 1.36.1-r2
Package[font-dejavu] unchanged
Package[fresh] changed package_installed
Package[never] unchanged
Package[none] failed package_installed: change of ensure from purged to 2.0-r0 failed: apk: exit code 1: ERROR: unable to select packages:; none (no such package):; required by: world[none=2.0-r0]
Package[ssl_client] unchanged`)
	m.Want("removals", m.Apply(false, `Package[busybox] {"ensure":"absent"}`, `Package[font-dejavu] {"ensure":"purged"}`), `Package[busybox] failed package_removed: change of ensure from 1.36.1-r2 to absent failed: apk reported success, and the package is 1.36.1-r2
Package[font-dejavu] failed package_purged: change of ensure from 2.37-r5 to purged failed: apk reported success, and the package is 2.37-r5`)
	m.Want("commands", strings.Join(m.Argv, "\n"), `apk info -v
apk --wait 300 --no-progress del busybox
apk info -v
apk --wait 300 --no-progress del --purge font-dejavu
apk info -v`)
}

func TestYum(t *testing.T) {
	line := func(name, epoch, version string) string {
		return name + "\t" + epoch + "\t" + version + "\t1.el7\tx86_64\t" + name + " \n"
	}
	m := providertest.Scripted(t, "yum rpm", types,
		answer("rpm -q --nosignature --nodigest --qf "+rpmFormat+" --whatprovides", "no package provides fresh\n", 1),
		answer("rpm -q --nosignature --nodigest --qf "+rpmFormat+" a", line("a", "0", "1.0")+line("bind-with-a-long-name-that-breaks", "32", "9.11")+"package fresh is not installed\n", 1),
		answer("rpm -q --nosignature --nodigest --qf "+rpmFormat+" a", line("a", "0", "2.0")+line("bind-with-a-long-name-that-breaks", "32", "9.12"), 0),
		answer("rpm -q --nosignature --nodigest --qf "+rpmFormat+" fresh", line("fresh", "0", "1.0"), 0),
		answer("yum -q -y --enablerepo=extra --nogpgcheck check-update", "\na.x86_64        2.0-1.el7        updates\nbind-with-a-long-name-that-breaks.x86_64\n                32:9.12-1.el7    updates\nObsoleting Packages\na.x86_64        3.0-1.el7        updates\n    z.x86_64        3.0-1.el7        updates\n", 100))
	m.Write("etc/os-release", "ID=\"centos\"\nVERSION_ID=\"7\"\n", 0o644)
	options := `,"install_options":[{"--enablerepo":"extra"},"--nogpgcheck"]`
	m.Want("statuses", m.Apply(false, `Package[a] {"ensure":"latest"`+options+`}`, `Package[bind-with-a-long-name-that-breaks] {"ensure":"latest"`+options+`}`, `Package[fresh] {"ensure":"1.0"}`), `Package[a] changed package_changed
Package[bind-with-a-long-name-that-breaks] changed package_changed
Package[fresh] changed package_installed`)
	var changes []string
	for _, l := range m.Argv {
		if strings.HasPrefix(l, "yum") {
			changes = append(changes, l)
		}
	}
	m.Want("commands", strings.Join(changes, "\n"), `yum -q -y --enablerepo=extra --nogpgcheck check-update a bind-with-a-long-name-that-breaks
yum -q -y --enablerepo=extra --nogpgcheck update a bind-with-a-long-name-that-breaks
yum -q -y install fresh-1.0`)
}

// What gem and npm say of repositories.
func TestCandidates(t *testing.T) {
	m := providertest.Scripted(t, "gem npm", types,
		answer("gem list --local", "bigdecimal (default: 3.1.3)\nnokogiri (1.15.4 x86_64-linux)\nrake (13.1.0, default: 13.0.6)\n", 0),
		answer(`gem list --remote \Arake\z`, "rake (13.1.0)\n", 0),
		answer(`gem list --remote --source https://gems.example.com \Anokogiri\z`, "nokogiri (1.16.0 ruby java x86_64-linux)\n", 0),
		answer("npm list", `{"name":"lib","dependencies":{"npm":{"version":"9.2.0"},"typescript":{"version":"5.0.0"}}}`, 1),
		answer("npm view typescript", "5.4.2\n", 0),
		answer("npm view npm", "9.2.0\n", 0))
	m.Want("statuses", m.Apply(true, `Package[rake] {"provider":"gem","ensure":"latest"}`, `Package[nokogiri] {"provider":"gem","ensure":"latest","source":"https://gems.example.com"}`, `Package[bigdecimal] {"provider":"gem","ensure":">=3.0 <4"}`,
		`Package[npm] {"provider":"npm","ensure":"latest"}`, `Package[typescript] {"provider":"npm","ensure":"latest"}`, `Package[other] {"provider":"npm"}`), `Package[bigdecimal] unchanged
Package[nokogiri] noop package_changed
Package[npm] unchanged
Package[other] noop package_installed
Package[rake] unchanged
Package[typescript] noop package_changed`)
	m.Apply(false, `Package[other] {"provider":"npm"}`, `Package[@scope/x] {"provider":"npm","ensure":"1.2.3"}`, `Package[typescript] {"provider":"npm","ensure":"latest"}`)
	m.Want("one transaction", m.Argv[len(m.Argv)-1], "npm install --global other @scope/x@1.2.3 typescript@latest")
	m.Write("opt/ruby/bin/gem", "", 0o755)
	m.Apply(false, `Package[puma] {"provider":"gem","ensure":">=6.0 <7","command":"/opt/ruby/bin/gem"}`)
	m.Want("gem with a range", m.Argv[1], "gem install -v >= 6.0, < 7 --no-document puma")
}
