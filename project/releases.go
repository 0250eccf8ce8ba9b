package project

import "path/filepath"

const releasesKey = "releases"

// AllowedSigners returns the file of the setting releases.allowed-signers, absolute; "" if it is
// not set. A relative path is below the project.
func (c *Config) AllowedSigners() string {
	file, _ := c.hash(releasesKey).Value("allowed-signers").(string)
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(c.Project.Dir, file)
}
