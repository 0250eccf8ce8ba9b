package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

func newResource(params ...any) *resource.Resource {
	return &resource.Resource{Ref: catalog.Ref{Type: "Exec", Title: "x"}, Params: ordered.Of(params...)}
}

// testHost is this machine, with what is logged.
func testHost(logs *[]string) *resource.Host {
	h := resource.NewHost()
	h.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root", "USER=root", "LOGNAME=root", "KEPT=yes"}
	h.Log = func(_ catalog.Ref, level report.Level, text string) {
		if level != report.Debug {
			*logs = append(*logs, fmt.Sprintf("%s: %s", level, text))
		}
	}
	return h
}

// apply does what the engine does. It returns how the resource ended.
func apply(t *testing.T, h *resource.Host, r *resource.Resource, refresh bool) (changed bool, err error) {
	t.Helper()
	item, err := Type().New(r)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx := t.Context()
	if err = item.Read(ctx, h); err != nil {
		return false, err
	}
	changes, err := item.Plan()
	if err != nil {
		return false, err
	}
	for i := range changes {
		if err = item.Do(ctx, h, &changes[i]); err != nil {
			return false, err
		}
	}
	if refresh {
		err = item.(resource.Refresher).Refresh(ctx, h, changes)
	}
	return len(changes) > 0, err
}

