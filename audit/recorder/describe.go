package recorder

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"bolt/audit"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/run"
)

// A taskRun is an action with the parameters of a task: a tasks.Run, or the action of get_resources.
type taskRun interface {
	event.Action
	Params() (params *ordered.Map, sensitive []string)
	RunAs() string
}

// describe returns the record of an action. secrets are the names of secret
// parameters, in addition to the parameters that a task marks as sensitive.
func (r *Recorder) describe(do event.Action, secrets []string) audit.Action {
	what := audit.Action{Name: do.Name(), RunAs: r.o.RunAs}
	what.Object, what.SHA256 = r.shown(do.Object())
	switch do := do.(type) {
	case *event.PlanAction:
		return audit.Action{Name: event.Plan, Object: do.Plan, Params: r.params(do.Params, do.Secrets), Journal: do.Journal}
	case *run.Command:
		what.Params = r.params(variables(do.Env), secrets)
	case *run.Script:
		what.Object, _ = r.shown(absolutePath(do.Path))
		what.SHA256 = audit.Digest(do.Data)
		given := variables(do.Env)
		if len(do.Args) > 0 {
			args := make([]any, len(do.Args))
			for i, arg := range do.Args {
				args[i] = arg
			}
			given.Set("arguments", args)
		}
		what.Params = r.params(given, secrets)
	case *run.Upload:
		what.Object, _ = r.shown(absolutePath(do.Source))
		what.Dest, _ = r.shown(do.Dest)
	case *run.Download:
		what.Dest, _ = r.shown(do.Dir)
	case taskRun:
		params, sensitive := do.Params()
		secrets = append(sensitive, secrets...)
		what.Noop = params.Value("_noop") == true
		params.Delete("_noop")
		what.Params = r.params(params, secrets)
		what.RunAs = cmp.Or(do.RunAs(), what.RunAs)
	}
	return what
}

// step returns the record of a step of a plan.
func (r *Recorder) step(s *event.Step) audit.Action {
	secrets := s.Secrets
	if slices.Contains(secrets, "env_vars") { // it is unknown which of them are secret
		secrets = append(slices.Clone(secrets), variableNames(s.Do)...)
	}
	var what audit.Action
	if s.Do != nil {
		what = r.describe(s.Do, secrets)
	} else {
		what = r.function(s.Function, s.Object)
	}
	if s.Function == "write_file" { // from a local file
		what.Object = ""
	}
	what.RunAs, what.Noop = cmp.Or(s.RunAs, what.RunAs), what.Noop || s.Noop
	return what
}

// function returns the record of a plan function without further details.
func (r *Recorder) function(name, object string) audit.Action {
	what := audit.Action{Name: strings.TrimPrefix(strings.TrimSuffix(name, "_with"), "run_")}
	what.Object, what.SHA256 = r.shown(object)
	return what
}

func (r *Recorder) container(c *event.Container) audit.Action {
	return r.function("run_container", c.Image)
}

// shown returns an object in the form of a record.
func (r *Recorder) shown(object string) (text, digest string) {
	return audit.Shown(r.o.Redact(object))
}

// absolutePath returns a path that does not depend on the working directory of
// the reader.
func absolutePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// variables returns NAME=VALUE strings as a map.
func variables(env []string) *ordered.Map {
	m := &ordered.Map{}
	for _, word := range env {
		name, text, _ := strings.Cut(word, "=")
		m.Set(name, text)
	}
	return m
}

// variableNames returns the names of an action's variables.
func variableNames(do event.Action) (names []string) {
	var env []string
	switch do := do.(type) {
	case *run.Command:
		env = do.Env
	case *run.Script:
		env = do.Env
	}
	for name := range variables(env).All() {
		names = append(names, name)
	}
	return names
}

// params returns the record of parameters. Secret parameters have only their
// names in it.
func (r *Recorder) params(params *ordered.Map, secrets []string) *audit.Params {
	params = params.Clone()
	for name, v := range params.All() {
		if event.HasSecret(v, r.o.Redact) {
			secrets = append(slices.Clip(secrets), name)
		}
	}
	secrets = slices.Compact(slices.Sorted(slices.Values(secrets)))
	for _, name := range secrets {
		params.Delete(name)
	}
	var names []string
	for name := range params.All() {
		names = append(names, name)
	}
	p, err := audit.NewParams(names, secrets, params)
	if err != nil { // data that JSON cannot represent has no digest
		return &audit.Params{Names: names, Secrets: secrets}
	}
	return p
}
