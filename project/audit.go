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

// Audit is the setting of the audit log, which records actions on targets. Puppet
// Bolt does not have it.
type Audit struct {
	Path string // absolute; "" if the log is disabled
	// Required is set if an action that cannot be recorded must fail.
	Required bool
}

const auditKey = "audit"

func auditSchema() *schema.Schema {
	return &schema.Schema{Type: schema.Hash, Properties: map[string]*schema.Schema{
		"path":     {Type: schema.String},
		"required": {Type: schema.Boolean},
	}}
}

// enforceAudit removes the setting from all other layers if the administrator's file
// has required: true, so that users cannot disable or redirect the log. The path of
// that log must not depend on the user or the working directory.
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
		err := fault.New("bolt/validation-error", "The setting audit (%s) needs a 'path'.", c.sources[auditKey])
		known := slices.Sorted(maps.Keys(auditSchema().Properties))
		for k := range m.All() {
			if slices.Contains(known, k) {
				continue
			}
			// If loading fails, the warning about unknown keys is not printed.
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
