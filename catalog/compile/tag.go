package compile

import (
	"slices"
	"strings"
	"unicode"

	"bolt/puppet/eval"
)

// A tagSet is a set of tags in lower case, in the order of their addition.
type tagSet struct {
	list  []string
	index map[string]bool // of a long list; nil for a short one
}

// longTags is the length from which a list has an index. Most resources have fewer tags, but resources in
// deeply nested classes have the tags of all classes around them.
const longTags = 32

func (t *tagSet) add(tag string) {
	if t.has(tag) {
		return
	}
	t.list = append(t.list, tag)
	switch {
	case t.index != nil:
		t.index[tag] = true
	case len(t.list) == longTags:
		t.index = make(map[string]bool, 2*longTags)
		for _, tag := range t.list {
			t.index[tag] = true
		}
	}
}

func (t *tagSet) has(tag string) bool {
	if t.index != nil {
		return t.index[tag]
	}
	return slices.Contains(t.list, tag)
}

// isTag reports whether a text can be a tag: it begins with a letter, a digit or an underscore, and
// may then also contain ":", "." and "-".
func isTag(text string) bool {
	for i, r := range text {
		if !isTagLetter(r) && (i == 0 || !strings.ContainsRune(":.-", r)) {
			return false
		}
	}
	return text != ""
}

func isTagLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

// eachOwnTag calls f with the tags that a resource has by its declaration: its type, its title and
// the parameter tag. f gets a name with "::" and its segments.
func (r *resource) eachOwnTag(f func(tag string)) {
	one := func(tag string) {
		tag = strings.ToLower(tag)
		f(tag)
		if strings.Contains(tag, "::") {
			for part := range strings.SplitSeq(tag, "::") {
				f(part)
			}
		}
	}
	one(r.ref.Type)
	if (r.scope != nil || r.ref.Title == "settings") && !r.numbered && isTag(r.ref.Title) {
		one(r.ref.Title)
	}
	if v, is := r.params.GetString("tag"); is {
		for _, tag := range texts(v) {
			one(tag)
		}
	}
	for _, tag := range r.tagged.list {
		f(tag)
	}
}

// eachTag calls f with all tags of a resource. It calls f twice with some of them.
func (r *resource) eachTag(f func(tag string)) {
	r.eachOwnTag(f)
	for _, tag := range r.outer {
		f(tag)
	}
}

func (r *resource) hasTag(tag string) (has bool) {
	r.eachTag(func(t string) { has = has || t == tag })
	return has
}

// tagsOf returns the tags of the class or resource that a scope belongs to.
func (c *compiler) tagsOf(s *eval.Scope) []string {
	owner := c.owner(s)
	if owner.inner == nil {
		var tags tagSet
		owner.eachTag(tags.add)
		owner.inner = tags.list
	}
	return owner.inner
}

// Tag adds tags to the class or resource of a scope.
func (c *compiler) Tag(s *eval.Site, tags []string) error {
	owner := c.owner(s.Scope)
	for _, tag := range tags {
		if !isTag(tag) {
			return eval.Errorf("bad-tag", "%q cannot be a tag", tag)
		}
		owner.tagged.add(strings.ToLower(tag))
	}
	c.noteChange(owner)
	return nil
}

// Tagged reports whether the class or resource of a scope, or a class or a node that is already
// known, has each of some tags.
func (c *compiler) Tagged(s *eval.Site, tags []string) (bool, error) {
	for _, tag := range tags {
		tag = strings.ToLower(tag)
		if !c.tags.has(tag) && !c.owner(s.Scope).hasTag(tag) {
			return false, nil
		}
	}
	return true, nil
}
