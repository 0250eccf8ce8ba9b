package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const installTask = "puppet_agent/tasks/install_shell.sh"

// agentless hides the puppet of this machine, which would also take its time to
// tell its version.
func agentless(t *testing.T, h *host) *host {
	t.Helper()
	h, bin := h.bin(t)
	write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\nexit 1\n", 0o755)
	return h
}

// TestAgentPlaces: which package sets up a collection's repository, for each
// kind of system. With noop nothing is done but to say so.
func TestAgentPlaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	const (
		debian = "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
		ubuntu = "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n"
		mint   = "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n"
		rocky  = "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n"
		fedora = "NAME=\"Fedora Linux\"\nID=fedora\nVERSION_ID=40\n"
		sles   = "NAME=\"SLES\"\nID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"15.5\"\n"
		amazon = "NAME=\"Amazon Linux\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\n"
	)
	for i, tt := range []struct{ system, params, url, install string }{
		{debian, "", "https://apt.puppet.com/puppet-release-bookworm.deb", "puppet-agent"},
		{debian, "collection=puppet8", "https://apt.puppet.com/puppet8-release-bookworm.deb", "puppet-agent"},
		{debian, "collection=puppet8-nightly", "https://nightlies.puppet.com/apt/puppet8-nightly-release-bookworm.deb", "puppet-agent"},
		{debian, "collection=openvox", "https://apt.voxpupuli.org/openvox8-release-debian12.deb", "openvox-agent"},
		{debian, "collection=puppetcore8 password=x", "https://apt-puppetcore.puppet.com/public/puppet8-release-bookworm.deb", "puppet-agent"},
		{debian, "apt_source=http://mirror.example/apt", "http://mirror.example/apt/puppet-release-bookworm.deb", "puppet-agent"},
		{debian, "absolute_source=https://mirror.example/x.deb?a=b&c", "https://mirror.example/x.deb?a=b&c", "puppet-agent"},
		{ubuntu, "collection=puppet7", "https://apt.puppet.com/puppet7-release-noble.deb", "puppet-agent"},
		{ubuntu, "collection=openvox8", "https://apt.voxpupuli.org/openvox8-release-ubuntu24.04.deb", "openvox-agent"},
		{mint, "collection=puppet8", "https://apt.puppet.com/puppet8-release-noble.deb", "puppet-agent"},
		{rocky, "collection=puppet8", "https://yum.puppet.com/puppet8-release-el-9.noarch.rpm", "puppet-agent"},
		{rocky, "collection=puppetcore8 password=x", "https://yum-puppetcore.puppet.com/public/puppet8-release-el-9.noarch.rpm", "puppet-agent"},
		{fedora, "collection=openvox8", "https://yum.voxpupuli.org/openvox8-release-fedora-40.noarch.rpm", "openvox-agent"},
		{sles, "collection=puppet8", "https://yum.puppet.com/puppet8-release-sles-15.noarch.rpm", "puppet-agent"},
		{amazon, "collection=puppet8", "https://yum.puppet.com/puppet8-release-amazon-2023.noarch.rpm", "puppet-agent"},
	} {
		h := agentless(t, newHost(t, shells[i%len(shells)]))
		h.etc(t, map[string]string{"os-release": tt.system, "debian_version": "12.5\n"})
		m := h.result(t, installTask, append(strings.Fields(tt.params), "_noop=true", "version=8.1.0")...)
		if want := " " + tt.url + " and install " + tt.install + ", version 8.1.0."; !strings.Contains(fmt.Sprint(m["_output"]), want) {
			t.Errorf("%s with %s: got %v, want %s", strings.Fields(tt.system)[0], tt.params, m["_output"], want)
		}
	}
	h := agentless(t, newHost(t, "busybox sh"))
	h.etc(t, map[string]string{"os-release": "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.19.1\n"})
	h.fails(t, 1, "Alpine", installTask, "_noop=true", "version=latest")
}

