package puppetcompiler

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/catalog/static"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/program"
	"bolt/puppet/eval"
)

// maxMessage is the number of bytes of a message of Puppet that are kept. An error ends with
// its position.
const maxMessage = 8 << 10

// ProgramOptions describe how an installed puppet compiles.
type ProgramOptions struct {
	// Path is the program; "" means puppet on PATH, or the puppet of Puppet's own packages.
	Path string
	// EnvironmentPath is the directory of the environments. Environment is the environment
	// of nodes that name none.
	EnvironmentPath, Environment string
	// Hiera is the hiera.yaml of the global layer, "" for none.
	Hiera string
	// Env is the environment of the program: NAME=value.
	Env []string
}

// A Program compiles with an installed puppet (version 7 or 8). Each call runs it once, with
// its own configuration and state in a temporary directory.
type Program struct {
	o ProgramOptions

	mu    sync.Mutex // guards files
	files map[string]*static.Sources
}

// sources returns the files of an environment. Puppet's catalogs do not contain their
// digests.
func (p *Program) sources(ctx context.Context, env string) (*static.Sources, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.files[env]; s != nil {
		return s, nil
	}
	s, err := site.Sources(ctx, p.o.EnvironmentPath, env)
	if err != nil {
		return nil, err
	}
	p.files[env] = s
	return s, nil
}

// packaged is the path at which Puppet's own packages install it.
const packaged = "/opt/puppetlabs/bin/puppet"

// NewProgram finds the program. The error is a *fault.Error.
func NewProgram(o ProgramOptions) (*Program, error) {
	dir, err := filepath.Abs(o.EnvironmentPath)
	if err != nil {
		return nil, fault.File(o.EnvironmentPath, err, "The directory '%s' could not be found: %v", o.EnvironmentPath, err)
	}
	o.EnvironmentPath = dir
	if o.Path == "" {
		if o.Path, err = find(); err != nil {
			return nil, err
		}
	}
	return &Program{o: o, files: make(map[string]*static.Sources)}, nil
}

func find() (string, error) {
	if path, err := exec.LookPath("puppet"); err == nil {
		return filepath.Abs(path)
	}
	if _, err := os.Stat(packaged); err == nil {
		return packaged, nil
	}
	e := fault.New(site.Kind, "The program puppet was not found on this machine.")
	e.Hint = "Install Puppet (Debian: apt-get install puppet-agent), or use --compiler bolt."
	return "", e
}

// Compile runs puppet for a node.
func (p *Program) Compile(ctx context.Context, n site.Node) (*compile.Result, error) {
	// The name becomes an argument of puppet, and part of the names of files that it reads.
	if strings.HasPrefix(n.Name, "-") || strings.ContainsAny(n.Name, "/ \n") || strings.Contains(n.Name, "..") {
		return nil, fault.New(site.Kind, "%q cannot be the name of a node of Puppet.", n.Name)
	}
	env := n.Environment
	if env == "" {
		env = p.o.Environment
	}
	files, err := p.sources(ctx, env)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bolt-puppet-") // only this user can read it
	if err != nil {
		return nil, fault.File(os.TempDir(), err, "Puppet needs a temporary directory: %v", err)
	}
	defer os.RemoveAll(dir)
	if err := writeFacts(dir, n); err != nil {
		return nil, fault.New(site.Kind, "The facts of %s could not be written for Puppet: %v", n.Name, err)
	}
	code := filepath.Dir(p.o.EnvironmentPath)
	argv := []string{p.o.Path, "catalog", "compile", n.Name, "--render-as", "rich_data_json", "--color", "false",
		"--confdir", filepath.Join(dir, "conf"), "--vardir", dir, "--logdir", filepath.Join(dir, "log"), "--rundir", filepath.Join(dir, "run"),
		"--codedir", code, "--basemodulepath", filepath.Join(code, "modules") + ":/opt/puppetlabs/puppet/modules",
		"--environmentpath", p.o.EnvironmentPath, "--environment", env, "--facts_terminus", "json"}
	if p.o.Hiera != "" {
		argv = append(argv, "--hiera_config", p.o.Hiera)
	}
	classified, err := writeClasses(dir, n)
	if err != nil {
		return nil, fault.New(site.Kind, "The classes of %s could not be written for Puppet: %v", n.Name, err)
	}
	if classified {
		argv = append(argv, "--node_terminus", "exec", "--external_nodes", "/bin/sh ./"+script)
	}
	said := messages{node: n.Name}
	out, err := program.Run(ctx, program.Command{
		Argv: argv, Dir: dir, Env: slices.Concat(p.o.Env, []string{"LC_ALL=C.UTF-8", "LANGUAGE=en"}), Log: said.add, MaxLine: maxMessage,
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	logged, answer := split(out)
	for line := range strings.Lines(logged) {
		said.add(strings.TrimRight(line, "\n"))
	}
	said.tell(n, err != nil)
	if failed := said.err(); err != nil && failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, fault.New(site.Kind, "puppet catalog compile: %v", err)
	}
	c, err := catalog.Parse(answer)
	if err != nil {
		return nil, fault.New(site.Kind, "The output of %s is not a catalog: %v", p.o.Path, err)
	}
	if err := site.Resolve(ctx, files, c, n); err != nil {
		return nil, err
	}
	return &compile.Result{Catalog: c}, nil
}

// writeFacts writes the file for Puppet's facts terminus json. An agent adds the fact
// clientcert, from which Puppet makes $trusted.
func writeFacts(dir string, n site.Node) error {
	values, err := facts(n.Facts)
	if err != nil {
		return err
	}
	if _, is := values.Get("clientcert"); !is {
		values.Set("clientcert", n.Name)
	}
	text, err := ordered.Of("name", n.Name, "values", values).MarshalJSON()
	if err != nil {
		return err
	}
	sub := filepath.Join(dir, "server_data", "facts")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(sub, n.Name+".json"), text, 0o600)
}

