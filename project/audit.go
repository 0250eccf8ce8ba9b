package project

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/internal/spelling"
)

// Audit says where it is recorded what is done on targets.
//
// Differs from Puppet: it records nothing, and does not know this setting.
type Audit struct {
	Path string // absolute; "": nothing is recorded
	// Required: nothing is begun that cannot be recorded.
	Required bool
}

const auditKey = "audit"

func auditSchema() *schema.Schema {
	return &schema.Schema{Type: schema.Hash, Properties: map[string]*schema.Schema{
		"path":     {Type: schema.String},
		"required": {Type: schema.Boolean},
	}}
}

// enforceAudit lets the setting of the administrator's file count alone, if that
// requires records: nobody can turn them off, or elsewhere. So its path must not depend
// on who runs bolt where.
func enforceAudit(s Sources, layers []layer, warn Warn) error {
	if s.SystemDir == "" {
		return nil
	}
	enforced := false
	for i := range layers {
		l := &layers[i]
		m, _ := l.data.Value(auditKey).(*ordered.Map)
		switch {
		case m == nil:
		case l.name == s.systemDefaults():
			enforced = m.Value("required") == true
			if path, _ := m.Value("path").(string); enforced && path != "" && !filepath.IsAbs(path) {
				return fault.New("bolt/validation-error", "The path of the audit log that %s requires must be absolute: people choose their project and HOME. It is %s.", l.name, path)
			}
		case enforced:
			warn("audit_enforced", fmt.Sprintf("What %s says under audit has no effect: %s requires the audit log that it names.", l.name, s.systemDefaults()))
			l.data = l.data.Clone()
			l.data.Delete(auditKey)
		}
	}
	return nil
}

// auditSettings reads the merged setting.
func (c *Config) auditSettings(s Sources) (Audit, error) {
	m := c.hash(auditKey)
	a := Audit{Required: m.Value("required") == true}
	path, _ := m.Value("path").(string)
	if path == "" && m.Len() > 0 {
		err := fault.New("bolt/validation-error", "The setting audit (%s) names no log: it needs a 'path'.", c.sources[auditKey])
		known := slices.Sorted(maps.Keys(auditSchema().Properties))
		for k := range m.All() {
			if slices.Contains(known, k) {
				continue
			}
			// The warning about unknown keys does not come where loading ends with an error.
			err.Msg += fmt.Sprintf(" It does not know '%s'.", k)
			if near := spelling.Near(k, known); near != "" {
				err.Msg += fmt.Sprintf(" Did you mean '%s'?", near)
			}
		}
		return a, err
	}
	if path != "" {
		a.Path = s.expand(path, c.Project.Dir)
	}
	return a, nil
}
