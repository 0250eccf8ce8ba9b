package syntax

// A Span is a range of bytes in a file. The zero Span is empty and at the
// beginning of the file.
type Span struct {
	Off uint32 // bytes before it
	Len uint32 // its bytes
}

// At returns the span itself, so that a node's embedded Span makes it a Node.
func (s Span) At() Span { return s }

// End returns the offset of the first byte after the span.
func (s Span) End() uint32 { return s.Off + s.Len }

// Move sets the position of a node. It is for programs that are made from
// another notation.
func (s *Span) Move(to Span) { *s = to }

// A Node is a part of a program with its position.
type Node interface {
	At() Span
}

// An Expr is a node that can be evaluated. In this language everything is an
// expression, including definitions and conditions. Only the types of this file
// that have an expr method are expressions.
type Expr interface {
	Node
	expr()
}

// A Program is the content of a file or a string.
type Program struct {
	File *File
	Body *Block
	// Definitions are the classes, defines, functions, plans, type aliases and
	// nodes in the program, outer ones first, in the order of the source.
	Definitions []Expr
	// Warnings are about valid code that is probably wrong, such as an escape
	// that does not exist.
	Warnings []*Error
}

// Literals.
type (
	// Nop marks a missing expression.
	Nop struct{ Span }
	// Undef is the word undef.
	Undef struct{ Span }
	// Default is the word default.
	Default struct{ Span }
	// Bool is true or false.
	Bool struct {
		Span
		Value bool
	}
	// Int is an integer.
	Int struct {
		Span
		Value int64
		Radix uint8 // radix in the source: 10, 8 or 16
		// Over has the digits, in decimal, of a number that does not fit in
		// Value. Parse has reported it. It is usually empty.
		Over string
	}
	// Float is a number with a fraction or an exponent.
	Float struct {
		Span
		Value float64
	}
	// Str is a string without interpolation, or a part of a string.
	Str struct {
		Span
		Value string
	}
	// Concat is a string with interpolation. Its parts are *Str and *Text.
	Concat struct {
		Span
		Parts []Expr
	}
	// Text is "${X}" or "$x": the string form of X.
	Text struct {
		Span
		X Expr
	}
	// Heredoc is @(END) … | END.
	Heredoc struct {
		Span
		Syntax string // json in @(END:json), or empty
		Text   Expr   // *Str or *Concat
	}
	// Regexp is /Source/.
	Regexp struct {
		Span
		Source string
	}
	// Name is a bare word, or names joined by ::, in lower case.
	Name struct {
		Span
		Value string
	}
	// TypeName is a name in upper case: a reference to a type.
	TypeName struct {
		Span
		Value string // in the form of the source
	}
	// Reserved is a reserved word in the position of a name.
	Reserved struct {
		Span
		Word string
	}
	// Var is a variable.
	Var struct {
		Span
		Name string // without $; only digits: a match of the last regular expression
	}
	// List is [Items].
	List struct {
		Span
		Items []Expr
	}
	// Hash is {Entries}.
	Hash struct {
		Span
		Entries []Entry
	}
	// Entry is Key => Value in a hash.
	Entry struct {
		Span
		Key, Value Expr
	}
)

// Operators.
type (
	// Not is !X.
	Not struct {
		Span
		X Expr
	}
	// Neg is -X.
	Neg struct {
		Span
		X Expr
	}
	// Splat is *X.
	Splat struct {
		Span
		X Expr
	}
	// Paren is (X).
	Paren struct {
		Span
		X Expr
	}
	// Binary is X Op Y for operators without side effects.
	Binary struct {
		Span
		Op   Op
		X, Y Expr
	}
	// Assign is X = Y, or with += or -=.
	Assign struct {
		Span
		Op   Op
		X, Y Expr
	}
	// Relation is X -> Y, or with ~>, <- or <~.
	Relation struct {
		Span
		Op   Op
		X, Y Expr
	}
	// Index is X[Keys].
	Index struct {
		Span
		X    Expr
		Keys []Expr
	}
)

// Calls.
type (
	// Call is Func(Args) |…| {…}.
	Call struct {
		Span
		Func   Expr // *Name; *TypeName: T.new; package check reports others, such as *Var
		Args   []Expr
		Lambda *Lambda // or nil
		// Statement is set if the syntax shows that the value is not used
		// (notice "x", or include a). A call in parentheses has a value.
		Statement bool
		Bare      bool // without parentheses
	}
	// Method is X.Func(Args) |…| {…}.
	Method struct {
		Span
		X      Expr
		Func   Expr // usually a *Name; package check reports others
		Args   []Expr
		Lambda *Lambda
	}
	// Lambda is |Params| >> Returns { Body }.
	Lambda struct {
		Span
		Params  []*Param
		Returns Expr // or nil
		Body    *Block
	}
	// Param is a parameter of a definition or a lambda.
	Param struct {
		Span
		Name  string
		Type  Expr // or nil
		Value Expr // the default, or nil
		Rest  bool // *$name
	}
)

// Conditions.
type (
	// If is if Cond { Then } else { Else }; elsif is an If as Else.
	If struct {
		Span
		Cond Expr
		Then *Block
		Else Expr // *Block, *If or nil
	}
	// Unless is unless Cond { Then } else { Else }.
	Unless struct {
		Span
		Cond Expr
		Then *Block
		Else Expr // *Block or nil
	}
	// Case is case X { Options }.
	Case struct {
		Span
		X       Expr
		Options []*CaseOption
	}
	// CaseOption is Values: { Then }.
	CaseOption struct {
		Span
		Values []Expr
		Then   *Block
	}
	// Selector is X ? { Options }.
	Selector struct {
		Span
		X       Expr
		Options []Entry
	}
)

