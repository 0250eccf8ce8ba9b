package runlog

import (
	"encoding/json"
	"maps"
	"time"

	"bolt/catalog"
	"bolt/internal/atomicfile"
)

const (
	auditedName = "audited"
	// keepAudited is how long the values of a resource stay that is not audited any more.
	keepAudited = 90 * 24 * time.Hour
)

// An Audit has the audited properties of a resource.
type Audit struct {
	At     time.Time         `json:"at"`
	Values map[string]string `json:"values"`
}

// Audited returns the audits of the last runs, by the reference of the resource.
func (d *Dir) Audited() (map[string]Audit, error) {
	return recall[Audit](d, auditedName)
}

// SetAudited adds the audits of a run. It drops old ones.
func (d *Dir) SetAudited(audits map[string]Audit, values map[catalog.Ref]map[string]string, now time.Time) error {
	if len(values) == 0 {
		return nil
	}
	audits = maps.Clone(audits)
	if audits == nil {
		audits = make(map[string]Audit)
	}
	maps.DeleteFunc(audits, func(_ string, a Audit) bool { return now.Sub(a.At) > keepAudited })
	for ref, v := range values {
		audits[ref.String()] = Audit{now, v}
	}
	text, err := json.Marshal(audits)
	if err != nil {
		return err
	}
	return atomicfile.WriteOwn(d.Path(auditedName), text, 0o600)
}
