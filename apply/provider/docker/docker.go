// Package docker applies resources of the types docker_network, docker_volume, docker_compose and docker_stack.
//
// The rules come from the module docker. All types run the command-line client docker(1). One run of it lists
// the networks, or the volumes, for all resources of the type.
package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

// limit ends a client that hangs. Images that compose and stack need can be large.
const (
	limit     = 5 * time.Minute
	longLimit = 2 * time.Hour
)

// A call is a run of docker.
type call struct {
	args    []string
	vars    []string // more variables of its environment
	long    bool     // it can load or build images
	changes bool     // it is not interrupted when a run is cancelled
}

// run runs docker and returns its standard output.
func run(ctx context.Context, h *resource.Host, c call) (string, error) {
	most := limit
	if c.long {
		most = longLimit
	}
	docker := &tool.Tool{Name: "docker", Hint: "Install it on the target", Limit: most, Vars: c.vars}
	out, err := docker.Run(ctx, h, &resource.Command{Argv: c.args, Session: c.changes})
	if err != nil {
		return "", err
	}
	return string(out.Stdout), out.Failure("docker " + c.args[0])
}

// refuseSecrets refuses Sensitive values that become arguments.
func refuseSecrets(f *resource.Fields, params ...string) {
	for _, p := range params {
		if f.R.Secret(p) {
			f.Refuse(p, "must not be Sensitive: it becomes an argument of docker, and every user of the machine can see arguments")
		}
	}
}

// A kind is a type of objects that docker creates and removes, but does not change.
type kind struct {
	command string      // network or volume
	flags   [][2]string // an option of docker, and its parameter
	free    string      // the parameter with any other options; "" for none
	fixed   string      // the property that cannot be set
	hasIPAM bool        // ipam_driver is a property
}

// Network returns the type docker_network.
func Network() resource.Type {
	return &kind{
		command: "network", free: "additional_flags", fixed: "id", hasIPAM: true,
		flags: [][2]string{{"--driver", "driver"}, {"--subnet", "subnet"}, {"--gateway", "gateway"}, {"--ip-range", "ip_range"},
			{"--ipam-driver", "ipam_driver"}, {"--aux-address", "aux_address"}, {"--opt", "options"}},
	}
}

// Volume returns the type docker_volume.
func Volume() resource.Type {
	return &kind{command: "volume", fixed: "mountpoint", flags: [][2]string{{"--driver", "driver"}, {"--opt", "options"}}}
}

// An object is a network or a volume.
type object struct {
	*kind
	name   string
	ensure string // present, absent, or "" if it is not managed
	args   []string
	driver string // "" if it is not managed
	ipam   string

	is struct {
		exists       bool
		driver, ipam string
	}
}

// New implements resource.Type.
func (k *kind) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &object{kind: k, name: f.Name("/"), driver: f.Text("driver", "")}
	if k.hasIPAM {
		x.ipam = f.Text("ipam_driver", "")
	}
	if x.driver != "" || x.ipam != "" { // as in Puppet, a managed property makes present the default
		x.ensure = "present"
	}
	x.ensure = f.Text("ensure", x.ensure)
	for _, flag := range k.flags {
		for _, v := range f.Texts(flag[1]) {
			x.args = append(x.args, flag[0]+"="+v)
		}
		refuseSecrets(&f, flag[1])
	}
	if k.free != "" {
		refuseSecrets(&f, k.free)
		if text, is := r.Params.Value(k.free).(string); is {
			x.args = append(x.args, strings.Fields(text)...)
		} else {
			x.args = append(x.args, f.Texts(k.free)...)
		}
	}
	if r.Params.Value(k.fixed) != nil {
		f.Refuse(k.fixed, "cannot be set: docker chooses it")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *object) Read(ctx context.Context, h *resource.Host) error {
	return x.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (k *kind) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	errs := make([]error, len(items))
	drivers, err := k.list(ctx, h)
	var inspected []string
	for i, it := range items {
		x := it.(*object)
		errs[i] = err
		x.is.driver, x.is.exists = drivers[x.name]
		if x.is.exists && x.ipam != "" {
			inspected = append(inspected, x.name)
		}
	}
	if err != nil || len(inspected) == 0 {
		return errs
	}
	ipams, err := inspect(ctx, h, inspected)
	for i, it := range items {
		if x := it.(*object); x.is.exists && x.ipam != "" {
			x.is.ipam, errs[i] = ipams[x.name], err
		}
	}
	return errs
}

// list returns the drivers of all objects, by name.
func (k *kind) list(ctx context.Context, h *resource.Host) (map[string]string, error) {
	out, err := run(ctx, h, call{args: []string{k.command, "ls", "--format", "{{json .}}"}})
	if err != nil {
		return nil, err
	}
	drivers := make(map[string]string)
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var line struct{ Name, Driver string }
		if err := d.Decode(&line); err != nil {
			return nil, fmt.Errorf("docker %s ls printed lines that are not JSON", k.command)
		}
		drivers[line.Name] = line.Driver
	}
	return drivers, nil
}

// inspect returns the IPAM drivers of networks.
func inspect(ctx context.Context, h *resource.Host, names []string) (map[string]string, error) {
	out, err := run(ctx, h, call{args: append([]string{"network", "inspect"}, names...)})
	if err != nil {
		return nil, err
	}
	var list []struct {
		Name string
		IPAM struct{ Driver string }
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&list); err != nil {
		return nil, errors.New("docker network inspect did not print JSON")
	}
	ipams := make(map[string]string)
	for _, n := range list {
		ipams[n.Name] = n.IPAM.Driver
	}
	return ipams, nil
}

// Plan implements resource.Item.
func (x *object) Plan() (changes []resource.Change, err error) {
	typ := "docker_" + x.command
	switch {
	case x.ensure == "absent" && x.is.exists:
		return resource.Removed(typ), nil
	case x.ensure == "present" && !x.is.exists:
		return resource.Created(typ), nil
	case !x.is.exists:
		return nil, nil
	}
	if x.driver != "" && x.driver != x.is.driver {
		changes = append(changes, resource.Change{Property: "driver", Is: x.is.driver, Should: x.driver})
	}
	if x.ipam != "" && x.ipam != x.is.ipam {
		changes = append(changes, resource.Change{Property: "ipam_driver", Is: x.is.ipam, Should: x.ipam})
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *object) Do(ctx context.Context, h *resource.Host, c *resource.Change) (err error) {
	switch {
	case c.Property != "ensure":
		return fmt.Errorf("docker cannot change a %s. Remove it first", x.command)
	case x.ensure == "absent":
		_, err = run(ctx, h, call{args: []string{x.command, "rm", x.name}, changes: true})
	default:
		_, err = run(ctx, h, call{args: append(append([]string{x.command, "create"}, x.args...), x.name), changes: true})
	}
	return err
}
