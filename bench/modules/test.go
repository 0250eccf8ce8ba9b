package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider"
	"bolt/catalog"
	"bolt/format/ordered"
)

// node is the name of the made-up machine.
const node = "web1.example.com"

// limit is the time for one command.
const limit = 5 * time.Minute

// An outcome is the content of a cell.
type outcome struct {
	done   bool // there is a result
	ok     bool
	reason string // for a failure
}

func (o outcome) cell() string {
	switch {
	case !o.done:
		return ""
	case o.ok:
		return "yes"
	}
	return "no"
}

// A result is the row of a module.
type result struct {
	module   module
	version  string  // "" if the module is not installed
	compiles outcome // bolt compiles the manifest
	same     outcome // the catalog is equal to Puppet's catalog
	applied
	foreign []string // types of resources that bolt does not apply itself
}

// A tester runs the commands.
type tester struct {
	data                fs.FS
	bolt, modules, work string
	puppet, verbose     bool
	jobs                int    // modules at the same time
	base                string // the directory of the Debian of the machines; "" to apply nothing
}

func (t *tester) test(ctx context.Context, m module) (result, error) {
	r := result{module: m}
	var err error
	if r.version, err = version(filepath.Join(t.modules, m.short())); err != nil || r.version == "" {
		return r, err
	}
	env, err := t.environment(m)
	if err != nil {
		return r, err
	}
	mine, reason, err := t.compile(ctx, m, env, "bolt")
	if err != nil {
		return r, err
	}
	r.compiles = outcome{true, mine != "", reason}
	if mine != "" {
		if r.foreign, err = foreign(mine); err != nil {
			return r, err
		}
	}
	if t.base != "" && mine != "" && len(r.foreign) == 0 && m.facts == "debian" {
		if r.applied, err = t.apply(ctx, m, env, mine); err != nil {
			return r, err
		}
	}
	if !t.puppet {
		return r, nil
	}
	theirs, reason, err := t.compile(ctx, m, env, "puppet", "--compiler", "puppet")
	switch {
	case err != nil:
		return r, err
	case theirs == "":
		r.same = outcome{true, false, "puppet: " + reason}
	case mine != "":
		out, code, err := t.run(ctx, "catalog", "diff", theirs, mine, "--exit-code")
		if err != nil {
			return r, err
		}
		if r.same = (outcome{done: true, ok: code == 0}); code != 0 {
			r.same.reason = strings.TrimSpace(string(out))
		}
	}
	return r, nil
}

// version returns the version in the metadata of a module, or "" without the
// module.
func version(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	v, err := ordered.ParseJSON(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	m, _ := v.(*ordered.Map)
	if m == nil {
		return "", fmt.Errorf("%s: metadata.json is not an object", dir)
	}
	s, _ := m.Value("version").(string)
	return s, nil
}

// environment makes an environment with the manifest of a module.
func (t *tester) environment(m module) (string, error) {
	dir := filepath.Join(t.work, m.short())
	production := filepath.Join(dir, "production")
	if err := os.MkdirAll(filepath.Join(production, "manifests"), 0o755); err != nil {
		return "", err
	}
	for from, to := range map[string]string{
		"manifests/" + m.short() + ".pp": filepath.Join(production, "manifests", "site.pp"),
		"facts/" + m.facts + ".json":     filepath.Join(dir, "facts.json"),
	} {
		text, err := fs.ReadFile(t.data, from)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return "", err
		}
	}
	return dir, os.Symlink(t.modules, filepath.Join(production, "modules"))
}

// compile returns the file of the catalog, or the reason for its absence.
func (t *tester) compile(ctx context.Context, m module, env, name string, more ...string) (file, reason string, err error) {
	args := []string{"catalog", "compile", "--environment-path", env, "--node", node, "--facts", filepath.Join(env, "facts.json"), "--format", "json"}
	out, code, err := t.run(ctx, append(args, more...)...)
	if err != nil {
		return "", "", err
	}
	if code != 0 {
		return "", t.message(env, out), nil
	}
	file = filepath.Join(env, name+".json")
	return file, "", os.WriteFile(file, out, 0o644)
}

// message returns the message of an error in JSON, without the paths of this
// machine.
func (t *tester) message(env string, out []byte) string {
	msg := strings.TrimSpace(string(out))
	if v, err := ordered.ParseJSON(out); err == nil {
		if m, ok := v.(*ordered.Map); ok {
			msg, _ = m.Value("msg").(string)
		}
	}
	_, after, found := strings.Cut(msg, "could not be compiled: ")
	if found {
		msg = after
	}
	for _, dir := range []string{filepath.Join(env, "production", "modules"), t.modules, filepath.Join(env, "production", "manifests"), env} {
		msg = strings.ReplaceAll(msg, dir+"/", "")
	}
	return msg
}

// run runs bolt. The output of a command that fails includes its error output.
func (t *tester) run(ctx context.Context, args ...string) (out []byte, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.bolt, args...)
	cmd.Dir = t.work
	cmd.Env = append(os.Environ(), "BOLT_PROJECT="+t.work)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		out = stdout.Bytes()
		if len(bytes.TrimSpace(out)) == 0 {
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			out = []byte(lines[len(lines)-1])
		}
		return out, exit.ExitCode(), nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return []byte(fmt.Sprintf("bolt %s took longer than %v", args[1], limit)), -1, nil
	}
	return stdout.Bytes(), 0, err
}

// foreign returns the types of resources of a catalog that bolt has no provider
// for.
func foreign(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return nil, err
	}
	known := provider.All()
	var types []string
	for _, r := range c.Resources() {
		name := r.Ref.Type
		if _, ok := known[name]; ok || r.Kind != catalog.KindType || name == "Stage" || name == "Schedule" || slices.Contains(types, name) {
			continue
		}
		types = append(types, name)
	}
	slices.Sort(types)
	return types, nil
}
