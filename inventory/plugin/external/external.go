// Package external calls plugins that are separate programs. The program
// bolt-plugin-NAME is the plugin NAME; a program with another name can provide
// several plugins (bolt-clouds).
//
// Each request is one process: bolt writes the request to the program's standard
// input and reads the response from its standard output, as package protocol
// defines them. A program's arguments and environment contain no part of a
// reference, because other users can read them.
package external

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/options"
	"bolt/inventory/plugin/program"
	"bolt/inventory/plugin/protocol"
	"bolt/modules"
)

// Prefix is the beginning of the names of programs; the name of the plugin
// follows.
const Prefix = "bolt-plugin-"

// Time limits. The first applies to a reference; 'timeout' under plugins in the
// project's configuration overrides it.
const (
	DefaultTimeout  = 10 * time.Minute
	describeTimeout = 10 * time.Second
)

// timeoutKey is the key of a plugin's configuration that is not sent to the
// program.
const timeoutKey = "timeout"

// Options set the directories and the environment of programs.
type Options struct {
	// Beside is the directory of this program. A named program is looked for
	// there first.
	Beside string
	// Dirs returns the directories of the project and its modules that can contain
	// programs. It is called for each search.
	Dirs func() []string
	// Path is the value of PATH. Relative directories in it are skipped.
	Path string
	// Environ is the environment of programs: NAME=value.
	Environ []string
	// Project is the directory that relative paths in references are relative to.
	Project string
	// Log receives the lines that a program writes to standard error; nil drops
	// them.
	Log func(plugin, line string)
	// Warn receives the warnings of a response; nil drops them.
	Warn func(id, text string)
}

// Programs finds and calls programs. It is safe for concurrent use if the
// functions of its options are.
type Programs struct{ o Options }

// New returns the programs of the options.
func New(o Options) *Programs { return &Programs{o} }

var _ plugin.Programs = (*Programs)(nil)

// Names returns the names of the plugins that are programs, sorted.
func (p *Programs) Names() []string {
	var names []string
	for _, dir := range p.dirs() {
		entries, _ := os.ReadDir(dir) // a directory of PATH need not exist
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), Prefix)
			if ok && modules.ValidName(name) && runnable(filepath.Join(dir, e.Name())) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Plugin returns the plugin of the program bolt-plugin-NAME; ok is false if
// there is no such program.
func (p *Programs) Plugin(name string) (n plugin.Native, ok bool) {
	if !modules.ValidName(name) {
		return plugin.Native{}, false
	}
	path, ok := first(p.dirs(), Prefix+name)
	if !ok {
		return plugin.Native{}, false
	}
	return plugin.Native{
		Name:       name,
		Configures: anyKey,
		Describe: func(ctx context.Context) (string, error) {
			return p.describe(ctx, path, name)
		},
		Resolve: func(ctx context.Context, config, ref *ordered.Map) (any, error) {
			return p.resolve(ctx, path, name, config, ref)
		},
	}, true
}

// Part returns a plugin that is part of a program that is installed with this
// one. If the program does not exist, Resolve returns an error.
func (p *Programs) Part(file, name, about string) plugin.Native {
	return plugin.Native{
		Name:       name,
		About:      about,
		Configures: anyKey,
		Resolve: func(ctx context.Context, config, ref *ordered.Map) (any, error) {
			path, err := p.installed(file, name)
			if err != nil {
				return nil, err
			}
			return p.resolve(ctx, path, name, config, ref)
		},
	}
}

// anyKey accepts every key, because the program checks the configuration.
func anyKey(string) bool { return true }

