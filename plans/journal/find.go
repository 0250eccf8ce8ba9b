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

// Last stands for the latest run that was cut off, or the latest run if none
// was cut off.
const Last = "last"

// Find returns the ID of the run that is called name, or that Last stands for. warn is
// called for each journal that cannot be read.
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
		return "", &fault.Error{Kind: Kind, Msg: fmt.Sprintf("No run of a plan is recorded in %s.", dir), Hint: "bolt plan run --journal records one."}
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
		return filepath.Base(name), nil // it cannot be read, and Open returns why
	}
	hint := "bolt plan runs lists them."
	if near := spelling.Near(name, ids); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return "", &fault.Error{Kind: Kind, Msg: fmt.Sprintf("There is no run %s in %s.", name, dir), Hint: hint}
}
