package builtin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const packageTask = "package/tasks/linux.sh"

// A deb is a Debian package, by its name and version.
type deb struct{ name, version string }

var hello = []deb{{"hello-bolt", "1.0-1"}, {"hello-bolt", "2.0-1"}}

// build makes the package in a directory and returns its file and what an index
// says of it.
func (d deb) build(t *testing.T, dir string) (file, index string) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	control := "Package: " + d.name + "\nVersion: " + d.version + "\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\nDescription: a package for tests\n"
	write(t, filepath.Join(tree, "DEBIAN/control"), control, 0o644)
	write(t, filepath.Join(tree, "DEBIAN/conffiles"), "/etc/"+d.name+".conf\n", 0o644)
	write(t, filepath.Join(tree, "etc", d.name+".conf"), "greeting = hello\n", 0o644)
	write(t, filepath.Join(tree, "usr/share", d.name, "version"), d.version, 0o644)
	file = filepath.Join(dir, d.name+"_"+d.version+"_all.deb")
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--build", "--root-owner-group", tree, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := read(t, file)
	return file, fmt.Sprintf("%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, filepath.Base(file), len(text), sha256.Sum256([]byte(text)))
}

// apt gives the host an apt and a dpkg with an empty root of their own, and a
// repository with packages.
func apt(t *testing.T, h *host, debs ...deb) *host {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"repo", "root/var/lib/dpkg/updates", "root/var/lib/dpkg/info", "root/var/lib/dpkg/triggers", "state/lists/partial", "cache/archives/partial", "log"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "root/var/lib/dpkg/status"), "", 0o644)
	var index strings.Builder
	for _, d := range debs {
		_, entry := d.build(t, filepath.Join(dir, "repo"))
		index.WriteString(entry)
	}
	write(t, filepath.Join(dir, "repo/Packages"), index.String(), 0o644)
	write(t, filepath.Join(dir, "sources.list"), "deb [trusted=yes] file:"+dir+"/repo ./\n", 0o644)
	config := write(t, filepath.Join(dir, "apt.conf"), fmt.Sprintf(`
Dir::State "%[1]s/state";
Dir::State::status "%[1]s/root/var/lib/dpkg/status";
Dir::Cache "%[1]s/cache";
Dir::Log "%[1]s/log";
Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "/nonexistent";
Dir::Etc::preferences "/nonexistent";
Dir::Etc::preferencesparts "/nonexistent";
APT::Sandbox::User "";
DPkg::Pre-Install-Pkgs "";
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
DPkg::Options:: "--force-not-root";
DPkg::Options:: "--force-script-chrootless";
`, dir), 0o644)
	h = h.with("APT_CONFIG="+config, "DPKG_ADMINDIR="+dir+"/root/var/lib/dpkg", "DPKG_ROOT="+dir+"/root", "DIR_OF_TEST="+dir)
	cmd := exec.CommandContext(t.Context(), "apt-get", "-q", "update")
	cmd.Env = h.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return h
}

// TestApt: a package's life, with the real apt-get and dpkg.
func TestApt(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h = apt(t, h, hello...)
		p := "name=hello-bolt"
		h.wants(t, `{"status":"uninstalled","version":""}`, packageTask, "action=status", p)
		h.wants(t, `{"status":"uninstalled"}`, packageTask, "action=uninstall", p)
		h.wants(t, `{"status":"installed","version":"1.0-1","latest":"2.0-1"}`, packageTask, "action=install", p, "version=1.0-1")
		h.wants(t, `{"status":"installed","version":"1.0-1","latest":"2.0-1"}`, packageTask, "action=status", p, "version=null", "manager_options=null", "provider=null")
		h.wants(t, `{"old_version":"1.0-1","version":"2.0-1"}`, packageTask, "action=upgrade", p, "provider=apt")
		h.wants(t, `{"old_version":"2.0-1","version":"2.0-1"}`, packageTask, "action=upgrade", p)
		h.wants(t, `{"status":"installed","version":"2.0-1"}`, packageTask, "action=install", p)
		if got := read(t, h.value("DIR_OF_TEST")+"/root/usr/share/hello-bolt/version"); got != "2.0-1" {
			t.Errorf("installed is %s", got)
		}
		h.wants(t, `{"status":"deinstall ok config-files"}`, packageTask, "action=uninstall", p)
		h.wants(t, `{"status":"uninstalled","version":""}`, packageTask, "action=status", p)
		h.wants(t, `{"status":"installed","version":"1.0-1","latest":"2.0-1"}`, packageTask, "action=install", p, "version=1.0-1", "manager_options=-o Dpkg::Options::=--force-confold --no-install-recommends")
		h.wants(t, `{"status":"uninstalled"}`, packageTask, "action=uninstall", p, "manager_options=--purge")

		// The package of a file.
		deb := filepath.Join(h.value("DIR_OF_TEST"), "repo/hello-bolt_1.0-1_all.deb")
		h.wants(t, `{"status":"installed","version":"1.0-1","latest":"2.0-1"}`, packageTask, "action=install", "name="+deb)

		h.fails(t, 1, "nosuch-bolt", packageTask, "action=install", "name=nosuch-bolt")
		h.fails(t, 1, "9.9", packageTask, "action=install", p, "version=9.9")
		h.fails(t, 1, "Command line option", packageTask, "action=install", p, "manager_options=--nosuch-option")
	})
}

