package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const confTask = "puppet_conf/tasks/init.sh"

// conf gives the host a puppet.conf, by a puppet that only knows where that is
// and that one setting has a default.
func conf(t *testing.T, h *host, text string) (*host, string) {
	t.Helper()
	h, bin := h.bin(t)
	file := write(t, filepath.Join(t.TempDir(), "puppet.conf"), text, 0o640)
	write(t, filepath.Join(bin, "puppet"), fmt.Sprintf(`#!/bin/sh
case "$*" in
"config print config") echo '%s' ;;
"config print --section main masterport" | "config print --section agent masterport") echo 8140 ;;
"config print --section "*) sed -n "s/^$5 *= *//p" '%[1]s' | head -n 1 ;;
*) echo "puppet: unexpected arguments: $*" >&2; exit 1 ;;
esac
`, file), 0o755)
	return h, file
}

// TestPuppetConf: a change is in the lines of its setting alone.
func TestPuppetConf(t *testing.T) {
	const before = "# head\n[main]\n# about\nserver = a.example\n\n  logdir=/x   \n\n[agent]\nruninterval = 30m\n\n# end\n"
	for i, tt := range []struct {
		name           string
		before, params string
		want, result   string
	}{
		{"change", before, "action=set setting=server value=b", strings.Replace(before, "a.example", "b", 1), `{"status":"b","setting":"server","section":"main"}`},
		{"change, odd spaces", before, "action=set setting=logdir value=/y section=main", strings.Replace(before, "/x", "/y", 1), `{"status":"/y","setting":"logdir","section":"main"}`},
		{"the same", before, "action=set setting=runinterval value=30m section=agent", before, `{"status":"30m","setting":"runinterval","section":"agent"}`},
		{"add", before, "action=set setting=noop value=true section=agent", strings.Replace(before, "30m\n", "30m\nnoop = true\n", 1), `{"status":"true","setting":"noop","section":"agent"}`},
		{"add to main", before, "action=set setting=ca_server value=c section=null", strings.Replace(before, "/x   \n", "/x   \nca_server = c\n", 1), `{"status":"c","setting":"ca_server","section":"main"}`},
		{"add a section", before, "action=set setting=environment value=x section=user", before + "[user]\nenvironment = x\n", `{"status":"x","setting":"environment","section":"user"}`},
		{"empty section", "[agent]\n# no\n[main]\n", "action=set setting=noop value=true section=agent", "[agent]\nnoop = true\n# no\n[main]\n", `{"status":"true","setting":"noop","section":"agent"}`},
		{"no main", "# head\n[agent]\nx = y\n", "action=set setting=server value=b", "[main]\nserver = b\n# head\n[agent]\nx = y\n", `{"status":"b","setting":"server","section":"main"}`},
		{"main without a name", "server = a\n[agent]\nserver = z\n", "action=set setting=server value=b", "server = b\n[agent]\nserver = z\n", `{"status":"b","setting":"server","section":"main"}`},
		{"no newline at the end", "[main]\nserver = a", "action=set setting=server value=b", "[main]\nserver = b\n", `{"status":"b","setting":"server","section":"main"}`},
		{"delete", before, "action=delete setting=server", strings.Replace(before, "server = a.example\n", "", 1), `{"status":"Deleted setting from 'main': 'server = a.example'","setting":"server","section":"main"}`},
		{"delete what is not there", before, "action=delete setting=server section=agent", before, `{"status":"","setting":"server","section":"agent"}`},
		{"get", before, "action=get setting=server", before, `{"status":"a.example","setting":"server","section":"main"}`},
		{"get a default", before, "action=get setting=masterport section=agent", before, `{"status":"8140","setting":"masterport","section":"agent"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			someShells(t, i, func(t *testing.T, h *host) {
				h, file := conf(t, h, tt.before)
				h.wants(t, tt.result, confTask, strings.Fields(tt.params)...)
				if got := read(t, file); got != tt.want {
					t.Errorf("got\n%s\nwant\n%s", got, tt.want)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
				if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
					t.Errorf("left over: %v", left)
				}
			})
		})
	}
}

// TestPuppetConfValues: a value stays what it is, and what is no setting, no
// section or no value is refused.
func TestPuppetConfValues(t *testing.T) {
	eachShell(t, func(t *testing.T, h *host) {
		h, file := conf(t, h, "[main]\nserver = a\n")
		for _, value := range []string{`a b`, `\1 & \\ \n`, "$vardir/x", "it's \"x\"", "`id`;$(id)", "# no comment", "[main]", "a=b", "é"} {
			h.result(t, confTask, "action=set", "setting=server", "value="+value)
			if got, want := read(t, file), "[main]\nserver = "+value+"\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		before := read(t, file)
		for _, params := range [][]string{
			{"action=set", "setting=server"},
			{"action=set", "setting=server", "value=a\n[agent]\nb = c"},
			{"action=set", "setting=a b", "value=x"},
			{"action=set", "setting=-x", "value=x"},
			{"action=set", "setting=x\ny", "value=x"},
			{"action=set", "setting=x", "value=x", "section=a]b"},
			{"action=set", "setting=x", "value=x", "section=a\nb"},
			{"action=rename", "setting=x"},
		} {
			h.fails(t, 1, "", confTask, params...)
		}
		if got := read(t, file); got != before {
			t.Errorf("an error changed the file to %q", got)
		}
		// What a link leads to changes, and the link stays.
		target := filepath.Join(t.TempDir(), "real.conf")
		if err := os.Rename(file, target); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
		h.result(t, confTask, "action=set", "setting=server", "value=z")
		if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 || read(t, target) != "[main]\nserver = z\n" {
			t.Errorf("%v, %v: %s", info, err, read(t, target))
		}
		// No file yet, and no place for one.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		h.wants(t, `{"status":"","setting":"server","section":"main"}`, confTask, "action=delete", "setting=server")
		h.result(t, confTask, "action=set", "setting=server", "value=new")
		if got := read(t, file); got != "[main]\nserver = new\n" {
			t.Errorf("a new file is %q", got)
		}
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		h.fails(t, 1, "is Puppet installed", confTask, "action=set", "setting=server", "value=x")
	})
}

// TestPuppetConfAsPuppet: the files are those that puppet itself would write,
// where it is installed.
func TestPuppetConfAsPuppet(t *testing.T) {
	puppet, err := exec.LookPath("puppet")
	if err != nil {
		t.Log(err)
		return
	}
	const before = "# head\n[main]\n# about\nserver = a.example\n\n  logdir=/x\n\n\n[agent]\nruninterval =   30m  \n\n# end\n"
	theirs := t.TempDir()
	write(t, filepath.Join(theirs, "puppet.conf"), before, 0o644)
	h, file := conf(t, newHost(t, "dash"), before)
	for _, change := range [][]string{
		{"set", "main", "server", "b"},
		{"set", "agent", "runinterval", "20m"},
		{"set", "user", "environment", "x"},
		{"set", "main", "ssldir", `/y z&\1`},
		{"delete", "main", "server", ""},
	} {
		args := []string{"config", change[0], "--confdir", theirs, "--vardir", theirs, "--section", change[1], change[2]}
		params := []string{"action=" + change[0], "section=" + change[1], "setting=" + change[2]}
		if change[0] == "set" {
			args = append(args, change[3])
			params = append(params, "value="+change[3])
		}
		out, err := exec.CommandContext(t.Context(), puppet, args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		m := h.result(t, confTask, params...)
		if change[0] == "delete" && m["status"] != strings.TrimSpace(string(out)) {
			t.Errorf("%q: got %q, puppet says %q", change, m["status"], out)
		}
		if got, want := read(t, file), read(t, filepath.Join(theirs, "puppet.conf")); got != want {
			t.Errorf("%q: got\n%s\npuppet writes\n%s", change, got, want)
		}
	}
}
