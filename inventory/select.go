package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"bolt/format/fault"
	"bolt/internal/glob"
	"bolt/internal/nodeset"
)

// Targets expands the user's patterns for --targets. Each pattern is a list of
// words, separated by spaces and commas (except inside "{}" and "[]"). Each word
// is, in this order of preference: a group; a target; an alias; a word with ranges
// of numbers; a wildcard pattern with "*", "?", "[…]" or "{a,b}", which is
// compared, ignoring case, with the names of groups, targets and aliases; or a URI
// of a target that is not in the inventory. Every target is listed once, at its
// first position.
//
// "&" before a word keeps only the targets that the word names; "!" removes them.
// The position of such words does not matter: all other words are expanded first,
// then all words with "&" are applied, then all words with "!". If there are no
// other words, all targets of the inventory are used. Words with "&" or "!" do not
// create ad-hoc targets.
//
// "web[01-12]" is a word with ranges, read by package nodeset; it is short for the
// list of its names. In a wildcard pattern a bracket stands for one character. If
// a word can be both, it is a pattern if the pattern matches a name, and a range
// otherwise. But a word with two-digit numbers is first tried as a range.
//
// Differs from Puppet: a name of the inventory is found even if it contains
// wildcard characters; [::1]:22 is an address, not a pattern, and so is
// 2001:db8::1 without brackets; braces may be nested; "!", "&" and ranges are
// extensions.
//
// Errors are *fault.Error: bolt.inventory/wildcard-error for a pattern without a
// match; bolt.inventory/validation-error for a word after "!" or "&" that matches
// no target and for an invalid range; bolt/parse-error for a word that is not a
// URI or whose host contains one of signs. Targets does not merge data, and
// resolves only the references that groups with a match need; see Prepare.
func (inv *Inventory) Targets(ctx context.Context, patterns []string) ([]*Target, error) {
	var plain, only, without []string
	for _, p := range patterns {
		for _, word := range splitWords(p) {
			switch op, name := inv.operator(word); op {
			case '&':
				only = append(only, name)
			case '!':
				without = append(without, name)
			default:
				plain = append(plain, word)
			}
		}
	}
	if plain == nil && (only != nil || without != nil) {
		plain = []string{inv.root.name}
	}
	var found selection
	for _, word := range plain {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := search{inv: inv, typed: true, makes: true, to: &found}
		if _, err := s.word(ctx, word); err != nil {
			return nil, err
		}
	}
	for _, word := range only {
		named, err := inv.named(ctx, '&', word, found.list)
		if err != nil {
			return nil, err
		}
		found.list = slices.DeleteFunc(found.list, func(t *Target) bool { return !named[t] })
	}
	gone := make(map[*Target]bool) // of all words together: there may be thousands
	for _, word := range without {
		named, err := inv.named(ctx, '!', word, found.list)
		if err != nil {
			return nil, err
		}
		maps.Copy(gone, named)
	}
	return slices.DeleteFunc(found.list, func(t *Target) bool { return gone[t] }), nil
}

// Extended reports whether patterns contain syntax that Puppet Bolt and plans'
// get_targets do not have: "!", "&", or ranges (if the word does not match as a
// wildcard pattern).
func (inv *Inventory) Extended(patterns []string) bool {
	for _, p := range patterns {
		for _, word := range splitWords(p) {
			if op, _ := inv.operator(word); op != 0 || inv.extended(word) {
				return true
			}
		}
	}
	return false
}

// extended reports whether a word is read as ranges.
func (inv *Inventory) extended(word string) bool {
	names, wide, isRange, _ := ranges(word)
	if !isRange || inv.known(word) {
		return false
	}
	if wide && slices.ContainsFunc(names, inv.known) {
		return true
	}
	return !slices.ContainsFunc(inv.Names(), glob.WithoutBraces(word).Match)
}

// operator cuts "!" or "&" off a word, unless the whole word is a name; then op is
// 0.
func (inv *Inventory) operator(word string) (op byte, name string) {
	if word[0] != '!' && word[0] != '&' || inv.known(word) {
		return 0, word
	}
	return word[0], word[1:]
}

// named returns the targets that a word after op names, among the known targets
// and the targets in among.
func (inv *Inventory) named(ctx context.Context, op byte, word string, among []*Target) (map[*Target]bool, error) {
	if word == "" {
		return nil, fault.New("bolt/parse-error", "A name must follow '%c' at once, as in '%[1]cdb'", op)
	}
	var found selection
	s := search{inv: inv, typed: true, among: among, to: &found}
	ok, err := s.word(ctx, word)
	if err == nil && !ok {
		err = inv.invalid(nil, "'%c%s' matches no target: a target, group or alias with that name does not exist", op, SafeName(word))
	}
	return found.seen, err
}

