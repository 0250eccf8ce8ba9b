package project

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bolt/format/schema"
	"bolt/inventory"
	"bolt/transport/all"
	"bolt/transport/option"
)

// TestReference compares the tables of docs/configuration.md with the settings: each setting has a row with its values and its
// files, and a meaning. With BOLT_UPDATE_REFERENCE=1 it writes the tables, and keeps the meanings of the rows.
func TestReference(t *testing.T) {
	const file = "../docs/configuration.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := meanings(string(page))
	want := page
	for name, table := range referenceTables(old) {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
		before, rest, ok1 := strings.Cut(string(want), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for the table %s", file, name)
		}
		want = []byte(before + begin + "\n" + table + "\n" + end + after)
	}
	if !bytes.Equal(page, want) {
		if os.Getenv("BOLT_UPDATE_REFERENCE") == "" {
			t.Errorf("%s does not have the present settings. Run this test with BOLT_UPDATE_REFERENCE=1, and write the meanings", file)
		} else if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `.*\\|  \\|$").FindAllString(string(want), -1) {
		t.Errorf("%s: no meaning: %s", file, row)
	}
}

// meanings returns the last cells of the rows of each table, by the name of the table and the key.
func meanings(page string) map[string]string {
	found, table := map[string]string{}, ""
	begin := regexp.MustCompile(`^<!-- (.*): begin -->$`)
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if m := begin.FindStringSubmatch(line); m != nil {
			table = m[1]
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if strings.HasPrefix(line, "| `") && len(cells) > 2 {
			found[table+" "+strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[len(cells)-1])
		}
	}
	return found
}

// referenceTables returns the tables of the page by their names.
func referenceTables(meaning map[string]string) map[string]string {
	tables := map[string]string{}
	settings := newTables(Sources{Transports: all.Tables(all.List()), Formats: []string{"human", "json", "rainbow"}, OwnFormats: []string{"ndjson"}})

	var b strings.Builder
	b.WriteString("| key | value | file | meaning |\n|---|---|---|---|\n")
	keys := slices.Concat(projectKeys, defaultsKeys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key == "inventory-config" {
			fmt.Fprintf(&b, "| `%s` | mapping | defaults | %s |\n", key, meaning["settings `"+key+"`"])
			continue
		}
		files := "both"
		switch {
		case !slices.Contains(projectKeys, key):
			files = "defaults"
		case !slices.Contains(defaultsKeys, key):
			files = "project"
		}
		settingRows(key, settings.settings[key], func(path string, s *schema.Schema) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", path, valueText(s), files, meaning["settings `"+path+"`"])
		})
	}
	tables["settings"] = b.String()

	// The transport remote belongs to package inventory.
	b.Reset()
	b.WriteString("| key | value | meaning |\n|---|---|---|\n")
	remote := settings.inventory.Properties[inventory.Remote].Properties
	for _, key := range slices.Sorted(maps.Keys(remote)) {
		if key == "refuse" { // all transports have it; the page describes it above the tables
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, valueText(remote[key]), meaning["remote `"+key+"`"])
	}
	tables["remote"] = b.String()
	for _, tr := range all.Tables(all.List()) {
		if tr.VariantOf != "" || slices.Contains([]string{"jail", "choria"}, tr.Name) { // bolt cannot use targets of these two
			continue
		}
		b.Reset()
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		options := slices.Clone(tr.Options)
		slices.SortFunc(options, func(a, b option.Option) int { return strings.Compare(a.Name, b.Name) })
		for _, o := range options {
			def := ""
			if tr.Defaults != nil {
				if v, has := tr.Defaults.Get(o.Name); has {
					def = fmt.Sprintf("`%v`", v)
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, valueText(o.Schema), def, meaning[tr.Name+" `"+o.Name+"`"])
		}
		tables[tr.Name] = b.String()
	}
	return tables
}

// settingRows calls row for a setting and for the keys inside it.
func settingRows(path string, s *schema.Schema, row func(path string, s *schema.Schema)) {
	row(path, s)
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		settingRows(path+"."+key, s.Properties[key], row)
	}
	if s.Additional != nil && len(s.Additional.Properties) > 0 {
		for _, key := range slices.Sorted(maps.Keys(s.Additional.Properties)) {
			settingRows(path+".NAME."+key, s.Additional.Properties[key], row)
		}
	}
}

// valueText describes the values of a setting.
func valueText(s *schema.Schema) string {
	if s == nil {
		return ""
	}
	var parts []string
	if len(s.Enum) > 0 {
		parts = append(parts, "`"+strings.Join(s.Enum, "`, `")+"`")
	}
	for _, of := range []struct {
		t    schema.Type
		text string
	}{
		{schema.Boolean, "true or false"}, {schema.Integer, "whole number"}, {schema.Float, "number"}, {schema.String, "string"},
		{schema.Array, "list"}, {schema.Hash, "mapping"},
	} {
		switch {
		case s.Type&of.t == 0, of.t == schema.String && len(s.Enum) > 0:
			continue
		case of.t == schema.Integer && s.Min != nil:
			parts = append(parts, fmt.Sprintf("whole number from %d", *s.Min))
		case of.t == schema.Array && s.Items != nil && s.Items.Type == schema.String:
			parts = append(parts, "list of strings")
		default:
			parts = append(parts, of.text)
		}
	}
	text := strings.Join(parts, ", ")
	if s.Deprecated != "" {
		text += " (deprecated)"
	}
	return text
}
