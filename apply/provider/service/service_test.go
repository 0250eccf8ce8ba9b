package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// A script is a host whose programs only answer. Answers are by command line: the code of exit, a space, and
// the output. Commands without an answer succeed.
type script struct {
	answers map[string]string
	ran     []string
}

func (s *script) run(_ context.Context, c *resource.Command) (*resource.Output, error) {
	text := strings.Join(c.Argv, " ")
	text = strings.TrimPrefix(text, "/bin/sh -c ")
	s.ran = append(s.ran, text)
	var out resource.Output
	if a, known := s.answers[text]; known {
		code, printed, _ := strings.Cut(a, " ")
		fmt.Sscan(code, &out.Code)
		out.Stdout = []byte(printed)
	}
	return &out, nil
}

// root is a directory with files; those whose names end with a slash are directories.
func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var systemdRoot = map[string]string{"/proc/1/comm": "systemd\n", "/usr/bin/systemctl": "", "/etc/os-release": "ID=debian\n",
	"/usr/sbin/update-rc.d": "", "/usr/sbin/invoke-rc.d": "", "/usr/sbin/service": ""}

func without(m map[string]string, key string) map[string]string {
	out := make(map[string]string)
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func newItem(t *testing.T, title string, params ...any) *item {
	t.Helper()
	it, err := Type().New(&resource.Resource{Ref: catalog.Ref{Type: "Service", Title: title}, Params: ordered.Of(params...)})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return it.(*item)
}

const shown = "systemctl show --no-pager --property=Id,LoadState,ActiveState,UnitFileState -- "

func block(id, load, active, file string) string {
	return fmt.Sprintf("Id=%s\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\n", id, load, active, file)
}

const need = "systemctl show --no-pager --property=NeedDaemonReload,LoadState -- a"

// Each case applies one resource to a scripted host, and refreshes it.
func TestApply(t *testing.T) {
	debianRoot := without(systemdRoot, "/proc/1/comm")
	debianRoot["/etc/init.d/a"] = ""
	openrcRoot := map[string]string{"/bin/rc-status": "", "/sbin/rc-service": "", "/sbin/rc-update": "", "/etc/os-release": "ID=alpine\n"}
	redhatRoot := map[string]string{"/sbin/chkconfig": "", "/sbin/service": "", "/etc/os-release": "ID=\"rhel\"\nID_LIKE=\"fedora\"\n"}
	for _, c := range []struct {
		name    string
		root    map[string]string
		params  []any
		answers map[string]string
		refresh bool
		changes string
		ran     []string // ROOT stands for the root
		err     string
	}{
		{name: "systemd unchanged", root: systemdRoot, params: []any{"ensure", "running", "enable", true},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "active", "enabled"), "systemctl is-enabled -- a": "0 enabled\n"},
			ran:     []string{shown + "a", "systemctl is-enabled -- a"}},
		{name: "systemd start and enable", root: systemdRoot, params: []any{"ensure", true, "enable", "true"},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "inactive", "disabled"), "systemctl is-enabled -- a": "1 disabled\n",
				need: "0 NeedDaemonReload=yes\nLoadState=loaded\n"},
			changes: "ensure service_started stopped running;",
			ran: []string{shown + "a", "systemctl is-enabled -- a", need, "systemctl daemon-reload", need, "systemctl start -- a",
				"systemctl is-enabled -- a", "systemctl unmask -- a", "systemctl enable -- a"}},
		{name: "systemd start masked", root: systemdRoot, params: []any{"ensure", "running"},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "masked", "inactive", "masked"), need: "0 NeedDaemonReload=no\nLoadState=masked\n"},
			changes: "ensure service_started stopped running;",
			ran:     []string{shown + "a", need, "systemctl unmask -- a", "systemctl start -- a"}},
		{name: "systemd start fails", root: systemdRoot, params: []any{"ensure", "running"},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "failed", "disabled"), need: "0 NeedDaemonReload=no\nLoadState=loaded\n",
				"systemctl start -- a": "1 Job failed"},
			changes: "ensure service_started stopped running;", err: "systemctl start -- a exited with code 1: Job failed",
			ran: []string{shown + "a", need, "systemctl start -- a", "journalctl --no-pager --quiet -n 50 --since 5 minutes ago -u a"}},
		{name: "systemd disable", root: systemdRoot, params: []any{"enable", false},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "active", "enabled"), "systemctl is-enabled -- a": "0 enabled\n"},
			changes: "enable service_disabled true false;", ran: []string{shown + "a", "systemctl is-enabled -- a", "systemctl disable -- a"}},
		{name: "systemd mask", root: systemdRoot, params: []any{"enable", "mask"},
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "active", "static"), "systemctl is-enabled -- a": "0 static\n"},
			changes: "enable service_disabled true mask;",
			ran:     []string{shown + "a", "systemctl is-enabled -- a", "systemctl cat -- a", "systemctl disable -- a", "systemctl mask -- a"}},
		{name: "systemd masked", root: systemdRoot, params: []any{"enable", "mask"},
			answers: map[string]string{"systemctl is-enabled -- a": "1 masked\n"}, ran: []string{shown + "a", "systemctl is-enabled -- a"}},
		{name: "systemd static", root: systemdRoot, params: []any{"enable", false},
			answers: map[string]string{"systemctl is-enabled -- a": "0 static\n"}, ran: []string{shown + "a", "systemctl is-enabled -- a"}},
		{name: "systemd indirect", root: systemdRoot, params: []any{"enable", true},
			answers: map[string]string{"systemctl is-enabled -- a": "0 indirect\n"}, ran: []string{shown + "a", "systemctl is-enabled -- a"}},
		{name: "systemd does not answer in a chroot", root: systemdRoot, params: []any{"ensure", "stopped"},
			answers: map[string]string{"systemctl is-active -- a": "3 inactive"}, ran: []string{shown + "a", "systemctl is-active -- a"}},
		{name: "systemd refresh", root: systemdRoot, params: []any{"ensure", "running"}, refresh: true,
			answers: map[string]string{shown + "a": "0 " + block("a.service", "loaded", "active", "static"), need: "0 NeedDaemonReload=no\nLoadState=loaded\n"},
			ran:     []string{shown + "a", "systemctl is-active -- a", need, "systemctl restart -- a"}},
		{name: "systemd refresh of a stopped service", root: systemdRoot, refresh: true,
			answers: map[string]string{"systemctl is-active -- a": "3 inactive"}, ran: []string{shown + "a", "systemctl is-active -- a"}},
		{name: "systemd is not process 1", root: debianRoot, params: []any{"provider", "systemd"}, err: "process 1 is not systemd"},
		{name: "debian start", root: debianRoot, params: []any{"ensure", "running"}, answers: map[string]string{"/usr/sbin/service a status": "3 "},
			changes: "ensure service_started stopped running;", ran: []string{"/usr/sbin/service a status", "ROOT/etc/init.d/a start"}},
		{name: "debian refresh", root: debianRoot, params: []any{"ensure", "running"}, refresh: true,
			ran: []string{"/usr/sbin/service a status", "/usr/sbin/service a status", "ROOT/etc/init.d/a stop", "ROOT/etc/init.d/a start"}},
		{name: "debian refresh hasrestart", root: debianRoot, params: []any{"hasrestart", true}, refresh: true,
			ran: []string{"/usr/sbin/service a status", "ROOT/etc/init.d/a restart"}},
		{name: "debian restart command", root: debianRoot, params: []any{"restart", "reload a"}, refresh: true, ran: []string{"/usr/sbin/service a status", "reload a"}},
		{name: "debian enable", root: debianRoot, params: []any{"enable", true}, changes: "enable service_enabled false true;",
			ran: []string{"/usr/sbin/update-rc.d -f a remove", "/usr/sbin/update-rc.d a defaults"}},
		{name: "debian without a script", root: without(debianRoot, "/etc/init.d/a"), params: []any{"ensure", "running"},
			answers: map[string]string{"/usr/sbin/service a status": "4 "}, changes: "ensure service_started stopped running;", ran: []string{"/usr/sbin/service a status"},
			err: "init script a does not exist in"},
		{name: "debian cannot mask", root: debianRoot, params: []any{"enable", "mask"}, err: "only systemd can mask services"},
		{name: "init", root: map[string]string{"/etc/init.d/a.sh": "", "/etc/os-release": "ID=other"}, params: []any{"ensure", "stopped", "enable", true},
			changes: "ensure service_stopped running stopped;", ran: []string{"ROOT/etc/init.d/a.sh status", "ROOT/etc/init.d/a.sh stop"}},
		{name: "init on Debian", root: debianRoot, params: []any{"provider", "init"}, err: "the provider init cannot be used on this host"},
		{name: "openrc", root: openrcRoot, params: []any{"ensure", "running", "enable", true},
			answers: map[string]string{"/sbin/rc-service a status": "3 ", "/bin/rc-status -C -a": "0 Runlevel: default\n b   [  started  ]\nDynamic Runlevel: manual\n a  [ started ]\n"},
			changes: "ensure service_started stopped running;",
			ran:     []string{"/sbin/rc-service a status", "/bin/rc-status -C -a", "/sbin/rc-service a start", "/bin/rc-status -C -a", "/sbin/rc-update -C add a"}},
		{name: "openrc enabled", root: openrcRoot, params: []any{"enable", true},
			answers: map[string]string{"/bin/rc-status -C -a": "0 Runlevel: default\n a   [  stopped  ]\nDynamic Runlevel: manual\n"}, ran: []string{"/bin/rc-status -C -a"}},
		{name: "redhat", root: redhatRoot, params: []any{"ensure", "running", "enable", false}, changes: "enable service_disabled true false;",
			ran: []string{"/sbin/service a status", "/sbin/chkconfig a", "/sbin/chkconfig --level 0123456 a off"}},
		{name: "base commands", params: []any{"provider", "base", "ensure", "running", "status", "test -f x", "start", []any{"start", "a b"}},
			answers: map[string]string{"test -f x": "1 "}, changes: "ensure service_started stopped running;", ran: []string{"test -f x", "start a b"}},
		{name: "base binary", params: []any{"provider", "base", "ensure", "running", "status", "s", "binary", "/sbin/a -d"}, answers: map[string]string{"s": "1 "},
			changes: "ensure service_started stopped running;", ran: []string{"s", "/sbin/a -d"}},
		{name: "base without a command", params: []any{"provider", "base", "ensure", "running", "status", "s"}, answers: map[string]string{"s": "1 "},
			changes: "ensure service_started stopped running;", ran: []string{"s"}, err: "give start or binary"},
		{name: "other platform", params: []any{"provider", "upstart"}, err: "bolt does not have the provider upstart"},
		{name: "base wrong pattern", params: []any{"provider", "base", "ensure", "stopped", "pattern", "(?!a)"}, err: "the parameter pattern cannot be used: error parsing regexp"},
		{name: "base without processes", root: map[string]string{"/proc/x": ""}, params: []any{"provider", "base", "ensure", "stopped"}, err: "shows no processes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: c.answers}
			h := resource.NewHost()
			h.Root, h.Run = root(t, c.root), s.run
			x := newItem(t, "a", c.params...)
			changes, err := "", x.Read(t.Context(), h)
			if err == nil {
				plan, _ := x.Plan()
				for _, ch := range plan {
					changes += fmt.Sprintf("%s %s %s %s;", ch.Property, ch.Name, ch.Is, ch.Should)
					if ch.NoRefresh != (ch.Name == "service_started") {
						t.Errorf("NoRefresh of %s is %v", ch.Name, ch.NoRefresh)
					}
					err = x.Do(t.Context(), h, &ch)
				}
			}
			if c.refresh {
				err = x.Refresh(t.Context(), h, nil)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error is %v, want %q", err, c.err)
			}
			if changes != c.changes {
				t.Errorf("changes are %q, want %q", changes, c.changes)
			}
			for i := range s.ran {
				s.ran[i] = strings.ReplaceAll(s.ran[i], h.Root+"/etc", "ROOT/etc")
			}
			if !slices.Equal(s.ran, c.ran) {
				t.Errorf("ran\n%q, want\n%q", s.ran, c.ran)
			}
		})
	}
}

