package install

import (
	"errors"
	"os"
)

// exchangeInSteps is exchange for file systems that do not have an atomic exchange.
func exchangeInSteps(a, b string) error {
	aside := a + ".aside"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}
