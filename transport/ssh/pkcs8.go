package ssh

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/ssh"
)

// x/crypto parses all formats of ssh-keygen but one: PKCS #8 with a passphrase
// (-m PKCS8). That format is PBES2 with PBKDF2 and AES-CBC (RFC 8018 6.2).

const encryptedPKCS8 = "ENCRYPTED PRIVATE KEY"

// maxPBKDF2Rounds limits the work that a file can cause; OpenSSL writes 2,048.
const maxPBKDF2Rounds = 10_000_000

func isEncryptedPKCS8(text []byte) bool {
	block, _ := pem.Decode(text)
	return block != nil && block.Type == encryptedPKCS8
}

// decryptKey returns the private key in an encrypted file.
func decryptKey(text, passphrase []byte) (any, error) {
	if block, _ := pem.Decode(text); block != nil && block.Type == encryptedPKCS8 {
		return decryptPKCS8(block.Bytes, passphrase)
	}
	return ssh.ParseRawPrivateKeyWithPassphrase(text, passphrase)
}

type encryptedKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	KeyDerivation, Encryption pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt   []byte
	Rounds int
	Length int                      `asn1:"optional"`
	PRF    pkix.AlgorithmIdentifier `asn1:"optional"`
}

func decryptPKCS8(der, passphrase []byte) (any, error) {
	var info encryptedKeyInfo
	if err := unmarshalAll(der, &info); err != nil {
		return nil, err
	}
	if info.Algorithm.Algorithm.String() != "1.2.840.113549.1.5.13" { // PBES2
		return nil, fmt.Errorf("encryption %v is not supported", info.Algorithm.Algorithm)
	}
	var scheme pbes2Params
	if err := unmarshalAll(info.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, err
	}
	if scheme.KeyDerivation.Algorithm.String() != "1.2.840.113549.1.5.12" { // PBKDF2
		return nil, fmt.Errorf("key derivation %v is not supported", scheme.KeyDerivation.Algorithm)
	}
	var kdf pbkdf2Params
	if err := unmarshalAll(scheme.KeyDerivation.Parameters.FullBytes, &kdf); err != nil {
		return nil, err
	}
	if kdf.Rounds < 1 || kdf.Rounds > maxPBKDF2Rounds {
		return nil, fmt.Errorf("%d rounds of key derivation are not supported", kdf.Rounds)
	}
	var prf func() hash.Hash
	switch id := kdf.PRF.Algorithm.String(); id {
	case "", "1.2.840.113549.2.7":
		prf = sha1.New
	case "1.2.840.113549.2.9":
		prf = sha256.New
	case "1.2.840.113549.2.11":
		prf = sha512.New
	default:
		return nil, fmt.Errorf("key derivation with %s is not supported", id)
	}
	var size int
	switch id := scheme.Encryption.Algorithm.String(); id {
	case "2.16.840.1.101.3.4.1.2":
		size = 16
	case "2.16.840.1.101.3.4.1.22":
		size = 24
	case "2.16.840.1.101.3.4.1.42":
		size = 32
	default:
		return nil, fmt.Errorf("cipher %s is not supported", id)
	}
	var iv []byte
	if err := unmarshalAll(scheme.Encryption.Parameters.FullBytes, &iv); err != nil {
		return nil, err
	}
	data := info.Data
	if len(iv) != aes.BlockSize || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errors.New("encrypted data is truncated")
	}
	key, err := pbkdf2.Key(prf, string(passphrase), kdf.Salt, kdf.Rounds, size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	clear := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(clear, data)
	pad := int(clear[len(clear)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, x509.IncorrectPasswordError
	}
	parsed, err := x509.ParsePKCS8PrivateKey(clear[:len(clear)-pad])
	if err != nil {
		return nil, x509.IncorrectPasswordError
	}
	return parsed, nil
}

func unmarshalAll(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err == nil && len(rest) > 0 {
		err = errors.New("data after the ASN.1 value")
	}
	return err
}
