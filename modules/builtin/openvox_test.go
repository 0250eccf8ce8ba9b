package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	openvoxCheck     = "openvox_bootstrap/tasks/check_linux.sh"
	openvoxConfigure = "openvox_bootstrap/tasks/configure.sh"
	openvoxInstall   = "openvox_bootstrap/tasks/install_linux.sh"
	openvoxBuild     = "openvox_bootstrap/tasks/install_build_artifact_linux.sh"
)

// TestOpenvoxCheck compares versions in the order of RubyGems. A comparison that
// does not hold ends with status 1 and the result.
func TestOpenvoxCheck(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\n[ \"$*\" = --version ] || exit 9\necho \"$INSTALLED\"\n", 0o755)
		h.with("INSTALLED=8.14.0").wants(t, `{"puppet_version":"8.14.0","valid":true}`, openvoxCheck, "version=null", "test=eq")
		for _, tt := range []struct{ installed, order, version string }{
			{"8.14.0", "eq", "8.14.0"},
			{"8.14.0", "eq", "8.14"},
			{"8.14.0", "gt", "8.9.1"},
			{"8.14.0", "lt", "8.14.0.1"},
			{"8.14.0", "lt", "9"},
			{"8.14.0", "gt", "8.14.0.rc1"},
			{"8.14.0", "gt", "8.14.0-rc1"},
			{"9.0.0.rc2", "gt", "9.0.0.rc1"},
			{"9.0.0.alpha", "lt", "9.0.0.beta"},
			{"9.0.0.rc1", "eq", "9.rc1"},
		} {
			for _, test := range []string{"eq", "lt", "le", "gt", "ge"} {
				valid := test == tt.order || tt.order == "eq" && strings.HasSuffix(test, "e") || tt.order != "eq" && test == tt.order[:1]+"e"
				status := 1
				if valid {
					status = 0
				}
				out, got := h.with("INSTALLED="+tt.installed).run(t, openvoxCheck, "version="+tt.version, "test="+test)
				want := fmt.Sprintf(`{"puppet_version":%q,"test":%q,"test_version":%q,"valid":%v}`, tt.installed, test, tt.version, valid)
				if strings.TrimSpace(out) != want || got != status {
					t.Errorf("status %d, got %s, want %s", got, out, want)
				}
			}
		}
		h = h.with("INSTALLED=8.14.0")
		h.fails(t, 1, "test must be", openvoxCheck, "version=8", "test=ne")
		h.fails(t, 1, "not a version number: latest", openvoxCheck, "version=latest")
		h.fails(t, 1, "not allowed", openvoxCheck, "version=8;id")
		h.with("INSTALLED=none").fails(t, 1, "printed no version", openvoxCheck)
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\necho no libraries >&2\nexit 1\n", 0o755)
		h.fails(t, 1, "no libraries", openvoxCheck)
	})
}

// openvoxSystems are contents of os-release by the name of the system.
var openvoxSystems = map[string]string{
	"debian": "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n",
	"forky":  "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_CODENAME=forky\n",
	"ubuntu": "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n",
	"rocky":  "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n",
	"fedora": "NAME=\"Fedora Linux\"\nID=fedora\nVERSION_ID=42\n",
	"amazon": "NAME=\"Amazon Linux\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\n",
	"sles":   "NAME=\"SLES\"\nID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"15.5\"\n",
	"alpine": "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.19.1\n",
}

