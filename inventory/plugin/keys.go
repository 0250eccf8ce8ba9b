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

	// warnUnknown is the ID of warnings about keys that no plugin reads.
	warnUnknown = "unknown_plugin_option"
)

// reservedKeys lists the keys of a reference that bolt itself reads.
func reservedKeys() []string { return []string{pluginKey, cacheKey, sensitiveKey, runAsKey} }

// reserved checks the keys of a reference that begin with an underscore. A
// misspelled key is an error, because a misspelled _sensitive would leave a secret
// readable. Any other unknown key is a warning.
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

// options warns about keys of a reference that its plugin does not read. This is
// not an error, because existing projects have such keys.
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

// ignored warns once about a key; near is the key that was probably meant, or "".
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
