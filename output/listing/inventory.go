package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/output/layout"
)

// Inventory is the data of "inventory show".
type Inventory struct {
	Targets []InventoryTarget // in the order of the selection
	Source  string            // path of the inventory in use, "" if there is none
	Default string            // path of the project's own inventory
	Detail  bool              // show Data, not only names
	Hint    bool              // print how to see more (text)
	All     bool              // no targets were selected by name: the hint explains the selection
}

// InventoryTarget is one target of an Inventory.
type InventoryTarget struct {
	Name  string
	Adhoc bool // not in the inventory
	// Data is shown with Detail, in its order: name, uri, alias, config, vars,
	// features, facts, plugin_hooks, groups.
	Data *ordered.Map
}

// Detail returns the Data of an InventoryTarget. hooks are the PluginHooks of d, whose
// references are resolved.
func Detail(d *inventory.Data, hooks any) *ordered.Map {
	var uri any
	if d.URI != "" {
		uri = d.URI
	}
	return ordered.Of(
		"name", d.Name,
		"uri", uri,
		"alias", d.AliasValue(),
		"config", ordered.Of("transport", d.Transport, d.Transport, d.Config),
		"vars", d.Vars,
		"features", names(d.Features),
		"facts", d.Facts,
		"plugin_hooks", hooks,
		"groups", names(d.Groups),
	)
}

func names(list []string) []any {
	data := make([]any, len(list))
	for i, name := range list {
		data[i] = name
	}
	return data
}

// Groups is the data of "group show".
type Groups struct {
	Names   []string // sorted
	Source  string   // as in Inventory
	Default string
}

const notFound = "(Not found in inventory file)"

// PrintInventory prints inv to w: names or details, their source and their
// number. Targets of the inventory come first; text with details is sorted by
// name. In text, names and URIs have no passwords.
func PrintInventory(w io.Writer, o Options, inv *Inventory) error {
	out := bufio.NewWriter(w)
	var known, adhoc []InventoryTarget
	for _, t := range inv.Targets {
		if t.Adhoc {
			adhoc = append(adhoc, t)
		} else {
			known = append(known, t)
		}
	}
	if o.Format.Data {
		if err := inv.writeJSON(out, known, adhoc); err != nil {
			return err
		}
		return out.Flush()
	}
	all := slices.Concat(known, adhoc)
	if inv.Detail && len(all) > 0 {
		printDetails(out, o.Color, all)
	} else {
		printNames(out, o.Color, all)
	}
	printSource(out, o.Color, inv.Source, inv.Default)
	heading(out, o.Color, "Target count")
	fmt.Fprintf(out, "  %d total, %d from inventory, %d adhoc\n", len(all), len(known), len(adhoc))
	if inv.Hint && (inv.All || !inv.Detail) {
		_ = out.WriteByte('\n')
		heading(out, o.Color, "Additional information")
		if inv.All {
			_, _ = out.WriteString("  Choose targets with '--targets' or '--rerun'\n")
		}
		if !inv.Detail {
			_, _ = out.WriteString("  Add '--detail' to see their configuration and data\n")
		}
	}
	return out.Flush()
}

func printNames(out *bufio.Writer, color bool, targets []InventoryTarget) {
	heading(out, color, "Targets")
	if len(targets) == 0 {
		_, _ = out.WriteString("  No targets\n")
	}
	width := 0
	for _, t := range targets {
		width = max(width, utf8.RuneCountInString(inventory.SafeName(t.Name)))
	}
	for _, t := range targets {
		name := inventory.SafeName(t.Name)
		_, _ = out.WriteString("  " + name)
		if t.Adhoc {
			pad := width - utf8.RuneCountInString(name) + 4
			_, _ = out.WriteString(strings.Repeat(" ", pad) + layout.Paint(layout.Yellow, color, notFound))
		}
		_ = out.WriteByte('\n')
	}
	_ = out.WriteByte('\n')
}

func printDetails(out *bufio.Writer, color bool, targets []InventoryTarget) {
	slices.SortStableFunc(targets, func(a, b InventoryTarget) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range targets {
		_, _ = out.WriteString(layout.Paint(layout.Cyan, color, inventory.SafeName(t.Name)))
		if t.Adhoc {
			_, _ = out.WriteString(" " + layout.Paint(layout.Yellow, color, notFound))
		}
		_ = out.WriteByte('\n')
		data := t.Data.Clone()
		for _, k := range []string{"name", "uri"} {
			if s, ok := data.Value(k).(string); ok {
				data.Set(k, inventory.SafeName(s))
			}
		}
		in := layout.NewIndenter(out)
		_, _ = in.Write(yaml.Marshal(data))
		_ = in.Flush()
		_ = out.WriteByte('\n')
	}
}

func printSource(out *bufio.Writer, color bool, source, other string) {
	heading(out, color, "Inventory source")
	if source == "" {
		source = "None"
		if other != "" {
			source += ": " + other + " does not exist"
		}
	}
	_, _ = out.WriteString("  " + source + "\n\n")
}

// writeJSON writes the document in parts, because it is large with details of
// many targets.
func (inv *Inventory) writeJSON(out *bufio.Writer, known, adhoc []InventoryTarget) error {
	count := func(n int) { fmt.Fprintf(out, `"count":%d`, n) }
	list := func(parts ...[]InventoryTarget) error {
		_, _ = out.WriteString(`"targets":[`)
		comma := ""
		for _, t := range slices.Concat(parts...) {
			_, _ = out.WriteString(comma)
			comma = ","
			var v any = t.Name
			if inv.Detail {
				v = t.Data
			}
			if err := safejson.Write(out, v); err != nil {
				return fmt.Errorf("target %s: %w", inventory.SafeName(t.Name), err)
			}
		}
		return out.WriteByte(']')
	}
	_, _ = out.WriteString(`{"adhoc":{`)
	count(len(adhoc))
	_ = out.WriteByte(',')
	if err := list(adhoc); err != nil {
		return err
	}
	_, _ = out.WriteString(`},"inventory":{`)
	count(len(known))
	_ = out.WriteByte(',')
	if err := list(known); err != nil {
		return err
	}
	var source any
	if inv.Source != "" {
		source = inv.Source
	}
	_, _ = out.WriteString(`,"file":`)
	if err := safejson.Write(out, source); err != nil {
		return err
	}
	_, _ = out.WriteString(`,"default":`)
	if err := safejson.Write(out, inv.Default); err != nil {
		return err
	}
	_, _ = out.WriteString("},")
	if err := list(known, adhoc); err != nil {
		return err
	}
	_ = out.WriteByte(',')
	count(len(known) + len(adhoc))
	_, err := out.WriteString("}\n")
	return err
}

// PrintGroups prints g to w.
func PrintGroups(w io.Writer, o Options, g *Groups) error {
	out := bufio.NewWriter(w)
	if o.Format.Data {
		names := g.Names
		if names == nil {
			names = []string{}
		}
		return layout.WriteDocument(w, ordered.Of("count", len(names), "groups", names))
	}
	heading(out, o.Color, "Groups")
	for _, name := range g.Names {
		_, _ = out.WriteString("  " + name + "\n")
	}
	_ = out.WriteByte('\n')
	printSource(out, o.Color, g.Source, g.Default)
	heading(out, o.Color, "Group count")
	fmt.Fprintf(out, "  %d total\n", len(g.Names))
	return out.Flush()
}
