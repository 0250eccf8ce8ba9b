package inventory_test

import (
	"os"
	"path/filepath"
	"testing"

	"bolt/inventory"
)

// TestNativeKey checks that a key file which the ssh program cannot read is an error
// when the target is looked up. With the built-in client, it is not an error.
func TestNativeKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "id"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const file = `
version: 2
config: {transport: ssh, ssh: {native-ssh: true}}
targets:
  - {name: good, config: {ssh: {private-key: id}}}
  - {name: missing, config: {ssh: {private-key: nowhere/id}}}
  - {name: directory, config: {ssh: {private-key: .}}}
  - {name: ours, config: {ssh: {private-key: nowhere/id, native-ssh: false}}}
`
	inv := mustLoad(t, file, inventory.Options{Project: dir})
	for name, want := range map[string]string{
		"good":      "",
		"missing":   "bolt/file-error The ssh key '" + filepath.Join(dir, "nowhere/id") + "' does not exist",
		"directory": "bolt/file-error The ssh key '" + dir + "' is not a file",
		"ours":      "",
	} {
		err := inv.Prepare(t.Context(), []*inventory.Target{one(t, inv, name)})
		if want != "" {
			checkFails(t, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
