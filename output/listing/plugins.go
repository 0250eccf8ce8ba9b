package listing

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/inventory/plugin"
	"bolt/output/layout"
)

// The layout of the list: descriptions begin pluginGap columns after the longest
// name, and a line is about pluginWidth wide.
const (
	pluginGap   = 4
	pluginWidth = 80
)

// PrintPluginList prints the plugins by hook, and the directories that were
// searched for modules. Only JSON contains hooks without plugins.
func PrintPluginList(w io.Writer, o Options, list []plugin.Listing, modulepath []string) error {
	out := bufio.NewWriter(w)
	if o.Format.Data {
		hooks := &ordered.Map{}
		for _, h := range list {
			plugins := &ordered.Map{}
			for _, p := range h.Plugins {
				plugins.Set(p.Name, textOrNull(p.Description))
			}
			hooks.Set(string(h.Hook), plugins)
		}
		return layout.WriteDocument(w, ordered.Of("plugins", hooks, "modulepath", modulepath))
	}
	width := 0
	for _, h := range list {
		for _, p := range h.Plugins {
			width = max(width, utf8.RuneCountInString(p.Name)+pluginGap)
		}
	}
	first := true
	for _, h := range list {
		if len(h.Plugins) == 0 {
			continue
		}
		if !first {
			_ = out.WriteByte('\n')
		}
		first = false
		heading(out, o.Color, string(h.Hook))
		for _, p := range h.Plugins {
			line := "  " + p.Name
			if p.Description != "" {
				line += strings.Repeat(" ", width-utf8.RuneCountInString(p.Name)) + shortened(p.Description, pluginWidth-width)
			}
			_, _ = out.WriteString(safetext.TerminalString(line) + "\n")
		}
	}
	printModulepath(out, o.Color, modulepath)
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  docs/plugins.md describes references to plugins and how to write a plugin.\n")
	return out.Flush()
}

// PrintAnswer prints the result of a call to a plugin: a string as it is, all other
// values as JSON. On a terminal, control sequences are removed, because anyone who
// has a public key can put any text into an encrypted value.
func PrintAnswer(w io.Writer, terminal bool, answer any) error {
	var text bytes.Buffer
	if s, ok := answer.(string); ok {
		text.WriteString(s)
	} else if err := safejson.WriteIndented(&text, answer); err != nil {
		return err
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
		text.WriteByte('\n')
	}
	if !terminal {
		_, err := text.WriteTo(w)
		return err
	}
	clean := safetext.NewTerminal(w, false)
	if _, err := clean.Write(text.Bytes()); err != nil {
		return err
	}
	return clean.Flush()
}
