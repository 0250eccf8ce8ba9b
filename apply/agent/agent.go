// Package agent applies a catalog with a Puppet that is installed on the machine, for resource types that only
// Ruby code knows.
//
// Puppet reads the catalog and the contents of its sources from a private directory, and writes its report there.
// Everything else is as in the installation: its configuration, the plugins and the state of schedules in
// its vardir, and its file bucket. The values of parameters are never arguments of a program.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/plugins"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
)

// A Job is one application of a catalog.
type Job struct {
	Catalog *catalog.Catalog
	// Dir is a directory that exists, is empty, and belongs to the user of the process alone. The
	// caller removes it.
	Dir            string
	Noop           bool
	Tags, SkipTags []string
	// Plugins is the package (package plugins) of the code of modules; nil for none. Puppet finds
	// its own code and that of its vardir, too.
	Plugins io.Reader
	// Stop is the path of a file that requests the end of the run: Puppet then finishes the present resource, and skips the rest. It need
	// not exist. "" requests nothing. A Puppet that unsets RUBYOPT does not read it.
	Stop string
}

// Install is where the packages of Puppet's makers put the program. It need not be in PATH.
const Install = "/opt/puppetlabs/bin"

// ErrNoPuppet is the error of Find.
var ErrNoPuppet = errors.New("no Puppet is installed there: puppet is not in PATH or in " + Install)

// Find returns the path of the installed Puppet.
func Find(h *resource.Host) (string, error) {
	program := h.Find("puppet")
	if program == "" {
		installed := *h
		installed.Env = append(append([]string{}, h.Env...), "PATH="+Install)
		program = installed.Find("puppet")
	}
	if program == "" {
		return "", ErrNoPuppet
	}
	return program, nil
}

// A RefusedError is the error of Apply if Puppet could not use the catalog. Nothing was changed.
type RefusedError struct{ Messages []string }

func (e *RefusedError) Error() string { return strings.Join(e.Messages, "\n") }

// Apply applies the catalog. It gives each the result of every resource, once, in the order of the
// catalog, and then those of generated resources. ctx does not end Puppet: a transaction of a package manager must not be
// interrupted.
func (j *Job) Apply(ctx context.Context, h *resource.Host, program string, each func(*report.Result), log func(*report.Log)) error {
	if err := j.write(h); err != nil {
		return err
	}
	out, err := h.Run(ctx, &resource.Command{Argv: append([]string{program}, j.arguments(h.Diffs)...), Env: j.environ(h.Env), Dir: j.Dir, Session: true})
	if err != nil {
		return err
	}
	hide := hider(j.Catalog)
	text, err := os.ReadFile(j.path(reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return &RefusedError{complaints(out, hide)}
	}
	if err != nil {
		return err
	}
	var r puppetReport
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("the report of Puppet: %w", err)
	}
	if len(r.Statuses) == 0 && r.Status == "failed" && !j.stopped() {
		return &RefusedError{r.errors(hide)}
	}
	r.results(j.Catalog, hide, each, log)
	return nil
}

// The names in Job.Dir.
const (
	catalogName = "catalog.json"
	contentName = "content"
	reportName  = "report.json"
	routesName  = "routes.yaml"
	summaryName = "summary.yaml"
	modulesName = "modules"
	stopName    = "stop.rb"
)

func (j *Job) path(name ...string) string {
	return filepath.Join(append([]string{j.Dir}, name...)...)
}

// routes lets Puppet write its report as JSON. The file replaces that of the installation, which could send the report
// somewhere else.
const routes = "apply:\n  report:\n    cache: json\n"

// stopCode lets Puppet look for the file Job.Stop: Puppet::Application.stop! ends a transaction before its next resource. The programs that Puppet
// starts get the variables that Puppet itself had.
const stopCode = `ENV['RUBYOPT'] = ENV.delete('BOLT_RUBYOPT')
path = ENV.delete('BOLT_STOP')
Thread.new do
  sleep 0.5 until File.exist?(path)
  sleep 0.1 until defined?(Puppet::Application.stop!)
  Puppet::Application.stop!
end
`

// environ returns the environment of Puppet.
func (j *Job) environ(env []string) []string {
	if j.Stop == "" {
		return env
	}
	list := []string{"RUBYOPT=-r" + j.path(stopName), "BOLT_STOP=" + j.Stop}
	for _, e := range env {
		if value, is := strings.CutPrefix(e, "RUBYOPT="); is {
			list[0] += " " + value
			list = append(list, "BOLT_RUBYOPT="+value)
			continue
		}
		list = append(list, e)
	}
	return list
}

