package catalogs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/catalog/wire"
	"bolt/cli"
	"bolt/internal/safetext"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/run"
)

// Compile compiles the catalogs of nodes, and prints or writes them. If a node has no catalog, it returns
// cli.ErrFailed.
func (v *Invocation) Compile(ctx context.Context, o *CompileOptions) error {
	s, nodes, err := v.Prepare(ctx, &o.Subject)
	if err != nil {
		return err
	}
	if o.format == FormatDot && len(nodes) != 1 {
		return cli.Hinted(cli.Errorf("A drawing shows one node, but the options choose %d", len(nodes)), "choose one node with --node, or with --targets (-t)")
	}
	out := bufio.NewWriter(v.Out)
	how := listing.Options{Format: v.Format, Color: v.Color}
	var without []*site.Compiled
	for c := range site.CompileAll(ctx, s, nodes, v.Timeout) {
		if ctx.Err() != nil {
			return run.ErrStopped // the user knows it
		}
		for _, l := range c.Logs {
			v.Say(c.Node, l)
		}
		if o.Stores() {
			c.Store(storeOptions())
		}
		if c.Err != nil && (o.nodes.node != "" || o.format == FormatDot) {
			return site.Failure(c.Node, c.Err)
		}
		file := ""
		if c.Err != nil {
			without = append(without, c)
		} else if o.output.Given {
			if file, err = site.Write(ctx, o.output.Text, c, v.Vault); err != nil {
				return err
			}
		}
		if o.format == FormatDot {
			return v.draw(c.Catalog)
		}
		if o.inputs {
			err = listing.PrintInputs(out, how, c)
		} else {
			err = listing.PrintCompiled(out, how, c, file)
		}
		if err != nil {
			return err
		}
	}
	if without == nil {
		return nil
	}
	if !how.Format.Data {
		if err := listing.PrintFailures(v.Out, how, "", without); err != nil {
			return err
		}
	}
	return cli.ErrFailed
}

// Prepare returns the compiler and the nodes that options choose.
func (v *Invocation) Prepare(ctx context.Context, o *Subject) (site.Compiler, []site.Node, error) {
	var sources []site.Source
	if o.program() {
		source, err := o.One(ctx, v.Input, o.files)
		if err != nil {
			return nil, nil, err
		}
		sources = []site.Source{{Name: source.Name, Text: source.Text}}
	}
	return v.prepare(ctx, &o.nodes, sources)
}

// Say prints or logs a message of a compilation. Printed messages go to standard error.
func (v *Invocation) Say(node string, l eval.Log) {
	if l.Kind == compile.NoExports {
		v.warnNoExports()
		return
	}
	msg := l.Msg
	if l.Scope != "" {
		msg = l.Scope + ": " + msg
	}
	msg = node + ": " + msg
	if l.Kind != "" && l.Pos.Line > 0 {
		at := fmt.Sprintf("%s:%d", l.Pos.File, l.Pos.Line)
		if l.Pos.File == "" {
			at = fmt.Sprintf("line %d", l.Pos.Line)
		}
		msg += " (" + at + ")"
	}
	switch l.Level {
	case eval.Debug:
		v.Logs.Logger().Debug(msg)
	case eval.Info:
		v.Logs.Logger().Info(msg)
	case eval.Warning:
		v.Logs.Warn(warningID(l), msg)
	default:
		fmt.Fprintf(v.Console, "%s: %s\n", l.Level, safetext.TerminalString(msg))
	}
}

// warningID returns the ID of a warning of a compilation.
func warningID(l eval.Log) string {
	return "catalog_" + strings.ReplaceAll(cmp.Or(l.Kind, "warning"), "-", "_")
}

// storeOptions returns the options for a catalog in PuppetDB's form.
func storeOptions() wire.Options {
	name, _ := os.Hostname() // a catalog needs no producer
	return wire.Options{Producer: name, Produced: time.Now()}
}
