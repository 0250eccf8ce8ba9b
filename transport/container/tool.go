package container

import (
	"strconv"
	"strings"

	"bolt/transport"
)

// A tool is a program that reaches containers, and how it is told to.
//
// Sources: docker-exec(1), docker-inspect(1), podman-exec(1), podman-inspect(1),
// and what "lxc exec --help" and "lxc list --help" say.
type tool struct {
	program string // looked for on PATH
	service string // variable of its environment that says where its daemon is, "" for none
	list    string // command that shows the containers, for hints
	start   string // and one that starts one
	down    string // what to do when its daemon does not answer
	group   string // whose members may use it

	// find are arguments that print the container that is meant.
	find func(to *transport.Dest) []string
	// parse reads what they print. ok is false for what nobody would print who
	// speaks of a container.
	parse func(to *transport.Dest, out string) (b box, ok bool)
	// exec are the arguments in front of a command.
	exec func(b *box, tty bool) []string
}

// A box is a container that was found.
type box struct {
	id    string // "" if there is none
	state string // in lower case: running, exited, paused …
	user  string // whose processes are started there
	asked string // the user that was asked for, "" for the container's own
}

// tools are the transports of this package.
func tools() map[string]*tool {
	return map[string]*tool{
		"docker": {
			program: "docker", service: "DOCKER_HOST", list: "docker ps", start: "docker start",
			down:  "Start the daemon (systemctl start docker), or say where it is with service-url.",
			group: "docker", find: inspect, parse: parseInspect, exec: dockerExec,
		},
		"podman": {
			program: "podman", list: "podman ps", start: "podman start",
			down:  "Each user has containers of his own: is it this user's?",
			group: "root", find: inspect, parse: parseInspect, exec: dockerExec,
		},
		"lxd": {
			program: "lxc", list: "lxc list", start: "lxc start",
			down:  "Start LXD (lxd activateifneeded), or name another remote.",
			group: "lxd", find: lxcList, parse: parseList, exec: lxcExec,
		},
	}
}

// inspect takes a name, an ID, or the beginning of one.
func inspect(to *transport.Dest) []string {
	return []string{"inspect", "--type", "container", "--format", "{{.Id}} {{.State.Status}} {{.Config.User}}", to.Host}
}

func parseInspect(to *transport.Dest, out string) (box, bool) {
	f := strings.Fields(out)
	if len(f) < 2 || len(f) > 3 || !isHex(f[0]) {
		return box{}, false
	}
	b := box{id: f[0], state: strings.ToLower(f[1]), user: to.User, asked: to.User}
	if b.user == "" && len(f) == 3 {
		b.user, _, _ = strings.Cut(f[2], ":")
	}
	if b.user == "" {
		b.user = "root"
	}
	return b, true
}

// neverTyped is what would detach the program from a terminal: keys that nobody
// types and no data has in a row. docker takes no empty list for "none", and
// keeps back a last byte that is the first of them.
const neverTyped = "ctrl-_,ctrl-^,ctrl-_,ctrl-],ctrl-_,ctrl-^,ctrl-^,ctrl-],ctrl-_,ctrl-_,ctrl-^,ctrl-]"

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == ""
}

func dockerExec(b *box, tty bool) []string {
	args := []string{"exec", "-i"}
	if tty {
		args = append(args, "-t", "--detach-keys", neverTyped)
	}
	if b.asked != "" {
		args = append(args, "-u", b.asked)
	}
	return append(args, b.id)
}

// remote is the part of an instance's name that says where it is.
func remote(to *transport.Dest) string {
	given, _ := to.Options.(Tool)
	if given.Service == "" {
		return ""
	}
	return given.Service + ":"
}

// lxcList filters by a regular expression. A dot in it is any character.
func lxcList(to *transport.Dest) []string {
	return []string{"list", remote(to), "^" + to.Host + "$", "--format", "csv", "-c", "ns"}
}

func parseList(to *transport.Dest, out string) (box, bool) {
	for line := range strings.Lines(out) {
		name, state, ok := strings.Cut(strings.TrimSpace(line), ",")
		switch {
		case !ok:
			return box{}, false
		case name == to.Host:
			b := box{id: remote(to) + name, state: strings.ToLower(state), user: to.User, asked: to.User}
			if b.user == "" {
				b.user = "root"
			}
			return b, true
		}
	}
	return box{}, true
}

func lxcExec(b *box, tty bool) []string {
	mode := "non-interactive"
	if tty {
		mode = "interactive"
	}
	args := []string{"exec", b.id, "--mode", mode}
	if b.asked != "" {
		args = append(args, "--user", b.asked)
	}
	return append(args, "--")
}

// isNumber reports whether a user is named by number, as lxc wants it.
func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}
