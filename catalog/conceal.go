package catalog

import (
	"slices"
	"strings"

	"bolt/format/ordered"
)

// minConcealed is the length in bytes of the shortest secret that is found inside other texts. Shorter secrets occur in too many texts.
const minConcealed = 4

// Conceal marks each parameter in which one of the texts occurs as sensitive. A text with fewer than four bytes is only found if it is a whole
// string. It changes the resources.
func (c *Catalog) Conceal(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	for _, r := range c.resources {
		for name, v := range r.Params.All() {
			if !slices.Contains(r.Sensitive, name) && contains(v, secrets) {
				r.Sensitive = append(r.Sensitive, name)
			}
		}
	}
}

func contains(v any, secrets []string) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(secrets, func(s string) bool {
			return s != "" && (v == s || len(s) >= minConcealed && strings.Contains(v, s))
		})
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return contains(e, secrets) })
	case *ordered.Map:
		for k, e := range v.All() {
			if contains(k, secrets) || contains(e, secrets) {
				return true
			}
		}
	}
	return false
}
