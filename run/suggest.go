package run

import (
	"fmt"
	"slices"

	"bolt/event"
	"bolt/internal/spelling"
	"bolt/transport"
)

// Suggest adds a hint to the result of a target that was not reached and is not in the
// inventory, if its name is probably a misspelling of one of the names that known returns.
func Suggest(r *event.Result, known func() []string) {
	if !r.Target.Adhoc || r.OK() || r.Err.Hint != "" || r.Err.Class != transport.ClassResolve && r.Err.Class != transport.ClassConnect {
		return
	}
	names := slices.DeleteFunc(slices.Clone(known()), func(n string) bool { return n == r.Target.Name })
	if near := spelling.Near(r.Target.Name, names); near != "" {
		r.Err.Hint = fmt.Sprintf("did you mean %s? %s is not in the inventory.", near, r.Target.SafeName())
	}
}
