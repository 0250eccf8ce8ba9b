package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An Env is what an Interp is made of. The zero Env evaluates expressions
// without functions.
type Env struct {
	// Library is what programs can name; nil: an empty one.
	Library *Library
	// Facts, Trusted and ServerFacts are the variables of these names, each
	// absent when nil.
	Facts, Trusted, ServerFacts *value.Hash
	// Variables are further variables of the top scope: $osfamily,
	// $environment, an ENC's parameters.
	Variables *value.Hash
	// Settings are $settings::name.
	Settings *value.Hash

	// Strict says what numeric strings in arithmetic and the like are.
	Strict Strict
	// LooseVariables makes an unknown variable undef, with what Strict says;
	// otherwise it is an error (strict_variables).
	LooseVariables bool
	// Tasks are the rules of plans (the setting tasks): plans can be called,
	// expressions that need a catalog are refused.
	Tasks bool

	Limits Limits
	// Log gets what programs and the evaluator say, from the thread that
	// evaluates; nil: nobody does.
	Log func(Log)
	// Read gets each read of a variable of the top scope: the name of the variable, and the
	// keys, one inside the other, that lead to the part of it that is used. Without keys, the
	// program can use the whole value; an empty name means all variables. Variables
	// that do not exist are read, too, and so are variables that a program sets in the top
	// scope. nil: reads are not recorded. The path is valid during the call. The runs of the
	// Interp must not be concurrent.
	Read func(name string, path []string)
	// Builder gets resources; nil: they are refused.
	Builder Builder
	// Data is what functions of the Library need of the evaluation that they
	// are called in, for those who made them: the Library is shared, and a
	// call brings nothing else that is the evaluation's own.
	Data any
	// Apply evaluates apply(…) { … } of plans: the arguments are in c.Args,
	// the variables that the block sees in c.Scope. nil: it is refused.
	Apply func(c *Call, f *syntax.File, a *syntax.Apply) (value.Value, error)
}

// Strict is the setting strict.
type Strict uint8

// What happens at places that the setting strict decides about.
const (
	StrictError Strict = iota
	StrictWarning
	StrictOff
)

// Limits end programs that would not end or would not fit. Zero fields are
// the defaults.
type Limits struct {
	Steps int64 // calls of functions and blocks, of all threads of an Interp; 0: DefaultSteps
	Depth int   // calls inside each other; 0: defaultDepth
	Size  int   // bytes of a string; 16 for each element of an array or a hash; 0: DefaultSize
	// Memory is how many bytes of the process's heap may be live while this
	// evaluates; 0: defaultMemory, below 0: any. What the process has taken is
	// about one and a half times that at most. Go cannot tell whose a byte is: of
	// several evaluations in a process that are together above the limit, the
	// one that makes most is likely to notice first, and ends; the others go on
	// when what it kept is gone. A process that has much of its own adds that.
	Memory int64
}

// Default limits.
const (
	// DefaultSteps is half a minute's worth of work, and a thousand times what the
	// largest catalogs need.
	DefaultSteps = 500_000_000
	// defaultDepth is many times what Ruby's stack gives Puppet, and a tenth
	// of what Go's stack would take.
	defaultDepth = 10_000
	// DefaultSize is more than any catalog needs: strings of 16 MiB, collections
	// of a million elements. An expression makes some copies of what it works
	// on, and all of them fit in memory.
	DefaultSize = 16 << 20
	// defaultMemory is ten times what a catalog of ten thousand resources needs.
	defaultMemory = 1 << 30
)

// A Level says how important a message is.
type Level uint8

// Levels, as the functions of these names have them.
const (
	Debug Level = iota
	Info
	Notice
	Warning
	Err
	Alert
	Emerg
	Crit
)

var levelNames = [...]string{"debug", "info", "notice", "warning", "err", "alert", "emerg", "crit"}

// String returns the level in lower case.
func (l Level) String() string { return levelNames[l] }

// A Log is a message of a program or about it.
type Log struct {
	Level Level
	Msg   string
	Pos   syntax.Position
	// Scope is where it was said: "Scope(Class[main])"; "" from the evaluator
	// itself.
	Scope string
	Kind  string // of a warning of the evaluator: "unknown-variable"
}
