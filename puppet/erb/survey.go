package erb

import (
	"slices"
	"strings"

	"bolt/puppet/value"
)

// A Survey lists the parts of a template that depend on its surroundings. Each list is in the order of the
// template. A part in a branch that is never evaluated is in the list, too.
type Survey struct {
	// Refused are the constructs that only Ruby can evaluate. A method is refused only if no value has a
	// method of that name here, because the class of its receiver is unknown.
	Refused []Part
	// Unknown are names that are neither local variables nor functions. They are errors in Ruby, too.
	Unknown []Part
	// Functions are the functions of the Puppet language that the template calls by a fixed name.
	Functions []Part
	// Variables are the variables of the scope that the template reads by a fixed name. The first key
	// follows the name: facts.os.
	Variables []Part
}

// A Part is a part of a template.
type Part struct {
	Name string
	Line int
}

// Construct returns the construct of an error about code that only Ruby can evaluate; "" for other errors.
func (e *Error) Construct() string {
	what, is := strings.CutSuffix(e.Msg, outside)
	if !is || e.Kind != kindSubset {
		return ""
	}
	return what
}

// Survey finds the parts of a template without evaluating it.
func (e *Engine) Survey(t *Template) *Survey {
	s := &surveyor{tables: e.tables(), own: map[string]bool{}, set: map[string]bool{}, found: &Survey{}}
	s.names = make(map[string]bool)
	for _, methods := range s.tables.classes {
		for name := range methods {
			s.names[name] = true
		}
	}
	for name := range s.tables.object {
		s.names[name] = true
	}
	// The methods that a template defines can be called before their definition.
	s.visit = func(n node) bool {
		if d, is := n.(*defNode); is {
			s.own[d.name] = true
		}
		return true
	}
	s.walk(t.body)
	s.visit = s.part
	s.walk(t.body)
	s.found.Variables = slices.DeleteFunc(s.found.Variables, func(p Part) bool { return s.set[p.Name] })
	return s.found
}

// A surveyor walks through the nodes of a template.
type surveyor struct {
	tables *tables
	names  map[string]bool // of the methods of all values
	own    map[string]bool // methods of the template
	set    map[string]bool // variables that the template sets itself
	found  *Survey
	visit  func(n node) (into bool)
}

// part records a node. It returns false if the parts of the node need no visit.
func (s *surveyor) part(n node) bool {
	switch n := n.(type) {
	case *selfNode:
		s.refuse(n, "self")
	case *ivarNode:
		s.variable(n, n.name, n.path)
	case *gvarNode:
		if _, err := new(rendering).gvar(n.name); err != nil {
			s.refuse(n, "the global variable $"+n.name)
		}
	case *constNode:
		if !slices.Contains(constants(), strings.TrimPrefix(n.name, "::")) {
			s.refuse(n, "the constant "+n.name)
		}
	case *callNode:
		return s.call(n)
	case *definedNode:
		return false // it is evaluated to nil
	}
	return true
}

func (s *surveyor) refuse(n node, what string) {
	s.found.Refused = append(s.found.Refused, Part{what, n.line()})
}

// variable records a variable, and the first of the keys that are followed from it.
func (s *surveyor) variable(n node, name string, keys []value.Value) {
	name = strings.TrimPrefix(name, "::")
	if len(keys) > 0 {
		name += "." + value.ToString(keys[0])
	}
	s.found.Variables = append(s.found.Variables, Part{name, n.line()})
}

func (s *surveyor) call(n *callNode) bool {
	switch recv := n.recv.(type) {
	case nil:
		s.function(n)
	case *selfNode:
		s.function(n)
		s.walkAll(n.args)
		s.walkBlock(n)
		return false
	case *constNode:
		name := strings.TrimPrefix(recv.name, "::")
		_, own := s.tables.modules[name][n.name]
		_, class := s.tables.classes["Class"][n.name]
		_, object := s.tables.object[n.name]
		if slices.Contains(constants(), name) && !own && !class && !object && !exceptionMethod(name, n.name) {
			s.refuse(n, name+"."+n.name)
		}
	case *callNode:
		if recv.recv == nil && recv.name == "scope" {
			s.scope(n)
			s.walkAll(n.args)
			s.walkBlock(n)
			return false
		}
		s.method(n)
	default:
		s.method(n)
	}
	return true
}

// exceptionMethod reports whether a method makes an exception.
func exceptionMethod(class, method string) bool {
	return method == "new" && (strings.HasSuffix(class, "Error") || class == "Exception")
}

func (s *surveyor) method(n *callNode) {
	_, sensitive := foreignMethod(&foreign{v: value.NewSensitive(value.Undef{})}, n.name)
	if !s.names[n.name] && !s.own[n.name] && !sensitive && !strings.HasPrefix(n.name, "function_") {
		s.refuse(n, "the method "+n.name)
	}
}

// function records a call without a receiver.
func (s *surveyor) function(n *callNode) {
	if _, known := s.tables.kernel[n.name]; known || s.own[n.name] || n.name == "block_given?" {
		return
	}
	if n.bare {
		s.found.Unknown = append(s.found.Unknown, Part{n.name, n.line()})
		return
	}
	s.refuse(n, "the function "+n.name)
}

// scope records a method of the scope.
func (s *surveyor) scope(n *callNode) {
	if name, is := strings.CutPrefix(n.name, "function_"); is {
		s.found.Functions = append(s.found.Functions, Part{name, n.line()})
		return
	}
	name, fixed := "", false
	if len(n.args) > 0 {
		name, fixed = fixedText(n.args[0])
	}
	switch n.name {
	case "call_function":
		if fixed {
			s.found.Functions = append(s.found.Functions, Part{name, n.line()})
		}
	case "lookupvar", "[]":
		if fixed {
			s.variable(n, name, n.path)
		}
	default:
		if _, known := s.tables.classes["Puppet::Parser::Scope"][n.name]; !known {
			if _, known = s.tables.object[n.name]; !known {
				s.refuse(n, "scope."+n.name)
			}
		}
	}
}

// fixedText returns the text of a string without interpolation, or of a symbol.
func fixedText(n node) (string, bool) {
	switch n := n.(type) {
	case *strNode:
		if len(n.parts) == 0 {
			return "", true
		}
		if part, is := n.parts[0].(*textPart); is && len(n.parts) == 1 {
			return part.s, true
		}
	case *literal:
		name, is := n.v.(symbol)
		return string(name), is
	}
	return "", false
}
