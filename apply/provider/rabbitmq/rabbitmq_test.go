package rabbitmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{
	"Rabbitmq_plugin": Plugin(), "Rabbitmq_user": User(), "Rabbitmq_vhost": Vhost(), "Rabbitmq_user_permissions": Permissions(), "Rabbitmq_policy": Policy(),
}

// A broker is a stand-in for a server of RabbitMQ with its programs, because the real server needs Erlang. It answers as rabbitmqctl(8) and
// rabbitmq-plugins(8) of RabbitMQ 3.13 are documented to answer, with --formatter json.
type broker struct {
	t           *testing.T
	users       map[string][]string
	passwords   map[string]string
	vhosts      map[string]vhostRow
	permissions map[string]map[string]permissionsRow
	policies    map[string]map[string]map[string]any
	plugins     []string
	down        int // this number of queries fails
}

func newBroker(t *testing.T) (*providertest.Machine, *broker) {
	b := &broker{t: t, users: map[string][]string{"guest": {administrator}}, passwords: map[string]string{"guest": "guest"}, vhosts: map[string]vhostRow{"/": {Name: "/"}},
		permissions: map[string]map[string]permissionsRow{"/": {}}, policies: map[string]map[string]map[string]any{"/": {}}}
	m := providertest.Scripted(t, "rabbitmqctl rabbitmq-plugins", types)
	record := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if _, err := record(ctx, c); err != nil {
			return nil, err
		}
		argv := c.Argv
		if argv[0] == "/bin/sh" {
			argv = argv[4:]
		}
		out, code := b.run(argv[1:], strings.TrimSpace(string(c.Stdin)))
		o := &resource.Output{Stdout: []byte(out), Code: code}
		if code != 0 {
			o.Stdout, o.Stderr = nil, []byte(out)
		}
		return o, nil
	}
	return m, b
}

// run answers a command.
func (b *broker) run(args []string, stdin string) (out string, code int) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-q" })
	if strings.HasPrefix(args[0], "list") && b.down > 0 {
		b.down--
		return "Error: unable to perform an operation on node 'rabbit@h'\n", 69
	}
	options := make(map[string]string)
	var rest []string
	for i := 1; i < len(args); i++ {
		if strings.HasPrefix(args[i], "-") && args[0] != "list" && args[i] != "--offline" && args[i] != "--online" {
			options[args[i]] = args[i+1]
			i++
			continue
		}
		rest = append(rest, args[i])
	}
	vhost := options["-p"]
	if _, exists := b.vhosts[vhost]; vhost != "" && !exists {
		return "Error:\nVirtual host '" + vhost + "' does not exist\n", 65
	}
	list := []any{}
	switch args[0] {
	case "list":
		return "Listing plugins with pattern \".*\" ...\n" + strings.Join(b.plugins, "\n") + "\n", 0
	case "enable":
		b.plugins = append(b.plugins, rest[0])
	case "disable":
		b.plugins = slices.DeleteFunc(b.plugins, func(p string) bool { return p == rest[0] })
	case "status":
	case "list_users":
		for name, tags := range b.users {
			list = append(list, map[string]any{"user": name, "tags": tags})
		}
	case "authenticate_user":
		if b.passwords[rest[0]] != stdin {
			return "Error: failed to authenticate user \"" + rest[0] + "\"\n", refused
		}
	case "add_user":
		if _, exists := b.users[rest[0]]; exists {
			return "User already exists\n", 70
		}
		b.users[rest[0]], b.passwords[rest[0]] = []string{}, stdin
	case "change_password":
		b.passwords[rest[0]] = stdin
	case "set_user_tags":
		b.users[rest[0]] = rest[1:]
	case "delete_user":
		delete(b.users, rest[0])
	case "list_vhosts":
		for name, v := range b.vhosts {
			row := map[string]any{"name": name}
			if len(rest) > 1 {
				row["description"], row["default_queue_type"], row["tags"] = v.Description, v.DefaultQueueType, v.Tags
			}
			list = append(list, row)
		}
	case "add_vhost", "update_vhost_metadata":
		v := b.vhosts[rest[0]]
		for name, value := range options {
			switch name {
			case "--description":
				v.Description = value
			case "--default-queue-type":
				v.DefaultQueueType = value
			case "--tags":
				v.Tags = strings.Split(value, ",")
			}
		}
		b.vhosts[rest[0]] = v
		if b.permissions[rest[0]] == nil {
			b.permissions[rest[0]], b.policies[rest[0]] = map[string]permissionsRow{}, map[string]map[string]any{}
		}
	case "delete_vhost":
		delete(b.vhosts, rest[0])
	case "list_permissions":
		for user, p := range b.permissions[vhost] {
			list = append(list, map[string]any{"user": user, "configure": p.Configure, "write": p.Write, "read": p.Read})
		}
	case "set_permissions":
		b.permissions[vhost][rest[0]] = permissionsRow{rest[0], rest[1], rest[2], rest[3]}
	case "clear_permissions":
		delete(b.permissions[vhost], rest[0])
	case "list_policies":
		for _, p := range b.policies[vhost] {
			list = append(list, p)
		}
	case "set_policy":
		var priority any = json.Number(options["--priority"])
		b.policies[vhost][rest[0]] = map[string]any{"vhost": vhost, "name": rest[0], "pattern": rest[1], "apply-to": options["--apply-to"], "definition": rest[2], "priority": priority}
	case "clear_policy":
		delete(b.policies[vhost], rest[0])
	default:
		b.t.Errorf("unknown command %q", args)
	}
	if !strings.HasPrefix(args[0], "list_") {
		return "", 0
	}
	data, err := json.Marshal(list)
	if err != nil {
		b.t.Error(err)
	}
	return string(data), 0
}

