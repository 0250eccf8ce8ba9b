package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"bolt/format/fault"
)

// pluginCache is the file with results of plugins.
const pluginCache = ".plugin_cache.json"

// PluginCache returns the path of the file with cached results of plugins.
func (p *Project) PluginCache() string { return filepath.Join(p.Dir, pluginCache) }

// ClearCache removes the files that make the next invocation faster: the results of
// plugins, and the caches of Puppet Bolt, because both programs use the project.
func (p *Project) ClearCache() error {
	for _, name := range []string{pluginCache, ".task_cache.json", ".plan_cache.json"} {
		path := filepath.Join(p.Dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.File(path, err, "The cache '%s' could not be removed: %v", path, fault.WithoutPath(err))
		}
	}
	return nil
}