// Each case runs in a directory of its own, which has the file "flag". The commands write to the file "log".
func TestApply(t *testing.T) {
	sh := []any{"provider", "shell", "path", "/usr/bin:/bin"}
	for _, c := range []struct {
		name    string
		params  []any
		refresh bool
		changed bool
		log     string // the content of the file log
		err     string // is contained in the error
	}{
		{name: "line", params: []any{"command", "/bin/echo 'a  b' > log"}, changed: true, log: "a  b\n"},
		{name: "line without a shell", params: []any{"command", "/bin/cp\tno"}, err: "does not exist"},
		{name: "list", params: []any{"command", []any{"/bin/cp", "flag", "$HOME"}}, changed: true},
		{name: "list is searched in path", params: []any{"command", []any{"cp", "flag", "log"}, "path", []any{"/sbin:/usr/bin", "/bin"}}, changed: true, log: "flag\n"},
		{name: "list with a shell", params: append(sh, "command", []any{`echo "$0 $1" > log`, "a", "b"}), changed: true, log: "a b\n"},
		{name: "program is not in path", params: []any{"command", "no-such-program", "path", "/bin"}, err: "is not in the path /bin"},
		{name: "program does not exist", params: []any{"command", "/bin/no-such-program -x"}, err: "/bin/no-such-program does not exist"},
		{name: "program is a directory", params: []any{"command", "/bin/../bin", "path", "/bin"}, err: "does not exist, or is not executable"},
		{name: "built-in", params: []any{"command", "for i in 1 2; do :; done", "path", "/usr/bin:/bin"}, err: "for is not in the path"},
		{name: "shell without a program", params: append(sh, "command", "no-such-program", "returns", int64(127)), err: "a program was not found"},
		{name: "wrong code", params: append(sh, "command", "exit 3"), err: "'exit 3' exited with code 3, not 0"},
		{name: "wrong code of several", params: append(sh, "command", "true", "returns", []any{int64(1), "2"}), err: "exited with code 0, not 1 or 2"},
		{name: "codes", params: append(sh, "command", "exit 7", "returns", []any{int64(0), "7"}), changed: true},
		{name: "signal", params: append(sh, "command", "kill -9 $$", "returns", int64(137)), err: "was ended by signal 9"},
		{name: "windows", params: []any{"command", "/bin/true", "provider", "windows"}, err: "the provider windows cannot be used on this host"},
		{name: "directory does not exist", params: []any{"command", "/bin/true", "cwd", "/no/such/dir"}, err: "the working directory /no/such/dir does not exist"},
		{name: "user does not exist", params: []any{"command", "/bin/true", "user", "no-such-user"}, err: "exited with code 1"},
		{name: "check as a user that does not exist", params: []any{"command", "/bin/true", "user", "no-such-user", "onlyif", "/bin/true"}},
		{name: "timeout", params: append(sh, "command", "sleep 60", "timeout", 0.05), err: "'sleep 60' timed out after 50ms"},
		{name: "timeout of unless", params: append(sh, "command", "echo x > log", "unless", "sleep 60", "timeout", "0.05")},
		{name: "timeout of onlyif", params: append(sh, "command", "echo x > log", "onlyif", "sleep 60", "timeout", "0.05")},
		{name: "tries", params: append(sh, "command", "echo x >> log; test $(wc -l < log) -ge 3", "tries", int64(5)), changed: true, log: "x\nx\nx\n"},
		{name: "too few tries", params: append(sh, "command", "echo x >> log; false", "tries", "2"), err: "exited with code 1", log: "x\nx\n"},
		{name: "environment", params: append(sh, "command", `echo "$A|$B|$HOME$USER$LOGNAME|$KEPT|$PATH" > log`, "environment", []any{"A=1 2", "B=x=y\nz", "a-b=c"}),
			changed: true, log: "1 2|x=y\nz||yes|/usr/bin:/bin\n"},
		{name: "umask", params: append(sh, "command", []any{"umask > log"}, "umask", "027"), changed: true, log: "0027\n"},
		{name: "creates", params: append(sh, "command", "echo x > log", "creates", []any{"/no/such/file", "/dev/null"})},
		{name: "creates none", params: append(sh, "command", "echo x > log", "creates", "/no/such/file"), changed: true, log: "x\n"},
		{name: "unless", params: append(sh, "command", "echo x > log", "unless", []any{"false", "test -e flag"})},
		{name: "unless fails", params: append(sh, "command", "echo x > log", "unless", []any{"false", "exit 4"}), changed: true, log: "x\n"},
		{name: "onlyif", params: append(sh, "command", "echo x > log", "onlyif", []any{"true", "test -e flag"}), changed: true, log: "x\n"},
		{name: "onlyif fails", params: append(sh, "command", "echo x > log", "onlyif", []any{"true", "false"})},
		{name: "check is a list", params: []any{"command", "/bin/cp flag log", "unless", []any{[]any{"/usr/bin/test", "-e", "log"}}}, changed: true, log: "flag\n"},
		{name: "check does not exist", params: []any{"command", "/bin/cp flag log", "unless", "/bin/no-such-check"}, err: "check '/bin/no-such-check': /bin/no-such-check does not exist"},
		{name: "check is not found by the shell", params: append(sh, "command", "echo x > log", "unless", "no-such-check"), err: "a program was not found"},
		{name: "refresh", params: append(sh, "command", "echo x >> log"), refresh: true, changed: true, log: "x\nx\n"},
		{name: "refresh has a command", params: append(sh, "command", "echo x >> log", "refresh", "echo y >> log; exit 1"), refresh: true, changed: true, log: "x\ny\n"},
		{name: "refresh is checked", params: append(sh, "command", "echo x >> log", "unless", "test -e log"), refresh: true, changed: true, log: "x\n"},
		{name: "refresh fails", params: append(sh, "command", "false", "refreshonly", true), refresh: true, err: "exited with code 1"},
		{name: "refreshonly", params: append(sh, "command", "echo x >> log", "refreshonly", true)},
		{name: "refreshonly and refresh", params: append(sh, "command", "echo x >> log", "refreshonly", true), refresh: true, log: "x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/flag", []byte("flag\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := newResource(c.params...)
			if r.Params.Value("cwd") == nil {
				r.Params.Set("cwd", dir)
			}
			var logs []string
			changed, err := apply(t, testHost(&logs), r, c.refresh)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error is %v, want %q", err, c.err)
			}
			if changed != c.changed {
				t.Errorf("changed is %v, want %v", changed, c.changed)
			}
			data, _ := os.ReadFile(dir + "/log")
			if string(data) != c.log {
				t.Errorf("log is %q, want %q", data, c.log)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"command", "touch /x"}, `The parameter command must begin with the absolute path of a program, because the parameter path is not given, and is "touch"`},
		{[]any{"command", "/bin/true", "unless", []any{"/bin/true", "-e x"}}, `The parameter unless must begin with the absolute path of a program, because the parameter path is not given, and is "-e"`},
		{[]any{"command", "/bin/true", "refresh", "true"}, `The parameter refresh must begin with the absolute path of a program, because the parameter path is not given, and is "true"`},
		{[]any{"command", ordered.Of()}, "The parameter command must be a string or a list of strings"},
		{[]any{"command", []any{}}, "The parameter command must not be empty"},
		{[]any{"command", "/bin/true", "provider", "fish"}, `The parameter provider must be posix or shell, and is "fish"`},
		{[]any{"command", "/bin/true", "cwd", "tmp"}, `The parameter cwd must be an absolute path, and is "tmp"`},
		{[]any{"command", "/bin/true", "creates", "tmp"}, `The parameter creates must be an absolute path, and is "tmp"`},
		{[]any{"command", "/bin/true", "umask", "8"}, "The parameter umask must be a string of octal digits, such as '0022'"},
		{[]any{"command", "/bin/true", "umask", int64(18)}, "The parameter umask must be a string of octal digits, such as '0022'"},
		{[]any{"command", "/bin/true", "environment", "A"}, `The parameter environment must have the form NAME=value, and is "A"`},
		{[]any{"command", "/bin/true", "timeout", "soon"}, `The parameter timeout must be a number of seconds, and is "soon"`},
		{[]any{"command", "/bin/true", "tries", int64(0)}, "The parameter tries must be 1 or more"},
		{[]any{"command", "/bin/true", "try_sleep", "-1"}, "The parameter try_sleep must not be negative"},
	} {
		if _, err := Type().New(newResource(c.params...)); err == nil || err.Error() != c.want {
			t.Errorf("New(%v): error is %v, want %s", c.params, err, c.want)
		}
	}
	if _, err := Type().New(&resource.Resource{Ref: catalog.Ref{Type: "Exec", Title: "/bin/true"}, Params: ordered.Of()}); err != nil {
		t.Errorf("the title is not the command: %v", err)
	}
}

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"command", "echo a; echo b >&2"}, ""},
		{[]any{"command", "echo a; echo b >&2", "logoutput", true}, "notice: a, notice: b"},
		{[]any{"command", "echo a; echo; echo b; false"}, "notice: a, notice: , notice: b"},
		{[]any{"command", "echo a; false", "logoutput", false}, ""},
		{[]any{"command", "echo a; false", "loglevel", "warning"}, "warning: a"},
		{[]any{"command", "echo a", "logoutput", true, "loglevel", "debug"}, ""},
	} {
		var logs []string
		_, _ = apply(t, testHost(&logs), newResource(append(c.params, "provider", "shell")...), false)
		if got := strings.Join(logs, ", "); got != c.want {
			t.Errorf("%v logs %q, want %q", c.params, got, c.want)
		}
	}
}

