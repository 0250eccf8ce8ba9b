package plugin

import (
	"fmt"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/spelling"
)

const (
	pluginKey = "_plugin"
	runAsKey  = "_run_as"

	// warnUnknown is the ID of warnings about keys that nobody reads.
	warnUnknown = "unknown_plugin_option"
)

// reservedKeys are those of a reference that are not the plugin's own.
func reservedKeys() []string { return []string{pluginKey, cacheKey, sensitiveKey, runAsKey} }

// reserved looks at the keys of a reference that begin with an underscore. One that
// is misspelt is an error, as a secret may be in the open for it; any other that is
// unknown is a warning.
func (p *Plugins) reserved(name string, ref *ordered.Map) error {
	for key := range ref.All() {
		if !strings.HasPrefix(key, "_") || slices.Contains(reservedKeys(), key) {
			continue
		}
		if near := spelling.Near(key, reservedKeys()); near != "" {
			return &fault.Error{Kind: kindInvalid, Msg: fmt.Sprintf("A reference to the plugin %s has the unknown key '%s'", name, key), Hint: "Did you mean '" + near + "'?"}
		}
		p.ignored(name, key, "")
	}
	return nil
}

// options warns of what a reference says that its plugin does not read. It is no
// error, as projects that work have such keys.
func (p *Plugins) options(pl *plugin, ref *ordered.Map) {
	if pl.takes == nil {
		return
	}
	for key := range ref.All() {
		if !strings.HasPrefix(key, "_") && !slices.Contains(pl.takes, key) {
			p.ignored(pl.name, key, spelling.Near(key, slices.Concat(pl.takes, reservedKeys())))
		}
	}
}

// ignored warns once of a key; near is what was probably meant, or "".
func (p *Plugins) ignored(name, key, near string) {
	text := fmt.Sprintf("The plugin %s has no option '%s': it is ignored.", name, key)
	if near != "" {
		text += " Did you mean '" + near + "'?"
	}
	p.mu.Lock()
	told := p.told[text]
	p.told[text] = true
	p.mu.Unlock()
	if !told {
		p.opts.Warn(warnUnknown, text)
	}
}
