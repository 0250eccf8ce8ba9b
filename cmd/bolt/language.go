package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/environment"
)

// languageOptions returns the options for programs of the Puppet language.
func (a *app) languageOptions() environment.Options {
	return environment.Options{Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Getenv: a.sys.lookup, Now: time.Now}
}

// environment returns an environment. If plans is set, files of modules are read
// by the rules of plans.
func (a *app) environment(plans bool) *environment.Environment {
	o := a.languageOptions()
	o.Plans = plans
	return environment.New(o)
}

// warnModulepath warns about missing directories of --modulepath. Directories of
// a project may be missing, but a directory that is named on the command line is
// expected to exist.
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
