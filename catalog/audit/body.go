package audit

import (
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// A sort is the sort of a body.
type sort uint8

const (
	sortNode sort = iota
	sortClass
	sortDefine
	sortApply // an apply block of a plan
	sortFunction
	sortTemplate // EPP and ERB, by the path of the file
	sortData     // hiera.yaml, by the path of the file
	sortMain     // the code of main manifests outside of definitions
	sortFile     // a file that could not be read or parsed
)

// A key identifies a body. Names of definitions are in lower case.
type key struct {
	sort sort
	name string
}

// A body is a piece of code that is used as a whole.
type body struct {
	key
	at     Place
	module string // "" outside of modules
	uses   []use
	// locals are the variables that the body sets, and parent is the class that it inherits from.
	locals map[string]bool
	parent string
	params bool // it is a class with parameters, whose values are looked up
	loose  bool // it is a template in EPP without a list of parameters
	// left counts branches for other operating systems, computed counts names of classes and types that are
	// not known.
	left, computed int

	reads []use   // of an ERB template: its variables
	parts []found // what the uses are
	deps  []*body
}

// A useKind is the kind of a use.
type useKind uint8

const (
	useType     useKind = iota // a resource
	useValue                   // a literal value of a parameter of a resource
	useParam                   // a parameter that a known type does not have
	useFunction                // a call
	useClass                   // a class that is declared
	useTemplate                // a file in the templates of a module
	useFact                    // a fact by name
	useVariable                // a variable that the body does not set, or a variable of an ERB template
	useData                    // a type of values, or a reference to a resource
	useScope                   // a class of which a variable is read
	useLookup                  // a lookup of data
	useERB                     // a construct that is refused
	useUnknown                 // an unknown name in an ERB template
	useError                   // an error of the code
)

// A use is a name in a body.
type use struct {
	kind useKind
	name string
	// param and value belong to useValue and useParam. For useTemplate, param is the function that needs the
	// file; "" if the file need not exist.
	param, value string
	at           Place
	branch       bool // it is in a branch
}

// topScope is the param of a useVariable for a variable with a leading ::.
const topScope = "::"

// A found is a part at a place.
type found struct {
	part *Part
	at   Place
}

// definitionKey returns the key of a definition; ok is false for definitions without a body of their own.
func definitionKey(x syntax.Expr) (k key, ok bool) {
	switch x := x.(type) {
	case *syntax.Class:
		return key{sortClass, lower(x.Name)}, true
	case *syntax.Define:
		return key{sortDefine, lower(x.Name)}, true
	case *syntax.Function:
		return key{sortFunction, lower(x.Name)}, true
	}
	return key{}, false
}

// sortOf returns the sort of a body for a kind of definitions.
func sortOf(kind eval.Kind) sort {
	switch kind {
	case eval.KindClass:
		return sortClass
	case eval.KindDefine:
		return sortDefine
	}
	return sortFunction
}
