package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const serviceTask = "service/tasks/linux.sh"

// serviceStandIns stand in for service managers. They keep the state of one
// service, "web", in the files run and boot of $STATE, and fail on arguments
// that the real ones would not take so.
var serviceStandIns = map[string]string{
	"systemctl": `#!/bin/sh
running() { [ -e "$STATE/run" ]; }
case "$*" in
"--no-ask-password start -- web" | "--no-ask-password restart -- web") : >"$STATE/run" ;;
"--no-ask-password stop -- web") rm -f "$STATE/run" ;;
"--no-ask-password enable -- web") : >"$STATE/boot"; echo "Created symlink x." >&2 ;;
"--no-ask-password disable -- web") rm -f "$STATE/boot" ;;
"--no-ask-password "*" -- "*) echo "Failed to $2 $4.service: Unit $4.service not found." >&2; exit 5 ;;
"show --no-pager -p LoadState -p MainPID -p ActiveState -- web")
	running && printf 'MainPID=77\nLoadState=loaded\nActiveState=active\n' || printf 'MainPID=0\nLoadState=loaded\nActiveState=inactive\n' ;;
"show --no-pager -p LoadState -p MainPID -p ActiveState -- nosuch") printf 'MainPID=0\nLoadState=not-found\nActiveState=inactive\n' ;;
"show --no-pager -p LoadState -p MainPID -p ActiveState -- gone") printf 'MainPID=0\nLoadState=not-found\nActiveState=failed\n' ;;
"show --no-pager -p LoadState -p MainPID -p ActiveState -- broken") echo "Failed to connect to bus: No such file or directory" >&2; exit 1 ;;
"is-enabled -- web") [ -e "$STATE/boot" ] && echo enabled || { echo disabled; exit 1; } ;;
"is-enabled -- "*) echo "Failed to get unit file state for $3.service: No such file or directory" >&2; exit 1 ;;
*) echo "systemctl: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"rc-service": `#!/bin/sh
case "$*" in
"--exists web") ;;
"--exists "*) exit 1 ;;
"web start" | "web restart") : >"$STATE/run"; echo " * Starting web ..." ;;
"web stop") rm -f "$STATE/run"; echo " * Stopping web ..." ;;
"--nocolor web status")
	[ -e "$STATE/run" ] && { echo " * status: started"; exit 0; }
	echo " * status: stopped"; exit 3 ;;
*) echo "rc-service: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"rc-update": `#!/bin/sh
case "$*" in
"show -v")
	[ -e "$STATE/boot" ] && levels=default || levels=
	printf '%20s |%s\n' other " default" web " $levels" webber " default" ;;
"add web default") : >"$STATE/boot"; echo " * service web added to runlevel default" ;;
"--all del web") rm -f "$STATE/boot" ;;
*) echo "rc-update: unexpected arguments: $*" >&2; exit 9 ;;
esac
`,
	"service": `#!/bin/sh
case "$*" in
"web start") [ ! -e "$STATE/run" ] || { echo "web is already running"; exit 1; }; : >"$STATE/run" ;;
"web restart") : >"$STATE/run" ;;
"web stop") [ -e "$STATE/run" ] || { echo "web is not running" >&2; exit 1; }; rm -f "$STATE/run" ;;
"web status") [ -e "$STATE/run" ] && echo "web (pid 77) is running..." || { echo "web is stopped"; exit 3; } ;;
"freebsd "*) printf '%s does not exist in /etc/rc.d or the local startup\ndirectories (/usr/local/etc/rc.d), or is not executable\n' "$1" >&2; exit 1 ;;
"redhat "*) echo "Redirecting to /bin/systemctl $2 $1.service" >&2; echo "Unit $1.service could not be found." >&2; exit 4 ;;
"openwrt "*) printf 'Service "%s" not found:\nThe following services are available:\nweb\n' "$1"; exit 1 ;;
"crashed status") echo "crashed is dead: its log says: Unit crashed could not be found." >&2; exit 1 ;;
*) echo "$1: unrecognized service" >&2; exit 1 ;;
esac
`,
	"chkconfig": `#!/bin/sh
