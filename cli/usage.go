package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/internal/spelling"
)

// A UsageError is an error in the command line. It is printed as text in every
// format, because the option that sets the format may not have been read.
type UsageError struct {
	Msg  string
	Hint string // the solution; "" for none
}

func (e *UsageError) Error() string { return e.Msg }

// Errorf returns a *UsageError.
func Errorf(format string, a ...any) error { return &UsageError{Msg: fmt.Sprintf(format, a...)} }

// Hinted adds a hint to a *UsageError and returns other errors unchanged. The
// message is separate, because scripts may compare it with Bolt's.
func Hinted(err error, format string, a ...any) error {
	if e, ok := errors.AsType[*UsageError](err); ok {
		return &UsageError{e.Msg, fmt.Sprintf(format, a...)}
	}
	return err
}

// Invalid returns the error for a value of a flag.
func Invalid(name, text string) error {
	return Errorf("Invalid parameter specified for option '--%s': %s", name, text)
}

// OneOf refuses texts that are not among the flag's Values.
func OneOf(f *Flag, text string) error {
	if slices.Contains(f.Values, text) {
		return nil
	}
	return Invalid(f.Name, text)
}

// OneOfThese is OneOf with a hint that names the Values.
func OneOfThese(f *Flag, text string) error {
	return Hinted(OneOf(f, text), "it can be %s", spelling.Or(f.Values))
}

// NoArguments is the Check of commands that have no arguments.
func NoArguments(args []string) error {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return Errorf("Unknown argument %s", args[0])
	}
	return Errorf("Unknown arguments %s", strings.Join(args, ", "))
}

// OneArgument is the Check of commands that have one argument at most.
func OneArgument(args []string) error {
	if len(args) > 1 {
		return Errorf("Unknown argument(s) %s", strings.Join(args[1:], ", "))
	}
	return nil
}

// NeedArgument returns the Check of commands that need one argument. missing is the
// error without it.
func NeedArgument(missing string) func(args []string) error {
	return func(args []string) error {
		if len(args) == 0 || args[0] == "" {
			return Errorf("%s", missing)
		}
		return OneArgument(args)
	}
}

// AnyArguments is the Check of commands that accept all arguments.
func AnyArguments([]string) error { return nil }
