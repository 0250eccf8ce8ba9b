package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const rebootTask = "reboot/tasks/nix.sh"

// rebootStandIns take the place of what ends the system: they write their
// arguments to a file.
func rebootStandIns(t *testing.T, h *host, names ...string) (*host, string) {
	t.Helper()
	h, bin := h.bin(t)
	calls := filepath.Join(t.TempDir(), "calls")
	for _, name := range append(names, "wall") {
		text := fmt.Sprintf("#!/bin/sh\n{ printf '%s'; printf ' <%%s>' \"$@\"; echo; } >>%s.new\nmv %[2]s.new %[2]s.%[1]s\n", name, calls)
		if name == "wall" {
			text = fmt.Sprintf("#!/bin/sh\ncat >%s.wall\n", calls)
		}
		write(t, filepath.Join(bin, name), text, 0o755)
	}
	// The test does not wait as long as people do, but knows how long that is.
	write(t, filepath.Join(bin, "sleep"), fmt.Sprintf("#!/bin/sh\necho \"$1\" >%s.sleep\n", calls), 0o755)
	write(t, filepath.Join(bin, "sync"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(bin, "id"), "#!/bin/sh\necho ${UID_OF_TEST:-0}\n", 0o755)
	return h, calls
}

// wait returns a file that comes to be.
func wait(t *testing.T, name string) string {
	t.Helper()
	for range 6000 {
		if text, err := os.ReadFile(name); err == nil {
			return strings.TrimSpace(string(text))
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// TestReboot: shutdown is called as it has to be, later, and by nobody who waits.
func TestReboot(t *testing.T) {
	for i, tt := range []struct {
		name    string
		params  []string
		timeout int
		sleep   string
		call    string
		wall    string
	}{
		{"plain", nil, 3, "3", "shutdown <-r> <--> <+0>", ""},
		{"undef", []string{"timeout=null", "message=null"}, 3, "3", "shutdown <-r> <--> <+0>", ""},
		{"too soon", []string{"timeout=0"}, 3, "3", "shutdown <-r> <--> <+0>", ""},
		{"empty", []string{"timeout=", "message="}, 3, "3", "shutdown <-r> <--> <+0>", ""},
		{"no octal number", []string{"timeout=0070"}, 70, "10", "shutdown <-r> <--> <+1>", ""},
		{"later", []string{"timeout=125", "message=see you"}, 125, "5", "shutdown <-r> <--> <+2> <see you>", ""},
		{"message", []string{"message=it's \"$(id)\" `id` ; * \\"}, 3, "3", "shutdown <-r> <--> <+0> <it's \"$(id)\" `id` ; * \\>", "it's \"$(id)\" `id` ; * \\"},
		{"message like an option", []string{"message=-k"}, 3, "3", "shutdown <-r> <--> <+0> <-k>", "-k"},
		{"off", []string{"shutdown_only=true"}, 3, "3", "shutdown <-h> <-P> <--> <+0>", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, calls := rebootStandIns(t, h, "shutdown")
				h.wants(t, fmt.Sprintf(`{"status":"queued","timeout":%d}`, tt.timeout), rebootTask, tt.params...)
				if got := wait(t, calls+".shutdown"); got != tt.call {
					t.Errorf("called as %s, want %s", got, tt.call)
				}
				if got := wait(t, calls+".sleep"); got != tt.sleep {
					t.Errorf("waits %s seconds, want %s", got, tt.sleep)
				}
				if tt.wall != "" {
					if got := wait(t, calls+".wall"); got != tt.wall {
						t.Errorf("says %q, want %q", got, tt.wall)
					}
				}
			})
		})
	}
}

func TestRebootRefuses(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, calls := rebootStandIns(t, h, "shutdown", "reboot", "poweroff")
		h.fails(t, 255, "timeout", rebootTask, "timeout=-5")
		h.fails(t, 255, "timeout", rebootTask, "timeout=3;id")
		h.fails(t, 255, "timeout", rebootTask, "timeout=99999999999999999999")
		h.fails(t, 255, "message", rebootTask, "message=a | b")
		h.with("UID_OF_TEST=1000").fails(t, 1, "root", rebootTask)
		if found, _ := filepath.Glob(calls + "*"); len(found) > 0 {
			t.Errorf("something was run: %v", found)
		}
	})
}

// TestRebootByBusybox: a system without shutdown, as Alpine is.
func TestRebootByBusybox(t *testing.T) {
	for params, want := range map[string]string{"shutdown_only=false": "reboot", "shutdown_only=true": "poweroff"} {
		eachShell(t, func(t *testing.T, h *host) {
			h, calls := rebootStandIns(t, h, "reboot", "poweroff")
			// Only the programs that the task needs are there.
			bin, _, _ := strings.Cut(h.value("PATH"), ":")
			for _, name := range []string{"sh", "setsid", "tr", "mv", "cat", "od", "awk", "printf"} {
				link(t, bin, name)
			}
			h = h.with("PATH=" + bin)
			task := filepath.Join(h.dir, "sh_task_helper/files/task_helper.sh")
			// The helper adds the system's folders, which have a shutdown.
			write(t, task, strings.ReplaceAll(read(t, task), "PATH=$PATH:", "OTHERS=$PATH:"), 0o644)
			h.wants(t, `{"status":"queued","timeout":75}`, rebootTask, "timeout=75", params)
			if got := wait(t, calls+"."+want); !strings.HasPrefix(got, want) {
				t.Errorf("called as %s", got)
			}
			if got := wait(t, calls+".sleep"); got != "75" {
				t.Errorf("waits %s seconds", got)
			}
		})
	}
}

// TestLastBootTime: two looks at one start give one value.
func TestLastBootTime(t *testing.T) {
	boot := strings.TrimSpace(read(t, "/proc/sys/kernel/random/boot_id"))
	eachShell(t, func(t *testing.T, h *host) {
		m := h.result(t, "reboot/tasks/last_boot_time_nix.sh")
		if m["boot_id"] != boot {
			t.Errorf("got %v, want %s", m, boot)
		}
		text, _ := m["_output"].(string)
		if when, err := time.Parse(time.UnixDate, text); err != nil || time.Since(when) < 0 {
			t.Errorf("got %q: %v", text, err)
		}
	})
}
