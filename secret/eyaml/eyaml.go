// Package eyaml decrypts the values that hiera-eyaml writes into data files:
// strings with blocks of the form ENC[PKCS7,base64]. The base64 is a CMS (PKCS
// #7) enveloped-data message for one certificate, as "eyaml encrypt" writes it
// (RSA key transport, AES-256-CBC).
//
// Keys are a certificate and a private key in PEM, as "eyaml createkeys"
// creates them. Parse parses them and Keys.Decrypt replaces the blocks of a
// string. The package does not access files itself: Open takes the options of a
// hierarchy entry and reads through the functions of a Source.
//
// Messages are parsed by github.com/smallstep/pkcs7: a maintained continuation
// of Mozilla's package that supports the content ciphers that OpenSSL writes,
// in DER and in BER. Only its decryption is used.
package eyaml

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/smallstep/pkcs7"

	"bolt/internal/lazyregexp"
)

// The default paths of hiera-eyaml's keys.
const (
	defaultPublicKey  = "./keys/public_key.pkcs7.pem"
	defaultPrivateKey = "./keys/private_key.pkcs7.pem"
)

// Keys are one certificate with its private key. They are safe for
// concurrent use.
type Keys struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

// Parse parses a certificate and its RSA private key (PKCS #1 or PKCS #8) in
// PEM.
func Parse(public, private []byte) (*Keys, error) {
	block := find(public, "CERTIFICATE")
	if block == nil {
		return nil, errors.New("public key: the PEM text does not have a CERTIFICATE block")
	}
	cert, err := x509.ParseCertificate(block)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	key, err := parsePrivate(private)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	if pub, ok := cert.PublicKey.(*rsa.PublicKey); !ok || !pub.Equal(key.Public()) {
		return nil, errors.New("the public key does not belong to the private key")
	}
	return &Keys{cert: cert, key: key}, nil
}

func parsePrivate(text []byte) (*rsa.PrivateKey, error) {
	if der := find(text, "RSA PRIVATE KEY"); der != nil {
		return x509.ParsePKCS1PrivateKey(der)
	}
	der := find(text, "PRIVATE KEY")
	if der == nil {
		if find(text, "ENCRYPTED PRIVATE KEY") != nil {
			return nil, errors.New("keys with a passphrase are not supported")
		}
		return nil, errors.New("the PEM text does not have a PRIVATE KEY block")
	}
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not an RSA key; only RSA keys are supported")
	}
	return key, nil
}

// find returns the first PEM block of a kind.
func find(text []byte, kind string) []byte {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil
		}
		if block.Type == kind {
			return block.Bytes
		}
	}
}

// encrypted reports whether s contains a block. As in hiera-eyaml, a block must
// end on the line on which it begins: YAML's folded strings contain no line
// breaks at the positions where the author broke the line.
func encrypted(s string) bool {
	for {
		_, rest, found := strings.Cut(s, "ENC[")
		if !found {
			return false
		}
		line, _, _ := strings.Cut(rest, "\n")
		if strings.Contains(line, "]") {
			return true
		}
		s = rest
	}
}

// block matches a block of hiera-eyaml: an optional scheme, and base64 that may
// contain white space.
var block = lazyregexp.New(`ENC\[(\w+,)?([a-zA-Z0-9+/ =\n]+?)\]`)

// Decrypt returns s with all its blocks replaced by their plain text, without
// one line break at the end of the result. It returns a string without blocks
// unchanged.
func (k *Keys) Decrypt(s string) (string, error) {
	if !encrypted(s) {
		return s, nil
	}
	var b strings.Builder
	last := 0
	for _, m := range block().FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[last:m[0]])
		last = m[1]
		if m[2] >= 0 {
			if scheme := strings.ToUpper(s[m[2] : m[3]-1]); scheme != "PKCS7" {
				return "", fmt.Errorf("the encryption scheme %s is not supported, only PKCS7 is", scheme)
			}
		}
		plain, err := k.open(s[m[4]:m[5]])
		if err != nil {
			return "", err
		}
		b.Write(plain)
	}
	b.WriteString(s[last:])
	return chomp(b.String()), nil
}

// chomp is Ruby's String#chomp.
func chomp(s string) string {
	if t, ok := strings.CutSuffix(s, "\r\n"); ok {
		return t
	}
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		return t
	}
	return strings.TrimSuffix(s, "\r")
}

// open decrypts one block's base64.
func (k *Keys) open(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' {
			return -1
		}
		return r
	}, text)
	text = strings.TrimRight(text, "=") // Ruby's decoder does not require padding
	der, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the text of the block is not base64")
	}
	return k.DecryptMessage(der)
}

// DecryptMessage returns the plain text of one PKCS #7 message, the decoded
// base64 of a block.
func (k *Keys) DecryptMessage(der []byte) (plain []byte, err error) {
	// The library parses untrusted input; a bug in it must not end the program.
	defer func() {
		if recover() != nil {
			plain, err = nil, errors.New("the block is not a PKCS7 message")
		}
	}()
	msg, err := pkcs7.Parse(der)
	if err != nil {
		return nil, errors.New("the block is not a PKCS7 message")
	}
	plain, err = msg.Decrypt(k.cert, crypto.Decrypter(k.key))
	switch {
	case errors.Is(err, pkcs7.ErrNotEncryptedContent):
		return nil, errors.New("the block is not an encrypted PKCS7 message")
	case errors.Is(err, pkcs7.ErrUnsupportedAlgorithm), errors.Is(err, pkcs7.ErrUnsupportedAsymmetricEncryptionAlgorithm):
		return nil, errors.New("the block is encrypted with an algorithm that is not supported; eyaml itself writes RSA with AES-256-CBC")
	case err != nil:
		return nil, errors.New("the keys are wrong: the block was encrypted for another certificate, or it is damaged")
	}
	return plain, nil
}

// Source supplies files and environment variables to Open.
type Source struct {
	ReadFile func(ctx context.Context, path string) ([]byte, error) // stops when ctx is done
	Getenv   func(name string) string                               // nil: there are no variables
}

// Open reads the keys that the options of a hierarchy entry name:
// pkcs7_public_key and pkcs7_private_key (paths), or pkcs7_public_key_env_var
// and pkcs7_private_key_env_var (variables that contain PEM). If there are
// none, it reads hiera-eyaml's default files in ./keys.
func Open(ctx context.Context, options map[string]string, from Source) (*Keys, error) {
	public, err := from.read(ctx, options, "pkcs7_public_key", defaultPublicKey)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	private, err := from.read(ctx, options, "pkcs7_private_key", defaultPrivateKey)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return Parse(public, private)
}

func (from Source) read(ctx context.Context, options map[string]string, name, otherwise string) ([]byte, error) {
	if variable := options[name+"_env_var"]; variable != "" {
		if from.Getenv != nil {
			if text := from.Getenv(variable); text != "" {
				return []byte(text), nil
			}
		}
		return nil, fmt.Errorf("the environment variable %s, which is set by %s_env_var, is empty", variable, name)
	}
	path := options[name]
	if path == "" {
		path = otherwise
	}
	text, err := from.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text), nil
}
