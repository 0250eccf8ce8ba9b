package builtin

import (
	"slices"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// cataloging returns the functions that change or query a catalog. Without a
// catalog, they return an error.
func cataloging() []*eval.Function {
	list := []*eval.Function{
		{Name: "include", Doc: "Declares classes, unless they are declared already, and returns them.", Signatures: including(eval.Include)},
		{Name: "contain", Doc: "Declares classes as include does, and adds them to the class or resource that calls it: it is complete when they are.", Signatures: including(eval.Contain)},
		{Name: "require", Doc: "Declares classes as include does, and applies them before the class or resource that calls it.", Signatures: including(eval.Require)},
		{Name: "realize", Doc: "Makes virtual resources real.", Signatures: old("Any $resource, Any *$resources", realize)},
		{Name: "create_resources", Doc: "Declares resources of a type from a hash of titles to hashes of attributes, with default attributes; @ or @@ before the type makes them virtual or exported.",
			Signatures: old("Any $type, Any $resources, Any $defaults = {}", createResources)},
		{Name: "tag", Doc: "Adds tags to the class or resource that calls it.", Signatures: old("Any $tag, Any *$tags", func(c *eval.Call, args []value.Value) (value.Value, error) {
			catalog, err := catalogOf(c)
			if err != nil {
				return nil, err
			}
			tags, err := tagsOf(c, args)
			if err != nil {
				return nil, err
			}
			return value.Undef{}, catalog.Tag(&c.Site, tags)
		})},
		{Name: "tagged", Doc: "Returns whether the class or resource that calls it, or the catalog, has all of the tags.", Signatures: old("Any $tag, Any *$tags", func(c *eval.Call, args []value.Value) (value.Value, error) {
			catalog, err := catalogOf(c)
			if err != nil {
				return nil, err
			}
			tags, err := tagsOf(c, args)
			if err != nil {
				return nil, err
			}
			yes, err := catalog.Tagged(&c.Site, tags)
			return value.Bool(yes), err
		})},
	}
	for _, f := range list {
		f.Catalog = true
	}
	return list
}

// tagsOf returns arguments as tags.
func tagsOf(c *eval.Call, args []value.Value) (list []string, err error) {
	err = eachPiece(value.NewArray(args...), func(v value.Value) error {
		s, err := Text(c, v)
		list = append(list, s)
		return err
	})
	return list, err
}

// catalogOf returns the Builder as a Cataloger.
func catalogOf(c *eval.Call) (eval.Cataloger, error) {
	catalog, ok := c.Interp.Env().Builder.(eval.Cataloger)
	if !ok {
		return nil, eval.Errorf("catalog-operation", "%s() is not possible here: the result does not have classes and tags", c.Name)
	}
	return catalog, nil
}

// including returns the signatures of the functions that declare classes.
func including(how eval.Inclusion) []eval.Signature {
	return one("Array[Any, 1] *$names", func(c *eval.Call) (value.Value, error) {
		catalog, err := catalogOf(c)
		if err != nil {
			return nil, err
		}
		list, err := flatten(c, c.Args)
		if err != nil {
			return nil, err
		}
		names, refs := make([]string, len(list)), make([]value.Value, len(list))
		for i, v := range list {
			if names[i], err = className(v); err != nil {
				return nil, err
			}
			refs[i] = value.NewClassRef(names[i])
		}
		if err := catalog.Include(&c.Site, how, names); err != nil {
			return nil, err
		}
		return value.NewArray(refs...), nil
	})
}

// className returns the name of the class that a value refers to, in lower case
// and without leading ::.
func className(v value.Value) (string, error) {
	name := ""
	switch v := v.(type) {
	case value.String:
		name = string(v)
	case *value.ClassType:
		name = v.Title
	case *value.ResourceType:
		if strings.EqualFold(v.TypeName, "class") {
			name = v.Title
		}
	}
	if name == "" {
		return "", eval.Errorf("bad-class-name", "%s is not the name of a class, nor a reference to one", inspect(v))
	}
	return strings.ToLower(strings.TrimPrefix(name, "::")), nil
}

func realize(c *eval.Call, args []value.Value) (value.Value, error) {
	catalog, err := catalogOf(c)
	if err != nil {
		return nil, err
	}
	list, err := flatten(c, args)
	if err != nil {
		return nil, err
	}
	refs := make([]eval.Ref, 0, len(list))
	for _, v := range list {
		if s, ok := v.(value.String); ok {
			if t, err := c.ParseType(string(s)); err == nil {
				v = t
			}
		}
		if class, ok := v.(*value.ClassType); ok && class.Title != "" {
			yes, err := c.Declared("class", class.Title)
			if err != nil {
				return nil, err
			}
			if !yes {
				return nil, eval.Errorf("unknown-resource", "Class[%s] is not in the catalog, and classes are not virtual", class.Title)
			}
			continue // it is not virtual
		}
		r, ok := v.(*value.ResourceType)
		if !ok || !r.HasTitle {
			return nil, eval.Errorf("bad-reference", "realize() takes references to resources, not %s", inspect(v))
		}
		refs = append(refs, eval.Ref{Type: strings.ToLower(r.TypeName), Title: r.Title})
	}
	return value.Undef{}, catalog.Realize(&c.Site, refs)
}

func createResources(c *eval.Call, args []value.Value) (value.Value, error) {
	name, err := oldText(c, args, 0)
	if err != nil {
		return nil, err
	}
	hashes := make([]*value.Hash, 2)
	for i, v := range args[1:] {
		h, ok := v.(*value.Hash)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "argument %d is %s: create_resources() takes a hash there", i+2, value.DescribeValue(v))
		}
		hashes[i] = h
	}
	d := &eval.Declaration{Pos: c.Position()}
	name, d.Form = form(name)
	if d.Type = strings.ToLower(strings.TrimPrefix(name, "::")); d.Type == "class" && d.Form != syntax.Regular {
		return nil, eval.Errorf("not-virtualizable", "a class cannot be declared as virtual or exported")
	}
	for title, params := range hashes[0].All() {
		attrs, ok := params.(*value.Hash)
		if !ok {
			return nil, eval.Errorf("type-mismatch", "create_resources(): the attributes of %s are %s, not a hash", inspect(title), value.DescribeValue(params))
		}
		if hashes[1] != nil {
			attrs = hashes[1].Merge(attrs)
		}
		var list []eval.Attribute
		for k, v := range attrs.All() {
			name, err := Text(c, k)
			if err != nil {
				return nil, err
			}
			list = append(list, eval.Attribute{Name: name, Value: v, Pos: d.Pos})
		}
		var titles []string
		err := eachPiece(title, func(v value.Value) error {
			t, err := Text(c, v)
			if err == nil && !slices.Contains(titles, t) {
				_, text := v.(value.String)
				titles = append(titles, t)
				d.Bodies = append(d.Bodies, eval.Body{Titles: []string{t}, NotStrings: !text, Attrs: list, Pos: d.Pos})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	_, err = c.Interp.Env().Builder.Declare(&c.Site, d)
	return value.Undef{}, err
}

// form removes the @ or @@ that makes resources virtual or exported.
func form(name string) (string, syntax.Form) {
	if s, ok := strings.CutPrefix(name, "@@"); ok {
		return s, syntax.Exported
	}
	if s, ok := strings.CutPrefix(name, "@"); ok {
		return s, syntax.Virtual
	}
	return name, syntax.Regular
}
