package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/cli"
	"bolt/environment"
	"bolt/environment/program"
)

// languageOptions are the options for programs of the Puppet language.
func (a *app) languageOptions() environment.Options {
	return environment.Options{Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Getenv: a.sys.lookup, Now: time.Now}
}

// environment makes an environment. plans are the rules by which files of modules
// are read.
func (a *app) environment(plans bool) *environment.Environment {
	o := a.languageOptions()
	o.Plans = plans
	return environment.New(o)
}

// warnModulepath tells of directories of --modulepath that do not exist: those
// of a project need not, but who names one means it.
func (a *app) warnModulepath() {
	if !a.global.modulepath.Given {
		return
	}
	for _, dir := range filepath.SplitList(a.global.modulepath.Text) {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			a.logs.Warn("missing_modulepath", fmt.Sprintf("There is no directory %s, which --modulepath names.", dir))
		}
	}
}

// evaluator evaluates programs with the facts of a file, if one is given. given are variables or
// parameters of the command line; tell may be nil.
func (a *app) evaluator(ctx context.Context, facts cli.Optional, given []program.Variable, tell func(*program.Finding)) (*program.Evaluator, error) {
	a.warnModulepath()
	o := program.Options{
		Environment: a.languageOptions(), Given: given, Tell: tell,
		Level: a.config.Log.ConsoleLevel, Disabled: a.config.Log.Disabled, Explain: a.names().Explain, Timeout: a.timeout(),
	}
	if facts.Given {
		var err error
		if o.Facts, err = environment.ReadFacts(ctx, facts.Text); err != nil {
			return nil, err
		}
	}
	return program.NewEvaluator(o), nil
}

// setVariables makes the given values variables of the top scope.
func (a *app) setVariables(e *program.Evaluator) error {
	err := e.SetVariables(func(name string) {
		a.logs.Warn("variable_overridden", fmt.Sprintf("The variable $%s is overridden by the fact of the same name", name))
	})
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}