// TestAgentRefuses: parameters that are none.
func TestAgentRefuses(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h = agentless(t, h)
		for _, params := range []string{
			"version=8;id", "version=-8 ", "collection=x;y", "collection=other", "retry=x", "apt_source=ftp://x", "absolute_source=-o/etc/passwd",
			"collection=puppetcore8", "collection=puppetcore8-nightly",
		} {
			h.fails(t, 1, "", installTask, "_noop=true", "version=latest", params)
		}
		h.fails(t, 1, "one line", installTask, "_noop=true", "version=latest", "password=a\nb")
	})
}

// TestAgentByApt: an installation with the real dpkg and apt-get, in a root of
// their own.
func TestAgentByApt(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h = apt(t, h, deb{"puppet-agent", "8.1.0-1bookworm"}, deb{"puppet-agent", "8.2.0-1bookworm"})
		h, bin := h.bin(t)
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\nexit 1\n", 0o755) // no agent yet
		write(t, filepath.Join(bin, "sleep"), "#!/bin/sh\n", 0o755)          // nobody waits
		write(t, filepath.Join(bin, "id"), "#!/bin/sh\necho ${UID_OF_TEST:-0}\n", 0o755)
		dir := h.value("DIR_OF_TEST")
		installed := func(name string) string {
			text, err := os.ReadFile(filepath.Join(dir, "root/usr/share", name, "version"))
			if err != nil {
				return ""
			}
			return string(text)
		}
		release, _ := deb{"puppet8-release", "1"}.build(t, t.TempDir())
		old, _ := deb{"puppet7-release", "1"}.build(t, t.TempDir())

		h.with("UID_OF_TEST=1000").fails(t, 1, "root", installTask, "absolute_source=file://"+release)
		h.result(t, installTask, "absolute_source=file://"+old, "version=8.1.0", "stop_service=false")
		if got := installed("puppet-agent"); got != "8.1.0-1bookworm" {
			t.Errorf("installed is %q", got)
		}
		m := h.result(t, installTask, "absolute_source=file://"+release, "collection=puppet8", "version=latest", "password=null")
		if got := installed("puppet-agent"); got != "8.2.0-1bookworm" {
			t.Errorf("installed is %q: %v", got, m)
		}
		if installed("puppet8-release") == "" || installed("puppet7-release") != "" {
			t.Errorf("the old collection is there, or the new one is not: %v", m)
		}
		h.fails(t, 1, "9.9.9", installTask, "absolute_source=file://"+release, "version=9.9.9", "retry=1")
		h.fails(t, 1, "", installTask, "absolute_source=file:///nonexistent/x.deb", "version=latest", "retry=0")

		// With an agent there, another one is installed only when asked for.
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\necho 8.2.0\n", 0o755)
		for _, params := range [][]string{{}, {"version=8.2.0"}, {"version=null"}} {
			if m := h.result(t, installTask, params...); !strings.Contains(fmt.Sprint(m["_output"]), "8.2.0 is installed") {
				t.Errorf("%q: got %v", params, m)
			}
		}
	})
}

