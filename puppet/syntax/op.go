package syntax

// An Op is an operator.
type Op uint8

// The operators of two operands.
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

// opText is how operators are written.
var opText = [...]string{
	Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%", Shl: "<<", Shr: ">>",
	Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", Match: "=~", NoMatch: "!~", In: "in",
	And: "and", Or: "or",
	Set: "=", Append: "+=", Remove: "-=",
	Before: "->", Notify: "~>", After: "<-", Subscribes: "<~",
}

// String returns the operator as it is written.
func (o Op) String() string { return opText[o] }