// installed finds a program that is installed with this one: beside it, in
// libexec/bolt of the same prefix, or on PATH.
func (p *Programs) installed(file, name string) (string, error) {
	var dirs []string
	where := ""
	if p.o.Beside != "" {
		libexec := filepath.Join(filepath.Dir(p.o.Beside), "libexec", "bolt")
		dirs = []string{p.o.Beside, libexec}
		where = fmt.Sprintf("in %s, in %s or ", p.o.Beside, libexec)
	}
	if path, ok := first(append(dirs, p.path()...), file); ok {
		return path, nil
	}
	return "", &fault.Error{
		Kind: protocol.KindPlugin,
		Msg:  fmt.Sprintf("the program %s, which provides the plugin %s, was not found %son PATH", file, name, where),
		Hint: fmt.Sprintf("Install %s beside bolt: 'make install' in bolt's source tree installs both programs.", file),
	}
}

// dirs returns the directories that can contain programs of any name.
func (p *Programs) dirs() []string {
	if p.o.Dirs == nil {
		return p.path()
	}
	return append(p.o.Dirs(), p.path()...)
}

func (p *Programs) path() []string {
	return slices.DeleteFunc(filepath.SplitList(p.o.Path), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// first returns the path of a program in the first directory that has it.
func first(dirs []string, file string) (string, bool) {
	for _, dir := range dirs {
		if path := filepath.Join(dir, file); runnable(path) {
			return path, true
		}
	}
	return "", false
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// resolve returns the value of a reference.
func (p *Programs) resolve(ctx context.Context, path, name string, config, ref *ordered.Map) (any, error) {
	o := options.New(name, &ordered.Map{}, ordered.Of(timeoutKey, config.Value(timeoutKey)))
	timeout := o.Seconds(timeoutKey, DefaultTimeout)
	if err := o.Err(); err != nil {
		return nil, err
	}
	config = config.Clone()
	config.Delete(timeoutKey)
	own := &ordered.Map{} // bolt itself reads keys with an underscore
	for k, v := range ref.All() {
		if !strings.HasPrefix(k, "_") {
			own.Set(k, v)
		}
	}
	r, err := p.call(ctx, path, protocol.Request{
		Request: protocol.ResolveReference, Plugin: name,
		Reference: own, Config: config, Project: p.o.Project, Timeout: timeout,
	})
	if err != nil {
		return nil, err
	}
	return r.Value, nil
}

// describe returns a plugin's description for lists.
func (p *Programs) describe(ctx context.Context, path, name string) (string, error) {
	r, err := p.call(ctx, path, protocol.Request{Request: protocol.Describe, Plugin: name, Timeout: describeTimeout})
	if err != nil {
		return "", err
	}
	if !slices.Contains(r.Capabilities, protocol.ResolveReference) {
		return "", fmt.Errorf("the program %s does not have the capability %s", path, protocol.ResolveReference)
	}
	return r.Description, nil
}

// call runs the program for one request.
func (p *Programs) call(ctx context.Context, path string, r protocol.Request) (*protocol.Response, error) {
	var in bytes.Buffer
	if err := protocol.WriteRequest(&in, r); err != nil {
		return nil, fmt.Errorf("the request to the program %s: %w", path, err)
	}
	cmd := program.Command{Argv: []string{path}, Env: p.o.Environ, Timeout: r.Timeout, Input: in.Bytes()}
	if p.o.Log != nil {
		cmd.Log = func(line string) { p.o.Log(r.Plugin, line) }
	}
	out, failed := program.Run(ctx, cmd)
	if failed != nil && len(bytes.TrimSpace(out)) == 0 {
		return nil, failed
	}
	answer, err := protocol.ReadResponse(out, r.Request)
	switch {
	case failed != nil && (err != nil || answer.Err == nil):
		return nil, failed // the exit status is more informative than the output
	case err != nil && len(bytes.TrimSpace(out)) == 0:
		return nil, fmt.Errorf("the program %s wrote no response", path)
	case err != nil:
		return nil, fmt.Errorf("the response of the program %s cannot be used: %w", path, err)
	}
	if p.o.Warn != nil {
		for _, w := range answer.Warnings {
			p.o.Warn(w.ID, w.Text)
		}
	}
	if e := answer.Err; e != nil {
		return nil, &fault.Error{Kind: e.Kind, Msg: e.Text, Hint: e.Hint}
	}
	return answer, nil
}
