// Package content opens the modules of a project: their tasks, their plans, and their code in the Puppet language.
package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/environment"
	"bolt/internal/logging"
	"bolt/modules"
	"bolt/plans"
	"bolt/project"
	"bolt/tasks"
)

// Content is the content of the modules of a project.
type Content struct {
	Modules  *modules.Path
	Tasks    *tasks.Library
	Plans    *plans.Library
	Language environment.Options // for programs of the Puppet language

	project *project.Project
	logs    *logging.Log
}

// Open returns the content of the modules of c. It reads no file. getenv reads the environment.
func Open(c *project.Config, getenv func(name string) (value string, ok bool), logs *logging.Log) *Content {
	path := c.Modules()
	language := environment.Options{Modules: path, Hiera: c.HieraConfig, Keys: c.Project.Dir, Getenv: getenv, Now: time.Now}
	readType := environment.TypeReader(language)
	return &Content{
		Modules:  path,
		Tasks:    tasks.NewLibrary(tasks.Options{Modules: path, Type: readType, Warn: logs.Warn}),
		Plans:    plans.NewLibrary(plans.Options{Modules: path, Type: readType, Warn: logs.Warn}),
		Language: language, project: c.Project, logs: logs,
	}
}

// WarnHidden warns if the project hides a module with the same name.
func (c *Content) WarnHidden() {
	if m, ok := c.Modules.Hidden(); ok {
		c.logs.WarnOnce("project_shadows_module", fmt.Sprintf("The project '%s' (%s) hides a module with the same name: bolt finds nothing in %s. "+
			"Change the 'name' in %s to use both.", c.project.Name, c.project.Dir, m.Dir, c.project.File()))
	}
}

// WarnMissing warns about missing directories of --modulepath. Directories of
// a project may be missing, but a directory that is named on the command line is
// expected to exist.
func (c *Content) WarnMissing(modulepath string) {
	for _, dir := range filepath.SplitList(modulepath) {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			c.logs.Warn("missing_modulepath", fmt.Sprintf("--modulepath names %s, which is not a directory.", dir))
		}
	}
}
