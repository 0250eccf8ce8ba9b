package cli

import (
	"slices"
	"strings"

	"bolt/internal/spelling"
)

// Find returns the command whose name words begin with, and its arguments. words
// is not empty.
func (p *Program) Find(words []string) (c *Command, args []string, err error) {
	if c, args := p.named(words); c != nil {
		return c, args, nil
	}
	var names, actions []string
	for _, c := range p.Commands {
		name, action, _ := strings.Cut(c.Name, " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if name == words[0] {
			actions = append(actions, action)
		}
	}
	if actions == nil {
		if err := p.Refuse(words[:1]); err != nil {
			return nil, nil, err
		}
		err := Errorf("'%s' is not a Bolt command. See 'bolt help'.", words[0])
		if near := spelling.Near(words[0], names); near != "" {
			err = Hinted(err, "did you mean %s?", near)
		}
		return nil, nil, err
	}
	g := p.group(words[0])
	if !g.AsListed {
		slices.Sort(actions)
	}
	if len(words) == 1 {
		err := Errorf("Expected an action of the form 'bolt %s <action>'", words[0])
		return nil, nil, Hinted(err, "the action is %s", spelling.Or(actions))
	}
	err = Errorf("Expected action '%s' to be one of %s", words[1], strings.Join(actions, ", "))
	if g.Advise != nil {
		if hint := g.Advise(words, actions); hint != "" {
			return nil, nil, Hinted(err, "%s", hint)
		}
	}
	if near := spelling.Near(words[1], actions); near != "" {
		err = Hinted(err, "did you mean %s?", near)
	}
	return nil, nil, err
}

// named returns the command whose name words begin with; nil if there is none.
func (p *Program) named(words []string) (c *Command, args []string) {
	for i := range p.Commands {
		c := &p.Commands[i]
		first, second, two := strings.Cut(c.Name, " ")
		switch {
		case len(words) == 0 || words[0] != first:
		case !two:
			return c, words[1:]
		case len(words) > 1 && words[1] == second:
			return c, words[2:]
		}
	}
	return nil, nil
}

// Refuse returns the error for words that begin with a missing command; nil for
// all others.
func (p *Program) Refuse(words []string) error {
	for _, m := range p.Missing {
		name := strings.Fields(m.Name)
		if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return m.Refuse(words[len(name):])
		}
	}
	return nil
}
