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
	var found selection
	for _, p := range patterns {
		for _, word := range splitWords(p) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := inv.expand(word, true, &found); err != nil {
				return nil, err
			}
		}
	}
	return found.list, nil
}

// Lookup is Targets for plans' get_targets: names in a list are separated by
// spaces and commas wherever they stand, braces have no meaning in a pattern,
// and the targets are prepared (see Prepare), one word after the other. So
// ad-hoc targets are in the group all from then on. Errors are those of Targets
// and Data.
//
// Differs from Puppet: a group's targets always come in the file's order, then
// those that plans added. In Bolt those that have been looked up before come
// after the group's other ones, and, in the group all, before those of the
// groups in it.
func (inv *Inventory) Lookup(ctx context.Context, names []string) ([]*Target, error) {
	var found selection
	for _, list := range names {
		for _, word := range strings.FieldsFunc(list, separator) {
			known := len(found.list)
			if err := inv.expand(word, false, &found); err != nil {
				return nil, err
			}
			if err := inv.Prepare(ctx, found.list[known:]); err != nil {
				return nil, err
			}
		}
	}
	return found.list, nil
}

// Target is Lookup for plans' get_target: any other number of targets than one
// is an error of kind bolt.inventory/validation-error.
func (inv *Inventory) Target(ctx context.Context, name string) (*Target, error) {
	found, err := inv.Lookup(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, inv.invalid(nil, "'%s' refers to %d targets", SafeName(name), len(found))
	}
	return found[0], nil
}

// selection lists targets once each, where they first come.
type selection struct {
	list []*Target
	seen map[*Target]bool
}

func (l *selection) add(t *Target) {
	if l.seen == nil {
		l.seen = make(map[*Target]bool)
	}
	if !l.seen[t] {
		l.seen[t] = true
		l.list = append(l.list, t)
	}
}

// expand finds what one word means.
func (inv *Inventory) expand(word string, braces bool, to *selection) error {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if g, ok := inv.groups[word]; ok {
		inv.addGroup(g, to)
		return nil
	}
	t, known := inv.targets[word]
	if !known {
		t, known = inv.targets[inv.aliases[word]]
	}
	if known {
		to.add(t)
		return nil
	}
	u, err := parseURI(word)
	address := err == nil && (u.scheme != "" || strings.Contains(u.host, ":"))
	if strings.ContainsAny(word, glob.Chars) && !address {
		return inv.expandGlob(word, braces, to)
	}
	if err != nil {
		return badURI(word, err)
	}
	to.add(inv.adhoc(word))
	return nil
}

func badURI(uri string, err error) error {
	return &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse target URI '" + SafeName(uri) + "': " + err.Error(), Err: err}
}

// addGroup adds a group's own targets, then those of its children, and reports
// whether it has any. The caller holds Inventory.mu, as for adhoc and
// expandGlob.
func (inv *Inventory) addGroup(g *group, to *selection) bool {
	found := false
	add := func(t *Target) { found = true; to.add(t) }
	g.walk(func(g *group) {
		for _, d := range g.defs {
			if t := inv.targets[d.name]; !g.removed[t] {
				add(t)
			}
		}
		for _, t := range g.added {
			add(t)
		}
	})
	return found
}

// adhoc makes the target with that URI.
func (inv *Inventory) adhoc(uri string) *Target {
	t := &Target{Name: uri, URI: uri, Adhoc: true, inv: inv}
	t.first.uri, t.first.groups = uri, []*group{inv.root}
	t.now.Store(&t.first)
	inv.targets[uri] = t
	return t
}

func (inv *Inventory) expandGlob(pattern string, braces bool, to *selection) error {
	g := glob.WithoutBraces(pattern)
	if braces {
		var err error
		if g, err = glob.Compile(pattern); err != nil {
			return &fault.Error{Kind: "bolt.inventory/wildcard-error", Msg: fmt.Sprintf("pattern %s: %v", SafeName(pattern), err), Err: err}
		}
	}
	matched := false
	for _, name := range inv.groupNames {
		if g.Match(name) {
			matched = inv.addGroup(inv.groups[name], to) || matched
		}
	}
	match := func(name, target string) {
		if g.Match(name) {
			matched = true
			to.add(inv.targets[target])
		}
	}
	for _, name := range inv.names {
		match(name, name)
	}
	for _, t := range inv.root.added {
		match(t.Name, t.Name)
	}
	for _, name := range inv.aliasNames {
		match(name, inv.aliases[name])
	}
	if !matched {
		return fault.New("bolt.inventory/wildcard-error", "Found 0 targets matching wildcard pattern %s", SafeName(pattern))
	}
	return nil
}

func separator(r rune) bool { return r == ',' || unicode.IsSpace(r) }

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
		if i >= until && separator(r) {
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