func TestUsers(t *testing.T) {
	m, b := newBroker(t)
	m.Step([]string{"Rabbitmq_user[dan] changed rabbitmq_user_created", "Rabbitmq_user[eve] changed rabbitmq_user_created", "Rabbitmq_user[guest] changed rabbitmq_user_removed"},
		`Rabbitmq_user[dan] {"password":{"sensitive":"top 'secret"},"admin":true,"tags":["monitoring"]}`, `Rabbitmq_user[eve] {"password":"e"}`, `Rabbitmq_user[guest] {"ensure":"absent"}`)
	m.Want("users", fmt.Sprint(b.users, b.passwords["dan"]), "map[dan:[monitoring administrator] eve:[]]top 'secret")
	m.Step([]string{"Rabbitmq_user[dan] changed password_changed admin_changed tags_changed"}, `Rabbitmq_user[dan] {"password":"other","tags":["b","a","b"]}`)
	m.Want("users", fmt.Sprint(b.users["dan"], b.passwords["dan"]), "[a b]other")
	// One query for all users, and one for each password. Passwords are not arguments.
	m.Apply(false, `Rabbitmq_user[dan] {"password":"third","tags":["b","a"]}`, `Rabbitmq_user[eve] {}`)
	m.Want("commands", strings.Join(m.Argv, "\n"), "rabbitmqctl -q list_users --formatter json\nrabbitmqctl -q authenticate_user dan < third\nrabbitmqctl -q change_password dan < third")
	m.Want("no password", m.Apply(false, `Rabbitmq_user[new]`), "Rabbitmq_user[new] failed rabbitmq_user_created: change of ensure from absent to present failed: a new user needs the parameter password")
}

// A run that is killed between the commands for a new user is completed by the next run.
func TestKilled(t *testing.T) {
	m, b := newBroker(t)
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if c.Argv[2] == "set_user_tags" {
			return nil, context.Canceled
		}
		return run(ctx, c)
	}
	const user = `Rabbitmq_user[dan] {"password":"p","admin":true}`
	if got := m.Apply(false, user); !strings.Contains(got, "failed") {
		t.Error(got)
	}
	m.Host.Run = run
	m.Want("next run", m.Apply(false, user), "Rabbitmq_user[dan] changed admin_changed")
	m.Want("again", m.Apply(false, user), "Rabbitmq_user[dan] unchanged")
	m.Want("tags", fmt.Sprint(b.users["dan"]), "[administrator]")
}

func TestVhosts(t *testing.T) {
	m, b := newBroker(t)
	m.Step([]string{"Rabbitmq_vhost[v] changed rabbitmq_vhost_created", "Rabbitmq_vhost[w] changed rabbitmq_vhost_created"},
		`Rabbitmq_vhost[v]`, `Rabbitmq_vhost[w] {"description":"two words","default_queue_type":"quorum","tags":["x"]}`)
	m.Want("command", m.Argv[0], "rabbitmqctl -q list_vhosts name description default_queue_type tags --formatter json")
	m.Apply(false, `Rabbitmq_vhost[v]`)
	m.Want("command", strings.Join(m.Argv, "\n"), "rabbitmqctl -q list_vhosts name --formatter json")
	m.Step([]string{"Rabbitmq_vhost[w] changed description_changed tags_changed", "Rabbitmq_vhost[v] changed rabbitmq_vhost_removed"},
		`Rabbitmq_vhost[w] {"description":"new","tags":["z","y"]}`, `Rabbitmq_vhost[v] {"ensure":"absent"}`)
	m.Want("vhosts", fmt.Sprint(b.vhosts), "map[/:{/   []} w:{ new quorum [y z]}]")
}

