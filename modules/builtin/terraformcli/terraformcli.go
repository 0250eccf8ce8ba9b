// Package terraformcli implements the tasks of the module terraform. It runs the
// program terraform on this machine.
//
// Parameters, results and the kinds of errors are those of the module that ships
// with Puppet Bolt. The tasks apply, destroy, refresh and initialize return the output
// of terraform; the task output returns Terraform's output values.
package terraformcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
)

const (
	// maxOutput is the number of bytes that are kept of each output stream of terraform.
	maxOutput = 16 << 20
	// patience is the time that terraform has to end after an interrupt. In this time,
	// it writes its state and releases its lock.
	patience = 30 * time.Second
)

// validationError is the kind of error of a command that cannot be started.
const validationError = "terraform/validation-error"

// Tasks returns the tasks by the names that their metadata uses. A task returns an
// error only if its context ends; other errors are in its result.
func Tasks() map[string]func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
	return map[string]func(context.Context, *ordered.Map) (*ordered.Map, error){
		"terraform_apply":      changing("apply", "-auto-approve", "-input=false"),
		"terraform_destroy":    changing("destroy", "-auto-approve", "-input=false"),
		"terraform_refresh":    changing("refresh"),
		"terraform_initialize": task(initialize),
		"terraform_output":     task(output),
	}
}

// task makes a task of a function. It puts the function's error in the result.
func task(do func(ctx context.Context, params *ordered.Map) (*ordered.Map, error)) func(context.Context, *ordered.Map) (*ordered.Map, error) {
	return func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
		result, err := do(ctx, params)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			f, ok := errors.AsType[*fault.Error](err)
			if !ok {
				f = fault.New(validationError, "%v", err)
			}
			return ordered.Of("_error", f.Map()), nil
		}
		return result, nil
	}
}

// changing returns a task whose result is the output of a subcommand.
func changing(subcommand string, required ...string) func(context.Context, *ordered.Map) (*ordered.Map, error) {
	return task(func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
		return printed(ctx, params, subcommand, "terraform/"+subcommand+"-error", required...)
	})
}

// initialize prepares a directory that is not prepared yet.
func initialize(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
	dir, err := directory(params)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(filepath.Join(dir, ".terraform")); err == nil && info.IsDir() {
		return ordered.Of("stdout", "Terraform directory already initialized"), nil
	}
	return printed(ctx, params, "init", "terraform/init-error")
}

// output returns Terraform's output values, which terraform prints as a JSON object.
func output(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
	text, err := execute(ctx, params, "output", "terraform/output-error", "-json")
	if err != nil {
		return nil, err
	}
	v, err := ordered.ParseJSON(text)
	if err != nil {
		return nil, fault.New("terraform/output-error", "'terraform output -json' did not print valid JSON: %v", err)
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return nil, fault.New("terraform/output-error", "'terraform output -json' did not print a JSON object")
	}
	return m, nil
}

// printed returns the result of a subcommand that prints text.
func printed(ctx context.Context, params *ordered.Map, subcommand, kind string, required ...string) (*ordered.Map, error) {
	text, err := execute(ctx, params, subcommand, kind, required...)
	if err != nil {
		return nil, err
	}
	return ordered.Of("stdout", string(bytes.ToValidUTF8(text, []byte("\uFFFD")))), nil
}

// execute runs a subcommand and returns its standard output. If it fails, the
// message of the error is its standard error, and kind is the error's kind.
func execute(ctx context.Context, params *ordered.Map, subcommand, kind string, required ...string) ([]byte, error) {
	dir, err := directory(params)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fault.New(validationError, "The directory %s does not exist", dir)
	}
	words, err := arguments(params, dir, subcommand, required)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "terraform", words...)
	cmd.Dir = dir
	stdout, stderr := &limited{}, &limited{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// ^C on a terminal goes to all processes of a group. terraform must not get it
	// beside the signal of Cancel: at a second one it ends without writing its state.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = patience
	err = cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(validationError, "The program 'terraform' was not found on PATH. Install it on this machine.")
	case failed:
		msg := strings.ToValidUTF8(stderr.String(), "\uFFFD")
		if msg == "" {
			msg = fmt.Sprintf("terraform %s failed: %v", subcommand, exit)
		}
		return nil, fault.New(kind, "%s", msg)
	case err != nil:
		return nil, fault.New(validationError, "terraform %s could not be run: %v", subcommand, err)
	case stdout.cut:
		return nil, fault.New(kind, "terraform %s printed more than %d MiB", subcommand, maxOutput>>20)
	}
	return stdout.Bytes(), nil
}

// arguments returns the arguments of a subcommand for the parameters. Paths are
// absolute, because terraform has its own rules for relative paths.
func arguments(params *ordered.Map, dir, subcommand string, required []string) ([]string, error) {
	words := append([]string{subcommand, "-no-color"}, required...)
	path := func(option, file string) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		words = append(words, option+"="+file)
	}
	for _, o := range [...]struct{ param, option string }{{"state", "-state"}, {"state_out", "-state-out"}} {
		if file, ok := params.Value(o.param).(string); ok {
			path(o.option, file)
		}
	}
	for _, address := range texts(params.Value("target")) {
		words = append(words, "-target="+address)
	}
	variables, _ := params.Value("var").(*ordered.Map)
	for name, v := range variables.All() {
		text, is := v.(string)
		if !is { // Terraform's language accepts JSON for other values
			var b strings.Builder
			if err := safejson.Write(&b, v); err != nil {
				return nil, err
			}
			text = b.String()
		}
		words = append(words, "-var", name+"="+text)
	}
	for _, file := range texts(params.Value("var_file")) {
		path("-var-file", file)
	}
	return words, nil
}

// texts returns the strings of a parameter that is a string or a list of strings.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

// directory returns the absolute path of the parameter dir. The default is the working
// directory.
func directory(params *ordered.Map) (string, error) {
	dir, _ := params.Value("dir").(string)
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, dir[1:]), nil
	}
	return filepath.Abs(dir)
}

// limited keeps the first maxOutput bytes of a stream.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := maxOutput - l.Len()
	if len(p) > room {
		l.cut = true
	}
	_, _ = l.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}
