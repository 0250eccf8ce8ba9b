// Package program is the plugin exec: it runs a program of this machine that
// prints a value.
//
//	targets:
//	  _plugin: exec
//	  command: [./machines.py, --site, berlin]
//
// The output is JSON or YAML, or with format: text the value itself. Other
// plugins that run programs use Run, too.
package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory/plugin/options"
)

// A Plugin resolves references.
type Plugin struct {
	// Project is the working directory of programs, and relative paths are
	// relative to it.
	Project string
	// Environ is the environment of programs: NAME=value.
	Environ []string
}

// Configures reports whether a project can set the key for all references.
func Configures(key string) bool { return key == "timeout" }

// Resolve runs the program of a reference and returns what it prints.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New("exec", ref, config)
	argv := r.Texts("command")
	if len(argv) == 0 || argv[0] == "" {
		r.Wrong("requires a 'command': a list of a program and its arguments")
	}
	dir := r.Text("dir")
	environment := r.Map("environment")
	timeout := r.Seconds("timeout", DefaultTimeout)
	format := r.Text("format")
	decode, known := formats()[format]
	if !known {
		r.Wrong("requires that 'format' is json, yaml or text")
	}
	env := p.Environ
	for name, v := range environment.All() {
		switch v.(type) {
		case string, int64, float64, bool:
		default:
			r.Wrong("requires that the values of 'environment' are Strings")
		}
		if name == "" || strings.ContainsAny(name, "=\x00") {
			r.Wrong("requires that the keys of 'environment' are names of variables")
		}
		env = append(env[:len(env):len(env)], fmt.Sprintf("%s=%v", name, v))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	program, err := p.find(argv[0])
	if err != nil {
		if _, words := ref.Value("command").(string); words && strings.ContainsAny(argv[0], " \t") {
			return nil, fmt.Errorf("%w. The command is not run by a shell: write a list, command: [%s]", err, strings.Join(strings.Fields(argv[0]), ", "))
		}
		return nil, err
	}
	out, err := Run(ctx, Command{Argv: append([]string{program}, argv[1:]...), Dir: Path(p.Project, dir), Env: env, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	v, err := decode(out)
	if err != nil {
		return nil, fmt.Errorf("the output of the program %s is not %s", told(argv[0]), err)
	}
	return v, nil
}

// find returns the path of a program: relative to the project if the name has a
// slash, else on PATH.
func (p *Plugin) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return Path(p.Project, name), nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", notStarted(told(name), err)
	}
	return path, nil
}

// Path returns path relative to dir; if path is "", it returns dir.
func Path(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// formats returns the parsers of a program's output. Their errors name the
// expected format and do not quote the output, because it may be a secret.
func formats() map[string]func([]byte) (any, error) {
	text := func(out []byte) (any, error) {
		if !utf8.Valid(out) {
			return nil, errors.New("text in UTF-8")
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r"), nil
	}
	json := func(out []byte) (any, error) {
		v, err := ordered.ParseJSON(out)
		if err != nil {
			return nil, errors.New("JSON (other formats are 'format: yaml' and 'format: text')")
		}
		return v, nil
	}
	yml := func(out []byte) (any, error) {
		v, err := yaml.Decode(out, "")
		if e, ok := errors.AsType[*yaml.Error](err); ok {
			return nil, fmt.Errorf("YAML that can be read (line %d)", e.Line)
		}
		return v, err
	}
	// Nearly every string is valid YAML, even an error message, so YAML must be
	// requested.
	return map[string]func([]byte) (any, error){"": json, "json": json, "yaml": yml, "text": text}
}