func TestPermissions(t *testing.T) {
	m, b := newBroker(t)
	b.vhosts["v"], b.permissions["v"] = vhostRow{Name: "v"}, map[string]permissionsRow{}
	m.Step([]string{"Rabbitmq_user_permissions[dan@/] changed rabbitmq_user_permissions_created", "Rabbitmq_user_permissions[dan@v] changed rabbitmq_user_permissions_created", "Rabbitmq_user_permissions[eve@v] changed rabbitmq_user_permissions_created"},
		`Rabbitmq_user_permissions[dan@/] {"configure_permission":".*","read_permission":"^a\\.b$","write_permission":""}`, `Rabbitmq_user_permissions[dan@v] {"read_permission":".*"}`, `Rabbitmq_user_permissions[eve@v]`)
	m.Want("permissions", fmt.Sprint(b.permissions), `map[/:map[dan:{dan .*  ^a\.b$}] v:map[dan:{dan ^$ ^$ .*} eve:{eve ^$ ^$ ^$}]]`)
	m.Step([]string{"Rabbitmq_user_permissions[dan@v] changed configure_permission_changed write_permission_changed", "Rabbitmq_user_permissions[eve@v] changed rabbitmq_user_permissions_removed"},
		`Rabbitmq_user_permissions[dan@v] {"configure_permission":"a","write_permission":"b"}`, `Rabbitmq_user_permissions[eve@v] {"ensure":"absent"}`)
	m.Want("permissions", fmt.Sprint(b.permissions["v"]), "map[dan:{dan a b .*}]")
	m.Apply(true, `Rabbitmq_user_permissions[dan@v]`, `Rabbitmq_user_permissions[eve@v]`, `Rabbitmq_user_permissions[x@/]`)
	slices.Sort(m.Argv)
	m.Want("a query for each virtual host", strings.Join(m.Argv, "\n"), "rabbitmqctl -q list_permissions -p / --formatter json\nrabbitmqctl -q list_permissions -p v --formatter json")
	m.Want("no virtual host", m.Apply(true, `Rabbitmq_user_permissions[x@none]`, `Rabbitmq_policy[p@none] {"ensure":"absent"}`), "Rabbitmq_policy[p@none] unchanged\nRabbitmq_user_permissions[x@none] noop rabbitmq_user_permissions_created")
}

func TestPolicies(t *testing.T) {
	m, b := newBroker(t)
	m.Step([]string{"Rabbitmq_policy[ha@all@/] changed rabbitmq_policy_created", "Rabbitmq_policy[p@/] changed rabbitmq_policy_created"},
		`Rabbitmq_policy[ha@all@/] {"pattern":".*","definition":{"ha-sync-mode":"automatic","ha-mode":"exactly","ha-params":"2","max-length":"5"}}`,
		`Rabbitmq_policy[p@/] {"pattern":"^a","applyto":"queues","priority":"07","definition":{"ha-mode":"nodes","ha-params":["a","b"]}}`)
	m.Want("definition", fmt.Sprint(b.policies["/"]["ha@all"]), `map[apply-to:all definition:{"ha-mode":"exactly","ha-params":2,"ha-sync-mode":"automatic","max-length":5} name:ha@all pattern:.* priority:0 vhost:/]`)
	m.Step([]string{"Rabbitmq_policy[ha@all@/] changed rabbitmq_policy_removed", "Rabbitmq_policy[p@/] changed definition_changed pattern_changed applyto_changed priority_changed"},
		`Rabbitmq_policy[ha@all@/] {"ensure":"absent"}`, `Rabbitmq_policy[p@/] {"pattern":"^b","priority":1,"definition":{"expires":9}}`)
	m.Want("policies", fmt.Sprint(b.policies["/"]), `map[p:map[apply-to:all definition:{"expires":9} name:p pattern:^b priority:1 vhost:/]]`)
}