case "$*" in
"--list web") [ -e "$STATE/boot" ] && x=on || x=off; printf 'web            \t0:off\t1:off\t2:%s\t3:%s\n' $x $x ;;
"web on") : >"$STATE/boot" ;;
"web off") rm -f "$STATE/boot" ;;
"--list crashed") echo crashed ;;
*) echo "error reading information on service $2: No such file or directory" >&2; exit 1 ;;
esac
`,
	"update-rc.d": `#!/bin/sh
case "$*" in
"web defaults") ;;
"web enable") : >"$STATE/boot" ;;
"web disable") rm -f "$STATE/boot" ;;
*) echo "update-rc.d: error: unable to read /etc/init.d/$1" >&2; exit 1 ;;
esac
`,
	"initctl": `#!/bin/sh
case "$*" in
"start web") [ ! -e "$STATE/run" ] || { echo "initctl: Job is already running: web" >&2; exit 1; }; : >"$STATE/run" ;;
"restart web") : >"$STATE/run" ;;
"stop web") [ -e "$STATE/run" ] || { echo "initctl: Unknown instance: " >&2; exit 1; }; rm -f "$STATE/run" ;;
"status web") [ -e "$STATE/run" ] && echo "web start/running, process 77" || echo "web stop/waiting" ;;
"show-config web") printf 'web\n  start on runlevel [2345]\n' ;;
"status many") echo "initctl: Unknown instance: " >&2; exit 1 ;;
"show-config many") printf 'many\n' ;;
"status away") echo "initctl: Unable to connect to Upstart: Failed to connect to socket" >&2; exit 1 ;;
*) echo "initctl: Unknown job: $2" >&2; exit 1 ;;
esac
`,
}

// TestServices: a service's life with programs that stand in for the managers.
func TestServices(t *testing.T) {
	// What the managers say of a service that runs and of one that does not,
	// and of one that is started at boot and one that is not.
	for i, tt := range []struct{ provider, up, down, on, off, unknown string }{
		{"systemd", "MainPID=77,LoadState=loaded,ActiveState=active", "MainPID=0,LoadState=loaded,ActiveState=inactive", "enabled", "disabled", "Unit nosuch.service not found"},
		{"openrc", "started", "stopped", "enabled", "disabled", "OpenRC has no such script"},
		{"init", "web (pid 77) is running...", "web is stopped", "web 0:off 1:off 2:on 3:on", "web 0:off 1:off 2:off 3:off", "unrecognized service"},
		{"upstart", "web start/running, process 77", "web stop/waiting", "", "web start on runlevel [2345]", "Unknown job: nosuch"},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, bin := h.bin(t)
				for name, text := range serviceStandIns {
					write(t, filepath.Join(bin, name), text, 0o755)
				}
				h = h.with("STATE=" + t.TempDir())
				run := func(action, status, enabled string) {
					t.Helper()
					want := `{"status":"` + status + `"}`
					if enabled != "" {
						want = `{"status":"` + status + `","enabled":"` + enabled + `"}`
					}
					h.wants(t, want, serviceTask, "action="+action, "name=web", "provider="+tt.provider)
				}
				run("status", tt.down, tt.off)
				run("start", tt.up, "")
				run("start", tt.up, "")
				run("restart", tt.up, "")
				run("status", tt.up, tt.off)
				run("stop", tt.down, "")
				run("stop", tt.down, "")
				for _, action := range []string{"start", "stop", "restart", "enable", "disable", "status"} {
					h.fails(t, 1, "service nosuch does not exist: ", serviceTask, "action="+action, "name=nosuch", "provider="+tt.provider)
				}
				h.fails(t, 1, tt.unknown, serviceTask, "action=start", "name=nosuch", "provider="+tt.provider)
				if tt.on == "" {
					h.fails(t, 255, "no action enable", serviceTask, "action=enable", "name=web", "provider="+tt.provider)
					return
				}
				run("enable", tt.down, tt.on)
				run("enable", tt.down, tt.on)
				run("status", tt.down, tt.on)
				run("disable", tt.down, tt.off)
				run("disable", tt.down, tt.off)
			})
		})
	}
}

// TestServiceStates: what is not there is told from what does not run, in the
// words of each system.
func TestServiceStates(t *testing.T) {
	for i, tt := range []struct{ provider, action, name, want string }{
		{"init", "status", "freebsd", "service freebsd does not exist: freebsd does not exist in /etc/rc.d"},
		{"init", "status", "redhat", "service redhat does not exist: Redirecting to "},
		{"init", "stop", "redhat", "service redhat does not exist: Redirecting to "},
		{"init", "status", "openwrt", "service openwrt does not exist: Service \"openwrt\" not found:"},
		{"init", "status", "crashed", `{"status":"crashed is dead: its log says: Unit crashed could not be found.","enabled":"crashed"}`},
		{"upstart", "status", "many", `{"status":"initctl: Unknown instance:","enabled":"many"}`},
		{"upstart", "status", "away", "initctl: Unable to connect to Upstart"},
		{"systemd", "status", "gone", `{"status":"MainPID=0,LoadState=not-found,ActiveState=failed","enabled":"Failed to get unit file state for gone.service: No such file or directory"}`},
		{"systemd", "start", "broken", "Unit broken.service not found"},
		{"systemd", "status", "broken", "Failed to connect to bus"},
	} {
		t.Run(tt.provider+"/"+tt.name, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, bin := h.bin(t)
				for name, text := range serviceStandIns {
					write(t, filepath.Join(bin, name), text, 0o755)
				}
				h = h.with("STATE="+t.TempDir(), "LC_ALL=C.UTF-8")
				params := []string{"action=" + tt.action, "name=" + tt.name, "provider=" + tt.provider}
				if strings.HasPrefix(tt.want, "{") {
					h.wants(t, tt.want, serviceTask, params...)
				} else {
					h.fails(t, 1, tt.want, serviceTask, params...)
				}
			})
		})
	}
}

// TestServiceNames: patterns, paths and options are no names of services, and
// names that systemd has escaped are.
func TestServiceNames(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, bin := h.bin(t)
		write(t, filepath.Join(bin, "systemctl"), "#!/bin/sh\n: >"+bin+"/called\necho ActiveState=active\n", 0o755)
		for _, name := range []string{"", "-H", "--all", "*", "web*", "web?", "[w]eb", "../web", "/etc/passwd", "a b", "a;b", "$(id)", "a\nb"} {
			h.fails(t, 255, "", serviceTask, "action=stop", "name="+name, "provider=systemd")
		}
		h.fails(t, 255, "unknown action", serviceTask, "action=mask", "name=web", "provider=systemd")
		h.fails(t, 255, "unknown provider", serviceTask, "action=start", "name=web", "provider=launchd")
		if _, err := os.Stat(filepath.Join(bin, "called")); err == nil {
			t.Error("systemctl was run")
		}
		h.wants(t, `{"status":"ActiveState=active"}`, serviceTask, "action=start", `name=getty@tty1\x2dx.service`, "provider=systemd", "force=true")
	})
}

// TestRealSystemd: where systemd runs, its units are told as systemctl does.
func TestRealSystemd(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		t.Log("systemd does not run here")
		return
	}
	out, err := exec.CommandContext(t.Context(), "systemctl", "show", "-p", "MainPID", "-p", "LoadState", "-p", "ActiveState", "systemd-journald.service").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(strings.Fields(string(out)), ",")
	eachShell(t, func(t *testing.T, h *host) {
		if m := h.result(t, serviceTask, "action=status", "name=systemd-journald.service"); m["status"] != want || m["enabled"] == "" {
			t.Errorf("got %v, want %s", m, want)
		}
	})
}
