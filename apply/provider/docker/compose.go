package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/format/yaml"
)

// A project is the part that docker_compose and docker_stack share: services in files, and the containers that run them.
type project struct {
	r       *resource.Resource
	typ     string
	name    string
	ensure  string // present, absent, or "" if it is not managed
	files   []string
	upArgs  []string
	running bool // Read
}

func newProject(f *resource.Fields, typ string) project {
	x := project{r: f.R, typ: typ, name: f.Name("/"), ensure: f.Text("ensure", ""), upArgs: strings.Fields(f.Text("up_args", ""))}
	files, is := f.R.Params.Value("compose_files").([]any)
	if is {
		x.files = f.Texts("compose_files")
	}
	if !is && x.ensure != "" || is && len(files) == 0 {
		f.Refuse("compose_files", "must be a list of files")
	}
	for _, file := range x.files {
		if !filepath.IsAbs(file) {
			f.RefuseValue("compose_files", "must be absolute paths", file)
		}
	}
	refuseSecrets(f, "compose_files", "up_args", "options", "bundle_file")
	return x
}

// Plan implements resource.Item.
func (x *project) Plan() ([]resource.Change, error) {
	switch {
	case x.ensure == "absent" && x.running:
		return resource.Removed(x.typ), nil
	case x.ensure == "present" && !x.running:
		return resource.Created(x.typ), nil
	}
	return nil, nil
}

// containers counts the running containers with a label, by their service and image.
func containers(ctx context.Context, h *resource.Host, service, filter string) (map[string]int, error) {
	out, err := run(ctx, h, call{args: []string{"ps", "--format", `{{.Label "` + service + `"}}-{{.Image}}`, "--filter", "label=" + filter}})
	counts := make(map[string]int)
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			counts[line]++
		}
	}
	return counts, err
}

// services returns the services of a file of compose.
func services(text, file string) (top, services *ordered.Map, err error) {
	v, err := yaml.DecodeData([]byte(text), file)
	if err != nil {
		return nil, nil, err
	}
	top, is := v.(*ordered.Map)
	if is {
		services, is = top.Value("services").(*ordered.Map)
	}
	if !is {
		return nil, nil, fmt.Errorf("%s has no services", file)
	}
	return top, services, nil
}

// images returns the names that the image of a service can have. A service names its image itself, or extends another
// service with an image, or compose builds the image and gives it a name.
func images(all *ordered.Map, service, project string) []string {
	for range all.Len() + 1 { // a service can extend itself through others
		s, is := all.Value(service).(*ordered.Map)
		if !is {
			return nil
		}
		if image, is := s.Value("image").(string); is && image != "" {
			return []string{image}
		}
		switch extends := s.Value("extends").(type) {
		case string:
			service = extends
			continue
		case *ordered.Map:
			if service, is = extends.Value("service").(string); is {
				continue
			}
		}
		if s.Value("build") != nil {
			return []string{project + "_" + service, project + "-" + service}
		}
		return nil
	}
	return nil
}

// count returns the number of containers of a service.
func count(counts map[string]int, service string, images []string) (n int) {
	for _, image := range images {
		n += counts[service+"-"+image]
	}
	return n
}

// Compose returns the type docker_compose.
func Compose() resource.Type { return composeType{} }

type composeType struct{}

// A composed is one project of docker compose.
type composed struct {
	project
	options []string
	scale   map[string]int64
	temp    string // tmpdir
}

// New implements resource.Type.
func (composeType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &composed{project: newProject(&f, "docker_compose"), options: f.Texts("options"), temp: f.Text("tmpdir", "")}
	if v, given := r.Params.Get("scale"); given && v != nil {
		m, is := v.(*ordered.Map)
		if !is {
			f.Refuse("scale", "must be a hash of services with numbers")
			return x, f.Err
		}
		x.scale = make(map[string]int64)
		for service, n := range m.All() {
			number, is := n.(int64)
			if !is || number < 0 || service == "" || strings.HasPrefix(service, "-") {
				f.Refuse("scale", "must be a hash of services with numbers")
			}
			x.scale[service] = number
		}
	}
	return x, f.Err
}

// call is a run of docker compose for the project.
func (x *composed) call(args ...string) call {
	c := call{args: []string{"compose"}, long: true}
	for _, file := range x.files {
		c.args = append(c.args, "-f", file)
	}
	c.args = append(append(append(c.args, x.options...), "-p", x.name), args...)
	if x.temp != "" {
		c.vars = []string{"TMPDIR=" + x.temp}
	}
	return c
}

// Read implements resource.Item.
func (x *composed) Read(ctx context.Context, h *resource.Host) (err error) {
	if x.ensure == "" {
		return nil
	}
	if info, err := os.Stat(x.temp); x.temp != "" && (err != nil || !info.IsDir()) {
		h.Logf(x.r.Ref, report.Warning, "the directory of tmpdir, %s, does not exist", x.temp)
		x.temp = ""
	}
	x.running, err = x.isRunning(ctx, h)
	return err
}

