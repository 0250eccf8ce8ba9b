package container

import (
	"time"

	"bolt/format/ordered"
	"bolt/transport"
	"bolt/transport/option"
)

// A Tool is the value of Dest.Options for these transports.
type Tool struct {
	// Service is the location of the containers: docker's DOCKER_HOST or lxd's
	// remote; "" for the program's default.
	Service string
	// Shell runs a line in a container; the line becomes its last argument. The
	// default is "sh -c".
	Shell transport.Words
}

// Transports returns the configuration options of docker, podman and lxd.
func Transports() []option.Transport {
	return []option.Transport{
		contained("docker", "service-url", ordered.Of("cleanup", true), option.Host(), option.Text("service-url")),
		contained("podman", "", ordered.Of("cleanup", true), option.Host()),
		contained("lxd", "remote", ordered.Of("cleanup", true, "remote", "local"), option.Text("remote")),
	}
}

// contained returns a container transport with its own options. service is the
// option with the location of the containers.
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

// firstAnswer limits the wait for the program's first answer. It cannot be
// configured.
const firstAnswer = 10 * time.Second
