package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFacts: what the shell tells is what the kernel tells, and what facter
// does where that is installed.
func TestFacts(t *testing.T) {
	var facter map[string]any
	if _, err := exec.LookPath("facter"); err == nil {
		// It fails where it may not read some file, and tells the other facts.
		out, err := exec.CommandContext(t.Context(), "facter", "--json").Output()
		if len(out) == 0 {
			t.Fatal(err)
		}
		facter = parse(t, string(out))
	}
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	eachShell(t, func(t *testing.T, h *host) {
		facts := h.result(t, "facts/tasks/bash.sh", "_task=facts::bash")
		if got := dig(facts, "kernel"); got != "Linux" {
			t.Errorf("kernel is %v", got)
		}
		if got, _ := dig(facts, "networking", "fqdn").(string); got != hostname && !strings.HasPrefix(got, hostname+".") {
			t.Errorf("fqdn is %v on %s", got, hostname)
		}
		if got, want := dig(facts, "identity", "uid"), float64(os.Getuid()); got != want {
			t.Errorf("uid is %v, want %v", got, want)
		}
		if got := fmt.Sprintf("MemTotal: %.0f kB", dig(facts, "memory", "system", "total_bytes").(float64)/1024); !strings.Contains(strings.Join(strings.Fields(read(t, "/proc/meminfo")), " "), got) {
			t.Errorf("memory is %s", got)
		}
		if got, want := dig(facts, "processors", "count"), float64(strings.Count(read(t, "/proc/cpuinfo"), "processor\t:")); got != want {
			t.Errorf("%v processors, want %v", got, want)
		}
		if got, _ := dig(facts, "system_uptime", "seconds").(float64); got <= 0 {
			t.Errorf("uptime is %v", got)
		}
		if facter != nil {
			same(t, "", facts, facter)
		}
	})
}

// changing are facts that differ from one moment to the next, and those that
// facter leaves out where it cannot read the files of process 1.
var changing = []string{".system_uptime", ".memory.system.available", ".memory.system.available_bytes", ".memory.system.used", ".memory.system.used_bytes", ".memory.system.capacity", ".memory.swap"}

