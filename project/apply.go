package project

const applyKey = "apply-settings"

// Apply has the settings for applying catalogs. The only setting of Puppet Bolt that takes effect is show_diff.
type Apply struct {
	// Dir is the directory on targets for the helper and its journals; "" for the helper's
	// default. A relative path is below the directory in which sessions on the target start.
	Dir string
	// HideDiffs is set if show_diff is false. Then bolt does not show the differences of files.
	//
	// Differs from Puppet, where show_diff is false by default.
	HideDiffs bool
	// KeepReports is the number of stored reports of each node; 0 stores none, and nil is the default.
	KeepReports *int64
}

// ApplyDirSetting is the name of the setting for Apply.Dir.
const ApplyDirSetting = applyKey + ".dir"

// applySettings reads the merged setting.
func (c *Config) applySettings() Apply {
	m := c.hash(applyKey)
	a := Apply{HideDiffs: m.Value("show_diff") == false}
	a.Dir, _ = m.Value("dir").(string)
	if n, is := m.Value("keep-reports").(int64); is {
		a.KeepReports = &n
	}
	return a
}
