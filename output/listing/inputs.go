package listing

import (
	"bufio"
	"fmt"

	"bolt/catalog/site"
	"bolt/format/ordered"
	"bolt/output/layout"
)

// PrintInputs prints the inputs of the compilation for one node. With JSON it is an object, after
// an error with the reads until then. Text has nothing after an error (see PrintFailures).
func PrintInputs(w *bufio.Writer, o Options, c *site.Compiled) error {
	facts, keys, collected := []string{}, []string{}, []any{}
	if c.Inputs != nil {
		facts, keys = c.Inputs.Facts(), append(keys, c.Inputs.Keys()...)
	}
	for _, from := range c.Collected {
		collected = append(collected, ordered.Of("node", from.Node, "resource", from.Ref.String()))
	}
	if o.Format.Data {
		m := ordered.Of("node", c.Node, "facts", facts, "keys", keys, "collected", collected)
		if c.Err != nil {
			setError(m, c.Err)
		}
		if err := layout.WriteLine(w, m); err != nil {
			return err
		}
		return w.Flush()
	}
	if c.Err != nil {
		return nil
	}
	fmt.Fprintln(w, layout.Paint(layout.Green, o.Color, oneLine(c.Node)+":"))
	for _, f := range facts {
		fmt.Fprintf(w, "  fact %s\n", oneLine(f))
	}
	for _, k := range keys {
		fmt.Fprintf(w, "  key %s\n", oneLine(k))
	}
	for _, from := range c.Collected {
		fmt.Fprintf(w, "  collected %s of %s\n", oneLine(from.Ref.String()), oneLine(from.Node))
	}
	return w.Flush()
}