// same compares a fact, and all within it, with facter's.
func same(t *testing.T, at string, got, want any) {
	t.Helper()
	if slices.Contains(changing, at) {
		return
	}
	if m, ok := got.(map[string]any); ok {
		w, _ := want.(map[string]any)
		for k, v := range m {
			same(t, at+"."+k, v, w[k])
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, want facter's %v", at, got, want)
	}
}

func dig(m map[string]any, keys ...string) any {
	var v any = m
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// TestFactsOfOthers: distributions are known by their files in /etc, which are
// laid over this machine's for the task alone. What is expected is what facter 4
// says of them.
func TestFactsOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a task another /etc")
		return
	}
	for i, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"ubuntu", map[string]string{
			"os-release":     "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nVERSION=\"24.04.1 LTS (Noble Numbat)\"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n",
			"debian_version": "trixie/sid\n",
		}, `{"name":"Ubuntu","distro":{"codename":"noble","description":"Ubuntu 24.04.1 LTS","id":"Ubuntu","release":{"full":"24.04","major":"24.04"}},"release":{"full":"24.04","major":"24.04"},"family":"Debian"}`},
		{"debian 7", map[string]string{
			"os-release":     "PRETTY_NAME=\"Debian GNU/Linux 7 (wheezy)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"7\"\nVERSION=\"7 (wheezy)\"\nID=debian\n",
			"debian_version": "7.08\n",
		}, `{"name":"Debian","distro":{"codename":"wheezy","description":"Debian GNU/Linux 7 (wheezy)","id":"Debian","release":{"full":"7.08","major":"7","minor":"8"}},"release":{"full":"7.08","major":"7","minor":"8"},"family":"Debian"}`},
		{"debian testing", map[string]string{
			"os-release":     "PRETTY_NAME=\"Debian GNU/Linux trixie/sid\"\nNAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=trixie\nID=debian\n",
			"debian_version": "trixie/sid\n",
		}, `{"name":"Debian","distro":{"codename":"trixie","description":"Debian GNU/Linux trixie/sid","id":"Debian","release":{"full":"trixie/sid","major":"trixie/sid"}},"release":{"full":"trixie/sid","major":"trixie/sid"},"family":"Debian"}`},
		{"rhel", map[string]string{
			"os-release":     "NAME=\"Red Hat Enterprise Linux\"\nVERSION=\"9.3 (Plow)\"\nID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.3\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 9.3 (Plow)\"\n",
			"redhat-release": "Red Hat Enterprise Linux release 9.3 (Plow)\n",
		}, `{"name":"RedHat","distro":{"codename":"Plow","description":"Red Hat Enterprise Linux release 9.3 (Plow)","id":"RedHatEnterprise","release":{"full":"9.3","major":"9","minor":"3"}},"release":{"full":"9.3","major":"9","minor":"3"},"family":"RedHat"}`},
		{"centos 7", map[string]string{
			"os-release":     "NAME=\"CentOS Linux\"\nVERSION=\"7 (Core)\"\nID=\"centos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"7\"\nPRETTY_NAME=\"CentOS Linux 7 (Core)\"\n",
			"redhat-release": "CentOS Linux release 7.9.2009 (Core)\n",
		}, `{"name":"CentOS","distro":{"codename":"Core","description":"CentOS Linux release 7.9.2009 (Core)","id":"CentOS","release":{"full":"7.9.2009","major":"7","minor":"9"}},"release":{"full":"7.9.2009","major":"7","minor":"9"},"family":"RedHat"}`},
		{"centos 6, without os-release", map[string]string{
			"redhat-release": "CentOS release 6.10 (Final)\n",
		}, `{"name":"CentOS","distro":{"codename":"Final","description":"CentOS release 6.10 (Final)","id":"CentOS","release":{"full":"6.10","major":"6","minor":"10"}},"release":{"full":"6.10","major":"6","minor":"10"},"family":"RedHat"}`},
		{"fedora", map[string]string{
			"os-release":     "NAME=\"Fedora Linux\"\nVERSION=\"40 (Server Edition)\"\nID=fedora\nVERSION_ID=40\nVERSION_CODENAME=\"\"\nPRETTY_NAME=\"Fedora Linux 40 (Server Edition)\"\n",
			"redhat-release": "Fedora release 40 (Forty)\n",
		}, `{"name":"Fedora","distro":{"codename":"Forty","description":"Fedora release 40 (Forty)","id":"Fedora","release":{"full":"40","major":"40"}},"release":{"full":"40","major":"40"},"family":"RedHat"}`},
		{"oracle", map[string]string{
			"os-release":     "NAME=\"Oracle Linux Server\"\nVERSION=\"8.9\"\nID=\"ol\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"8.9\"\nPRETTY_NAME=\"Oracle Linux Server 8.9\"\n",
			"redhat-release": "Red Hat Enterprise Linux release 8.9 (Ootpa)\n",
		}, `{"name":"OracleLinux","distro":{"codename":"Ootpa","description":"Red Hat Enterprise Linux release 8.9 (Ootpa)","id":"RedHatEnterprise","release":{"full":"8.9","major":"8","minor":"9"}},"release":{"full":"8.9","major":"8","minor":"9"},"family":"RedHat"}`},
		{"sles", map[string]string{
			"os-release": "NAME=\"SLES\"\nVERSION=\"15-SP5\"\nVERSION_ID=\"15.5\"\nPRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\"\nID=\"sles\"\nID_LIKE=\"suse\"\n",
		}, `{"name":"SLES","distro":{"codename":"n/a","description":"SUSE Linux Enterprise Server 15 SP5","id":"SUSE","release":{"full":"15.5","major":"15","minor":"5"}},"release":{"full":"15.5","major":"15","minor":"5"},"family":"Suse"}`},
		{"alpine", map[string]string{
			"os-release":     "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.19.1\nPRETTY_NAME=\"Alpine Linux v3.19\"\n",
			"alpine-release": "3.19.1\n",
		}, `{"name":"Alpine","distro":{"codename":null,"description":"Alpine Linux v3.19","id":"Alpine","release":{"full":"3.19.1","major":"3","minor":"19"}},"release":{"full":"3.19.1","major":"3","minor":"19"},"family":"Alpine"}`},
		{"arch", map[string]string{
			"os-release": "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n",
		}, `{"name":"Archlinux","distro":{"codename":null,"description":"Arch Linux","id":"Arch","release":{"full":null,"major":null}},"release":{"full":null,"major":null},"family":"Archlinux"}`},
		{"amazon", map[string]string{
			"os-release":     "NAME=\"Amazon Linux\"\nVERSION=\"2023\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\nPRETTY_NAME=\"Amazon Linux 2023\"\n",
			"system-release": "Amazon Linux release 2023.3.20240117 (Amazon Linux)\n",
		}, `{"name":"Amazon","distro":{"codename":"Amazon Linux","description":"Amazon Linux release 2023.3.20240117 (Amazon Linux)","id":"Amazon","release":{"full":"2023.3.20240117","major":"2023","minor":"3"}},"release":{"full":"2023.3.20240117","major":"2023","minor":"3"},"family":"RedHat"}`},
		{"hostile", map[string]string{
			"os-release": "NAME=\"$(touch /tmp/hostile) \\\"\x01\"\nID='a;b'\nID_LIKE=`id`\nVERSION_ID=* *\nPRETTY_NAME=\xff\n",
		}, `{"name":"$(touch","distro":{"codename":null,"description":"` + "\ufffd" + `","id":"A;b","release":{"full":"* *.0","major":"* *.0"}},"release":{"full":"* *.0","major":"* *.0"},"family":"` + "`id`" + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, shells[i%len(shells)]) // the shells take turns
			h.etc(t, tt.files)
			os := h.result(t, "facts/tasks/bash.sh", "_task=facts::bash")["os"].(map[string]any)
			delete(os, "architecture")
			delete(os, "hardware")
			got, err := json.Marshal(os)
			if err != nil {
				t.Fatal(err)
			}
			if want, _ := json.Marshal(parse(t, tt.want)); string(got) != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// etc gives the host an /etc of its own, with files for the tests in it beside