// stopped reports whether the end of the run was requested.
func (j *Job) stopped() bool {
	_, err := os.Lstat(j.Stop)
	return j.Stop != "" && err == nil
}

// environment is the one that Puppet has without a directory for it. If the catalog had another one, Puppet would apply it
// in that environment, with other plugins.
const environment = "production"

func (j *Job) arguments(diffs bool) []string {
	args := []string{
		"apply", "--catalog", j.path(catalogName), "--report", "--reports", "none", "--route_file", j.path(routesName),
		"--lastrunreport", j.path(reportName), "--lastrunfile", j.path(summaryName), "--color", "false", "--log_level", "notice", "--logdest", "console",
		"--modulepath", j.path(modulesName), "--environment", environment,
	}
	add := func(given bool, words ...string) {
		if given {
			args = append(args, words...)
		}
	}
	add(diffs, "--show_diff")
	add(!diffs, "--no-show_diff")
	add(j.Noop, "--noop")
	add(!j.Noop, "--no-noop")
	add(len(j.Tags) > 0, "--tags", strings.Join(j.Tags, ","))
	add(len(j.SkipTags) > 0, "--skip_tags", strings.Join(j.SkipTags, ","))
	return args
}

// write writes the input of Puppet.
func (j *Job) write(h *resource.Host) error {
	if err := errors.Join(os.Mkdir(j.path(contentName), 0o700), os.Mkdir(j.path(modulesName), 0o700)); err != nil {
		return err
	}
	if j.Plugins != nil {
		if err := plugins.Unpack(j.Plugins, j.path(modulesName)); err != nil {
			return err
		}
	}
	l := layout{dir: j.path(contentName), open: h.Content}
	c := *j.Catalog
	c.Environment = environment
	if err := l.place(&c); err != nil {
		return err
	}
	text, err := json.Marshal(&c)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(j.path(catalogName), text, 0o600), os.WriteFile(j.path(routesName), []byte(routes), 0o600), os.WriteFile(j.path(stopName), []byte(stopCode), 0o600))
}

// A layout puts the contents of sources where Puppet looks for them: at the path of their metadata, and for a tree
// at the relative path below it.
type layout struct {
	dir  string
	open func(sum string) (io.ReadCloser, error)
	n    int
}

func (l *layout) place(c *catalog.Catalog) error {
	files := make(map[string]*catalog.FileMeta, len(c.Files))
	for title, f := range c.Files {
		placed, err := l.file(f, l.next())
		if err != nil {
			return err
		}
		files[title] = placed
	}
	trees := make(map[string][]catalog.Tree, len(c.Trees))
	for title, list := range c.Trees {
		for _, t := range list {
			root := l.next()
			placed := catalog.Tree{Source: t.Source}
			for _, f := range t.Files {
				g, err := l.file(f, root)
				if err != nil {
					return err
				}
				placed.Files = append(placed.Files, g)
			}
			trees[title] = append(trees[title], placed)
		}
	}
	c.Files, c.Trees = files, trees
	return nil
}

func (l *layout) next() string {
	l.n++
	return filepath.Join(l.dir, fmt.Sprint(l.n))
}

// noTime is the checksum of a directory. Puppet needs one, and does not use it.
const noTime = "{ctime}1970-01-01 00:00:00 +0000"

// file returns the metadata of a file whose path, or whose path above the relative one, is root. Content that the machine has already is
// not written: Puppet does not read it.
func (l *layout) file(f *catalog.FileMeta, root string) (*catalog.FileMeta, error) {
	g := *f
	g.Path = root
	if g.Type != "file" {
		g.SumType, g.Sum = "ctime", noTime
		return &g, nil
	}
	in, err := l.open(strings.TrimPrefix(f.Sum, "{sha256}"))
	if errors.Is(err, fs.ErrNotExist) {
		return &g, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	name := root
	if f.Relative != "" {
		if !filepath.IsLocal(f.Relative) {
			return nil, fmt.Errorf("the relative path %q of a source leads out of it", f.Relative)
		}
		name = filepath.Join(root, f.Relative)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(out, in)
	return &g, errors.Join(err, out.Close())
}
