package project

import (
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/modules"
	"bolt/modules/builtin"
)

// Config is the merged configuration of all sources. It is read-only.
type Config struct {
	Project *Project

	Format  string // one of Formats
	Color   bool
	Spinner bool
	Stream  bool

	Concurrency int
	// ConcurrencyLowered is set if Concurrency is the default and was lowered because
	// the limit of open files is low.
	ConcurrencyLowered bool
	CompileConcurrency int

	// Log configures the log, without the writer of the console.
	Log logging.Options

	Modulepath    []string // absolute, without built-in modules
	InventoryFile string   // absolute; "" for Project.InventoryFile
	HieraConfig   string   // absolute; the file must exist if it is from a setting
	Rerun         Rerun
	SaveRerun     bool

	Transport string // the default transport
	// Transports holds the options of each transport from files and flags. It does not
	// have defaults, and plugin references are not resolved.
	Transports map[string]*ordered.Map

	Pool  Pool
	Audit Audit
	Apply Apply

	FactMaxAge time.Duration // the age from which cached facts are outdated

	// TaskFilter and PlanFilter are globs of the tasks and plans in lists. nil includes
	// all, and an empty list includes none. Policies are globs of the classes that can
	// be applied as policies; nil if the setting is missing.
	TaskFilter, PlanFilter, Policies []string

	// ModuleSpecs are the modules that the project needs, each as in the file: a string
	// or an *ordered.Map. HasModules is false if the setting is missing.
	ModuleSpecs   []any
	HasModules    bool
	ModuleInstall *ordered.Map // the sources of modules

	Plugins           *ordered.Map  // the configuration of each plugin: an *ordered.Map
	PluginCache       time.Duration // the time to cache results of plugins; 0 disables the cache
	PluginHooks       *ordered.Map  // without the built-in hook
	ScriptInterpreter bool          // whether a target's interpreters also run scripts

	// Settings holds all merged settings by their keys in the files. Paths are as in
	// the files.
	Settings *ordered.Map

	sources map[string]string // the name of the layer that each setting is from
}

// Load returns the configuration of a project. flags holds the values of the
// command line, in the types of package ordered. Its keys are the names of settings
// and transport options ("format", "concurrency", "user", "inventoryfile", …), and
// relative paths are relative to s.Cwd. flags override all files.
//
// Errors are *fault.Error: bolt/file-error for a file that cannot be read,
// bolt/validation-error for a value that is not allowed.
func Load(ctx context.Context, p *Project, s Sources, flags *ordered.Map, warn Warn) (*Config, error) {
	if warn == nil {
		warn = func(string, string) {}
	}
	t := newTables(s)
	layers, err := readLayers(ctx, t, p, s, flags, warn)
	if err != nil {
		return nil, err
	}
	settings, sources, err := t.merge(layers)
	if err != nil {
		return nil, err
	}
	c := &Config{Project: p, Settings: settings, sources: sources, Transports: make(map[string]*ordered.Map)}
	c.fill(s, t.transports)
	if c.Pool, err = c.poolSettings(); err != nil {
		return nil, err
	}
	if c.Audit, err = c.auditSettings(s); err != nil {
		return nil, err
	}
	c.Apply = c.applySettings()
	if c.FactMaxAge, err = c.factAge(); err != nil {
		return nil, err
	}
	if err := c.check(s); err != nil {
		return nil, err
	}
	c.warnPathCase(warn)
	return c, nil
}

// Modules returns the module path with the project and the built-in modules.
func (c *Config) Modules() *modules.Path {
	return modules.NewPath(c.Project.Module(), c.Modulepath...).With(builtin.Files())
}

// fill sets the typed fields. The layers are valid, so each value has its type or is
// missing.
func (c *Config) fill(s Sources, transports []string) {
	c.Format = c.text("format")
	c.Color = c.flag("color")
	c.Spinner = c.flag("spinner")
	c.Stream = c.flag("stream")
	c.Concurrency = c.number("concurrency")
	c.ConcurrencyLowered = c.sources["concurrency"] == builtinLayer && c.Concurrency < DefaultConcurrency
	c.CompileConcurrency = c.number("compile-concurrency")
	c.Log = c.logOptions(s)

	c.Modulepath = c.modulepath(s)
	c.InventoryFile = c.path(s, "inventoryfile")
	if c.HieraConfig = c.path(s, "hiera-config"); c.HieraConfig == "" {
		c.HieraConfig = c.Project.HieraConfig()
	}
	c.Rerun.Path = c.path(s, "rerunfile")
	if c.Rerun.Path == "" {
		c.Rerun.Path = filepath.Join(c.Project.Dir, ".rerun.json")
	}
	c.SaveRerun = c.flag("save-rerun")

	c.Transport = c.text("transport")
	for _, t := range transports {
		c.Transports[t] = c.hash(t)
	}
	c.TaskFilter = c.texts("tasks")
	c.PlanFilter = c.texts("plans")
	c.Policies = c.texts("policies")
	c.ModuleSpecs, c.HasModules = c.Settings.Value("modules").([]any)
	c.ModuleInstall = c.hash("module-install")
	c.Plugins = c.hash("plugins")
	if seconds, ok := c.hash("plugin-cache").Value("ttl").(int64); ok {
		c.PluginCache = time.Duration(min(seconds, maxSeconds)) * time.Second
	}
	c.PluginHooks = c.hash("plugin-hooks")
	c.ScriptInterpreter = c.hash("future").Value("script_interpreter") == true
}