// TestPackageNames: what means something to a shell or to apt-get is no name
// and no version. A package that is there stays.
func TestPackageNames(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h = apt(t, h, hello...)
		h.result(t, packageTask, "action=install", "name=hello-bolt")
		for _, name := range []string{"", "-y", "--help", "hello.*", "^hello", "hello?", "a b", "a;reboot", "$(reboot)", "a\nb", "a\n", "hello-bolt=1.0", "../x", "hello-bolt/stable", "a'b", `a\b`, "\xff", "ü"} {
			for _, action := range []string{"install", "uninstall", "upgrade", "status"} {
				h.fails(t, 255, "", packageTask, "action="+action, "name="+name)
			}
		}
		// Names of nothing that is there, which say something else to apt-get.
		for _, name := range []string{"hello-bolt-", "hello-bolt+", "hello.bolt", "hello", "hello-bolt:all-", "hello-bolt:all+"} {
			h.fails(t, 1, "package "+name+" does not exist", packageTask, "action=install", "name="+name)
			h.fails(t, 1, "package "+name+" does not exist", packageTask, "action=upgrade", "name="+name)
			h.wants(t, `{"status":"uninstalled"}`, packageTask, "action=uninstall", "name="+name)
			h.wants(t, `{"status":"uninstalled","version":""}`, packageTask, "action=status", "name="+name)
		}
		for _, version := range []string{"-1", "1 2", "*", "1;x", "1\n2"} {
			h.fails(t, 255, "version", packageTask, "action=install", "name=hello-bolt", "version="+version)
		}
		h.fails(t, 255, "unknown action", packageTask, "action=purge", "name=hello-bolt")
		h.fails(t, 255, "unknown action", packageTask, "name=hello-bolt")
		h.fails(t, 255, "unknown provider", packageTask, "action=status", "name=hello-bolt", "provider=gem")
		h.fails(t, 255, "pacman is not installed", packageTask, "action=status", "name=hello-bolt", "provider=pacman")
		h.fails(t, 255, "not a file", packageTask, "action=uninstall", "name=/tmp/x.deb")
		h.wants(t, `{"status":"installed","version":"2.0-1"}`, packageTask, "action=status", "name=hello-bolt")
	})
}

// standIns are small programs that stand in for package managers of other
// systems. They keep one package, "tool", in the file $STATE, answer as the real
// ones do, and fail on arguments that the real ones would not take so.
var standIns = map[string]string{
	// $STATE holds the version that is installed, or nothing.
	"rpm": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"-q -- tool" | "-q -- tool.x86_64") [ -n "$version" ] && echo "tool-$version.x86_64" ;;
"-q -- toolbox") echo "package toolbox is not installed"; exit 1 ;;
"-q --qf %{NAME}\n --whatprovides -- toolbox") [ -n "$version" ] && echo tool || { echo "no package provides toolbox"; exit 1; } ;;
"-q --qf %{NAME}\n --whatprovides -- "*) echo "no package provides $6"; exit 1 ;;
"-q --qf %{VERSION}-%{RELEASE}\n -- tool") [ -n "$version" ] && echo "$version" ;;
"-q -- "*) echo "package $3 is not installed"; exit 1 ;;
*) echo "rpm: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"dnf": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"-q check-update tool")
	[ "$version" = 1.0-1.el9 ] || exit 0
	printf '\ntool.x86_64       2.0-1.el9      updates\n'
	exit 100 ;;