func (x *composed) isRunning(ctx context.Context, h *resource.Host) (bool, error) {
	text, err := run(ctx, h, x.call("config"))
	if err != nil {
		return false, err
	}
	_, all, err := services(text, "the output of docker compose config")
	if err != nil {
		return false, err
	}
	counts, err := containers(ctx, h, "com.docker.compose.service", "com.docker.compose.project="+x.name)
	if err != nil {
		return false, err
	}
	wanted := 0
	for service, v := range all.All() {
		if s, is := v.(*ordered.Map); is && s.Value("restart") == "no" { // it can have ended
			for _, image := range images(all, service, x.name) {
				delete(counts, service+"-"+image)
			}
			continue
		}
		wanted++
		n := count(counts, service, images(all, service, x.name))
		if scale, given := x.scale[service]; n == 0 || given && int64(n) != scale {
			return false, nil
		}
	}
	for service := range x.scale {
		if _, there := all.Get(service); !there {
			return false, nil
		}
	}
	return wanted > 0 && wanted == len(counts), nil
}

// Do implements resource.Item.
func (x *composed) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.ensure == "present" {
		return x.up(ctx, h)
	}
	return x.all(ctx, h, []string{"kill"}, []string{"rm", "--force", "-v"})
}

// all runs several commands of docker compose.
func (x *composed) all(ctx context.Context, h *resource.Host, commands ...[]string) error {
	for _, args := range commands {
		if _, err := run(ctx, h, x.call(args...)); err != nil {
			return err
		}
	}
	return nil
}

func (x *composed) up(ctx context.Context, h *resource.Host) error {
	commands := [][]string{append(append([]string{"up"}, x.upArgs...), "-d", "--remove-orphans")}
	if len(x.scale) > 0 {
		scale := []string{"scale"}
		for service, n := range x.scale {
			scale = append(scale, service+"="+strconv.FormatInt(n, 10))
		}
		slices.Sort(scale[1:])
		commands = append(commands, scale)
	}
	return x.all(ctx, h, commands...)
}

// Refresh builds the images again, and restarts a project that runs.
func (x *composed) Refresh(ctx context.Context, h *resource.Host, made []resource.Change) error {
	if x.ensure == "" || x.ensure == "absent" || len(made) > 0 {
		return nil
	}
	running, err := x.isRunning(ctx, h)
	if err != nil || !running {
		return err
	}
	if err := x.all(ctx, h, []string{"kill"}, []string{"build"}); err != nil {
		return err
	}
	return x.up(ctx, h)
}

// Stack returns the type docker_stack.
func Stack() resource.Type { return stackType{} }

type stackType struct{}

// A stack is one stack of a swarm.
type stack struct {
	project
	bundle string
}

// New implements resource.Type.
func (stackType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &stack{project: newProject(&f, "docker_stack"), bundle: f.Text("bundle_file", "")}
	return x, f.Err
}

// Read implements resource.Item.
func (x *stack) Read(ctx context.Context, h *resource.Host) error {
	if x.ensure == "" {
		return nil
	}
	all := &ordered.Map{}
	for _, file := range x.files {
		text, exists, err := textfile.Read(ctx, file)
		if err == nil && !exists {
			err = fmt.Errorf("%s does not exist", file)
		}
		if err != nil {
			return err
		}
		top, list, err := services(text, file)
		if err != nil {
			return err
		}
		if version := fmt.Sprint(top.Value("version")); version != "3" && !slices.Contains(versions[:], version) {
			return errors.New(file + " has a version other than 3 to 3.7")
		}
		for service, v := range list.All() {
			all.Set(service, v)
		}
	}
	counts, err := containers(ctx, h, "com.docker.swarm.service.name", "com.docker.stack.namespace="+x.name)
	if err != nil {
		return err
	}
	x.running = all.Len() > 0 && all.Len() == len(counts)
	for service := range all.All() {
		names := images(all, service, x.name)
		for i, image := range names {
			if !strings.Contains(image, ":") {
				names[i] += ":latest"
			}
		}
		x.running = x.running && count(counts, x.name+"_"+service, names) > 0
	}
	return nil
}

// versions are the versions of the format of compose files that stacks can have.
var versions = [...]string{"3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7"}

// Do implements resource.Item.
func (x *stack) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	args := []string{"stack", "rm", x.name}
	if x.ensure == "present" {
		args = []string{"stack", "deploy"}
		if x.bundle != "" {
			args = append(args, "-c", x.bundle)
		}
		for _, file := range x.files {
			args = append(args, "-c", file)
		}
		args = append(append(args, x.upArgs...), x.name)
	}
	_, err := run(ctx, h, call{args: args, long: true, changes: true})
	return err
}
