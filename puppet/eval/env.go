package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An Env configures an Interp. The zero Env evaluates expressions without
// functions.
type Env struct {
	// Library holds the definitions that programs can use; nil: an empty
	// Library.
	Library *Library
	// Facts, Trusted and ServerFacts are the variables with these names. A
	// variable whose value is nil does not exist.
	Facts, Trusted, ServerFacts *value.Hash
	// Variables are more variables of the top scope: $osfamily, $environment,
	// parameters from an ENC.
	Variables *value.Hash
	// Settings are the variables $settings::name.
	Settings *value.Hash

	// Strict is the setting strict. It applies to numeric strings in arithmetic
	// and to similar cases.
	Strict Strict
	// LooseVariables makes the value of an unknown variable undef, and Strict
	// selects the warning. Otherwise an unknown variable is an error (the
	// setting strict_variables).
	LooseVariables bool
	// Tasks applies the rules of plans (the setting tasks): plans can be
	// called, and expressions that need a catalog return an error.
	Tasks bool

	Limits Limits
	// Log receives the messages of programs and of the evaluator. The thread
	// that evaluates calls it. nil: messages are discarded.
	Log func(Log)
	// Read gets each read of a variable of the top scope: the name of the variable, and the
	// keys, one inside the other, that lead to the part of it that is used. Without keys, the
	// program can use the whole value; an empty name means all variables. Variables
	// that do not exist are read, too, and so are variables that a program sets in the top
	// scope. nil: reads are not recorded. The path is valid during the call. The runs of the
	// Interp must not be concurrent.
	Read func(name string, path []string)
	// Builder receives resources; nil: resources return an error.
	Builder Builder
	// Data holds what functions of the Library need from the evaluation that
	// calls them. Only those functions use it. The Library is shared, and a
	// call has no other data of its evaluation.
	Data any
	// Apply evaluates apply(…) { … } in plans. The arguments are in c.Args, the
	// variables that the block sees are in c.Scope. nil: apply returns an
	// error.
	Apply func(c *Call, f *syntax.File, a *syntax.Apply) (value.Value, error)
}

// Strict is the setting strict.
type Strict uint8

// The values of the setting strict.
const (
	StrictError Strict = iota
	StrictWarning
	StrictOff
)

// Limits end programs that would not end or need too much memory. A zero field
// means the default.
type Limits struct {
	Steps int64 // calls of functions and blocks, of all threads of an Interp; 0: DefaultSteps
	Depth int   // depth of nested calls; 0: defaultDepth
	Size  int   // bytes of a string, or 16 for each element of an array or a hash; 0: DefaultSize
	// Memory limits the live bytes of the heap of the process during the
	// evaluation. 0 means defaultMemory, a negative value no limit. The process
	// takes at most about one and a half times this size. Go cannot attribute
	// bytes to an evaluation. If several evaluations of a process exceed the
	// limit together, the one that allocates most is likely to be the first to
	// end with an error. The others continue when its memory is freed. If the
	// process itself needs much memory, add that to the limit.
	Memory int64
}

// Default limits.
const (
	// DefaultSteps is about half a minute of work, and a thousand times the
	// need of the largest catalogs.
	DefaultSteps = 500_000_000
	// defaultDepth is many times the depth that Puppet has on Ruby's stack, and
	// a tenth of the depth that Go's stack allows.
	defaultDepth = 10_000
	// DefaultSize is more than any catalog needs: strings of 16 MiB, and
	// collections of a million elements. An expression makes several copies of
	// its operands, and all of them fit in memory.
	DefaultSize = 16 << 20
	// defaultMemory is ten times the need of a catalog of ten thousand
	// resources.
	defaultMemory = 1 << 30
)

// A Level is the severity of a message.
type Level uint8

// The levels have the names of the functions that log.
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

// A Log is a message from a program or about it.
type Log struct {
	Level Level
	Msg   string
	Pos   syntax.Position
	// Scope is the scope of the call, such as "Scope(Class[main])". It is ""
	// for messages of the evaluator.
	Scope string
	Kind  string // the kind of a warning of the evaluator, such as "unknown-variable"
}