// openvoxHost gives the host a system, and package managers that record their
// arguments. They fail on arguments of another form, and on files that do not
// have what curl downloaded.
func openvoxHost(t *testing.T, h *host, system string) (_ *host, bin, calls string) {
	t.Helper()
	h, bin = h.bin(t)
	h.etc(t, map[string]string{"os-release": openvoxSystems[system]})
	const file = `for last; do :; done
case $last in
*/*) [ "$(cat "$last")" = package ] || { echo "$0: no package in $last" >&2; exit 8; } ;;
esac
`
	programs := map[string]string{
		"curl": `#!/bin/sh
[ "$1 $2 $3 $4 $5 $6 $7 $#" = "--fail --silent --show-error --location --retry 3 --output 9" ] || exit 9
case $9 in
*missing*) echo "curl: (22) The requested URL returned error: 404" >&2; exit 22 ;;
*empty*) : >"$8" ;;
*) echo package >"$8" ;;
esac
`,
		"puppet": "#!/bin/sh\ncase \"$*\" in\n--version) exit 1 ;;\n\"resource service \"*\" ensure=stopped enable=false\") ;;\n*) exit 9 ;;\nesac\n",
		"uname":  "#!/bin/sh\ncase \"$*\" in\n-m) echo \"${MACHINE:-x86_64}\" ;;\n-s) echo Linux ;;\n*) exit 9 ;;\nesac\n",
	}
	managers := map[string][]string{
		"debian": {"apt-get"}, "forky": {"apt-get"}, "ubuntu": {"apt-get"},
		"rocky": {"dnf", "yum"}, "fedora": {"dnf"}, "amazon": {"yum"}, "sles": {"zypper"},
	}
	forms := map[string]string{
		"apt-get": `"-q -y -o DPkg::Lock::Timeout=60 install "* | "-q -y -o DPkg::Lock::Timeout=60 update") [ "$DEBIAN_FRONTEND" = noninteractive ] || exit 7 ;;`,
		"dnf":     `"-y install "* | "-y clean expire-cache") ;;`,
		"yum":     `"-y install "* | "-y clean expire-cache") ;;`,
		"zypper":  `"--non-interactive --no-gpg-checks install --oldpackage /"* | "--non-interactive --gpg-auto-import-keys refresh" | "--non-interactive install "*) ;;`,
	}
	for _, name := range managers[system] {
		programs[name] = "#!/bin/sh\n" + file + "case \"$*\" in\n*nosuch*) echo \"no package nosuch\" >&2; exit 1 ;;\n" + forms[name] + "\n*) echo \"unexpected arguments: $*\" >&2; exit 9 ;;\nesac\n"
	}
	calls = recorded(t, bin, programs)
	return h, bin, calls
}

// wantsCalls compares the calls that change the system with those that are
// wanted, without the directory of the task and the options that are always
// the same.
func wantsCalls(t *testing.T, h *host, calls string, want ...string) {
	t.Helper()
	text := strings.NewReplacer(h.dir+"/", "", " -q -y -o DPkg::Lock::Timeout=60", "", "--fail --silent --show-error --location --retry 3 --output ", "", " --non-interactive", "", " -y", "").Replace(read(t, calls))
	var got []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "uname ") && line != "puppet --version\n" {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("called are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOpenvoxInstall(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	for i, tt := range []struct {
		system, params string
		want           []string
	}{
		{"debian", "", []string{
			"curl openvox8-release-debian12.deb https://apt.voxpupuli.org/openvox8-release-debian12.deb",
			"apt-get install --allow-downgrades openvox8-release-debian12.deb", "apt-get update", "apt-get install openvox-agent",
		}},
		{"forky", "version=8.14.0-1 apt_source=http://mirror.example/apt", []string{
			"curl openvox8-release-debian14.deb http://mirror.example/apt/openvox8-release-debian14.deb",
			"apt-get install --allow-downgrades openvox8-release-debian14.deb", "apt-get update", "apt-get install --allow-downgrades openvox-agent=8.14.0-1",
		}},
		{"ubuntu", "version=8.14.0 package=openvox-server collection=openvox7 stop_service=true", []string{
			"curl openvox7-release-ubuntu24.04.deb https://apt.voxpupuli.org/openvox7-release-ubuntu24.04.deb",
			"apt-get install --allow-downgrades openvox7-release-ubuntu24.04.deb", "apt-get update", "apt-get install --allow-downgrades openvox-server=8.14.0-1+ubuntu24.04",
			"puppet resource service puppetserver ensure=stopped enable=false",
		}},
		{"rocky", "version=8.14.0 stop_service=true", []string{
			"curl openvox8-release-el-9.noarch.rpm https://yum.voxpupuli.org/openvox8-release-el-9.noarch.rpm",
			"dnf install openvox8-release-el-9.noarch.rpm", "dnf clean expire-cache", "dnf install openvox-agent-8.14.0",
			"puppet resource service puppet ensure=stopped enable=false",
		}},
		{"fedora", "package=openvoxdb stop_service=true yum_source=https://mirror.example", []string{
			"curl openvox8-release-fedora-42.noarch.rpm https://mirror.example/openvox8-release-fedora-42.noarch.rpm",
			"dnf install openvox8-release-fedora-42.noarch.rpm", "dnf clean expire-cache", "dnf install openvoxdb",
			"puppet resource service puppetdb ensure=stopped enable=false",
		}},
		{"sles", "version=8.14.0", []string{
			"curl openvox8-release-sles-15.noarch.rpm https://yum.voxpupuli.org/openvox8-release-sles-15.noarch.rpm",
			"zypper --no-gpg-checks install --oldpackage openvox8-release-sles-15.noarch.rpm", "zypper --gpg-auto-import-keys refresh", "zypper install --oldpackage openvox-agent=8.14.0",
		}},
	} {
		t.Run(tt.system, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, _, calls := openvoxHost(t, h, tt.system)
				m := h.result(t, openvoxInstall, strings.Fields(tt.params)...)
				if !strings.Contains(fmt.Sprint(m["_output"]), "Installed openvox") {
					t.Errorf("got %v", m)
				}
				wantsCalls(t, h, calls, tt.want...)
			})
		})
	}
}

