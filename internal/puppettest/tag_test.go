package puppettest

import (
	"regexp"
	"slices"
	"strings"

	"bolt/puppet/eval"
)

// owner returns the class or resource that a scope is of; that of the top is
// the class main.
func (l *ledger) owner(s *eval.Scope) *entry {
	if s != nil {
		if e, is := s.Options().Owner.(*entry); is {
			return e
		}
	}
	return l.main
}

func isTag(text string) bool {
	return regexp.MustCompile(`^[\pL\pN_][\pL\pN_:.-]*$`).MatchString(text)
}

// tags are those that a resource has by its declaration.
func (e *entry) tags() []string {
	list := []string{e.ref.Type}
	if isTag(e.ref.Title) && e.scope != nil {
		list = append(list, e.ref.Title)
	}
	if v, is := e.params.GetString("tag"); is {
		list = append(list, texts(v)...)
	}
	for _, tag := range list {
		if strings.Contains(tag, "::") {
			list = append(list, strings.Split(tag, "::")...)
		}
	}
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}

// hasTag tells whether a resource, or one that it was declared in, has a tag.
func (l *ledger) hasTag(e *entry, tag string) bool {
	if slices.Contains(e.tags(), tag) || slices.Contains(e.tagged, tag) {
		return true
	}
	o := l.owner(e.scope)
	return o != e && l.hasTag(o, tag)
}

// Tag adds tags to the class or resource of a scope.
func (l *ledger) Tag(s *eval.Site, tags []string) error {
	e := l.owner(s.Scope)
	for _, tag := range tags {
		if !isTag(tag) {
			return eval.Errorf("bad-tag", "%q cannot be a tag", tag)
		}
		e.tagged = append(e.tagged, strings.ToLower(tag))
	}
	return nil
}

// Tagged tells whether each of some tags is one of the class or resource of a
// scope, or of a class or a node that is known by now.
func (l *ledger) Tagged(s *eval.Site, tags []string) (bool, error) {
	for _, tag := range tags {
		tag = strings.ToLower(tag)
		known := tag == "settings" || l.hasTag(l.owner(s.Scope), tag)
		for r, e := range l.byRef {
			known = known || (r.Type == "class" || r.Type == "node") && e.scope != nil && slices.Contains(e.tags(), tag)
		}
		if !known {
			return false, nil
		}
	}
	return true, nil
}
