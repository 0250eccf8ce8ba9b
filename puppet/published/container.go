package published

import (
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func containers() []Set {
	return []Set{{"puppetlabs/docker", []*eval.Function{
		flagFunction("docker_run_flags", "Returns the flags of docker run.", runFlags),
		flagFunction("docker_exec_flags", "Returns the flags of docker exec.", func(f *flags) {
			f.when("detach", "--detach=true")
			f.when("interactive", "--interactive=true")
			f.when("tty", "--tty=true")
			f.each("env", "--env ", "")
		}),
		flagFunction("docker_plugin_enable_flags", "Returns the flags of docker plugin enable.", func(f *flags) {
			f.exactly("force_remove", "--force")
			if !f.quoted("plugin_alias", "") {
				f.quoted("plugin_name", "")
			}
		}),
		flagFunction("docker_plugin_install_flags", "Returns the flags of docker plugin install.", func(f *flags) {
			if f.set("plugin_alias") {
				f.add("--alias " + f.text("plugin_alias"))
			}
			f.exactly("disable_on_install", "--disable")
			f.exactly("disable_content_trust", "--disable-content-trust")
			f.exactly("grant_all_permissions", "--grant-all-permissions")
			f.quoted("plugin_name", "")
			f.list("settings", "", "")
		}),
		flagFunction("docker_plugin_remove_flags", "Returns the flags of docker plugin remove.", func(f *flags) {
			f.exactly("force_remove", "--force")
			f.quoted("plugin_name", "")
		}),
		flagFunction("docker_service_flags", "Returns the flags of docker service.", serviceFlags),
		flagFunction("docker_secrets_flags", "Returns the flags of docker secret.", func(f *flags) {
			if f.text("ensure") == "present" {
				f.add("create")
			}
			f.quoted("secret_name", "")
			f.quoted("secret_path", "")
			// The module does not insert the labels.
			for range f.values("label") {
				f.add("-l %s \\\n")
			}
		}),
		flagFunction("docker_stack_flags", "Returns the flags of docker stack deploy.", func(f *flags) {
			f.quoted("bundle_file", "--bundle-file ")
			f.each("compose_files", "--compose-file '", "'")
			f.quoted("resolve_image", "--resolve-image ")
			if f.set("prune") {
				f.add("--prune")
			}
			if f.set("with_registry_auth") {
				f.add("--with-registry-auth")
			}
		}),
		flagFunction("docker_swarm_init_flags", "Returns the flags of docker swarm init.", swarmFlags),
		flagFunction("docker_swarm_join_flags", "Returns the flags of docker swarm join.", func(f *flags) {
			f.unlessFalse("join", "join")
			f.quoted("advertise_addr", "--advertise-addr ")
			if f.set("listen_addr") {
				f.add(`--listen-addr "` + f.text("listen_addr") + `"`)
			}
			f.quoted("token", "--token ")
		}),
		same("docker::env", "Array $values"),
	}}}
}

// flags are the flags for the options of a call. After an error, its methods do
// nothing.
type flags struct {
	c       *eval.Call
	options *value.Hash
	words   []string
	between string
	err     error
}

func flagFunction(name, doc string, add func(f *flags)) *eval.Function {
	return old(name, 0, doc, func(c *eval.Call, args []value.Value) (value.Value, error) {
		f := &flags{c: c, options: value.NewHash(), between: " "}
		if len(args) > 0 {
			h, ok := args[0].(*value.Hash)
			if !ok && given(args[0]) {
				return nil, invalid(c, "takes a hash, got %s", value.DescribeValue(args[0]))
			} else if ok {
				f.options = h
			}
		}
		add(f)
		return value.String(strings.Join(f.words, f.between)), f.err
	})
}

func (f *flags) add(word string) { f.words = append(f.words, word) }

func (f *flags) given(key string) bool { return given(entry(f.options, key)) }

// set reports whether an option is given and not the word undef.
func (f *flags) set(key string) bool { return f.given(key) && f.text(key) != "undef" }

func (f *flags) text(key string) string { return f.textOf(entry(f.options, key)) }

func (f *flags) textOf(v value.Value) string {
	s, err := builtin.Text(f.c, v)
	if f.err == nil {
		f.err = err
	}
	return s
}

// escaped returns a value as a word of a shell.
func (f *flags) escaped(v value.Value) string {
	name := "stdlib::shell_escape"
	if fact(f.c, "os", "family") == value.String("windows") {
		name = "stdlib::powershell_escape"
	}
	if f.err != nil {
		return ""
	}
	var out value.Value
	if out, f.err = f.c.Call(name, nil, v); f.err != nil {
		return ""
	}
	return f.textOf(out)
}

// when adds a word if an option is given.
func (f *flags) when(key, word string) {
	if f.given(key) {
		f.add(word)
	}
}

// exactly adds a word if an option is true.
func (f *flags) exactly(key, word string) {
	if entry(f.options, key) == value.Bool(true) {
		f.add(word)
	}
}

// unlessFalse adds a word unless an option is false.
func (f *flags) unlessFalse(key, word string) {
	if f.text(key) != "false" {
		f.add(word)
	}
}

// quoted adds an option in quotes, and reports whether it is set.
func (f *flags) quoted(key, flag string) bool {
	set := f.set(key)
	if set {
		f.add(flag + "'" + f.text(key) + "'")
	}
	return set
}

// each adds all elements of an option that is set.
func (f *flags) each(key, before, after string) {
	if !f.set(key) {
		return
	}
	if _, ok := entry(f.options, key).(*value.Array); !ok && f.err == nil {
		f.err = invalid(f.c, "%s is not an array", key)
	}
	f.list(key, before, after)
}

// list adds all elements of an option that is an array.
func (f *flags) list(key, before, after string) bool {
	a, ok := entry(f.options, key).(*value.Array)
	if ok {
		for _, v := range a.Elems() {
			f.add(before + f.textOf(v) + after)
		}
	}
	return ok
}

// values returns a value or the elements of an array, without undef.
func (f *flags) values(key string) (list []value.Value) {
	for _, v := range value.Flatten([]value.Value{entry(f.options, key)}) {
		if !value.IsUndef(v) {
			list = append(list, v)
		}
	}
	return list
}

func runFlags(f *flags) {
	f.between = " \\\n"
	if f.set("osfamily") && strings.EqualFold(f.text("osfamily"), "windows") {
		f.between = " `\n"
	}
	for _, o := range [][2]string{{"username", "-u "}, {"hostname", "-h "}} {
		if v := entry(f.options, o[0]); given(v) {
			f.add(o[1] + f.escaped(v))
		}
	}
	f.when("restart", "--restart '"+f.text("restart")+"'")
	switch net := entry(f.options, "net").(type) {
	case value.String:
		f.add("--net " + f.escaped(net))
	case *value.Array:
		for _, v := range net.Elems() {
			f.add("--net " + f.escaped(v))
		}
	}
	f.when("memory_limit", "-m "+f.text("memory_limit"))
	var cpus []string
	for _, v := range f.values("cpuset") {
		cpus = append(cpus, f.textOf(v))
	}
	if len(cpus) > 0 {
		f.add("--cpuset-cpus=" + strings.Join(cpus, ","))
	}
	f.when("disable_network", "-n false")
	f.when("privileged", "--privileged")
	f.quoted("health_check_cmd", "--health-cmd=")
	if f.set("health_check_interval") {
		f.add("--health-interval=" + f.text("health_check_interval") + "s")
	}
	f.when("tty", "-t")
	f.when("read_only", "--read-only=true")
	for _, o := range [][2]string{
		{"dns", "--dns "}, {"dns_search", "--dns-search "}, {"expose", "--expose="}, {"links", "--link "}, {"lxc_conf", "--lxc-conf="},
		{"volumes_from", "--volumes-from "}, {"env", "-e "}, {"env_file", "--env-file "}, {"ports", "-p "}, {"labels", "-l "},
		{"hostentries", "--add-host "}, {"volumes", "-v "},
	} {
		for _, v := range f.values(o[0]) {
			f.add(o[1] + f.escaped(v) + f.between)
		}
	}
	if !f.list("extra_params", "", "") && f.err == nil {
		f.err = invalid(f.c, "extra_params is not an array")
	}
}

func serviceFlags(f *flags) {
	f.quoted("service_name", "")
	f.unlessFalse("detach", "--detach")
	f.list("env", "--env '", "'")
	f.list("label", "--label ", "")
	f.list("mounts", "--mount ", "")
	f.list("networks", "--network ", "")
	if !f.list("publish", "--publish ", "") {
		f.quoted("publish", "--publish ")
	}
	f.quoted("replicas", "--replicas ")
	f.unlessFalse("tty", "--tty")
	f.quoted("user", "--user ")
	f.quoted("workdir", "--workdir ")
	f.list("extra_params", "", "")
	f.quoted("host_socket", "-H ")
	if !f.list("registry_mirror", "--registry-mirror='", "'") {
		f.quoted("registry_mirror", "--registry-mirror=")
	}
	f.quoted("image", "")
	if a, ok := entry(f.options, "command").(*value.Array); ok {
		words := make([]string, a.Len())
		for i, v := range a.Elems() {
			words[i] = f.textOf(v)
		}
		f.add(strings.Join(words, " "))
	} else if f.set("command") {
		f.add(f.text("command"))
	}
}

func swarmFlags(f *flags) {
	f.unlessFalse("init", "init")
	f.quoted("advertise_addr", "--advertise-addr ")
	f.unlessFalse("autolock", "--autolock")
	f.quoted("cert_expiry", "--cert-expiry ")
	f.list("default_addr_pool", "--default-addr-pool ", "")
	f.quoted("default_addr_pool_mask_length", "--default-addr-pool-mask-length ")
	f.quoted("dispatcher_heartbeat", "--dispatcher-heartbeat ")
	f.quoted("external_ca", "--external-ca ")
	f.unlessFalse("force_new_cluster", "--force-new-cluster")
	f.quoted("listen_addr", "--listen-addr ")
	f.quoted("max_snapshots", "--max-snapshots ")
	f.quoted("snapshot_interval", "--snapshot-interval ")
}