// TestOpenvoxInstalled: an agent that is there stays, unless another version is
// asked for.
func TestOpenvoxInstalled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	eachShell(t, func(t *testing.T, h *host) {
		h, bin, calls := openvoxHost(t, h, "debian")
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\necho 8.14.0\n", 0o755)
		for _, version := range []string{"latest", "null", "8.14.0"} {
			if m := h.result(t, openvoxInstall, "version="+version); !strings.Contains(fmt.Sprint(m["_output"]), "8.14.0 of the agent is installed already") {
				t.Errorf("got %v", m)
			}
		}
		wantsCalls(t, h, calls)
		h.result(t, openvoxInstall, "version=8.15.0")
		if !strings.Contains(read(t, calls), "openvox-agent=8.15.0-1+debian12\n") {
			t.Errorf("called are %s", read(t, calls))
		}
	})
}

func TestOpenvoxBuildArtifact(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	const source = "https://artifacts.voxpupuli.org/"
	for i, tt := range []struct{ system, machine, params, url, install string }{
		{"debian", "x86_64", "version=8.15.0", source + "openvox-agent/8.15.0/openvox-agent_8.15.0-1%2Bdebian12_amd64.deb", "apt-get install --allow-downgrades package.deb"},
		{"ubuntu", "aarch64", "version=8.15.0", source + "openvox-agent/8.15.0/openvox-agent_8.15.0-1%2Bubuntu24.04_arm64.deb", "apt-get install --allow-downgrades package.deb"},
		{"debian", "x86_64", "version=8.9.0 package=openvoxdb-termini", source + "openvoxdb/8.9.0/openvoxdb-termini_8.9.0-1%2Bdebian12_all.deb", "apt-get install --allow-downgrades package.deb"},
		{"rocky", "aarch64", "version=8.15.0", source + "openvox-agent/8.15.0/openvox-agent-8.15.0-1.el9.aarch64.rpm", "dnf install package.rpm"},
		{"fedora", "x86_64", "version=8.9.0-SNAPSHOT package=openvox-server", source + "openvox-server/8.9.0-SNAPSHOT/openvox-server-8.9.0-SNAPSHOT.fc42.noarch.rpm", "dnf install package.rpm"},
		{"sles", "x86_64", "version=8.15.0 artifacts_source=http://mirror.example", "http://mirror.example/openvox-agent/8.15.0/openvox-agent-8.15.0-1.sles15.x86_64.rpm", "zypper --no-gpg-checks install --oldpackage package.rpm"},
	} {
		h, _, calls := openvoxHost(t, newHost(t, shells[i%len(shells)]), tt.system)
		h = h.with("MACHINE=" + tt.machine)
		h.result(t, openvoxBuild, strings.Fields(tt.params)...)
		wantsCalls(t, h, calls, "curl package"+tt.url[strings.LastIndex(tt.url, "."):]+" "+tt.url, tt.install)
	}
}

