// Package complete answers shells that complete a command line of package cli, and
// prints their completion scripts. Package cobra defines the protocol of the scripts
// and has the scripts for zsh, fish and powershell; package cli/bash has the script
// for bash.
package complete

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bolt/cli"
	"bolt/cli/bash"
)

// A Shell is the program as shells call it.
type Shell struct {
	Program  *cli.Program
	Out, Err io.Writer
	Home     string // the user's home directory
}

// commands are the commands of Shell.
var commands = []string{"completion", "man"}

// bashCommand is the name of the command that bash.Script calls.
const bashCommand = "__bash"

// Has reports whether word is the first argument of a command of Shell.
func Has(word string) bool {
	return word == bashCommand || strings.HasPrefix(word, "__complete") || slices.Contains(commands, word)
}

// Run executes a command line for whose first argument Has returns true.
func (s *Shell) Run(ctx context.Context, argv []string) error {
	if argv[0] == bashCommand {
		return s.bash(ctx, argv[1:])
	}
	root := s.root(s.Out, s.Err)
	root.SetArgs(argv)
	return root.ExecuteContext(ctx)
}

// root returns the program as a tree of cobra's commands, of which only the commands
// of Shell do anything.
func (s *Shell) root(out, err io.Writer) *cobra.Command {
	p := s.Program
	root := &cobra.Command{
		Use:           p.Name,
		Short:         strings.ToUpper(p.Purpose[:1]) + p.Purpose[1:],
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(out)
	root.SetErr(err)
	nothing := func(*cobra.Command, []string) error { return nil }
	parents := map[string]*cobra.Command{"": root}
	for _, g := range p.Groups {
		parents[g.Name] = &cobra.Command{Use: g.Name, Short: g.Short, RunE: nothing}
		root.AddCommand(parents[g.Name])
	}
	given := cli.Values{}
	for i := range p.Commands {
		c := &p.Commands[i]
		group, last, ok := strings.Cut(c.Name, " ")
		if !ok {
			group, last = "", c.Name
		}
		cmd := &cobra.Command{
			Use: strings.TrimSpace(last + " " + c.Args), DisableFlagsInUseLine: true,
			Short: p.Text(c).Short, RunE: nothing,
			ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
				return answer(c.CompleteArgument(cmd.Context(), cli.Query{Given: given, Args: args, Prefix: prefix}))
			},
		}
		addFlags(cmd, p, c, given)
		parents[group].AddCommand(cmd)
	}
	root.AddCommand(manCommand(p, out), completionCommand(out))
	return root
}

// addFlags defines all flags on cmd and hides the flags that do not apply to c.
func addFlags(cmd *cobra.Command, p *cli.Program, c *cli.Command, given cli.Values) {
	for _, f := range p.Flags {
		if f.Name == "help" || f.Name == "version" {
			continue // cobra has them
		}
		define := func(name, short, help, text string) {
			pf := &pflag.Flag{Name: name, Shorthand: short, Usage: help, Value: &recorder{f.Name, text, f.Arg == "", given}, Hidden: !c.Takes(&f)}
			if f.Arg == "" {
				pf.NoOptDefVal = "true"
			}
			cmd.Flags().AddFlag(pf)
		}
		f = f.For(c)
		define(f.Name, f.Short, f.Help, "")
		if f.Negatable {
			define("no-"+f.Name, "", cmp.Or(f.Negative, f.Help), "false")
		}
		if complete := c.CompleteFlag(f); complete != nil {
			// The only errors are an unknown flag and a flag that was registered
			// already.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
				return answer(complete(cmd.Context(), cli.Query{Given: given, Args: args, Prefix: prefix}))
			})
		}
	}
}

// A recorder is a pflag.Value that records the given values.
type recorder struct {
	name  string
	text  string // the value of the negative form
	bool  bool
	given cli.Values
}

func (r *recorder) String() string   { return "" }
func (r *recorder) Type() string     { return "string" }
func (r *recorder) IsBoolFlag() bool { return r.bool }

func (r *recorder) Set(text string) error {
	r.given[r.name] = append(r.given[r.name], cmp.Or(r.text, text))
	return nil
}

// answer returns completions in the form that cobra's scripts expect.
func answer(c cli.Completions) ([]string, cobra.ShellCompDirective) {
	switch {
	case c.Dirs:
		return nil, cobra.ShellCompDirectiveFilterDirs
	case c.Extensions != nil:
		return c.Extensions, cobra.ShellCompDirectiveFilterFileExt
	}
	var words []string
	for _, w := range c.Words {
		if w.About != "" {
			w.Text = cobra.CompletionWithDesc(w.Text, w.About)
		}
		words = append(words, w.Text)
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if c.Files {
		directive = cobra.ShellCompDirectiveDefault
	}
	if c.NoSpace {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	if c.InOrder {
		directive |= cobra.ShellCompDirectiveKeepOrder
	}
	return words, directive
}

// bash prints the completions for bash.Script: first a line with their kind and
// options, then one line for each. args are the command line up to the cursor,
// $COMP_WORDBREAKS, $COMP_TYPE and $COLUMNS.
func (s *Shell) bash(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return cli.Errorf("%s is for the completion script only: run 'bolt completion bash' to print that script", bashCommand)
	}
	words, cur := bash.Split(args[0], args[1])
	for len(words) > 0 && bash.IsAssignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	var out bytes.Buffer
	root := s.root(&out, io.Discard)
	root.SetArgs(append(append([]string{cobra.ShellCompRequestCmd}, words[1:]...), cur.Text))
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	number, ok := strings.CutPrefix(lines[len(lines)-1], ":")
	flags, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil
	}
	list, directive := lines[:len(lines)-1], cobra.ShellCompDirective(flags)
	switch {
	case directive&cobra.ShellCompDirectiveError != 0:
		list = nil
	case directive&cobra.ShellCompDirectiveFilterFileExt != 0:
		return s.print("names", bash.Files(cur, s.Home, list))
	case directive&cobra.ShellCompDirectiveFilterDirs != 0:
		return s.print("names", bash.Files(cur, s.Home, nil))
	case len(list) == 0 && directive&cobra.ShellCompDirectiveNoFileComp == 0:
		return s.print("files", nil)
	}
	kind := "words"
	if directive&cobra.ShellCompDirectiveNoSpace != 0 {
		kind += " nospace"
	}
	if directive&cobra.ShellCompDirectiveKeepOrder != 0 {
		kind += " nosort"
	}
	return s.print(kind, bash.Completions(list, cur, args[2], args[3]))
}

func (s *Shell) print(kind string, list []string) error {
	_, err := io.WriteString(s.Out, strings.Join(append([]string{kind}, list...), "\n")+"\n")
	return err
}
