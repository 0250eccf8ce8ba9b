package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recorded writes programs that append their calls to a file, whose path is
// returned.
func recorded(t *testing.T, bin string, programs map[string]string) (calls string) {
	t.Helper()
	calls = write(t, filepath.Join(t.TempDir(), "calls"), "", 0o644)
	for name, text := range programs {
		head, rest, _ := strings.Cut(text, "\n")
		write(t, filepath.Join(bin, name), fmt.Sprintf("%s\nprintf '%%s\\n' \"%s $*\" >>%s\n%s", head, name, calls, rest), 0o755)
	}
	return calls
}

// wantsReads fails the test if a call is not in the list of calls that only read.
func wantsReads(t *testing.T, calls string, reads *regexp.Regexp) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(read(t, calls)), "\n")
	for _, line := range lines {
		if !reads.MatchString(line) {
			t.Errorf("a noop run called %q", line)
		}
	}
}

// TestPackageNoopApt checks that noop with the real apt-get and dpkg returns what an
// action would change, and that it does not change the system.
func TestPackageNoopApt(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h = apt(t, h, hello...)
		status := h.value("DPKG_ROOT") + "/var/lib/dpkg/status"
		p := "name=hello-bolt"
		deb := filepath.Join(h.value("DIR_OF_TEST"), "repo/hello-bolt_1.0-1_all.deb")
		foresees := func(want string, params ...string) {
			t.Helper()
			before := read(t, status)
			h.wants(t, want, packageTask, append(params, "_noop=true")...)
			if read(t, status) != before {
				t.Errorf("%q changed the system", params)
			}
		}
		foresees(`{"status":"uninstalled","version":"","change":"","_noop":true}`, "action=status", p)
		foresees(`{"status":"uninstalled","version":"","change":"install 2.0-1","_noop":true}`, "action=install", p)
		foresees(`{"status":"uninstalled","version":"","change":"install 1.0-1","_noop":true}`, "action=install", p, "version=1.0-1")
		foresees(`{"status":"uninstalled","version":"","change":"install 1.0-1","_noop":true}`, "action=install", "name="+deb)
		foresees(`{"status":"uninstalled","version":"","change":"","_noop":true}`, "action=uninstall", p)
		foresees(`{"old_version":"uninstalled","version":"uninstalled","change":"","_noop":true}`, "action=upgrade", p)

		h.result(t, packageTask, "action=install", p, "version=1.0-1")
		outdated := `{"status":"installed","version":"1.0-1","latest":"2.0-1","change":%q,"_noop":true}`
		foresees(fmt.Sprintf(outdated, ""), "action=status", p)
		foresees(fmt.Sprintf(outdated, "upgrade to 2.0-1"), "action=install", p)
		foresees(fmt.Sprintf(outdated, ""), "action=install", p, "version=1.0-1")
		foresees(fmt.Sprintf(outdated, ""), "action=install", "name="+deb)
		foresees(fmt.Sprintf(outdated, "install 2.0-1"), "action=install", p, "version=2.0-1")
		foresees(fmt.Sprintf(outdated, "uninstall"), "action=uninstall", p)
		foresees(`{"old_version":"1.0-1","version":"2.0-1","change":"upgrade to 2.0-1","_noop":true}`, "action=upgrade", p)

		// The action makes the change that noop has returned.
		h.wants(t, `{"old_version":"1.0-1","version":"2.0-1"}`, packageTask, "action=upgrade", p)
		foresees(`{"status":"installed","version":"2.0-1","change":"","_noop":true}`, "action=install", p)
		foresees(`{"old_version":"2.0-1","version":"2.0-1","change":"","_noop":true}`, "action=upgrade", p)

		h.fails(t, 1, "package nosuch-bolt does not exist", packageTask, "action=install", "name=nosuch-bolt", "_noop=true")
		h.fails(t, 1, "9.9", packageTask, "action=install", p, "version=9.9", "_noop=true")
		h.fails(t, 1, "9.9", packageTask, "action=upgrade", p, "version=9.9", "_noop=true")
		h.result(t, packageTask, "action=uninstall", p)
		h.fails(t, 1, "9.9", packageTask, "action=install", p, "version=9.9", "_noop=true")
		h.fails(t, 255, "", packageTask, "action=install", "name=-y", "_noop=true")
	})
}

// packageReads are the calls of package managers that change nothing.
var packageReads = regexp.MustCompile(`^(rpm -q |(dnf|yum) -q (check-update|list) |zypper --non-interactive --no-refresh (list-updates|search) |apk (list|add --simulate) |pacman -(Q|Si) |pkg r?query )`)