// Lookup is Targets for get_targets in plans: names in a list are separated by
// spaces and commas at any position, braces have no meaning in a pattern, and each
// word's targets are prepared (see Prepare) before the next word. So ad-hoc
// targets are in the group all from then on. Errors are the errors of Targets and
// Data.
// and Data.
// Differs from Puppet: a group's targets are always listed in the file's order,
// followed by targets that plans added. In Bolt, targets that were looked up
// before come after the group's other targets and, in the group all, before the
// targets of its child groups.
func (inv *Inventory) Lookup(ctx context.Context, names []string) ([]*Target, error) {
	var found selection
	s := search{inv: inv, makes: true, to: &found}
	for _, list := range names {
		for _, word := range strings.FieldsFunc(list, separator) {
			known := len(found.list)
			if _, err := s.word(ctx, word); err != nil {
				return nil, err
			}
			if err := inv.Prepare(ctx, found.list[known:]); err != nil {
				return nil, err
			}
		}
	}
	return found.list, nil
}

// Target is Lookup for get_target in plans: if the name does not match exactly one
// target, it returns an error of kind bolt.inventory/validation-error.
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

// selection lists targets once each, at their first position.
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

// A search finds the targets that words name.
type search struct {
	inv   *Inventory
	typed bool      // typed by the user: braces and ranges take effect
	makes bool      // creates ad-hoc targets for unknown URIs
	among []*Target // targets that patterns match too, besides the targets of the inventory
	to    *selection
}

// word adds the targets that a word names, and reports whether it names any.
func (s *search) word(ctx context.Context, word string) (bool, error) {
	if ok, err := s.name(ctx, word); ok || err != nil {
		return ok, err
	}
	var names []string
	var wide, isRange bool
	var rangeErr error
	if s.typed {
		names, wide, isRange, rangeErr = ranges(word)
	}
	if wide && slices.ContainsFunc(names, s.inv.known) {
		return s.names(ctx, names)
	}
	u, err := parseURI(word)
	address := err == nil && (u.scheme != "" || strings.Contains(u.host, ":")) && !isRange
	if strings.ContainsAny(word, glob.Chars) && !address {
		found, err := s.glob(ctx, word)
		switch {
		case found || err != nil:
			return found, err
		case rangeErr != nil:
			return false, s.inv.invalid(nil, "'%s': %v", SafeName(word), rangeErr)
		case isRange:
			return s.names(ctx, names)
		}
		f := fault.New("bolt.inventory/wildcard-error", "Found 0 targets matching wildcard pattern %s", SafeName(word))
		// A bracket may begin with "!" or "^".
		if s.typed && strings.ContainsAny(strings.NewReplacer("[!", "", "[^", "").Replace(word), signs+":") {
			f.Hint = commasHint
		}
		return false, f
	}
	return s.unknown(word)
}

// ranges returns the names that a word with ranges stands for. The word must not
// contain other wildcard characters. The part before "@" is not expanded, because
// it may contain a password.
func ranges(word string) (names []string, wide, ok bool, err error) {
	at := strings.LastIndexByte(word, '@') + 1
	if strings.ContainsAny(word, "*?{}") {
		return nil, false, false, nil
	}
	set, ok, err := nodeset.Parse(word[at:])
	if !ok || err != nil {
		return nil, false, ok, err
	}
	names = set.Names()
	for i := range names {
		names[i] = word[:at] + names[i]
	}
	return names, set.Wide(), true, nil
}

// known reports whether a word is the name of a group or target, or an alias.
func (inv *Inventory) known(word string) bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.groups[word] != nil || inv.target(word) != nil
}

// target returns the target with that name or alias, nil if there is none. The
// caller holds Inventory.mu.
func (inv *Inventory) target(name string) *Target {
	if t := inv.targets[name]; t != nil {
		return t
	}
	return inv.targets[inv.aliases[name]]
}

