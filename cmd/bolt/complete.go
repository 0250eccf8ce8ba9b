package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
		case f.name == "format":
			complete = cobra.FixedCompletions(c.formats, cobra.ShellCompDirectiveNoFileComp)
		case f.values != nil:
			complete = cobra.FixedCompletions(f.values, cobra.ShellCompDirectiveNoFileComp)
		case f.name == "inventoryfile", f.name == "hiera-config":
			complete = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		case f.name == "facts":
			complete = cobra.FixedCompletions([]string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		case f.name == "project", f.name == "modulepath":
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

// completeWords offers files where a command takes a path, and nothing where
// it takes a command line.
func completeWords(c command) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case c.name == "script run", c.name == "file upload" && len(args) == 0, c.name == "file download" && len(args) == 1:
			return nil, cobra.ShellCompDirectiveDefault
		case c.name == "puppet validate", c.name == "puppet dump", c.name == "puppet eval" && len(args) == 0:
			return []string{"pp", "epp"}, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTargets offers the names that the last element of a comma-separated
// list may become. A broken inventory offers nothing: completion is no place
// for error messages.
func completeTargets(cmd *cobra.Command, values flagValues, sys system, prefix string) ([]string, cobra.ShellCompDirective) {
	done, last := "", prefix
	if i := strings.LastIndexByte(prefix, ','); i >= 0 {
		done, last = prefix[:i+1], prefix[i+1:]
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
	given := strings.Split(done, ",")
	var names []string
	for _, n := range inv.Names() {
		if strings.HasPrefix(n, last) && !slices.Contains(given, n) {
			names = append(names, done+n)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
