package reporting

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"bolt/apply/fleet"
	"bolt/apply/history"
	"bolt/format/fault"
	"bolt/inventory"
)

// Dir returns the reports in a state directory, "" for the project's state directory.
func (v *Invocation) Dir(state string) *history.Dir {
	keep := history.Keep
	if n := v.Setting.KeepReports; n != nil {
		keep = int(*n)
	}
	return history.Open(filepath.Join(cmp.Or(state, v.State), history.Folder), keep)
}

// Keeper returns the keeper of reports in a state directory, "" for the project's. Outside of a project,
// reports are only kept if --state names a directory.
func (v *Invocation) Keeper(state string) *fleet.Keeper {
	setting := v.Setting.KeepReports
	if setting != nil && *setting == 0 || state == "" && !v.Project.Made() {
		return nil
	}
	asked := state != "" || setting != nil
	dir := v.Dir(state)
	return &fleet.Keeper{Dir: dir, By: v.By, Redact: v.Redact, Lost: func(t *inventory.Target, err error) {
		if !asked && unwritable(err) {
			v.Logs.Logger().Info("no reports are kept, because the project cannot be written to", "directory", dir.Path(), "err", err)
			return
		}
		v.Logs.WarnOnce("report_not_kept", fmt.Sprintf("The report of %s was not kept in %s: %v", t.SafeName(), dir.Path(), fault.WithoutPath(err)))
	}}
}

// unwritable reports whether an error means that this user cannot write to a directory. A project can be
// intentionally read-only.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