"-q list --showduplicates tool-1.0-1.el9") printf 'Available Packages\ntool.x86_64       1.0-1.el9      main\n' ;;
"-q list --showduplicates "*) echo "Error: No matching Packages to list" >&2; exit 1 ;;
"-y install tool" | "-y --nobest install tool" | "-y install toolbox") echo 2.0-1.el9 >"$STATE" ;;
"-y install tool-1.0-1.el9") echo 1.0-1.el9 >"$STATE" ;;
"-y upgrade tool") [ -z "$version" ] || echo 2.0-1.el9 >"$STATE" ;;
"-y upgrade "*) ;;
"-y remove tool") : >"$STATE" ;;
"-y install "*) echo "Error: Unable to find a match: $3" >&2; exit 1 ;;
*) echo "dnf: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"zypper": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"--non-interactive --no-refresh list-updates -t package --all")
	echo "S | Repository | Name | Current Version | Available Version | Arch"
	echo "--+------------+------+-----------------+-------------------+-------"
	[ "$version" != 1.0-1.2 ] || echo "v | Main       | tool | 1.0-1.2         | 2.0-1.1           | x86_64"
	;;
"--non-interactive --no-refresh search --type package --match-exact --details -- tool")
	echo "S  | Name | Type    | Version | Arch   | Repository"
	echo "---+------+---------+---------+--------+------------------"
	echo "v  | tool | package | 2.0-1.1 | x86_64 | Main"
	echo "v  | tool | package | 1.0-1.2 | x86_64 | Main"
	echo "i+ | tool | package | 0.5-1.1 | x86_64 | (System Packages)"
	;;
"--non-interactive install --name -- tool") echo 2.0-1.1 >"$STATE" ;;
"--non-interactive --no-gpg-checks install --name -- tool=1.0-1.2" | "--non-interactive install --name -- tool=1.0-1.2") echo 1.0-1.2 >"$STATE" ;;
"--non-interactive install --name -- tool=2.0-1.1") echo 2.0-1.1 >"$STATE" ;;
"--non-interactive remove --name -- tool") : >"$STATE" ;;
"--non-interactive install "*) echo "No provider of '$5' found."; exit 104 ;;
*) echo "zypper: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"apk": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"list --installed tool") [ -z "$version" ] || printf '%s\n' "tool-doc-9-r0 x86_64 {tool} (MIT) [installed]" "tool-$version x86_64 {tool} (MIT) [installed]" ;;
"list --upgradable tool") [ "$version" != 1.0-r0 ] || echo "tool-2.0-r1 x86_64 {tool} (MIT) [upgradable from: tool-1.0-r0]" ;;
"list "*) ;;
"add --simulate tool=1.0-r0") echo "(1/1) Downgrading tool (2.0-r1 -> 1.0-r0)" ;;
"add --simulate "*) echo "ERROR: unable to select packages: $3 (no such package)" >&2; exit 1 ;;
"add tool") [ -n "$version" ] || echo 2.0-r1 >"$STATE" ;;
"add --upgrade tool") echo 2.0-r1 >"$STATE" ;;
"add tool=1.0-r0") echo 1.0-r0 >"$STATE" ;;
"del tool") : >"$STATE" ;;
"add "*) echo "ERROR: unable to select packages: $2 (no such package)" >&2; exit 1 ;;
*) echo "apk: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"pacman": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"-Q -- tool") [ -n "$version" ] && echo "tool $version" ;;
"-Si -- tool") printf 'Repository      : extra\nName            : tool\nVersion         : 2.0-1\n' ;;
"--noconfirm -S --needed -- tool") echo 2.0-1 >"$STATE" ;;
"--noconfirm -R -- tool") : >"$STATE" ;;
"-Q -- "* | "-Si -- "*) echo "error: package '$3' was not found" >&2; exit 1 ;;
"--noconfirm -S "*) echo "error: target not found: $5" >&2; exit 1 ;;
*) echo "pacman: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"pkg": `#!/bin/sh
version=$(cat "$STATE")
case "$*" in
"query %v tool") [ -n "$version" ] && echo "$version" ;;
"rquery %v tool") echo 2.0 ;;
"install -y tool" | "upgrade -y tool") echo 2.0 >"$STATE" ;;
"install -y tool-1.0") echo 1.0 >"$STATE" ;;
"delete -y tool") : >"$STATE" ;;
"query "* | "rquery "*) exit 1 ;;
"install "*) echo "pkg: No packages available to install matching '$3'" >&2; exit 1 ;;
*) echo "pkg: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
}

