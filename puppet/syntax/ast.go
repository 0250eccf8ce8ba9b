package syntax

// A Span is a piece of a file's text. The zero Span is at its beginning.
type Span struct {
	Off uint32 // bytes before it
	Len uint32 // its bytes
}

// At returns the span itself, so that a node's embedded Span makes it a Node.
func (s Span) At() Span { return s }

// End returns the offset of the first byte behind the span.
func (s Span) End() uint32 { return s.Off + s.Len }

// Move changes where a node is written, for who makes a program of texts in
// another notation.
func (s *Span) Move(to Span) { *s = to }

// A Node is a piece of a program that knows where it is written.
type Node interface {
	At() Span
}

// An Expr is a node that can be evaluated. In this language everything is an
// expression, definitions and conditions too. The types of this file that have
// an expr method are all there are.
type Expr interface {
	Node
	expr()
}

// A Program is what a file or a string holds.
type Program struct {
	File *File
	Body *Block
	// Definitions are the classes, defines, functions, plans, type aliases and
	// nodes in the program, outer ones first, in the order of the text.
	Definitions []Expr
	// Warnings are what reads well but is hardly meant, such as an escape that
	// does not exist.
	Warnings []*Error
}

// Literals.
type (
	// Nop stands where an expression could be and none is.
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
	// Int is a whole number.
	Int struct {
		Span
		Value int64
		Radix uint8 // 10, 8 or 16: how it is written
		// Over has the digits, in decimal, of a number that Value cannot hold and
		// Parse has reported; it is empty as a rule.
		Over string
	}
	// Float is a number with a fraction or an exponent.
	Float struct {
		Span
		Value float64
	}
	// Str is a string without interpolation, or a piece of one.
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
		Value string // as written
	}
	// Reserved is a word that the language keeps for itself, where a name
	// could have been.
	Reserved struct {
		Span
		Word string
	}
	// Var is a variable.
	Var struct {
		Span
		Name string // without $; digits alone: a match of the last regular expression
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
	// Binary is X Op Y for operators without an effect.
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
		Func   Expr // *Name; *TypeName: T.new; *Var and others are for package check to refuse
		Args   []Expr
		Lambda *Lambda // or nil
		// Statement: its value is not asked for by the way it is written
		// (notice "x", or include a). A call in parentheses has a value.
		Statement bool
		Bare      bool // without parentheses
	}
	// Method is X.Func(Args) |…| {…}.
	Method struct {
		Span
		X      Expr
		Func   Expr // *Name as a rule; others are for package check to refuse
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
		Value Expr // its default, or nil
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

// A Form says how a resource is declared.
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
		Name   string // with the names of the classes around it
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
		Parent  Expr   // or nil; nodes cannot inherit: package check says so
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
	// TypeDef is type Name inherits Parent { Body }: the grammar knows it, and
	// package check refuses it.
	TypeDef struct {
		Span
		Name   string
		Parent string
		Body   Expr
	}
	// Apply is apply(Args) { Body }, which only plans know.
	Apply struct {
		Span
		Args []Expr
		Body *Block
	}
	// Block is expressions one after another; its value is the last one's.
	Block struct {
		Span
		Exprs []Expr
	}
)

// Templates.
type (
	// EPP is a template. Its body is made of *Render, *RenderText and code.
	EPP struct {
		Span
		Params    []*Param
		HasParams bool // <%- | | -%> was there, though it may be empty
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