// TestOpenvoxRefuses: wrong parameters, unknown platforms and failures of the
// programs are errors, and wrong parameters change nothing.
func TestOpenvoxRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	eachShell(t, func(t *testing.T, h *host) {
		on, bin, calls := openvoxHost(t, h, "debian")
		for param, text := range map[string]string{
			"package=-y": "package begins with a hyphen", "package=a;id": "package has characters", "version=-1": "version begins", "version=1 2": "version has characters",
			"collection=a/b": "collection has characters", "apt_source=ftp://x": "apt_source must be a URL", "yum_source=https://x/\"": "yum_source has characters",
			"stop_service=yes": "stop_service must be true or false",
		} {
			on.fails(t, 1, text, openvoxInstall, param)
		}
		on.fails(t, 1, "the service of the package openvoxdb-termini is unknown", openvoxInstall, "package=openvoxdb-termini", "stop_service=true")
		on.fails(t, 1, "version is empty", openvoxBuild)
		on.fails(t, 1, "artifacts_source must be a URL", openvoxBuild, "version=1", "artifacts_source=x")
		wantsCalls(t, on, calls)

		on.fails(t, 1, "404", openvoxInstall, "collection=missing")
		on.fails(t, 1, "the file is empty", openvoxInstall, "collection=empty")
		on.fails(t, 1, "no package nosuch", openvoxInstall, "package=nosuch")
		on.fails(t, 1, "No such file", openvoxInstall, "apt_source=file:///nonexistent")
		write(t, filepath.Join(bin, "id"), "#!/bin/sh\necho 1000\n", 0o755)
		on.fails(t, 1, "only root", openvoxInstall)
		on.fails(t, 1, "only root", openvoxBuild, "version=1")

		on, _, calls = openvoxHost(t, h, "alpine")
		on.fails(t, 1, "no packages for the platform Alpine 3.19.1", openvoxInstall)
		on.fails(t, 1, "no packages for the platform Alpine 3.19.1", openvoxBuild, "version=1")
		wantsCalls(t, on, calls)
	})
}

