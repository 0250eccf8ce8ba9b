// Package unknown explains names of functions and types that a program of the Puppet
// language uses and that are unknown: where they were looked for, and which similar name
// there is.
package unknown

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"bolt/environment"
	"bolt/internal/spelling"
	"bolt/modules"
	"bolt/puppet/eval"
)

// planFunctions are the functions of Bolt's plans: those of its modules
// boltlib, ctrl, dir, file, log, out, prompt and system.
var planFunctions = strings.Fields(`
	add_facts add_to_group apply_prep background catch_errors download_file fail_plan facts get_resources get_target get_targets
	parallelize puppetdb_command puppetdb_fact puppetdb_query remove_from_group resolve_references resource run_command
	run_container run_plan run_script run_task run_task_with set_config set_feature set_resources set_var upload_file vars
	wait wait_until_available without_default_logging write_file
	ctrl::do_until ctrl::sleep dir::children file::delete file::exists file::join file::read file::readable file::write
	log::debug log::error log::fatal log::info log::trace log::warn out::message out::verbose prompt prompt::menu system::env`)

// planTypes are the types of Bolt's plans.
var planTypes = strings.Fields(`
	ApplyResult Boltlib::PlanResult Boltlib::TargetSpec ContainerResult Future PlanResult ResourceInstance Result ResultSet Target TargetSpec`)

// languageTypes are the types of the language itself, for advice.
var languageTypes = strings.Fields(`
	Any Array Binary Boolean Callable CatalogEntry Class Collection Data Default Deferred Enum Error Float Hash Init Integer
	Iterable Iterator NotUndef Numeric Object Optional Pattern Regexp Resource RichData Runtime Scalar ScalarData SemVer
	SemVerRange Sensitive String Struct Timespan Timestamp Tuple Type TypeAlias TypeReference TypeSet Undef URI Variant`)

// Names is where names are looked for.
type Names struct {
	Modules    *modules.Path
	Modulepath []string // the directories of Modules, as the configuration has them
}

// Explain returns the text of an error. For an unknown name, it adds where that was
// looked for, and what was probably meant.
func (n *Names) Explain(ctx context.Context, e *eval.Error) string {
	switch {
	case e.Name == "":
		return e.Msg
	case e.Kind == "unknown-function":
		if slices.Contains(planFunctions, e.Name) {
			return e.Name + " is a function of Bolt's plans: only a plan can call it"
		}
		return e.Msg + n.Advise(ctx, e.Name, "functions", environment.Functions)
	case e.Kind == "unknown-type":
		if slices.Contains(planTypes, e.Name) {
			return e.Name + " is a type of Bolt's plans: only plans have it"
		}
		return e.Msg + n.Advise(ctx, e.Name, "types", Types)
	}
	return e.Msg
}

// Types returns the types that programs know: those of the language itself, and those
// of package environment.
func Types() []string { return append(environment.Types(), languageTypes...) }

// PlanTypes returns the types that plans know.
func PlanTypes() []string { return append(Types(), planTypes...) }

// Advise returns where a name was looked for in modules, whose folder of that name has
// such things, and which of the known names is near.
func (n *Names) Advise(ctx context.Context, name, folder string, known func() []string) string {
	lower := strings.ToLower(strings.TrimPrefix(name, "::"))
	module, rest, qualified := strings.Cut(lower, "::")
	names := known()
	advice := ""
	if qualified && !slices.ContainsFunc(strings.Split(rest, "::"), func(s string) bool { return !modules.ValidName(s) }) {
		if m, ok := n.Modules.Module(module); ok {
			dir := filepath.Join(m.Dir, folder)
			advice = fmt.Sprintf(": could not find %s.pp in %s", filepath.Join(strings.Split(rest, "::")...), dir)
			names = append(names, definedIn(ctx, dir, module)...)
		} else if !slices.ContainsFunc(names, func(known string) bool { return strings.HasPrefix(strings.ToLower(known), module+"::") }) {
			advice = fmt.Sprintf(": could not find a module %s in %s", module, strings.Join(n.Modulepath, string(filepath.ListSeparator)))
		}
	}
	// Names of files have no capitals, those of types have.
	byLower := map[string]string{}
	for i, known := range names {
		names[i] = strings.ToLower(known)
		if folder == "types" && known == names[i] {
			known = capitalized(known)
		}
		byLower[names[i]] = known
	}
	// Two slips in a short word make any other of it.
	if near := spelling.Near(lower, names); near != "" && (len(lower) > 5 || spelling.Distance(lower, near) == 1) {
		advice += fmt.Sprintf("; did you mean %s?", byLower[near])
	}
	return advice
}

// maxAdvice bounds how many files are looked at for advice.
const maxAdvice = 10_000

// definedIn returns the names that the files of a module's folder tell, at most so
// many.
func definedIn(ctx context.Context, dir, module string) []string {
	var names []string
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxAdvice || ctx.Err() != nil {
			return fs.SkipAll
		}
		if rel, ok := strings.CutSuffix(path, ".pp"); err == nil && ok && !d.IsDir() {
			if rel, err := filepath.Rel(dir, rel); err == nil && rel != "init" {
				names = append(names, module+"::"+strings.ReplaceAll(filepath.ToSlash(rel), "/", "::"))
			}
		}
		return nil // what cannot be read gives no advice
	})
	return names
}

// capitalized returns a name as types have it.
func capitalized(name string) string {
	segments := strings.Split(name, "::")
	for i, s := range segments {
		if s != "" {
			segments[i] = strings.ToUpper(s[:1]) + s[1:]
		}
	}
	return strings.Join(segments, "::")
}