// name adds the group or target with that name.
func (s *search) name(ctx context.Context, name string) (bool, error) {
	inv := s.inv
	g := inv.groups[name]
	if g != nil && g != inv.root && g.dynamic {
		if err := inv.settle(ctx); err != nil {
			return false, err
		}
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if g != nil {
		inv.addGroup(g, s.to)
		return true, nil
	}
	t := inv.target(name)
	if t != nil {
		s.to.add(t)
	}
	return t != nil, nil
}

// names adds the targets with the names from ranges.
func (s *search) names(ctx context.Context, names []string) (bool, error) {
	found := false
	for _, name := range names {
		ok, err := s.name(ctx, name)
		if err == nil && !ok {
			ok, err = s.unknown(name)
		}
		if err != nil {
			return false, err
		}
		found = found || ok
	}
	return found, nil
}

// unknown adds the target with that URI, and creates it if the search makes
// targets.
func (s *search) unknown(uri string) (bool, error) {
	if !s.makes {
		return false, nil
	}
	u, err := parseURI(uri)
	if err == nil && s.typed && strings.ContainsAny(u.host, signs) {
		err = errors.New("the host name has one of " + signs)
	}
	if err != nil {
		f := badURI(uri, err)
		if s.typed && joined(uri) {
			f.Hint = commasHint
		}
		return false, f
	}
	s.inv.mu.Lock()
	defer s.inv.mu.Unlock()
	t := s.inv.targets[uri]
	if t == nil {
		t = s.inv.adhoc(uri)
	}
	s.to.add(t)
	return true, nil
}

// signs are characters that other tools write between targets. No host name
// contains them.
const signs = "!&^"

// commasHint does not quote the word, because the word may contain a password.
const commasHint = "Separate targets with commas: 'web,db' is both, 'web,!db' is web without db, 'web,&eu' is the targets that are in both web and eu."

// joined reports whether a word that is not a URI may be several words without
// commas between them: it contains one of signs, or a colon that is not followed
// by a number.
func joined(word string) bool {
	port := word[strings.LastIndexByte(word, ':')+1:]
	return strings.ContainsAny(word, signs) || port != word && strings.Trim(port, "0123456789") != ""
}

func badURI(uri string, err error) *fault.Error {
	return &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse target URI '" + SafeName(uri) + "': " + err.Error(), Err: err}
}

// addGroup adds a group's own targets, then the targets of its children, and
// reports whether there are any. For the group all it skips matched, because all
// contains these targets anyway. The caller holds Inventory.mu, as for adhoc.
func (inv *Inventory) addGroup(g *group, to *selection) bool {
	found := false
	add := func(t *Target) { found = true; to.add(t) }
	all := g == inv.root
	g.walk(func(g *group) {
		for _, d := range g.defs {
			if t := inv.targets[d.name]; !g.removed[t] {
				add(t)
			}
		}
		if !all {
			for _, t := range g.matched {
				if !slices.Contains(t.now.Load().left, g) {
					add(t)
				}
			}
		}
		for _, t := range g.added {
			add(t)
		}
	})
	return found
}

// adhoc creates the target with that URI.
func (inv *Inventory) adhoc(uri string) *Target {
	t := &Target{Name: uri, URI: uri, Adhoc: true, inv: inv}
	t.first.uri, t.first.groups = uri, []*group{inv.root}
	t.now.Store(&t.first)
	inv.targets[uri] = t
	return t
}

// glob adds the targets that a pattern matches, and reports whether it matches
// anything.
func (s *search) glob(ctx context.Context, pattern string) (bool, error) {
	inv := s.inv
	g := glob.WithoutBraces(pattern)
	if s.typed {
		var err error
		if g, err = glob.Compile(pattern); err != nil {
			return false, &fault.Error{Kind: "bolt.inventory/wildcard-error", Msg: fmt.Sprintf("pattern %s: %v", SafeName(pattern), err), Err: err}
		}
	}
	var groups []*group
	for _, name := range inv.groupNames {
		if g.Match(name) {
			groups = append(groups, inv.groups[name])
		}
	}
	all := len(groups) > 0 && groups[0] == inv.root // the group all contains every target
	if !all && slices.ContainsFunc(groups, func(g *group) bool { return g.dynamic }) {
		if err := inv.settle(ctx); err != nil {
			return false, err
		}
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	matched := false
	for _, g := range groups {
		matched = inv.addGroup(g, s.to) || matched
	}
	match := func(name string, t *Target) {
		if g.Match(name) {
			matched = true
			s.to.add(t)
		}
	}
	for _, name := range inv.names {
		match(name, inv.targets[name])
	}
	for _, t := range inv.root.added {
		match(t.Name, t)
	}
	for _, name := range inv.aliasNames {
		match(name, inv.targets[inv.aliases[name]])
	}
	for _, t := range s.among {
		match(t.Name, t)
	}
	return matched, nil
}

func separator(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// splitWords splits at spaces and commas outside of brackets and braces. A bracket
// that is not closed is an ordinary character.
func splitWords(s string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	until := 0 // the part of s before this index is inside brackets
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

// closing returns the length of the bracketed text at the start of s, 0 if it is
// not closed.
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