// the links that programs are found through. It takes root.
func (h *host) etc(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text, 0o644)
	}
	if _, err := os.Stat("/etc/alternatives"); err == nil {
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", "/etc/alternatives", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, name := range []string{"passwd", "group", "nsswitch.conf", "ld.so.cache"} {
		if text, err := os.ReadFile(filepath.Join("/etc", name)); err == nil {
			write(t, filepath.Join(dir, name), string(text), 0o644)
		}
	}
	// /usr/lib/os-release must not step in where a test has no os-release.
	none := filepath.Join(t.TempDir(), "none")
	write(t, none, "", 0o644)
	h.around = []string{"unshare", "--mount", "--propagation", propagation(t), "sh", "-c", `mount --bind "$1" /etc && { [ ! -e /usr/lib/os-release ] || mount --bind "$2" /usr/lib/os-release; } && shift 2 && exec "$@"`, "sh", dir, none}
}

// TestFactsAsks: where facter is, the task facts gives its facts, and its own
// where facter fails.
func TestFactsAsks(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		facter := filepath.Join(bin, "facter")
		puppet := filepath.Join(bin, "puppet")
		write(t, puppet, "#!/bin/sh\n[ \"$*\" = --version ] || exec echo '{\"puppet\":\"'$*'\"}'\necho 8.1.0\n", 0o755)
		write(t, facter, "#!/bin/sh\n[ \"$*\" = --version ] || exec echo '{\"facter\":\"'$*'\"}'\necho 4.3.0\n", 0o755)
		h.wants(t, `{"puppet":"facts show --show-legacy --render-as json"}`, "facts/tasks/bash.sh", "_task=facts")
		write(t, puppet, "#!/bin/sh\necho 6.28.0\n", 0o755)
		h.wants(t, `{"facter":"--json --show-legacy"}`, "facts/tasks/bash.sh", "_task=facts")
		write(t, facter, "#!/bin/sh\n[ \"$*\" = --version ] || exec echo '{\"facter\":\"'$*'\"}'\necho 2.5.0\n", 0o755)
		h.wants(t, `{"facter":"-p --json"}`, "facts/tasks/bash.sh", "_task=facts")
		write(t, facter, "#!/bin/sh\necho 4.3.0\n[ \"$*\" = --version ]\n", 0o755)
		if got := dig(h.result(t, "facts/tasks/bash.sh", "_task=facts"), "kernel"); got != "Linux" {
			t.Errorf("with a broken facter: kernel is %v", got)
		}
	})
}

// propagation is what unshare(1) does about mounts that others would see, too.
// In a chroot whose root is no mount point it can do nothing, and need not where
// nothing is shared.
func propagation(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " shared:") {
			return "private"
		}
	}
	return "unchanged"
}