// Two commands read the states of many services.
func TestReadAll(t *testing.T) {
	var items []resource.Item
	for _, name := range []string{"a", "b.service", "alias", "script", "none", "p*"} {
		items = append(items, newItem(t, name, "ensure", "running", "enable", true))
	}
	items = append(items, newItem(t, "own", "ensure", "running", "provider", "base", "status", "mine"))
	s := &script{answers: map[string]string{
		shown + "a b.service alias script none": "0 " + strings.Join([]string{
			block("a.service", "loaded", "active", "enabled"), block("b.service", "loaded", "failed", "disabled"), block("real.service", "loaded", "reloading", "enabled"),
			block("script.service", "loaded", "active", "generated"), block("none.service", "not-found", "inactive", "")}, "\n"),
		"systemctl is-enabled -- a b.service": "0 enabled\ndisabled\n",
		"systemctl is-enabled -- alias":       "0 alias\n",
		"systemctl is-enabled -- script":      "1 disabled\n",
		"systemctl is-enabled -- none":        "1 ",
		"systemctl is-enabled -- p*":          "1 ",
		"systemctl is-active -- p*":           "3 inactive\n",
		"mine":                                "2 ",
	}}
	h := resource.NewHost()
	h.Root, h.Run = root(t, systemdRoot), s.run
	for i, err := range Type().(resource.Reader).ReadAll(t.Context(), h, items) {
		if err != nil {
			t.Errorf("%s: %v", items[i].(*item).name, err)
		}
	}
	var got []string
	for _, it := range items {
		x := it.(*item)
		got = append(got, fmt.Sprint(x.name, " ", x.state.running, " ", x.state.enabled))
	}
	want := []string{"a true true", "b.service false false", "alias true true", "script true false", "none false false", "p* false false", "own false "}
	if !slices.Equal(got, want) {
		t.Errorf("states are %q, want %q", got, want)
	}
	if len(s.ran) != 8 {
		t.Errorf("%d commands were run: %q", len(s.ran), s.ran)
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"provider", "nosuch"}, `The parameter provider must be one of base, debian, init, openrc, redhat, systemd, and is "nosuch"`},
		{[]any{"enable", "manual"}, "The parameter enable cannot be manual on Linux"},
		{[]any{"enable", "mask", "provider", "base"}, "The parameter enable cannot be mask with the provider base"},
		{[]any{"name", "-x"}, `The parameter name must be the name of a service, and is "-x"`},
		{[]any{"hasstatus", "x"}, `The parameter hasstatus must be true or false, and is "x"`},
	} {
		_, err := Type().New(&resource.Resource{Ref: catalog.Ref{Type: "Service", Title: "a"}, Params: ordered.Of(c.params...)})
		if err == nil || err.Error() != c.want {
			t.Errorf("New(%v): error is %v, want %s", c.params, err, c.want)
		}
	}
}

