// Package secret creates the keys and values of the pkcs7 plugin: secrets that are
// stored encrypted in files of a project, as strings of the form ENC[PKCS7,base64].
//
// A Pair is two files: a certificate, which is used to encrypt and may be public,
// and its private key, which decrypts. The base64 is a CMS (PKCS #7, RFC 5652)
// enveloped-data message for the certificate: AES-256-CBC, its key encrypted by RSA.
// The files and values are compatible with Puppet Bolt's plugin and with hiera-eyaml
// in both directions.
//
// The package keeps nothing in memory between calls, and messages do not contain
// secrets.
package secret

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/secret/eyaml"
)

// The kinds of errors, as in Puppet Bolt's plugin.
const (
	KindKey   = "bolt.plugin/key-error" // the files of a pair
	KindParse = "pkcs7/parse-error"     // an encrypted value
)

// A Pair holds the paths of the files of a key pair, both in PEM.
type Pair struct {
	Public  string // path of the certificate
	Private string // path of the private key
}

// The default paths of a pair, relative to the project.
const (
	DefaultPublic  = "keys/public_key.pkcs7.pem"
	DefaultPrivate = "keys/private_key.pkcs7.pem"
)

const (
	prefix = "ENC[PKCS7,"
	suffix = "]"

	certificateBlock = "CERTIFICATE"
	privateBlock     = "RSA PRIVATE KEY"
)

// Encrypt returns text encrypted for the pair, on one line. It reads only the
// certificate.
func (p Pair) Encrypt(ctx context.Context, text []byte) (string, error) {
	data, err := readKey(ctx, "public", p.Public, "'bolt secret createkeys' makes a key pair.")
	if err != nil {
		return "", err
	}
	block, rest := pem.Decode(data)
	for block != nil && block.Type != certificateBlock {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return "", fault.New(KindKey, "The public key '%s' is not a certificate in PEM format", p.Public)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", failed(KindKey, err, "The public key '%s' is damaged: %v", p.Public, err)
	}
	message, err := seal(cert, text)
	if err != nil {
		return "", failed(KindKey, err, "The public key '%s' cannot encrypt: %v", p.Public, err)
	}
	return prefix + base64.StdEncoding.EncodeToString(message) + suffix, nil
}

// Decrypt returns the plain text of value. White space in the base64 and around the
// value is ignored.
func (p Pair) Decrypt(ctx context.Context, value string) ([]byte, error) {
	message, ok := parse(value)
	if !ok {
		// The message does not contain the value: the user may have passed a plain
		// secret by mistake, and messages are logged.
		return nil, fault.New(KindParse, "Could not parse as an encrypted value: it must have the form %s…%s, with base64 in the middle", prefix, suffix)
	}
	// A new pair cannot decrypt existing values. The certificate is also required:
	// it identifies the recipient's key in the message.
	const missing = "A value can only be decrypted with the key pair that encrypted it. Copy both files of that pair to these paths."
	public, err := readKey(ctx, "public", p.Public, missing)
	if err != nil {
		return nil, err
	}
	private, err := readKey(ctx, "private", p.Private, missing)
	if err != nil {
		return nil, err
	}
	keys, err := eyaml.Parse(public, private)
	if err != nil {
		return nil, failed(KindKey, err, "The keys '%s' and '%s' are of no use: %v", p.Public, p.Private, err)
	}
	text, err := keys.DecryptMessage(message)
	if err != nil {
		return nil, failed(KindParse, err, "The value could not be decrypted: %v", err)
	}
	return text, nil
}

// parse splits an encrypted value.
func parse(value string) (message []byte, ok bool) {
	value = strings.TrimSpace(value)
	if value, ok = strings.CutPrefix(value, prefix); !ok {
		return nil, false
	}
	if value, ok = strings.CutSuffix(value, suffix); !ok {
		return nil, false
	}
	value = strings.Join(strings.Fields(value), "")
	message, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	return message, err == nil && len(message) > 0
}

// readKey reads a file of a pair. advice is the hint if the file does not exist.
func readKey(ctx context.Context, which, path, advice string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil, failed(KindKey, err, "The %s key '%s' does not exist. %s", which, path, advice)
	}
	return nil, failed(KindKey, err, "The %s key '%s' is unreadable: %v", which, path, fault.WithoutPath(err))
}

// failed returns an error with the cause err.
func failed(kind string, err error, format string, args ...any) error {
	return &fault.Error{Kind: kind, Msg: fmt.Sprintf(format, args...), Err: err}
}
