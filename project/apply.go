package project

const applyKey = "apply-settings"

// Apply has the settings for applying catalogs. The only setting of Puppet Bolt that takes effect is show_diff.
type Apply struct {
	// Dir is the directory on targets where the helper keeps itself and its journals; "" for
	// its own choice. A relative path is below the directory in which sessions on the target start.
	Dir string
	// HideDiffs is set if show_diff is false: the differences of files are not shown.
	//
	// Differs from Puppet: there show_diff is false by default.
	HideDiffs bool
	// KeepReports is the number of reports of each node that are kept; 0 keeps none, and nil is the default.
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