// TestLongOutput checks that output which is not kept is not left out in silence.
func TestLongOutput(t *testing.T) {
	var logs []string
	_, _ = apply(t, testHost(&logs), newResource("command", "head -c 17000000 /dev/zero | tr '\\0' x; false", "provider", "shell"), false)
	if len(logs) != 2 || !strings.HasPrefix(logs[1], "warning: the command printed more than 16 MiB") {
		t.Errorf("%d logs, the last one is %.100q", len(logs), logs[len(logs)-1])
	}
}

// Nothing of a secret command is in errors, logs, and arguments.
func TestSecret(t *testing.T) {
	for _, params := range [][]any{
		{"command", "echo hunter2; exit 5", "provider", "shell"},
		{"command", "/bin/hunter2"},
		{"command", "/bin/ls /hunter2/"},
		{"command", "hunter2 x", "path", "/bin"},
		{"command", "/bin/echo hunter2; hunter2"},
		{"command", "/bin/true", "unless", "hunter2", "provider", "shell"},
		{"command", "echo $A; false", "environment", "A=hunter2", "provider", "shell"},
	} {
		r := newResource(params...)
		r.Secrets = []string{"command", "unless", "environment"}
		var logs []string
		h := testHost(&logs)
		var argv []string
		h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
			argv = append(argv, c.Argv...)
			return resource.Exec(ctx, c)
		}
		_, err := apply(t, h, r, false)
		if err == nil {
			t.Errorf("%v has no error", params)
		}
		all := fmt.Sprint(err, logs)
		if params[1] != "/bin/ls /hunter2/" {
			all += fmt.Sprint(argv)
		}
		if strings.Contains(all, "hunter2") {
			t.Errorf("%v shows its secret: %s", params, all)
		}
	}
	r := newResource("command", "hunter2")
	r.Secrets = []string{"command"}
	if _, err := Type().New(r); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error of New is %v", err)
	}
}

func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: only root can run commands as another user")
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var logs []string
	h := testHost(&logs)
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"user", "nobody"}, "65534:65534\n"},
		{[]any{"user", "65534", "group", "1", "umask", "022"}, "65534:1\n"},
		{[]any{"group", "daemon"}, "0:1\n"},
		{[]any{"user", "root"}, "0:0\n"},
	} {
		file := filepath.Join(dir, "owned")
		r := newResource(append(c.params, "command", "rm -f "+file+"; touch "+file+"; stat -c %u:%g "+file, "provider", "shell", "cwd", "/", "logoutput", "true")...)
		logs = nil
		if _, err := apply(t, h, r, false); err != nil || strings.Join(logs, "") != "notice: "+strings.TrimSpace(c.want) {
			t.Errorf("%v: %v, %q, want %q", c.params, err, logs, c.want)
		}
	}
}