// TestPackageNoopManagers checks that noop calls package managers only to read.
func TestPackageNoopManagers(t *testing.T) {
	for i, tt := range []struct{ provider, old, new, missing string }{
		{"dnf", "1.0-1.el9", "2.0-1.el9", " of tool does not exist: Error: No matching Packages to list"},
		{"yum", "1.0-1.el9", "2.0-1.el9", " of tool does not exist: Error: No matching Packages to list"},
		{"zypper", "1.0-1.2", "2.0-1.1", "the repositories of zypper do not have version "},
		{"apk", "1.0-r0", "2.0-r1", "unable to select packages: tool="},
		{"pacman", "1.0-1", "2.0-1", ""},
		{"pkg", "1.0", "2.0", ""},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, bin := h.bin(t)
				programs := map[string]string{"yum": standIns["dnf"]}
				for name, text := range standIns {
					programs[name] = text
				}
				calls := recorded(t, bin, programs)
				state := filepath.Join(t.TempDir(), "state")
				h = h.with("STATE=" + state)
				change := func(installed, action string, more ...string) any {
					t.Helper()
					write(t, state, installed, 0o644)
					m := h.result(t, packageTask, append(more, "action="+action, "name=tool", "provider="+tt.provider, "_noop=true")...)
					if m["_noop"] != true {
						t.Errorf("%s: %v has no _noop", action, m)
					}
					if got := read(t, state); got != installed {
						t.Errorf("%s changed what is installed from %q to %q", action, installed, got)
					}
					return m["change"]
				}
				wants := func(got any, want string) {
					t.Helper()
					if got != want {
						t.Errorf("change %q, want %q", got, want)
					}
				}
				install := "install"
				if tt.provider == "pacman" || tt.provider == "pkg" {
					install = "install " + tt.new // these managers report the version that they would install
				}
				upgrade := "upgrade to " + tt.new
				wants(change("", "status"), "")
				wants(change("", "install"), install)
				wants(change("", "uninstall"), "")
				wants(change(tt.new, "install"), "")
				wants(change(tt.new, "upgrade"), "")
				wants(change(tt.new, "uninstall"), "uninstall")
				wants(change(tt.old, "upgrade"), upgrade)
				if tt.provider != "pacman" {
					wants(change(tt.old, "install", "version="+tt.old), "")
				}
				refuses := func(want, installed, version string, more ...string) {
					t.Helper()
					write(t, state, installed, 0o644)
					h.fails(t, 1, want, packageTask, append(more, "action=install", "name=tool", "version="+version, "provider="+tt.provider, "_noop=true")...)
				}
				switch tt.provider {
				case "pacman":
					write(t, state, tt.new, 0o644)
					h.fails(t, 255, "no other version than the latest", packageTask, "action=install", "name=tool", "version="+tt.old, "provider=pacman", "_noop=true")
				case "pkg": // a version is not checked
					wants(change("", "install", "version=9.9"), "install 9.9")
				default:
					wants(change(tt.new, "install", "version="+tt.old), "install "+tt.old)
					wants(change("", "install", "version="+tt.old), "install "+tt.old)
					refuses(tt.missing, "", "9.9")
					refuses(tt.missing, tt.new, "0.5")
					// An option can name a further repository.
					wants(change("", "install", "version=9.9", "manager_options=--enablerepo=more"), "install 9.9")
				}
				if tt.provider == "apk" {
					upgrade = "" // "apk add" does not upgrade an installed package
				}
				wants(change(tt.old, "install"), upgrade)
				write(t, state, "", 0o644)
				h.fails(t, 1, "tool is not installed", packageTask, "action=upgrade", "name=tool", "provider="+tt.provider, "_noop=true")
				wantsReads(t, calls, packageReads)
			})
		})
	}
}

// serviceReads are the calls of service managers that change nothing.
var serviceReads = regexp.MustCompile(`^(systemctl (show|is-enabled) |rc-service (--exists web|--exists nosuch|--nocolor web status)$|rc-update show |service \S+ status$|chkconfig --list |initctl (status|show-config) )`)

// TestServiceNoop checks that noop derives the change from the state of the service,
// and calls service managers only to read.
func TestServiceNoop(t *testing.T) {
	for i, tt := range []struct {
		provider string
		boots    bool // the manager has enable and disable
	}{{"systemd", true}, {"openrc", true}, {"init", true}, {"upstart", false}} {
		t.Run(tt.provider, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, bin := h.bin(t)
				calls := recorded(t, bin, serviceStandIns)
				state := t.TempDir()
				h = h.with("STATE=" + state)
				for _, runs := range []bool{false, true} {
					for _, boots := range []bool{false, true} {
						for name, is := range map[string]bool{"run": runs, "boot": boots} {
							os.Remove(filepath.Join(state, name))
							if is {
								write(t, filepath.Join(state, name), "", 0o644)
							}
						}
						for action, changes := range map[string]bool{"status": false, "start": !runs, "stop": runs, "restart": true, "enable": !boots, "disable": boots} {
							if !tt.boots && strings.HasSuffix(action, "able") {
								h.fails(t, 255, "no action "+action, serviceTask, "action="+action, "name=web", "provider="+tt.provider, "_noop=true")
								continue
							}
							want := ""
							if changes {
								want = action
							}
							m := h.result(t, serviceTask, "action="+action, "name=web", "provider="+tt.provider, "_noop=true")
							if m["change"] != want || m["_noop"] != true || m["status"] == "" {
								t.Errorf("runs %v, boots %v: %s: got %v, want the change %q", runs, boots, action, m, want)
							}
						}
					}
				}
				for _, action := range []string{"start", "stop", "restart"} {
					h.fails(t, 1, "service nosuch does not exist: ", serviceTask, "action="+action, "name=nosuch", "provider="+tt.provider, "_noop=true")
				}
				wantsReads(t, calls, serviceReads)
			})
		})
	}
}

// TestRebootNoop checks that noop neither shuts the system down nor sends the message
// to users.
func TestRebootNoop(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, calls := rebootStandIns(t, h, "shutdown", "reboot", "poweroff")
		h.wants(t, `{"status":"not queued","timeout":3,"change":"reboot","_noop":true}`, rebootTask, "message=see you", "_noop=true")
		h.wants(t, `{"status":"not queued","timeout":90,"change":"poweroff","_noop":true}`, rebootTask, "timeout=90", "shutdown_only=true", "_noop=true")
		h.fails(t, 255, "timeout", rebootTask, "timeout=-5", "_noop=true")
		h.with("UID_OF_TEST=1000").fails(t, 1, "root", rebootTask, "_noop=true")
		if found, _ := filepath.Glob(calls + "*"); len(found) > 0 {
			t.Errorf("something was run: %v", found)
		}
	})
}
