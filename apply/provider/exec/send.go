package exec

import (
	"slices"

	"bolt/apply/resource"
)

// Sent returns the output of the last command that ran: output (both streams), stdout and stderr. If no command ran, nothing is sent.
// If a command or its environment is secret, so is the output.
func (x *item) Sent() (values map[string]any, secret bool) {
	if x.ran == nil {
		return nil, x.secret
	}
	values = map[string]any{"output": string(printed(x.ran))}
	if x.apart() {
		values["stdout"], values["stderr"] = string(x.ran.Stdout), string(x.ran.Stderr)
	}
	return values, x.secret
}

// apart reports whether the streams of the command must be kept apart, because one of them is sent.
func (x *item) apart() bool {
	return slices.Contains(x.r.Sends, "stdout") || slices.Contains(x.r.Sends, "stderr")
}

// printed returns both streams of a program.
func printed(out *resource.Output) []byte {
	if out.Both != nil {
		return out.Both
	}
	return out.Stdout
}
