package inventory

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"bolt/internal/fault"
	"bolt/internal/glob"
)

// Targets expands what a user wrote for --targets. Each pattern is a list
// separated by spaces and commas (but not those inside "{}" and "[]"); each of
// its words is, in this order of preference: a group; a target; an alias; a
// pattern with "*", "?", "[…]" or "{a,b}" that is compared, ignoring case, with
// the names of groups, targets and aliases; or a URI of a target that the
// inventory does not know. Every target is listed once, where it first comes.
//
// Differs from Puppet: a name of the inventory is found although it has
// characters of a pattern in it, [::1]:22 is an address and no pattern, and so
// is 2001:db8::1 without brackets; braces may be nested.
//
// Errors are *fault.Error: bolt.inventory/wildcard-error for a pattern that
// matches nothing, bolt/parse-error for a word that is no URI. Nothing is
// merged and no reference resolved yet; see Prepare.
func (inv *Inventory) Targets(ctx context.Context, patterns []string) ([]*Target, error) {
	var list []*Target
	seen := make(map[*Target]bool)
	add := func(t *Target) {
		if !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
	}
	for _, p := range patterns {
		for _, word := range splitWords(p) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := inv.expand(word, add); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func (inv *Inventory) expand(word string, add func(*Target)) error {
	if g, ok := inv.groups[word]; ok {
		inv.addGroup(g, add)
		return nil
	}
	inv.mu.Lock()
	t, known := inv.targets[word]
	if !known {
		t, known = inv.targets[inv.aliases[word]]
	}
	inv.mu.Unlock()
	if known {
		add(t)
		return nil
	}
	u, err := parseURI(word)
	address := err == nil && (u.scheme != "" || strings.Contains(u.host, ":"))
	if strings.ContainsAny(word, glob.Chars) && !address {
		return inv.expandGlob(word, add)
	}
	if err != nil {
		return &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse target URI '" + SafeName(word) + "': " + err.Error(), Err: err}
	}
	add(inv.adhoc(word))
	return nil
}

// addGroup adds a group's own targets, then those of its children.
func (inv *Inventory) addGroup(g *group, add func(*Target)) {
	g.walk(func(g *group) {
		for _, d := range g.defs {
			add(inv.known(d.name))
		}
	})
}

// known returns a target of the inventory.
func (inv *Inventory) known(name string) *Target {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.targets[name]
}

// adhoc returns the target with that URI, making it if it is new.
func (inv *Inventory) adhoc(uri string) *Target {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	t, ok := inv.targets[uri]
	if !ok {
		t = &Target{Name: uri, URI: uri, Adhoc: true, inv: inv, defs: []*definition{{group: inv.root, name: uri, uri: uri}}}
		inv.targets[uri] = t
	}
	return t
}

func (inv *Inventory) expandGlob(pattern string, add func(*Target)) error {
	g, err := glob.Compile(pattern)
	if err != nil {
		return &fault.Error{Kind: "bolt.inventory/wildcard-error", Msg: fmt.Sprintf("pattern %s: %v", SafeName(pattern), err), Err: err}
	}
	matched := false
	hit := func(t *Target) { matched = true; add(t) }
	for _, name := range inv.groupNames {
		if g.Match(name) {
			inv.addGroup(inv.groups[name], hit)
		}
	}
	for _, name := range inv.names {
		if g.Match(name) {
			hit(inv.known(name))
		}
	}
	for _, name := range inv.aliasNames {
		if g.Match(name) {
			hit(inv.known(inv.aliases[name]))
		}
	}
	if !matched {
		return fault.New("bolt.inventory/wildcard-error", "Found 0 targets matching wildcard pattern %s", SafeName(pattern))
	}
	return nil
}

// splitWords splits at spaces and commas outside of brackets and braces. One
// that is never closed counts as an ordinary character.
func splitWords(s string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	until := 0 // the text before it is inside brackets
	for i, r := range s {
		if (r == '{' || r == '[') && i >= until {
			until = i + closing(s[i:])
		}
		if i >= until && (r == ',' || unicode.IsSpace(r)) {
			flush()
			continue
		}
		b.WriteRune(r)
	}
	flush()
	return words
}

// closing returns the length of the bracketed text that s starts with, 0 if
// it is not closed.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