// script is the name of a node classifier in the directory of a run. Puppet splits its
// setting external_nodes at blanks, so the path must have none.
const script = "classify.sh"

// writeClasses writes a node classifier for Puppet, if there is something to classify.
func writeClasses(dir string, n site.Node) (bool, error) {
	if len(n.Classes) == 0 && len(n.Declared) == 0 && n.Variables == nil {
		return false, nil
	}
	classes := &ordered.Map{}
	for _, c := range n.Declared {
		params, err := facts(c.Params)
		if err != nil {
			return false, err
		}
		classes.Set(c.Name, params)
	}
	for _, name := range n.Classes {
		if _, declared := classes.Get(name); !declared {
			classes.Set(name, &ordered.Map{})
		}
	}
	variables, err := facts(n.Variables)
	if err != nil {
		return false, err
	}
	// JSON is YAML.
	text, err := ordered.Of("classes", classes, "parameters", variables).MarshalJSON()
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(dir, "classes.yaml"), text, 0o600); err != nil {
		return false, err
	}
	return true, os.WriteFile(filepath.Join(dir, script), []byte("cat classes.yaml\n"), 0o600)
}

// split divides the output into messages and the catalog, which is the last line.
func split(out []byte) (logged string, answer []byte) {
	out = bytes.TrimRight(out, "\n")
	i := bytes.LastIndexByte(out, '\n') + 1
	if i < len(out) && out[i] == '{' {
		return string(out[:i]), out[i:]
	}
	return string(out), nil
}

// messages are the messages that Puppet printed: "Level: text", of one or several lines.
type messages struct {
	node string
	list []eval.Log
}

// add adds a line.
func (m *messages) add(line string) {
	name, text, found := strings.Cut(line, ": ")
	if found && slices.Contains([]string{"Debug", "Info", "Notice", "Warning", "Error"}, name) {
		m.list = append(m.list, message(name, "", text))
	} else if len(m.list) > 0 {
		m.list[len(m.list)-1].Msg += "\n" + line
	}
}

// err returns the last error. Puppet repeats an error with more and more text before it.
func (m *messages) err() error {
	for _, l := range slices.Backward(m.list) {
		if l.Level == eval.Err && !strings.HasPrefix(l.Msg, "Try 'puppet help") && !strings.HasPrefix(l.Msg, facter) {
			return failure(m.node, strings.TrimPrefix(l.Msg, "Could not call 'find' on 'catalog': "))
		}
	}
	return nil
}

// tell logs the messages. If Puppet made a catalog, its errors become warnings; otherwise
// err returns them. Errors of Facter are about this machine and not about the node.
func (m *messages) tell(n site.Node, failed bool) {
	if n.Log == nil {
		return
	}
	for i, l := range m.list {
		switch {
		case l.Level != eval.Err:
		case strings.HasPrefix(l.Msg, facter):
			l.Level = eval.Info
		case failed:
			continue
		default:
			l.Level = eval.Warning
		}
		if i == 0 || m.list[i-1].Msg != l.Msg {
			n.Log(l)
		}
	}
}

// facter begins the errors of Facter, which Puppet runs for the facts of the server.
const facter = "Facter: "
