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

// Exposing returns the first resource with one of the texts in its title or tags, which are stored in clear; nil if
// there is none. Texts are found by the rules of Conceal. Classes are left out, because their names come from code.
func (c *Catalog) Exposing(secrets []string) *Resource {
	if len(secrets) == 0 {
		return nil
	}
	for _, r := range c.resources {
		if r.Ref.Type == "Class" {
			continue
		}
		if contains(r.Ref.Title, secrets) || slices.ContainsFunc(r.Tags, func(tag string) bool { return contains(tag, secrets) }) {
			return r
		}
	}
	return nil
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
