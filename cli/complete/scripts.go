package complete

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bolt/cli"
	"bolt/cli/bash"
	"bolt/internal/spelling"
)

// A completion is the completion script for a shell.
type completion struct {
	shell string
	where string // how to install the script
	write func(root *cobra.Command, w io.Writer) error
}

// completions returns the shells for which there are scripts.
func completions() []completion {
	return []completion{
		{"bash", `To load it in the current shell: . <(bolt completion bash)
To load it in every shell:       bolt completion bash > ~/.local/share/bash-completion/completions/bolt
(with the package bash-completion), or call the first line in ~/.bashrc.`, func(_ *cobra.Command, w io.Writer) error {
			_, err := io.WriteString(w, bash.Script)
			return err
		}},
		{"zsh", `To load it in the current shell: . <(bolt completion zsh)
To load it in every shell:       bolt completion zsh > "${fpath[1]}/_bolt"
compinit must run in ~/.zshrc.`, (*cobra.Command).GenZshCompletion},
		{"fish", `To load it in the current shell: bolt completion fish | source
To load it in every shell:       bolt completion fish > ~/.config/fish/completions/bolt.fish`,
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", `To load it in the current shell: bolt completion powershell | Out-String | Invoke-Expression
To load it in every shell, add that line to your profile.`, (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
}

// checkShell returns an error unless words is one shell that has a completion script.
func checkShell(words []string) error {
	var shells []string
	for _, c := range completions() {
		shells = append(shells, c.shell)
	}
	hint := "run 'bolt completion bash' to print the script, or 'bolt help completion bash' for how to install it"
	switch {
	case len(words) == 0:
		return cli.Hinted(cli.Errorf("Must specify a shell: %s", spelling.Or(shells)), "%s", hint)
	case !slices.Contains(shells, words[0]):
		return cli.Hinted(cli.Errorf("Unknown shell '%s': use %s", words[0], spelling.Or(shells)), "%s", hint)
	case len(words) > 1:
		return cli.NoArguments(words[1:])
	}
	return nil
}

// completionCommand prints completion scripts.
func completionCommand(out io.Writer) *cobra.Command {
	parent := &cobra.Command{Use: "completion", Short: "Print the completion script for a shell", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error { return checkShell(args) }, Args: cobra.ArbitraryArgs}
	for _, c := range completions() {
		parent.AddCommand(&cobra.Command{
			Use: c.shell, Short: "Print the completion script for " + c.shell, DisableFlagsInUseLine: true,
			Long: "Prints the completion script for " + c.shell + ".\n\n" + strings.TrimSpace(c.where),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := checkShell(append([]string{c.shell}, args...)); err != nil {
					return err
				}
				return c.write(cmd.Root(), out)
			},
		})
	}
	return parent
}

// manCommand prints the manual page; packagers call it, so help hides it.
func manCommand(p *cli.Program, out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "Print the manual page bolt(1)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(out, p.ManPage())
			return err
		},
	}
}
