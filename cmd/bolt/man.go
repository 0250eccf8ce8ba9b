package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand prints the manual page; packagers call it, so help hides it.
func manCommand(w io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "Print the manual page bolt(1)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(w, manPage())
			return err
		},
	}
}

// manPage is bolt(1) in the man macros (man(7)), made from the same tables as
// the help pages.
func manPage() string {
	var b strings.Builder
	b.WriteString(".TH BOLT 1\n.SH NAME\nbolt \\- run things on many machines at once, over SSH\n.SH SYNOPSIS\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, ".B bolt %s\n.RI %s\n.br\n", c.name, roff(strings.TrimSpace(c.args+" [options]")))
	}
	b.WriteString(".SH DESCRIPTION\n" + roff(`Bolt runs commands and scripts and copies files on many machines at once, over SSH, with nothing installed on them. Targets come from inventory.yaml of the project, or are named on the command line.`) + "\n.SH COMMANDS\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, ".SS %s %s\n%s\n.PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", c.name, roff(c.args), roff(c.long), roff(c.example))
	}
	b.WriteString(".SH OPTIONS\nLong options may be shortened as far as they stay unambiguous.\n")
	for _, sec := range sections {
		fmt.Fprintf(&b, ".SS %s\n", sec)
		for _, f := range flagTable() {
			if f.section != sec || f.on == onNone {
				continue
			}
			head := "\\-\\-" + roff(f.name)
			if f.negatable {
				head = "\\-\\-[no\\-]" + roff(f.name)
			}
			if f.short != "" {
				head = "\\-" + f.short + ", " + head
			}
			fmt.Fprintf(&b, ".TP\n.B %s %s\n%s\n", head, f.arg, roff(f.help))
		}
	}
	b.WriteString(".SH EXIT STATUS\n.nf\n" + roff(exitCodes) + ".fi\n")
	b.WriteString(".SH ENVIRONMENT\n.TP\n.B BOLT_PROJECT\nThe project's directory.\n.TP\n.B BOLT_INVENTORY\nThe inventory itself, as YAML.\n.TP\n.B BOLT_POOL\nWhether the pool daemon is used, as \\-\\-pool.\n.TP\n.B BOLT_POOL_SOCKET\nThe pool daemon's socket.\n.TP\n.B SSH_AUTH_SOCK\nThe agent that holds the user's keys.\n")
	b.WriteString(".SH FILES\n.TP\n.I bolt-project.yaml, inventory.yaml\nOf the project.\n.TP\n.I ~/.puppetlabs/etc/bolt/bolt-defaults.yaml, /etc/puppetlabs/bolt/bolt-defaults.yaml\nDefaults of the user and the system.\n.TP\n.I ~/.ssh/config, ~/.ssh/known_hosts\nRead as ssh(1) reads them.\n.SH SEE ALSO\n.BR ssh (1),\n.BR ssh_config (5)\n")
	return b.String()
}

// roff escapes text for man(7).
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