// TestAgentByRPM: an installation from a collection that asks for a password,
// with programs that stand in for curl, rpm and dnf. The password goes where
// only root reads it, and on no command line.
func TestAgentByRPM(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		state := t.TempDir()
		h = h.with("STATE=" + state)
		write(t, filepath.Join(bin, "puppet"), "#!/bin/sh\nexit 1\n", 0o755)
		write(t, filepath.Join(bin, "curl"), `#!/bin/sh
echo "curl $*" >>"$STATE/calls"
cp "$6" "$STATE/login"
[ "$5" = --config ] && [ "$7" = --output ] && echo package >"$8"
`, 0o755)
		write(t, filepath.Join(bin, "rpm"), `#!/bin/sh
echo "rpm $*" >>"$STATE/calls"
case "$*" in
"-q --qf %{NAME} --package "*/puppet8-release-el-9.noarch.rpm) printf puppet8-release ;;
"-qa --qf %{NAME}\n") printf 'bash\npuppet7-release\npuppet8-release\npuppet-tools-release\n' ;;
"--erase puppet7-release") ;;
"--upgrade --oldpackage --replacepkgs "*/puppet8-release-el-9.noarch.rpm)
	printf '[puppet8]\nname=x\n#username=forge-key\n#password=your key\nenabled=1\n' >/etc/yum.repos.d/puppet8-release.repo
	chmod 600 /etc/yum.repos.d/puppet8-release.repo ;;
*) echo "rpm: unexpected arguments: $*" >&2; exit 9 ;;
esac
`, 0o755)
		write(t, filepath.Join(bin, "dnf"), `#!/bin/sh
echo "dnf $*" >>"$STATE/calls"
[ "$*" = "-y install puppet-agent-8.1.0" ] || exit 9
ls -l /etc/yum.repos.d/ >"$STATE/mode"
cp /etc/yum.repos.d/puppet8-release.repo "$STATE/repo"
`, 0o755)
		h.etc(t, map[string]string{
			"os-release":         "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n",
			"yum.repos.d/x.repo": "",
		})
		secret := `s3"c\r&e t`
		text, status := h.run(t, installTask, "collection=puppetcore8", "version=8.1.0", "password="+secret)
		if m := parse(t, text); status != 0 || m["_error"] != nil || strings.Contains(text, "s3") {
			t.Errorf("got %s", text)
		}
		if got, want := read(t, filepath.Join(state, "repo")), "[puppet8]\nname=x\nusername=forge-key\npassword="+secret+"\nenabled=1\n"; got != want {
			t.Errorf("the repository is\n%s\nwant\n%s", got, want)
		}
		if got := read(t, filepath.Join(state, "mode")); !strings.Contains(got, "-rw-------") {
			t.Errorf("modes are %s", got)
		}
		if got, want := read(t, filepath.Join(state, "login")), `user = "forge-key:s3\"c\\r&e t"`+"\n"; got != want {
			t.Errorf("curl reads %s, want %s", got, want)
		}
		calls := read(t, filepath.Join(state, "calls"))
		if strings.Contains(calls, "s3") || !strings.Contains(calls, "rpm --erase puppet7-release\n") || strings.Count(calls, "--erase") != 1 || !strings.Contains(calls, "https://yum-puppetcore.puppet.com/public/puppet8-release-el-9.noarch.rpm") {
			t.Errorf("called are\n%s", calls)
		}
		if left, _ := filepath.Glob(filepath.Join(h.dir, ".login*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// TestAgentRun: the agent's words are the result, and its status the verdict.
func TestAgentRun(t *testing.T) {
	const task = "puppet_agent/tasks/run.sh"
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		lock := filepath.Join(t.TempDir(), "disabled.lock")
		write(t, filepath.Join(bin, "puppet"), `#!/bin/sh
[ "$1" != config ] || exec echo '`+lock+`'
echo "ran $*"
exit ${STATUS:-0}
`, 0o755)
		h.wants(t, `{"exitcode":0,"_output":"ran agent --test --color false\n"}`, task, "noop=false", "environment=null", "tags=null")
		h.with("STATUS=2").wants(t, `{"exitcode":2,"_output":"ran agent --test --color false --noop --environment=dev --tags=a,b::c\n"}`, task, "noop=true", "environment=dev", `tags=["a", "b::c"]`)
		h.with("STATUS=4").fails(t, 1, "status 4:\nran agent", task, "tags=x")
		write(t, lock, "", 0o644)
		h.fails(t, 1, lock, task)
	})
}

func TestAgentVersion(t *testing.T) {
	if _, err := os.Stat("/opt/puppetlabs/puppet/VERSION"); err == nil {
		t.Log("the agent of the vendor is installed")
		return
	}
	eachShell(t, func(t *testing.T, h *host) {
		h.wants(t, `{"version":null,"source":null}`, "puppet_agent/tasks/version_shell.sh")
	})
}