func (c *Config) text(key string) string {
	v, _ := c.Settings.Value(key).(string)
	return v
}

func (c *Config) flag(key string) bool { return c.Settings.Value(key) == true }

func (c *Config) number(key string) int {
	v, _ := c.Settings.Value(key).(int64)
	return int(v)
}

func (c *Config) hash(key string) *ordered.Map {
	if m, ok := c.Settings.Value(key).(*ordered.Map); ok {
		return m
	}
	return &ordered.Map{}
}

// maxSeconds is the longest time in seconds that a time.Duration can hold.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// texts returns the strings of a list, or nil if the setting is not a list.
func (c *Config) texts(key string) []string {
	v, ok := c.Settings.Value(key).([]any)
	if !ok {
		return nil
	}
	list := make([]string, 0, len(v))
	for _, e := range v {
		if text, ok := e.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

func (c *Config) path(s Sources, key string) string {
	if text := c.text(key); text != "" {
		return s.expand(text, c.Project.Dir)
	}
	return ""
}

func (c *Config) modulepath(s Sources) []string {
	var names []string
	switch v := c.Settings.Value("modulepath").(type) {
	case nil:
		names = []string{"modules"}
	case string:
		names = filepath.SplitList(v)
	case []any:
		for _, e := range v {
			if name, ok := e.(string); ok {
				names = append(names, name)
			}
		}
	}
	dirs := make([]string, len(names), len(names)+1)
	for i, name := range names {
		dirs[i] = s.expand(name, c.Project.Dir)
	}
	return append(dirs, c.Project.ManagedModules())
}

const (
	// debugLog is the default log file of a project.
	debugLog    = "bolt-debug.log"
	logDisabled = "disable"

	// defaultLevel is the default level of the console and of log files.
	defaultLevel = slog.LevelWarn
)

// logOptions translates the setting "log": "console" and paths of files, each
// with a level.
func (c *Config) logOptions(s Sources) logging.Options {
	o := logging.Options{ConsoleLevel: defaultLevel, Color: c.Color}
	for _, id := range c.Settings.Value("disable-warnings").([]any) {
		if text, ok := id.(string); ok {
			o.Disabled = append(o.Disabled, text)
		}
	}
	for k, v := range c.hash("log").All() {
		settings, ok := v.(*ordered.Map)
		if !ok { // disabled
			continue
		}
		level := defaultLevel
		if name, ok := settings.Value("level").(string); ok {
			level, _ = logging.ParseLevel(name) // the schema has checked the name
		}
		if k == "console" {
			o.ConsoleLevel = level
			continue
		}
		f := logging.File{
			Path:     s.expand(strings.TrimPrefix(k, "file:"), c.Project.Dir),
			Level:    level,
			Append:   settings.Value("append") != false,
			Optional: k == debugLog,
		}
		same := func(old logging.File) bool { return old.Path == f.Path }
		if i := slices.IndexFunc(o.Files, same); i >= 0 {
			o.Files[i] = f
		} else {
			o.Files = append(o.Files, f)
		}
	}
	return o
}

func (c *Config) check(s Sources) error {
	managed := c.Project.ManagedModules()
	if slices.Contains(c.Modulepath[:len(c.Modulepath)-1], managed) {
		return fault.New("bolt/validation-error", "The modulepath of %s contains %s. Remove it: "+
			"that directory is always at the end of the modulepath.", c.sources["modulepath"], managed)
	}
	if limit := 2 * runtime.NumCPU(); c.CompileConcurrency >= limit {
		return fault.New("bolt/validation-error", "compile-concurrency is %d (%s). Compiling keeps processors busy, so it "+
			"must be less than %d on this machine.", c.CompileConcurrency, c.sources["compile-concurrency"], limit)
	}
	for _, key := range []string{"hiera-config", "trusted-external-command", "inventoryfile"} {
		if path := c.path(s, key); path != "" {
			if err := CheckFile(key, path); err != nil {
				return err
			}
		}
	}
	if _, err := os.Stat(c.Project.InventoryFile()); err == nil {
		return CheckFile("inventory file", c.Project.InventoryFile())
	}
	return nil
}

// warnPathCase warns about a missing directory if one exists whose name differs in
// case only.
func (c *Config) warnPathCase(warn Warn) {
	for _, dir := range c.Modulepath {
		if isDir(dir) {
			continue
		}
		entries, _ := os.ReadDir(filepath.Dir(dir)) // the warning is optional
		for _, e := range entries {
			if base := filepath.Base(dir); e.Name() != base && strings.EqualFold(e.Name(), base) {
				warn("path_case", dir+" in the modulepath does not exist. Did you mean "+
					filepath.Join(filepath.Dir(dir), e.Name())+"? Case matters in the modulepath.")
			}
		}
	}
}

// PolicyNames returns Policies without duplicates, or an error if the project does not
// have the setting.
func (c *Config) PolicyNames() ([]string, error) {
	if c.Policies == nil {
		return nil, fault.New("bolt/no-policies-error", "The project has no policies: %s does not have a list 'policies'. "+
			"'bolt policy new' makes the first one.", c.Project.File())
	}
	names := []string{}
	for _, name := range c.Policies {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