// TestPackageManagers: the same life with programs that stand in for the
// managers of other systems.
func TestPackageManagers(t *testing.T) {
	for i, tt := range []struct{ provider, old, new, missing string }{
		{"dnf", "1.0-1.el9", "2.0-1.el9", "Unable to find a match: nothing"},
		{"yum", "1.0-1.el9", "2.0-1.el9", "Unable to find a match: nothing"},
		{"zypper", "1.0-1.2", "2.0-1.1", "No provider of 'nothing' found"},
		{"apk", "1.0-r0", "2.0-r1", "unable to select packages: nothing"},
		{"pacman", "", "2.0-1", "target not found: nothing"},
		{"pkg", "1.0", "2.0", "No packages available to install matching 'nothing'"},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, bin := h.bin(t)
				for name, text := range standIns {
					write(t, filepath.Join(bin, name), text, 0o755)
				}
				write(t, filepath.Join(bin, "yum"), standIns["dnf"], 0o755)
				state := write(t, filepath.Join(t.TempDir(), "state"), "", 0o644)
				h = h.with("STATE=" + state)
				run := func(want, action string, more ...string) {
					t.Helper()
					h.wants(t, want, packageTask, append(more, "action="+action, "name=tool", "provider="+tt.provider)...)
				}
				installed := fmt.Sprintf(`{"status":"installed","version":%q}`, tt.new)
				run(`{"status":"uninstalled","version":""}`, "status")
				run(`{"status":"uninstalled"}`, "uninstall")
				run(installed, "install")
				run(installed, "install")
				run(installed, "status")
				run(fmt.Sprintf(`{"old_version":%[1]q,"version":%[1]q}`, tt.new), "upgrade")
				run(`{"status":"uninstalled"}`, "uninstall")
				if tt.old != "" {
					outdated := fmt.Sprintf(`{"status":"installed","version":%q,"latest":%q}`, tt.old, tt.new)
					run(outdated, "install", "version="+tt.old)
					run(outdated, "status")
					run(fmt.Sprintf(`{"old_version":%q,"version":%q}`, tt.old, tt.new), "upgrade")
					run(`{"status":"uninstalled"}`, "uninstall")
				}
				h.fails(t, 1, tt.missing, packageTask, "action=install", "name=nothing", "provider="+tt.provider)
				h.fails(t, 1, "nothing is not installed", packageTask, "action=upgrade", "name=nothing", "provider="+tt.provider)
				if tt.provider == "dnf" {
					h.wants(t, installed, packageTask, "action=install", "name=toolbox", "provider=dnf")
					run(installed, "install", "manager_options=--nobest")
				}
			})
		})
	}
}

// TestOwnManager: which manager is taken depends on the system before it does
// on the programs.
func TestOwnManager(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	for i, tt := range []struct{ id, want string }{
		{`ID="rocky"` + "\n" + `ID_LIKE="rhel centos fedora"`, "1.0-1.el9"},
		{`ID="opensuse-leap"` + "\n" + `ID_LIKE="suse opensuse"`, "1.0-1.el9"}, // asks rpm, too
		{"ID=alpine", "1.0-1.el9"},
		{"ID=arch", "1.0-1.el9"},
	} {
		h, bin := newHost(t, shells[i%len(shells)]).bin(t)
		for name, text := range standIns {
			write(t, filepath.Join(bin, name), text, 0o755)
		}
		state := write(t, filepath.Join(t.TempDir(), "state"), tt.want, 0o644)
		h.etc(t, map[string]string{"os-release": tt.id + "\n"})
		m := h.with("STATE="+state).result(t, packageTask, "action=status", "name=tool")
		if m["status"] != "installed" || m["version"] != tt.want {
			t.Errorf("%s: got %v", tt.id, m)
		}
	}
}
