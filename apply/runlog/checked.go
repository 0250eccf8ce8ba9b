package runlog

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"time"

	"bolt/catalog"
	"bolt/internal/atomicfile"
	"bolt/internal/ownfile"
)

const (
	checkedName = "checked"
	// keepChecked is how long a time stays. It is longer than each period of a schedule, so that older times change nothing.
	keepChecked = 90 * 24 * time.Hour
)

// Checked returns when the resources with a schedule were last applied.
func (d *Dir) Checked() (map[string]time.Time, error) {
	return recall[time.Time](d, checkedName)
}

// recall reads a record of earlier runs. It is nil if the file does not exist or is damaged: the run is then as the first one.
func recall[V any](d *Dir, name string) (record map[string]V, err error) {
	f, err := ownfile.Open(d.Path(name), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err == nil && json.Valid(text) {
		_ = json.Unmarshal(text, &record) // of another shape: what fits
	}
	return record, err
}

// SetChecked notes that resources with a schedule were applied. It drops times that are too old to matter.
func (d *Dir) SetChecked(times map[string]time.Time, refs []catalog.Ref, now time.Time) error {
	if len(refs) == 0 {
		return nil
	}
	times = maps.Clone(times)
	if times == nil {
		times = make(map[string]time.Time)
	}
	maps.DeleteFunc(times, func(_ string, at time.Time) bool { return now.Sub(at) > keepChecked })
	for _, r := range refs {
		times[r.String()] = now
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return atomicfile.WriteOwn(d.Path(checkedName), text, 0o600)
}
