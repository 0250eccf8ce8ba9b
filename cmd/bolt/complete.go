package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bolt/internal/guide"
	"bolt/inventory/match"
	"bolt/output"
	"bolt/plans/journal"
)

// addCompletion tells the shell what may follow the flags of cmd: target and
// group names from the inventory, and the words of flags that take only some.
func addCompletion(cmd *cobra.Command, c *command, values flagValues, sys system) {
	for _, f := range flagTable() {
		var complete cobra.CompletionFunc
		switch {
		case f.name == "targets":
			complete = func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
				return completeTargets(cmd, values, sys, prefix)
			}
		case f.name == "where":
			complete = func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
				return completeWhere(prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
		case f.name == "format":
			complete = cobra.FixedCompletions(c.formats, cobra.ShellCompDirectiveNoFileComp)
		case f.values != nil:
			complete = cobra.FixedCompletions(f.values, cobra.ShellCompDirectiveNoFileComp)
		case f.name == "inventoryfile", f.name == "hiera-config":
			complete = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		case f.name == "facts":
			complete = cobra.FixedCompletions([]string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		case f.name == "project", f.name == "modulepath", f.name == "output-dir":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case f.name == "private-key", f.name == "batch":
			continue // files
		case f.arg != "":
			complete = cobra.NoFileCompletions
		default:
			continue
		}
		if cmd.Flags().Lookup(f.name) == nil {
			continue
		}
		// The only error is a flag that was registered already.
		_ = cmd.RegisterFlagCompletionFunc(f.name, complete)
	}
}

// completeWords offers files where a command takes a path, names where it takes
// one that is known, and nothing where it takes a command line.
func completeWords(c command, values flagValues, sys system) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case c.name == "task show" && len(args) == 0, c.name == "task run" && len(args) == 0:
			return completeListed(cmd, values, sys, prefix, publicTasks)
		case c.name == "plan show" && len(args) == 0, c.name == "plan run" && len(args) == 0, c.name == "plan graph" && len(args) == 0:
			return completeListed(cmd, values, sys, prefix, publicPlans)
		case c.name == "plan resume" && len(args) == 0:
			return completeRuns(cmd, values, sys)
		case c.name == "plan convert" && len(args) == 0:
			names, _ := completeListed(cmd, values, sys, prefix, yamlPlans)
			return names, cobra.ShellCompDirectiveDefault // or files
		case c.name == "task run":
			return completeParameters(cmd, values, sys, args, prefix, taskParameters)
		case c.name == "plan run":
			return completeParameters(cmd, values, sys, args, prefix, planParameters)
		case c.name == "script run", c.name == "file upload" && len(args) == 0, c.name == "file download" && len(args) == 1:
			return nil, cobra.ShellCompDirectiveDefault
		case c.name == "puppet validate", c.name == "puppet dump", c.name == "puppet eval" && len(args) == 0:
			return []string{"pp", "epp"}, cobra.ShellCompDirectiveFilterFileExt
		case c.name == "module show" && len(args) == 0:
			return completeModules(cmd, values, sys, prefix)
		case c.name == guideCommand && len(args) == 0:
			return guide.Topics(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTargets offers the names that the last element of a comma-separated
// list may become, after "!" or "&", too. A broken inventory offers nothing:
// completion is no place for error messages.
func completeTargets(cmd *cobra.Command, values flagValues, sys system, prefix string) ([]string, cobra.ShellCompDirective) {
	done, last := "", prefix
	if i := strings.LastIndexByte(prefix, ','); i >= 0 {
		done, last = prefix[:i+1], prefix[i+1:]
	}
	given := strings.Split(done, ",")
	for i, n := range given {
		given[i] = strings.TrimLeft(n, "!&")
	}
	if last != "" && (last[0] == '!' || last[0] == '&') {
		done, last = done+last[:1], last[1:]
	}
	a, err := openApp(cmd.Context(), values, sys, quiet)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer a.close()
	inv, err := a.inventory(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, n := range inv.Names() {
		if strings.HasPrefix(n, last) && !slices.Contains(given, n) {
			names = append(names, done+n)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeWhere returns the completions for the end of an expression: names, lists
// after "in", and "and" and "or" after a comparison.
func completeWhere(prefix string) []string {
	begin := strings.TrimRight(prefix, "abcdefghijklmnopqrstuvwxyz")
	before, last := strings.TrimRight(begin, " "), prefix[len(begin):]
	if strings.HasSuffix(begin, ".") || strings.Count(strings.ReplaceAll(begin, `\"`, ""), `"`)%2 == 1 {
		return nil
	}
	var offers []string
	words := strings.FieldsFunc(before, func(r rune) bool { return r == ' ' || r == '(' })
	word := ""
	if len(words) > 0 {
		word = words[len(words)-1]
	}
	switch {
	case word == "in":
		offers = []string{"groups", "features", "alias"}
	case before == "", strings.HasSuffix(before, "("), word == "and", word == "or", word == "not":
		for _, name := range match.Names() {
			if name == "facts" || name == "vars" {
				name += "."
			}
			offers = append(offers, name)
		}
	case strings.ContainsAny(before[len(before)-1:], "=<>~!,["):
	default:
		offers = []string{"and", "or", "in"}
	}
	var list []string
	for _, o := range offers {
		if strings.HasPrefix(o, last) {
			list = append(list, begin+o)
		}
	}
	return list
}

// completeListed offers the names of a list, with what is said of them. What
// cannot be listed offers nothing.
func completeListed(cmd *cobra.Command, values flagValues, sys system, prefix string, list func(ctx context.Context, a *app) ([]output.Described, error)) ([]string, cobra.ShellCompDirective) {
	a, err := openApp(cmd.Context(), values, sys, quiet)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer a.close()
	all, err := list(cmd.Context(), a)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, d := range all {
		if strings.HasPrefix(d.Name, prefix) {
			names = append(names, cobra.CompletionWithDesc(d.Name, firstLine(d.Description)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// publicTasks are all tasks but those that are private.
func publicTasks(ctx context.Context, a *app) ([]output.Described, error) {
	list, err := a.tasks().List(ctx)
	var public []output.Described
	for _, t := range list {
		if !t.Private {
			public = append(public, output.Described{Name: t.Name, Description: t.Description})
		}
	}
	return public, err
}

// publicPlans are all plans but those that are private.
func publicPlans(ctx context.Context, a *app) ([]output.Described, error) {
	list, err := a.plans().List(ctx)
	var public []output.Described
	for _, p := range list {
		if !p.Private {
			public = append(public, output.Described{Name: p.Name, Description: p.Description})
		}
	}
	return public, err
}

// yamlPlans are those that can be converted.
func yamlPlans(ctx context.Context, a *app) ([]output.Described, error) {
	list, err := a.plans().List(ctx)
	var convertible []output.Described
	for _, p := range list {
		if path.Ext(p.File) == ".yaml" {
			convertible = append(convertible, output.Described{Name: p.Name, Description: p.Description})
		}
	}
	return convertible, err
}

// A declared is a parameter of a task or plan.
type declared interface {
	// Choices are the values that it has, if it has only some.
	Choices() []string
}

// A parameterNamed is what completion knows of one.
type parameterNamed struct {
	name, description string
	declared
}

func taskParameters(ctx context.Context, a *app, name string) []parameterNamed {
	t, err := a.tasks().Find(ctx, name)
	if err != nil {
		return nil
	}
	var list []parameterNamed
	for i := range t.Parameters {
		list = append(list, parameterNamed{t.Parameters[i].Name, t.Parameters[i].Description, &t.Parameters[i]})
	}
	return list
}

func planParameters(ctx context.Context, a *app, name string) []parameterNamed {
	p, err := a.plans().Find(ctx, name)
	if err != nil {
		return nil
	}
	var list []parameterNamed
	for i := range p.Parameters {
		list = append(list, parameterNamed{p.Parameters[i].Name, p.Parameters[i].Description, &p.Parameters[i]})
	}
	return list
}

// completeParameters offers the parameters of what args[0] names that are not
// given yet; behind NAME= the values that it has, if it has only some.
func completeParameters(cmd *cobra.Command, values flagValues, sys system, args []string, prefix string, of func(ctx context.Context, a *app, name string) []parameterNamed) ([]string, cobra.ShellCompDirective) {
	a, err := openApp(cmd.Context(), values, sys, quiet)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer a.close()
	list := of(cmd.Context(), a, args[0])
	if name, text, valued := strings.Cut(prefix, "="); valued {
		i := slices.IndexFunc(list, func(p parameterNamed) bool { return p.name == name })
		if i < 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var words []string
		for _, v := range list[i].Choices() {
			if strings.HasPrefix(v, text) {
				words = append(words, name+"="+v)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, p := range list {
		given := slices.ContainsFunc(args[1:], func(arg string) bool { return strings.HasPrefix(arg, p.name+"=") })
		if !given && strings.HasPrefix(p.name, prefix) {
			words = append(words, cobra.CompletionWithDesc(p.name+"=", firstLine(p.description)))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// completeRuns completes the names of runs that can be resumed.
func completeRuns(cmd *cobra.Command, values flagValues, sys system) ([]string, cobra.ShellCompDirective) {
	a, err := openApp(cmd.Context(), values, sys, quiet)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer a.close()
	list, _ := a.runs()
	words := []string{lastRun + "\tthe last one that was cut off"}
	for _, s := range list {
		if s.State == journal.Interrupted || s.State == journal.Failed {
			words = append(words, fmt.Sprintf("%s\t%s, %s", s.ID, s.Plan, s.State))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