func TestPlugins(t *testing.T) {
	m, b := newBroker(t)
	m.Step([]string{"Rabbitmq_plugin[a] changed rabbitmq_plugin_created", "Rabbitmq_plugin[b] changed rabbitmq_plugin_created", "Rabbitmq_plugin[c] changed rabbitmq_plugin_created"},
		`Rabbitmq_plugin[a]`, `Rabbitmq_plugin[b] {"mode":"offline","umask":"027"}`, `Rabbitmq_plugin[c] {"mode":"online"}`)
	b.plugins = nil
	m.Apply(false, `Rabbitmq_plugin[b] {"mode":"offline","umask":"027"}`, `Rabbitmq_plugin[c] {"mode":"online"}`)
	m.Want("commands", strings.Join(m.Argv, "\n"), `rabbitmq-plugins list -e -m
sh -c umask "$0"; exec "$@" 027 /usr/bin/rabbitmq-plugins enable b --offline
rabbitmqctl -q status
sh -c umask "$0"; exec "$@" 0022 /usr/bin/rabbitmq-plugins enable c --online`)
	m.Step([]string{"Rabbitmq_plugin[b] changed rabbitmq_plugin_removed"}, `Rabbitmq_plugin[b] {"ensure":"absent"}`)
}

// A server that has just started needs some time. The clock of the test does not wait.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newBroker(t)
		b.down = 3
		m.Want("later", m.Apply(true, `Rabbitmq_vhost[v]`), "Rabbitmq_vhost[v] noop rabbitmq_vhost_created")
		m.Want("tries", fmt.Sprint(len(m.Argv), len(m.Logs)), "4 3")
		b.down = 100
		m.Want("never", m.Apply(false, `Rabbitmq_vhost[v]`), "Rabbitmq_vhost[v] failed: rabbitmqctl: exit code 69: Error: unable to perform an operation on node 'rabbit@h'")
		m.Want("tries", fmt.Sprint(len(m.Argv)), fmt.Sprint(tries))
	})
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	const missing = "the program rabbitmqctl is missing. Install the server of RabbitMQ on the target"
	m.Want("noop without RabbitMQ", m.Apply(true, `Rabbitmq_vhost[v]`, `Rabbitmq_plugin[p]`), "Rabbitmq_plugin[p] noop rabbitmq_plugin_created\nRabbitmq_vhost[v] noop rabbitmq_vhost_created")
	m.Want("without RabbitMQ", m.Apply(false, `Rabbitmq_vhost[v]`, `Rabbitmq_plugin[p]`), "Rabbitmq_plugin[p] failed rabbitmq_plugin_created: change of ensure from absent to present failed: "+missing+
		"\nRabbitmq_vhost[v] failed rabbitmq_vhost_created: change of ensure from absent to present failed: "+missing)
	m = providertest.Scripted(t, "rabbitmqctl", types, providertest.Answer{Begin: "rabbitmqctl", Out: resource.Output{Stdout: []byte("\x00\x1b[31m{")}})
	m.Want("noise", m.Apply(false, `Rabbitmq_vhost[v]`), "Rabbitmq_vhost[v] failed: rabbitmqctl list_vhosts printed a list that is not understood")
	m = providertest.Scripted(t, "rabbitmqctl", types, providertest.Answer{Begin: "rabbitmqctl -q list", Out: resource.Output{Stdout: []byte("[]")}},
		providertest.Answer{Begin: "rabbitmqctl -q add_user", Out: resource.Output{Stderr: []byte("Error:\nUser \x1blimit\n"), Code: 70}})
	m.Want("refused", m.Apply(false, `Rabbitmq_user[u] {"password":{"sensitive":"p"}}`), "Rabbitmq_user[u] failed rabbitmq_user_created: change of ensure from absent to present failed: rabbitmqctl: exit code 70: Error:; User limit")
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if c.Session {
			c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		} else {
			c.Argv = []string{"echo", "[]"}
		}
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, `Rabbitmq_vhost[v]`), "Rabbitmq_vhost[v] failed rabbitmq_vhost_created: change of ensure from absent to present failed: rabbitmqctl: timed out")
}

