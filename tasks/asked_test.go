package tasks

import (
	"testing"

	"bolt/format/ordered"
	"bolt/modules"
)

func TestAskedRefusesOptions(t *testing.T) {
	l := NewLibrary(Options{Modules: modules.NewPath(modules.Module{}), Warn: func(id, text string) { t.Error(id, text) }})
	task := &Task{Name: "m"}
	for _, given := range []*ordered.Map{ordered.Of("_noop", "yes"), ordered.Of("_run_as", int64(1)), ordered.Of("_other", true)} {
		if r, err := l.Asked(t.Context(), task, given, RunOptions{}); err == nil {
			t.Errorf("%v is accepted: %v", given.Keys(), r)
		}
	}
}
