package output

import (
	"cmp"
	"crypto/sha256"
	"io"
	"slices"
	"strings"

	"bolt/event"
	"bolt/format/safejson"
	"bolt/internal/nodeset"
	"bolt/inventory"
	"bolt/output/layout"
)

// placeholder replaces a target's own name in a text of several targets.
const placeholder = "<target>"

// folder collects results that are equal except for their target's name. It holds the
// output of the first result of each group.
type folder struct {
	groups map[[sha256.Size]byte]*group
	order  []*group
}

// group is a set of equal results.
type group struct {
	result  *event.Result // of the first
	targets []*inventory.Target
}

func newFolder() *folder { return &folder{groups: make(map[[sha256.Size]byte]*group)} }

// add adds r to its group, and keeps its output if r is the first of the group.
func (f *folder) add(r *event.Result) error {
	key, err := foldKey(r)
	if err != nil {
		return err
	}
	if g := f.groups[key]; g != nil {
		g.targets = append(g.targets, r.Target)
		return nil
	}
	r.Output.Retain()
	g := &group{result: r, targets: []*inventory.Target{r.Target}}
	f.groups[key] = g
	f.order = append(f.order, g)
	return nil
}

// foldKey is equal for results that print the same.
func foldKey(r *event.Result) (key [sha256.Size]byte, err error) {
	h := sha256.New()
	part := func(s string) { // NUL separates the parts: no part contains it
		_, _ = io.WriteString(h, strings.ReplaceAll(s, "\x00", `\0`)+"\x00")
	}
	part(r.Action)
	if !r.OK() {
		part(withoutName(r.Err.Msg, r.Target))
		part(withoutName(r.Err.Hint, r.Target))
	}
	part("")
	if r.Value.Len() > 0 {
		var value strings.Builder
		if err := safejson.Write(&value, r.Value); err != nil {
			return key, err
		}
		part(withoutName(value.String(), r.Target))
	}
	part("")
	if r.ShowsOutput() {
		sum, err := r.Output.Sum()
		if err != nil {
			return key, err
		}
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// sort puts the largest group first, and groups of equal size in the order of their
// first targets. The targets of a group get the order of targets, too.
func (f *folder) sort(targets []*inventory.Target) {
	at := make(map[*inventory.Target]int, len(targets))
	for i, t := range targets {
		at[t] = i
	}
	byPlace := func(a, b *inventory.Target) int { return cmp.Compare(at[a], at[b]) }
	for _, g := range f.order {
		slices.SortFunc(g.targets, byPlace)
	}
	slices.SortFunc(f.order, func(a, b *group) int {
		return cmp.Or(cmp.Compare(len(b.targets), len(a.targets)), byPlace(a.targets[0], b.targets[0]))
	})
}

// each calls print for every group until the first error, and closes the outputs of
// all.
func (f *folder) each(print func(*group) error) error {
	var first error
	for _, g := range f.order {
		if first == nil {
			first = print(g)
		}
		if err := g.result.Output.Close(); first == nil {
			first = err
		}
	}
	f.order = nil
	clear(f.groups)
	return first
}

// name returns the name of the group in headings.
func (g *group) name() string {
	name := nodeset.Fold(safeNames(g.targets))
	if len(g.targets) > 1 {
		name += " (" + layout.Plural(len(g.targets), "target") + ")"
	}
	return name
}

// rename changes a text of the group's first result into a text for all targets of the
// group.
func (g *group) rename(s string) string {
	if len(g.targets) == 1 {
		return s
	}
	return withoutName(s, g.result.Target)
}

// withoutName replaces a target's name and host in s if they are separate words.
func withoutName(s string, t *inventory.Target) string {
	for _, name := range []string{t.Name, t.SafeName(), t.URI, uriHost(t.URI), uriHost(t.Name)} {
		s = replaceWord(s, name)
	}
	return s
}

// uriHost returns the host in a target's URI:
// [scheme://][user[:password]@]host[:port][/…].
func uriHost(uri string) string {
	if _, after, ok := strings.Cut(uri, "://"); ok {
		uri = after
	}
	uri, _, _ = strings.Cut(uri, "/")
	uri = uri[strings.LastIndexByte(uri, '@')+1:]
	if strings.HasPrefix(uri, "[") {
		host, _, _ := strings.Cut(uri[1:], "]")
		return host
	}
	host, _, _ := strings.Cut(uri, ":")
	return host
}

// replaceWord replaces each word in s that is not part of a longer name by the
// placeholder.
func replaceWord(s, word string) string {
	if word == "" {
		return s
	}
	var b strings.Builder
	done := 0 // the part of s before done is in b
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			b.WriteString(s[done:])
			return b.String()
		}
		i += from
		from = i + len(word)
		if !endsInName(s[:i]) && !beginsWithName(s[from:]) {
			b.WriteString(s[done:i] + placeholder)
			done = from
		}
	}
}

// endsInName reports whether a word directly after s would be part of a longer name.
func endsInName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	return s != "" && nameByte(s[len(s)-1])
}

// beginsWithName reports whether a word directly before s would be part of a longer
// name.
func beginsWithName(s string) bool {
	s = strings.TrimPrefix(s, ".")
	return s != "" && nameByte(s[0])
}

// nameByte reports whether c can be part of a host name.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= 0x80
}
