package applying

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog/site"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/output/listing"
)

// PolicyOptions are the options of policy apply.
type PolicyOptions struct {
	Options
	names string
}

// Bind reads the flags and arguments.
func (o *PolicyOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Arg(&o.names)
}

// NeedPolicies is the Check of commands that need names of policies, separated by commas.
func NeedPolicies(args []string) error {
	if len(args) == 0 || len(listed(args[0])) == 0 {
		return cli.Errorf("Must specify one or more policies to apply.")
	}
	return cli.OneArgument(args)
}

// Policy carries out policy apply. If a report was lost, it returns cli.ErrFailed.
func (v *Invocation) Policy(ctx context.Context, o *PolicyOptions) error {
	v.warnPolicies()
	known, err := v.Policies()
	if err != nil {
		return err
	}
	names := listed(o.names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return &fault.Error{Kind: "bolt/unknown-policy", Msg: fmt.Sprintf("The project has no policy '%s'", name),
				Hint: "Run 'bolt policy show' to list the policies, or add the name of the class to policies in bolt-project.yaml"}
		}
	}
	return v.apply(ctx, &o.Options, site.Source{Text: "include " + strings.Join(names, ", ")}, nil)
}

// NewPolicy carries out policy new.
func (v *Invocation) NewPolicy(ctx context.Context, o *cli.NameOption) error {
	v.warnPolicies()
	file, err := v.Project.NewPolicy(ctx, o.Name)
	if err != nil {
		return err
	}
	return listing.PrintNewPolicy(v.Out, v.How, o.Name, file)
}

// ShowPolicies carries out policy show.
func (v *Invocation) ShowPolicies(context.Context, *cli.NoOptions) error {
	v.warnPolicies()
	names, err := v.Policies()
	if err != nil {
		return err
	}
	return listing.PrintPolicies(v.Out, v.How, &listing.Policies{Names: names, Modulepath: v.Code.Modules.Dirs()})
}

// CompletePolicy completes the name of a policy.
func (v *Invocation) CompletePolicy(_ context.Context, q cli.Query) cli.Completions {
	names, _ := v.Policies() // without names, there are no completions
	words := make([]cli.Word, len(names))
	for i, name := range names {
		words[i] = cli.Word{Text: name}
	}
	return cli.Named(words, q.Prefix)
}

func (v *Invocation) warnPolicies() {
	v.Logs.WarnOnce("policy_command", "Policies are an experimental feature of Puppet Bolt: these commands may change.")
}
