package value

import "fmt"

// A TypeError is the error of a type that cannot be made.
type TypeError struct {
	// Kind is stable: "arity", "argument-type", "range", "pattern", "object",
	// "override", "type-set", "recursion", "unknown-type", "unknown-parameter",
	// "not-parametrized", "depth", "name", "resource-parameter",
	// "resolved", "undefined", "syntax".
	Kind string
	Msg  string
	Arg  int // number of the invalid argument, from 0; -1: none
}

// Error returns the message.
func (e *TypeError) Error() string { return e.Msg }

func typeErrorf(kind string, arg int, format string, args ...any) *TypeError {
	return &TypeError{kind, fmt.Sprintf(format, args...), arg}
}

// badArity returns the error of a wrong number of arguments. If hi < 0, the
// number is unlimited.
func badArity(name string, lo, hi, got int) *TypeError {
	want := fmt.Sprintf("%d to %d arguments", lo, hi)
	switch {
	case hi < 0:
		want = fmt.Sprintf("%d or more arguments", lo)
	case lo == hi && lo == 1:
		want = "1 argument"
	case lo == hi:
		want = fmt.Sprintf("%d arguments", lo)
	}
	return typeErrorf("arity", -1, "%s[] takes %s, got %d", name, want, got)
}

// badArgument returns the error of an argument with a wrong type.
func badArgument(name string, arg int, expected string, got Value) *TypeError {
	return typeErrorf("argument-type", arg, "%s[] expects %s, got %s", name, expected, DescribeValue(got))
}
