package container

import (
	"strconv"
	"strings"

	"bolt/transport"
)

// A tool is a program for containers, with its arguments.
//
// Sources: docker-exec(1), docker-inspect(1), podman-exec(1),
// podman-inspect(1), and the output of "lxc exec --help" and "lxc list --help".
type tool struct {
	program string // searched on PATH
	service string // its environment variable with the address of the daemon; "" if there is none
	list    string // command that lists the containers, for hints
	start   string // command that starts a container
	down    string // what to do if its daemon does not answer
	group   string // group whose members may use it

	// find returns the arguments that print the requested container.
	find func(to *transport.Dest) []string
	// parse parses the output of find. ok is false if the output is not a
	// description of a container.
	parse func(to *transport.Dest, out string) (b box, ok bool)
	// exec returns the arguments before a command.
	exec func(b *box, tty bool) []string
}

// A box is a container that was found.
type box struct {
	id    string // "" if there is none
	state string // in lower case: running, exited, paused …
	user  string // user of the processes that are started in it
	asked string // requested user; "" for the container's default
}

// tools returns the transports of this package.
func tools() map[string]*tool {
	return map[string]*tool{
		"docker": {
			program: "docker", service: "DOCKER_HOST", list: "docker ps", start: "docker start",
			down:  "Start the daemon (systemctl start docker), or set service-url to its address.",
			group: "docker", find: inspect, parse: parseInspect, exec: dockerExec,
		},
		"podman": {
			program: "podman", list: "podman ps", start: "podman start",
			down:  "Each user has separate containers: check that the container belongs to this user.",
			group: "root", find: inspect, parse: parseInspect, exec: dockerExec,
		},
		"lxd": {
			program: "lxc", list: "lxc list", start: "lxc start",
			down:  "Start LXD (lxd activateifneeded), or set another remote.",
			group: "lxd", find: lxcList, parse: parseList, exec: lxcExec,
		},
	}
}

// inspect accepts a name, an ID, or the beginning of an ID.
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

// neverTyped is the key sequence that detaches the program from a terminal. No
// user types it and no data contains it. docker does not accept an empty
// sequence, and holds back a last byte that is the first key of the sequence.
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

// remote returns the part of an instance's name that names its remote.
func remote(to *transport.Dest) string {
	given, _ := to.Options.(Tool)
	if given.Service == "" {
		return ""
	}
	return given.Service + ":"
}

// lxcList filters by a regular expression. A dot in the host name matches any
// character.
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

// isNumber reports whether a user is a user ID, as lxc requires.
func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}