func TestRefused(t *testing.T) {
	m := providertest.Scripted(t, "rabbitmqctl", types)
	for text, want := range map[string]string{
		`Rabbitmq_user[a b]`: "name must have no blanks",
		`Rabbitmq_user[-x]`:  "name must have no blanks",
		`Rabbitmq_user[u] {"password":{"sensitive":"p "}}`:                          "password must have only ASCII characters",
		`Rabbitmq_user[u] {"password":"é"}`:                                         "password must have only ASCII characters",
		`Rabbitmq_user[u] {"tags":["administrator"]}`:                               "tags cannot have administrator",
		`Rabbitmq_user[u] {"tags":["a b"]}`:                                         "tags must be words",
		`Rabbitmq_user_permissions[u]`:                                              "name must be user@vhost",
		`Rabbitmq_policy[p]`:                                                        "name must be policy@vhost",
		`Rabbitmq_policy[p@v] {"definition":{"a":"b"}}`:                             "pattern must be given",
		`Rabbitmq_policy[p@v] {"pattern":"."}`:                                      "definition must be given",
		`Rabbitmq_policy[p@v] {"pattern":".","definition":"x"}`:                     "definition must be a hash",
		`Rabbitmq_policy[p@v] {"pattern":".","definition":{"expires":"x"}}`:         "definition must have a whole number for expires",
		`Rabbitmq_policy[p@v] {"pattern":".","definition":{"a":{"b":"c"}}}`:         "definition must have a string for a",
		`Rabbitmq_policy[p@v] {"pattern":{"sensitive":"."},"definition":{"a":"b"}}`: "pattern cannot be Sensitive",
		`Rabbitmq_policy[p@v] {"pattern":".","definition":{},"priority":"-1"}`:      "priority must be a whole number",
		`Rabbitmq_plugin[p] {"umask":"999"}`:                                        "umask must be an octal number",
		`Rabbitmq_vhost[v] {"description":"a\nb"}`:                                  "description must be one line",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, "refused: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzLists reads lists as a broken rabbitmqctl prints them.
func FuzzLists(f *testing.F) {
	f.Add(`[{"user":"a","tags":["b"]},{"name":"p","definition":"{\"a\":1}","priority":0}]`)
	h := resource.NewHost()
	h.Env = []string{"PATH=/bin"}
	h.Root = f.TempDir()
	if err := errors.Join(os.Mkdir(h.Root+"/bin", 0o755), os.WriteFile(h.Root+"/bin/rabbitmqctl", nil, 0o755)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := *h
		h.Run = func(context.Context, *resource.Command) (*resource.Output, error) {
			return &resource.Output{Stdout: []byte(text)}, nil
		}
		for _, i := range []resource.Item{&user{r: &resource.Resource{}, name: "a"}, &policy{r: &resource.Resource{}, name: "p", vhost: "v", definition: `{"a":"b"}`},
			&vhost{r: &resource.Resource{}, name: "v", tags: []string{"x"}}, &permissions{r: &resource.Resource{}, user: "a", vhost: "v"}} {
			if err := i.Read(t.Context(), &h); err == nil {
				if _, err := i.Plan(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestHome checks that no other user can choose the directory from which Erlang reads code.
func TestHome(t *testing.T) {
	m, _ := newBroker(t)
	run, seen := m.Host.Run, 0
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		want, err := home(ctx, m.Host, os.Geteuid())
		if i := slices.IndexFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }); err != nil || i < 0 || c.Env[i] != "HOME="+want {
			t.Errorf("%q: %q, want %q, %v", c.Argv, c.Env, want, err)
		}
		seen++
		return run(ctx, c)
	}
	m.Write("etc/passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\nme:x:64001:64001::/home/me:/bin/sh\nnow:x:%d:0::/root:/bin/sh\n", os.Geteuid()), 0o644)
	m.Want("plugin", m.Apply(false, `Rabbitmq_plugin[p]`), "Rabbitmq_plugin[p] changed rabbitmq_plugin_created")
	if seen < 2 {
		t.Errorf("%d programs", seen)
	}
	for uid, want := range map[int]string{0: "/root", 64001: "/home/me"} {
		if dir, err := home(t.Context(), m.Host, uid); dir != want || err != nil {
			t.Errorf("%d: %q, %v", uid, dir, err)
		}
		if err := os.MkdirAll(m.Root+want, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(m.Root+want, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
		if dir, err := home(t.Context(), m.Host, uid); err == nil {
			t.Errorf("%d: %q", uid, dir)
		}
	}
	if _, err := home(t.Context(), m.Host, 64002); err == nil {
		t.Error("a home of nobody")
	}
	m.Want("writable", m.Apply(false, `Rabbitmq_plugin[q]`), "Rabbitmq_plugin[q] failed: all users can write to the home directory /root, so they could run code with Erlang. Change its mode")
}
