package puppettest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// capitals writes a name as references do: App::Params.
func capitals(name string) string {
	parts := strings.Split(name, "::")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "::")
}

// reference writes a reference as catalogs have it: File[/x], Class[App].
func reference(r eval.Ref) string {
	title := r.Title
	if r.Type == "class" && title != "main" {
		title = capitals(title)
	}
	return fmt.Sprintf("%s[%s]", capitals(r.Type), title)
}

// A stock is what a case keeps of a catalog and is compared here.
type stock struct {
	Resources []struct {
		Type, Title, File string
		Line              int
		Exported          bool
		Parameters        json.RawMessage
		Sensitive         []string `json:"sensitive_parameters"`
	}
	Classes []string
}

// lines returns what was declared, one thing a line, without what each
// catalog begins with.
func (s *stock) lines() (list []string, err error) {
	for _, r := range s.Resources {
		name := fmt.Sprintf("%s[%s]", r.Type, r.Title)
		switch {
		case name == "Stage[main]", name == "Class[main]", name == "Class[Settings]", r.Type == "Node":
			continue
		}
		params := "{ }"
		if r.Parameters != nil {
			if params, err = canonical(r.Parameters); err != nil {
				return nil, err
			}
		}
		list = append(list, fmt.Sprintf("%s at %s:%d, exported %v, sensitive %v: %s", name, r.File, r.Line, r.Exported, r.Sensitive, params))
	}
	return append(list, fmt.Sprintf("classes %q", slices.DeleteFunc(slices.Clone(s.Classes), func(c string) bool { return c == "settings" }))), nil
}

// lines returns what is in the ledger in the same way.
func (l *ledger) lines() (list []string, err error) {
	for _, e := range l.list {
		if e.form != syntax.Regular {
			continue
		}
		file := e.pos.File
		if i := strings.LastIndex(file, "modules/"); i >= 0 {
			file = file[i:]
		}
		var params value.HashBuilder
		var secret []string
		put := func(name string, v value.Value) {
			if s, ok := v.(*value.Sensitive); ok {
				secret = append(secret, name)
				params.Put(value.String(name), s.Unwrap())
			} else if _, undef := v.(value.Undef); !undef {
				params.Put(value.String(name), written(flat(name, v)))
			}
		}
		key, id := e.key()
		if id != value.String(e.ref.Title) {
			put(key, id)
		}
		for k, v := range e.params.All() {
			if name := string(k.(value.String)); name != key {
				put(name, v)
			}
		}
		data, err := value.MarshalRich(params.Build())
		if err != nil {
			return nil, err
		}
		text, err := canonical(data)
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%s at %s:%d, exported %v, sensitive %v: %s", reference(e.ref), file, e.pos.Line, e.exported, secret, text))
	}
	return append(list, fmt.Sprintf("classes %q", l.classes)), nil
}

// flat returns a parameter without arrays in arrays if it has references in
// it, or names what it is related to; that is without undef, too.
func flat(name string, v value.Value) value.Value {
	a, ok := v.(*value.Array)
	switch {
	case !ok:
		return v
	case slices.Contains(relations, name):
		return value.NewArray(pieces(v)...)
	case slices.ContainsFunc(a.Elems(), func(v value.Value) bool { return refOf(v).Title != "" }):
		return value.NewArray(leaves(v)...)
	}
	return v
}

// written returns a parameter as catalogs have it: references are strings.
func written(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.ClassType:
		return value.String(reference(refOf(v)))
	case *value.ResourceType:
		if v.TypeName != "" {
			return value.String(reference(refOf(v)))
		}
	case *value.Array:
		list := slices.Clone(v.Elems())
		for i := range list {
			list[i] = written(list[i])
		}
		return value.NewArray(list...)
	case *value.Hash:
		var b value.HashBuilder
		for k, x := range v.All() {
			b.Put(written(k), written(x))
		}
		return b.Build()
	}
	return v
}

// compare says how what was declared differs from a catalog, "" if it does
// not. Order counts, of resources and of parameters.
func (l *ledger) compare(catalog []byte) (string, error) {
	var s stock
	if err := json.Unmarshal(catalog, &s); err != nil {
		return "", err
	}
	want, err := s.lines()
	if err != nil {
		return "", err
	}
	got, err := l.lines()
	if err != nil {
		return "", err
	}
	if slices.Equal(got, want) {
		return "", nil
	}
	return fmt.Sprintf("declared\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  ")), nil
}

// refOf returns what a type is a reference to.
func refOf(v value.Value) eval.Ref {
	switch v := v.(type) {
	case *value.ClassType:
		return eval.Ref{Type: "class", Title: strings.ToLower(v.Title)}
	case *value.ResourceType:
		if r := (eval.Ref{Type: strings.ToLower(v.TypeName), Title: v.Title}); r.Type != "class" {
			return r
		}
		return eval.Ref{Type: "class", Title: strings.ToLower(v.Title)}
	}
	return eval.Ref{}
}

// named returns what a value that should be a reference is one to. Texts may
// be: 'File[/x]'.
func named(v value.Value) eval.Ref {
	text, is := v.(value.String)
	if !is {
		return refOf(v)
	}
	typ, rest, _ := strings.Cut(string(text), "[")
	title, ok := strings.CutSuffix(rest, "]")
	if !ok {
		return eval.Ref{}
	}
	r := eval.Ref{Type: strings.ToLower(typ), Title: title}
	if r.Type == "class" {
		r.Title = strings.ToLower(title)
	}
	return r
}
