package rollouts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/internal/safetext"
	"bolt/internal/spelling"
	"bolt/rollout/ledger"
	"bolt/rollout/measure"
	"bolt/rollout/strategy"
)

// checkUses refuses a strategy that names plans, tasks and scripts that the project does not have, or parameters that
// they do not take. Without this check, the first measurement of a gate would find them. path and text are those of the strategy file.
func (v *Invocation) checkUses(ctx context.Context, path string, text []byte, st *strategy.Strategy, noop bool) error {
	var wrong []strategy.Problem
	for _, u := range st.Uses() {
		at, err := v.checkUse(ctx, u, noop && strings.HasPrefix(u.Path, "action"))
		if err != nil {
			p := strategy.Problem{Path: at, Text: at + ": " + safetext.OneLine(err.Error())}
			if e, is := errors.AsType[*fault.Error](err); is && e.Hint != "" {
				p.Text += ". " + safetext.OneLine(e.Hint)
			}
			p.Line, p.Column = strategy.Locate(text, at)
			wrong = append(wrong, p)
		}
	}
	if wrong == nil {
		return nil
	}
	slices.SortStableFunc(wrong, func(a, b strategy.Problem) int { return a.Line - b.Line })
	err := &strategy.Errors{File: filepath.Base(path), Text: text, Problems: wrong}
	return fault.File(path, err, "The strategy file '%s' has mistakes:\n%v", path, err)
}

// checkAction checks the action of a command line in the same way.
func (v *Invocation) checkAction(ctx context.Context, a strategy.Action, noop bool) error {
	for _, u := range (&strategy.Strategy{Action: a}).Uses() {
		if _, err := v.checkUse(ctx, u, noop); err != nil {
			if _, is := errors.AsType[*fault.Error](err); is {
				return err
			}
			text := err.Error()
			return fault.New(ledger.Kind, "%s", strings.ToUpper(text[:1])+text[1:])
		}
	}
	return nil
}

// checkUse returns the path of the value that is wrong, and why.
func (v *Invocation) checkUse(ctx context.Context, u strategy.Use, noop bool) (string, error) {
	var params []cli.Parameter
	var err error
	switch u.Kind {
	case strategy.UsesScript:
		return u.Path, v.checkScript(u.Name)
	case strategy.UsesPlan:
		params, err = v.Plans.Parameters(ctx, u.Name)
	case strategy.UsesTask:
		params, err = v.Tasks.Parameters(ctx, u.Name)
	}
	if err != nil {
		return u.Path, err
	}
	if params != nil {
		if at, err := misnamed(u, params); err != nil {
			return at, err
		}
	}
	if u.Kind == strategy.UsesTask && !measure.HasWords(u.Params) {
		_, err = v.Tasks.Named(ctx, u.Name, u.Params, noop) // also checks the types of the values
	}
	return u.ParamsPath, err
}

// misnamed finds a parameter that is not one of params, and a required one that is missing. It returns the
// path of the value that is wrong.
func misnamed(u strategy.Use, params []cli.Parameter) (string, error) {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	for _, name := range u.Given {
		if !slices.Contains(names, name) {
			return u.Path, fmt.Errorf("the %s %s has no parameter %q, which takes the node", u.Kind, u.Name, name)
		}
	}
	given := slices.Sorted(maps.Keys(u.Params))
	for _, name := range given {
		if slices.Contains(names, name) || u.Kind == strategy.UsesTask && strings.HasPrefix(name, "_") {
			continue
		}
		text := fmt.Sprintf("the %s %s has no parameter %q", u.Kind, u.Name, name)
		if near := spelling.Near(name, names); near != "" {
			return u.ParamsPath + "." + name, fmt.Errorf("%s. Did you mean %q?", text, near) //nolint:staticcheck // it is a line for people
		}
		return u.ParamsPath + "." + name, errors.New(text)
	}
	for _, p := range params {
		if p.Required && !slices.Contains(given, p.Name) && !slices.Contains(u.Given, p.Name) {
			return u.ParamsPath, fmt.Errorf("the %s %s needs the parameter %q", u.Kind, u.Name, p.Name)
		}
	}
	return "", nil
}

// script returns the path of a script of the project.
func (v *Invocation) script(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(v.Project, name)
}

// checkScript reports whether a script of a gate can be read.
func (v *Invocation) checkScript(name string) error {
	path := v.script(name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text := fmt.Sprintf("the script %s does not exist", name)
		var names []string
		siblings, _ := os.ReadDir(filepath.Dir(path)) // without the directory, no name is near
		for _, f := range siblings {
			names = append(names, f.Name())
		}
		if near := spelling.Near(filepath.Base(path), names); near != "" {
			text += fmt.Sprintf(". Did you mean %q?", filepath.Join(filepath.Dir(name), near))
		}
		return errors.New(text)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("the script %s is not a file", name)
	}
	return nil
}
