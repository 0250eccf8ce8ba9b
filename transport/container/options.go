package container

import (
	"time"

	"bolt/format/ordered"
	"bolt/transport"
	"bolt/transport/option"
)

// A Tool is the value of Dest.Options for these transports.
type Tool struct {
	// Service is where the containers are: docker's DOCKER_HOST, lxd's remote; "" for the
	// program's own choice.
	Service string
	// Shell runs a line in a container, which becomes its last argument; none: "sh -c".
	Shell transport.Words
}

// Transports returns how docker, podman and lxd are configured.
func Transports() []option.Transport {
	return []option.Transport{
		contained("docker", "service-url", ordered.Of("cleanup", true), option.Host(), option.Text("service-url")),
		contained("podman", "", ordered.Of("cleanup", true), option.Host()),
		contained("lxd", "remote", ordered.Of("cleanup", true, "remote", "local"), option.Text("remote")),
	}
}

// contained describes a transport to containers with some options of its own.
// service is the one that says where the containers are.
func contained(name, service string, defaults *ordered.Map, own ...option.Option) option.Transport {
	shared := append(option.RunAs(), option.Cleanup(), option.Interpreters(), option.Text("shell-command"), option.TmpDir(), option.TTY())
	return option.Transport{
		Name:      name,
		NeedsHost: true,
		Options:   option.Sorted(append(shared, own...)...),
		Defaults:  defaults,
		Dest: func(config option.Values, to *transport.Dest) {
			to.Port = 0
			to.ConnectTimeout = firstAnswer
			to.Options = Tool{Service: config.Text(service), Shell: transport.NewWords(config.Words("shell-command"))}
		},
	}
}

// firstAnswer bounds the wait for the program's first answer. There is no option for it.
const firstAnswer = 10 * time.Second