// A secret command is in no message and no argument list.
func TestSecret(t *testing.T) {
	r := &resource.Resource{Ref: catalog.Ref{Type: "Service", Title: "a"}, Secrets: []string{"start"},
		Params: ordered.Of("ensure", "running", "provider", "base", "status", "false", "start", "echo hunter2; exit 3")}
	it, err := Type().New(r)
	if err != nil {
		t.Fatal(err)
	}
	h := resource.NewHost()
	var all []string
	h.Log = func(_ catalog.Ref, _ report.Level, text string) { all = append(all, text) }
	h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		all = append(all, c.Argv...)
		return resource.Exec(ctx, c)
	}
	if err := it.Read(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	err = it.Do(t.Context(), h, &resource.Change{Property: "ensure"})
	if err == nil || err.Error() != "[command redacted] exited with code 3" || strings.Contains(fmt.Sprint(all), "hunter2") {
		t.Errorf("error is %v, shown were %q", err, all)
	}
}

// The base provider finds and ends a process by its command line.
func TestProcess(t *testing.T) {
	h := resource.NewHost()
	// Another run of this test can have a process like this one.
	x := newItem(t, "a", "provider", "base", "ensure", "running", "pattern", fmt.Sprintf(`sleep 98765\.[1]%d$`, os.Getpid()), "start", "true")
	read := func() bool {
		t.Helper()
		if err := x.Read(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		return x.state.running
	}
	if read() {
		t.Fatal("a process was found before it was started")
	}
	cmd := exec.Command("sleep", fmt.Sprint("98765.1", os.Getpid()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !read() {
		t.Error("the process was not found")
	}
	x.ensure = "stopped"
	if err := x.Do(t.Context(), h, &resource.Change{Property: "ensure"}); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if read() {
		t.Error("the process was found after it had ended")
	}
	if err := x.Do(t.Context(), h, &resource.Change{Property: "ensure"}); err != nil {
		t.Error(err)
	}
}
