package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bolt/pool/spawn"
	"bolt/project"
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
	b.WriteString(".TH BOLT 1\n.SH NAME\nbolt \\- " + roff(purpose) + "\n.SH SYNOPSIS\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, ".B bolt %s\n%s\n.br\n", c.name, synopsis(c.args+" [options]"))
	}
	b.WriteString(".B bolt help\n" + synopsis("[COMMAND]") + "\n.br\n.B bolt completion\n" + synopsis("SHELL") + "\n")
	b.WriteString(".SH DESCRIPTION\n" + roff(description) + "\n.PP\n" +
		"Targets come from inventory.yaml of the project, or are named on the command line. A project is a directory with a " +
		"bolt\\-project.yaml; the nearest one at or above the working directory counts. Data comes from hiera.yaml of the project and of modules.\n")
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, ".SS %s %s\n%s\n", c.name, roff(c.args), roff(c.long))
		if c.note != "" {
			b.WriteString(".PP\n" + roff(c.note) + "\n")
		}
		fmt.Fprintf(&b, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(c.example))
	}
	b.WriteString(".SS completion SHELL\nPrints the completion script for bash, zsh, fish or powershell.\n")
	b.WriteString(".SH OPTIONS\nLong options may be shortened as far as they stay unambiguous. The help of a command lists those that mean " +
		"something to it, and its formats.\n")
	for _, sec := range sections {
		fmt.Fprintf(&b, ".SS %s\n", sec)
		for _, f := range flagTable() {
			if f.section != sec {
				continue
			}
			head := "\\-\\-" + roff(f.name)
			if f.negatable {
				head = "\\-\\-[no\\-]" + roff(f.name)
			}
			if f.short != "" {
				head = "\\-" + f.short + ", " + head
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", strings.TrimSpace(head+" "+f.arg), roff(f.help))
		}
	}
	b.WriteString(".SH EXIT STATUS\n.TP\n.B 0\nEverything succeeded: on every target, or with every file.\n.TP\n.B 1\n" +
		"Something failed, or " + exitMistake + ".\n.PP\nThe help of a command says more.\n")
	for _, list := range []struct {
		title, font string
		entries     [][2]string
	}{{"ENVIRONMENT", "B", manEnvironment}, {"FILES", "I", manFiles}} {
		b.WriteString(".SH " + list.title + "\n")
		for _, e := range list.entries {
			fmt.Fprintf(&b, ".TP\n.%s %s\n%s\n", list.font, roff(e[0]), roff(e[1]))
		}
	}
	b.WriteString(".SH SEE ALSO\n.BR ssh (1),\n.BR ssh_config (5)\n")
	return b.String()
}

var (
	manEnvironment = [][2]string{
		{"BOLT_PROJECT", "The project's directory."},
		{"BOLT_INVENTORY", "The inventory itself, as YAML."},
		{poolVariable, "Whether the pool daemon is used, as --pool."},
		{spawn.SocketVariable, "The pool daemon's socket."},
		{"NO_COLOR", "No colours are used when this is set to anything."},
		{"TERM", "If this is \\fBdumb\\fR, bolt prints neither colours nor a progress line."},
		{"SSH_AUTH_SOCK", "The agent that holds the user's keys."},
	}
	manFiles = [][2]string{
		{"bolt-project.yaml, inventory.yaml", "Of the project: its settings, and its targets."},
		{"hiera.yaml, data/", "Of the project and of modules: where Hiera looks for data, and the data."},
		{"manifests/, functions/, types/, plans/, templates/", "Of the project and of modules: programs of the Puppet language."},
		{"plugins/bolt-plugin-NAME", "Of the project and of modules: the program of the plugin NAME. It can also be on PATH."},
		{"bolt-clouds", "In the directory of bolt, in libexec/bolt beside it, or on PATH: the program of the plugins aws_inventory, azure_inventory and gcloud_inventory."},
		{"bolt-debug.log", "Of the project: the log of the last invocation; those of bolt pool and bolt puppet leave none."},
		{".rerun.json", "Of the project: the outcome of the last run, for --rerun."},
		{"~/.puppetlabs/etc/bolt/bolt-defaults.yaml", "Defaults of the user."},
		{project.SystemDir + "/bolt-defaults.yaml", "Defaults of the system."},
		{"$XDG_RUNTIME_DIR/bolt/pool.sock, pool.log", "The pool daemon's socket and its log."},
		{"$XDG_CACHE_HOME/bolt/facts/", "Facts of targets that were kept, a directory for each project."},
		{"~/.ssh/config, ~/.ssh/known_hosts", "Read as ssh(1) reads them."},
	}
)

// synopsis sets what the user replaces in italics.
func synopsis(args string) string {
	words := strings.Fields(args)
	for i, w := range words {
		name := strings.Trim(w, "[].")
		if name == strings.ToUpper(name) {
			words[i] = strings.Replace(roff(w), name, `\fI`+name+`\fR`, 1)
		}
	}
	return strings.Join(words, " ")
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