// A Form is the form of a resource declaration.
type Form uint8

// The forms of resource declarations.
const (
	Regular  Form = iota // file { … }
	Virtual              // @file { … }
	Exported             // @@file { … }
)

// Resources.
type (
	// Resource is Type { Bodies }.
	Resource struct {
		Span
		Form   Form
		Type   Expr
		Bodies []*ResourceBody
	}
	// ResourceBody is Title: Attrs.
	ResourceBody struct {
		Span
		Title Expr
		Attrs []Attr
	}
	// Attr is Name => Value, Name +> Value, or * => Value.
	Attr struct {
		Span
		Name  string // "*" with Splat
		Add   bool   // +>
		Splat bool   // * => a hash of attributes
		Value Expr
	}
	// Defaults is Type { Attrs }.
	Defaults struct {
		Span
		Form  Form
		Type  Expr
		Attrs []Attr
	}
	// Override is X { Attrs }, where X is a reference.
	Override struct {
		Span
		Form  Form
		X     Expr
		Attrs []Attr
	}
	// Collect is Type <| Query |> { Attrs }, or <<| |>>.
	Collect struct {
		Span
		Type     Expr
		Exported bool
		Query    Expr // or nil: all
		Attrs    []Attr
	}
)

// Definitions.
type (
	// Class is class Name(Params) inherits Parent { Body }.
	Class struct {
		Span
		Name   string // includes the names of the classes around it
		Params []*Param
		Parent string
		Body   *Block
	}
	// Define is define Name(Params) { Body }.
	Define struct {
		Span
		Name   string
		Params []*Param
		Body   *Block
	}
	// NodeDef is node Matches inherits Parent { Body }.
	NodeDef struct {
		Span
		Matches []Expr // *Str, *Concat, *Regexp, *Default
		Parent  Expr   // or nil; package check reports it, because nodes cannot inherit
		Body    *Block
	}
	// Function is function Name(Params) >> Returns { Body }.
	Function struct {
		Span
		Name    string
		Params  []*Param
		Returns Expr
		Body    *Block
	}
	// Plan is plan Name(Params) { Body }.
	Plan struct {
		Span
		Name   string
		Params []*Param
		Body   *Block
	}
	// TypeAlias is type Name = Value.
	TypeAlias struct {
		Span
		Name  string
		Value Expr
	}
	// TypeMapping is type Type[…] = Value.
	TypeMapping struct {
		Span
		Type, Value Expr
	}
	// TypeDef is type Name inherits Parent { Body }. The grammar has it, but
	// package check reports it.
	TypeDef struct {
		Span
		Name   string
		Parent string
		Body   Expr
	}
	// Apply is apply(Args) { Body }. It exists only in plans.
	Apply struct {
		Span
		Args []Expr
		Body *Block
	}
	// Block is a sequence of expressions. Its value is the value of the last
	// one.
	Block struct {
		Span
		Exprs []Expr
	}
)

// Templates.
type (
	// EPP is a template. Its body contains *Render, *RenderText and code.
	EPP struct {
		Span
		Params    []*Param
		HasParams bool // the source has <%- | | -%>, which can be empty
		Body      *Block
	}
	// RenderText is the text of a template between its tags.
	RenderText struct {
		Span
		Value string
	}
	// Render is <%= X %>.
	Render struct {
		Span
		X Expr
	}
)

func (*Nop) expr()         {}
func (*Undef) expr()       {}
func (*Default) expr()     {}
func (*Bool) expr()        {}
func (*Int) expr()         {}
func (*Float) expr()       {}
func (*Str) expr()         {}
func (*Concat) expr()      {}
func (*Text) expr()        {}
func (*Heredoc) expr()     {}
func (*Regexp) expr()      {}
func (*Name) expr()        {}
func (*TypeName) expr()    {}
func (*Reserved) expr()    {}
func (*Var) expr()         {}
func (*List) expr()        {}
func (*Hash) expr()        {}
func (*Not) expr()         {}
func (*Neg) expr()         {}
func (*Splat) expr()       {}
func (*Paren) expr()       {}
func (*Binary) expr()      {}
func (*Assign) expr()      {}
func (*Relation) expr()    {}
func (*Index) expr()       {}
func (*Call) expr()        {}
func (*Method) expr()      {}
func (*Lambda) expr()      {}
func (*If) expr()          {}
func (*Unless) expr()      {}
func (*Case) expr()        {}
func (*Selector) expr()    {}
func (*Resource) expr()    {}
func (*Defaults) expr()    {}
func (*Override) expr()    {}
func (*Collect) expr()     {}
func (*Class) expr()       {}
func (*Define) expr()      {}
func (*NodeDef) expr()     {}
func (*Function) expr()    {}
func (*Plan) expr()        {}
func (*TypeAlias) expr()   {}
func (*TypeMapping) expr() {}
func (*TypeDef) expr()     {}
func (*Apply) expr()       {}
func (*Block) expr()       {}
func (*EPP) expr()         {}
func (*RenderText) expr()  {}
func (*Render) expr()      {}
