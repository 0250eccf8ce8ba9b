package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bolt/format/fault"
	"bolt/internal/spelling"
)

// Last stands for the latest interrupted run, or the latest run if none was
// interrupted.
const Last = "last"

// Find returns the ID of the run with the given name, or the run for Last. It calls
// warn for each journal that cannot be read.
func Find(dir, name string, warn func(error)) (string, error) {
	list, err := List(dir, warn)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	switch {
	case len(ids) == 0:
		return "", &fault.Error{Kind: Kind, Msg: fmt.Sprintf("No run of a plan is recorded in %s.", dir), Hint: "Run 'bolt plan run --journal' to record a run."}
	case name == Last:
		for _, s := range list {
			if s.State == Interrupted {
				return s.ID, nil
			}
		}
		return ids[0], nil
	case slices.Contains(ids, name):
		return name, nil
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(name)+ext)); !errors.Is(err, fs.ErrNotExist) {
		return filepath.Base(name), nil // it cannot be read; Open returns the reason
	}
	hint := "Run 'bolt plan runs' to list the runs."
	if near := spelling.Near(name, ids); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return "", &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run %s does not exist in %s.", name, dir), Hint: hint}
}
