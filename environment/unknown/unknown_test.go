package unknown

import (
	"slices"
	"testing"

	"bolt/environment"
	"bolt/puppet/value"
)

// TestKnownNamesMatchEnvironment checks that the lists of names match the
// functions and types of an environment.
func TestKnownNamesMatchEnvironment(t *testing.T) {
	known := environment.Functions()
	for _, name := range planFunctions {
		if slices.Contains(known, name) {
			t.Errorf("the function %s is there", name)
		}
	}
	for _, name := range planTypes {
		if _, ok := value.Builtin(name); ok || slices.Contains(environment.Types(), name) {
			t.Errorf("the type %s is there", name)
		}
	}
	for _, name := range languageTypes {
		if _, ok := value.Builtin(name); !ok {
			t.Errorf("there is no type %s", name)
		}
	}
}
