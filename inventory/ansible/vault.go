package ansible

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"bolt/transport"
)

// Vaulted is a value in ansible-vault's encrypted form.
type Vaulted string

// vaultMark is the start of every string of ansible-vault.
const vaultMark = "$ANSIBLE_VAULT;"

// IsVaulted reports whether text is encrypted.
func IsVaulted(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), vaultMark) }

// ErrVaultPassword is the error if the password is wrong or the encrypted string
// was changed.
var ErrVaultPassword = errors.New("the vault password is wrong, or the encrypted value was changed")

// Decrypt decrypts a string of ansible-vault, version 1.1 or 1.2 with the cipher
// AES256; the label of version 1.2 is ignored. The format is described in
// Ansible's guide to vaults: a header, then the hexadecimal form of salt, HMAC
// and ciphertext, each of them also in hexadecimal form.
func Decrypt(text string, password transport.Secret) ([]byte, error) {
	header, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	parts := strings.Split(strings.TrimSpace(header), ";")
	if len(parts) < 3 || parts[0]+";" != vaultMark {
		return nil, fmt.Errorf("the value is not encrypted by ansible-vault: it does not begin with %s", vaultMark)
	}
	if v := parts[1]; v != "1.1" && v != "1.2" || parts[2] != "AES256" {
		return nil, fmt.Errorf("version '%s' with the cipher '%s' of ansible-vault is not supported; supported are 1.1 and 1.2 with AES256", told(v), told(parts[2]))
	}
	broken := errors.New("the value of ansible-vault is truncated or damaged")
	inner, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		return nil, broken
	}
	fields := strings.Split(string(inner), "\n")
	if len(fields) != 3 {
		return nil, broken
	}
	var raw [3][]byte
	for i, f := range fields {
		if raw[i], err = hex.DecodeString(strings.TrimSpace(f)); err != nil {
			return nil, broken
		}
	}
	salt, mac, data := raw[0], raw[1], raw[2]
	keys, err := pbkdf2.Key(sha256.New, password.Reveal(), salt, 10_000, 32+32+aes.BlockSize)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, keys[32:64])
	h.Write(data)
	if !hmac.Equal(h.Sum(nil), mac) {
		return nil, ErrVaultPassword
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(data))
	cipher.NewCTR(block, keys[64:]).XORKeyStream(plain, data)
	if len(plain) == 0 { // PKCS #7 always pads
		return nil, broken
	}
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize || pad > len(plain) {
		return nil, broken
	}
	return plain[:len(plain)-pad], nil
}