func TestOpenvoxConfigure(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		dir := t.TempDir()
		conf, csr := filepath.Join(dir, "puppet.conf"), filepath.Join(dir, "csr_attributes.yaml")
		calls := recorded(t, bin, map[string]string{"puppet": `#!/bin/sh
case "$1 $2" in
"config print") echo "$CONFDIR" ;;
"config set")
	[ "$3 $#" = "--section 6" ] || exit 9
	[ "$5" != broken ] || { echo "no such setting"; exit 1; }
	printf '%s/%s=%s\n' "$4" "$5" "$6" >>"$CONFDIR/puppet.conf" ;;
"apply --detailed-exitcodes") echo applied; exit "${APPLIED:-2}" ;;
*) exit 9 ;;
esac
`})
		h = h.with("CONFDIR=" + dir)
		puppet := filepath.Join(bin, "puppet")
		service := func(ensure, enable string, successful bool) string {
			return fmt.Sprintf(`"puppet_service":{"command":"%s apply --detailed-exitcodes -e service { 'puppet': ensure => %s, enable => %s, }","output":"applied\n","successful":%v}`, puppet, ensure, enable, successful)
		}
		trim := func(text string) string { return strings.ReplaceAll(text, `applied\n`, `applied`) }

		h.wants(t, trim("{"+service("running", "true", true)+"}"), openvoxConfigure)
		h.with("APPLIED=0").wants(t, trim("{"+service("stopped", "false", true)+"}"), openvoxConfigure, "puppet_conf=null", "csr_attributes={}", "puppet_service_running=false", "puppet_service_enabled=false")
		if _, err := os.Stat(csr); err == nil {
			t.Error("csr_attributes.yaml was written without attributes")
		}

		h.wants(t, trim(fmt.Sprintf(`{"puppet_conf":{"path":%q,"contents":%q,"successful":true},%s}`, conf,
			"main/server=pup \"x\" \\ é😀/\nmain/empty=\nagent/a= b \n", service("running", "true", true))),
			openvoxConfigure, `puppet_conf={"main": {"server":"pup \"x\" \\ \u00e9\ud83d\ude00\/", "empty":""},`+"\n"+` "none":{}, "agent":{"a":" b "}}`)

		write(t, csr, "old: 1\n", 0o644)
		yaml := "---\n\"custom_attributes\":\n  \"1.2.840.113549.1.9.7\": \"pass \\\"w\\\\d: é\"\n\"extension_requests\":\n  \"pp_role\": \"web\"\n"
		yaml = strings.NewReplacer("\"custom_attributes\"", "custom_attributes", "\"extension_requests\"", "extension_requests").Replace(yaml)
		h.wants(t, trim(fmt.Sprintf(`{"csr_attributes":{"path":%q,"contents":%q,"successful":true},%s}`, csr, yaml, service("running", "true", true))),
			openvoxConfigure, `csr_attributes={"custom_attributes":{"1.2.840.113549.1.9.7":"pass \"w\\d: é"},"extension_requests":{"pp_role":"web"}}`)
		if got := read(t, csr); got != yaml {
			t.Errorf("the file is\n%s\nwant\n%s", got, yaml)
		}
		if info, err := os.Stat(csr); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v: %v", info.Mode(), err)
		}

		// What fails is named, and the rest is done.
		out, status := h.with("APPLIED=4").run(t, openvoxConfigure, `puppet_conf={"main":{"broken":"x","good":"y"}}`)
		m := parse(t, out)
		if p, _ := m["puppet_conf"].(map[string]any); status != 1 || p["successful"] != false || fmt.Sprint(p["errors"]) != "map[--section=main broken=x:no such setting]" || !strings.HasSuffix(read(t, conf), "main/good=y\n") {
			t.Errorf("status %d: %s", status, out)
		}
		h.with("APPLIED=4").fails(t, 1, "configuration failed: puppet_conf, puppet_service", openvoxConfigure, `puppet_conf={"main":{"broken":"x"}}`)
		h.with("APPLIED=1").fails(t, 1, "configuration failed: puppet_service", openvoxConfigure)

		write(t, calls, "", 0o644)
		for param, text := range map[string]string{
			`puppet_conf=[]`: "must be an object", `puppet_conf={"a":"b"}`: "must be an object", `puppet_conf={"a":{"b":1}}`: "must be an object",
			`puppet_conf={"a":{"b":"c"}`: "must be an object", `puppet_conf={"a":{"b":"c"}} x`: "must be an object", `puppet_conf={"a":{"b":"\u00g0"}}`: "must be an object",
			`puppet_conf={"a":{"b":"c\nd"}}`: "control character", `puppet_conf={"a":{"b":"\u001f"}}`: "control character", `puppet_conf={"a":{"--x":"c"}}`: "begins with a hyphen",
			`puppet_conf={"a]":{"x":"c"}}`: "not allowed", `csr_attributes={"other":{"1.2":"x"}}`: "no keys but", `csr_attributes={"custom_attributes":{"a b":"x"}}`: "not allowed",
			"puppet_service_running=maybe": "must be true or false",
		} {
			h.fails(t, 1, text, openvoxConfigure, param)
		}
		if got := read(t, calls); got != "" {
			t.Errorf("wrong parameters called %s", got)
		}
		h.with("CONFDIR=/nonexistent").fails(t, 1, "/nonexistent", openvoxConfigure, `puppet_conf={"main":{"a":"b"}}`)
	})
}
