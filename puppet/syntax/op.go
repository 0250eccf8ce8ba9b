package syntax

// An Op is an operator.
type Op uint8

// The binary operators.
const (
	Add     Op = iota // +
	Sub               // -
	Mul               // *
	Div               // /
	Mod               // %
	Shl               // <<
	Shr               // >>
	Eq                // ==
	Ne                // !=
	Lt                // <
	Le                // <=
	Gt                // >
	Ge                // >=
	Match             // =~
	NoMatch           // !~
	In                // in
	And               // and
	Or                // or

	Set    // =
	Append // +=
	Remove // -=

	Before     // ->
	Notify     // ~>
	After      // <-
	Subscribes // <~
)

// opText holds the text of the operators.
var opText = [...]string{
	Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%", Shl: "<<", Shr: ">>",
	Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", Match: "=~", NoMatch: "!~", In: "in",
	And: "and", Or: "or",
	Set: "=", Append: "+=", Remove: "-=",
	Before: "->", Notify: "~>", After: "<-", Subscribes: "<~",
}

// String returns the operator in the syntax of the language.
func (o Op) String() string { return opText[o] }
