package runlog

import (
	"errors"
	"os"
	"time"

	"bolt/internal/ownfile"
)

// A request to stop a run is an empty file beside the journal of the run. The process of the run looks for it. A signal could
// reach another process, which has the number of a run that has just ended.

const (
	stopExt = ".stop"
	// keepStop is longer than a run that waits for its turn can take to begin.
	keepStop = 24 * time.Hour
)

// StopPath returns the path of the file that requests the end of a run.
func (d *Dir) StopPath(run string) string { return d.Path(runsName, run+stopExt) }

// Stop requests the end of a run, also of a run that has not begun yet. The run ends after the resources in work.
func (d *Dir) Stop(run string) error {
	if err := CheckID(run); err != nil {
		return err
	}
	f, err := ownfile.Open(d.StopPath(run), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), d.Expire(runsName, "*"+stopExt, keepStop))
}

// Stopping reports whether the end of a run was requested.
func (d *Dir) Stopping(run string) bool {
	_, err := os.Lstat(d.StopPath(run))
	return err == nil
}

// Stopped removes the request to stop a run that has ended.
func (d *Dir) Stopped(run string) {
	_ = os.Remove(d.StopPath(run)) // a request that stays is removed by Stop
}
