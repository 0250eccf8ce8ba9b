//go:build !linux

package krb5

import "errors"

// readKeyring returns an error: only Linux has keyrings.
func readKeyring(string) (*credentials, error) {
	return nil, errors.New("only Linux has keyrings")
}
