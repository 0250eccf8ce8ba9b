package types

// Names returns the names of the types that Find knows, in lower case and sorted.
func Names() []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}
