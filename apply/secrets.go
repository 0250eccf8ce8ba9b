package apply

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/format/ordered"
)

// minSecret is the length from which a secret is looked for in texts. Shorter ones are part of too many words.
const minSecret = 4

// hiding returns the replacer for the secrets of a resource; nil if it has none. Types do not show the values of Sensitive
// parameters themselves, but programs and the system repeat them in their messages.
func hiding(r *resource.Resource) *strings.Replacer {
	var values []any
	for _, param := range r.Secrets {
		values = append(values, r.Params.Value(param))
	}
	return Hiding(values)
}

// Hiding returns a replacer that removes secret values (catalog.Plain) from texts, also where they are quoted and where only one of
// their lines is repeated; nil if there is nothing to look for.
func Hiding(values []any) *strings.Replacer {
	var texts []string
	add := func(text string) {
		if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
			texts = append(texts, quoted[1:len(quoted)-1])
		}
		texts = append(texts, text)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			add(v)
			if strings.HasPrefix(v, "/") {
				add(path.Base(v)) // the name of a temporary file has it
			}
			if strings.Contains(v, "\n") {
				for line := range strings.Lines(v) {
					add(strings.TrimSpace(line))
				}
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case *ordered.Map:
			for _, x := range v.All() {
				walk(x)
			}
		case bool, nil:
		default:
			add(fmt.Sprint(v))
		}
	}
	for _, v := range values {
		walk(v)
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return len(t) < minSecret })
	if len(texts) == 0 {
		return nil
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var pairs []string
	for _, t := range slices.Compact(texts) {
		pairs = append(pairs, t, report.Redacted)
	}
	return strings.NewReplacer(pairs...)
}

// hide removes the secrets of a step from an event.
func (s *step) hide(e *report.Event) {
	for _, text := range []*string{&e.Message, &e.Is, &e.Should, &e.Was, &e.Diff} {
		*text = s.concealed(*text)
	}
}

// concealed returns a text without the secrets of a step.
func (s *step) concealed(text string) string {
	if s.hidden == nil {
		return text
	}
	return s.hidden.Replace(text)
}
