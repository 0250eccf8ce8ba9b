// Package secret makes the keys and the values of the pkcs7 plugin: secrets
// that stand encrypted in files of a project, as text of the form
// ENC[PKCS7,base64].
//
// A Pair is two files: a certificate, which is all that encrypting takes and
// may be given to everybody, and its private key, which decrypts. The base64
// is a CMS (PKCS #7, RFC 5652) enveloped-data message for the certificate:
// AES-256-CBC, its key encrypted by RSA. These are the files and values of
// Puppet Bolt's plugin and of hiera-eyaml, in both directions.
//
// Nothing is kept in memory between calls, and no message has a secret in it.
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

// The kinds of errors, as Puppet Bolt's plugin has them.
const (
	KindKey   = "bolt.plugin/key-error" // the files of a pair
	KindParse = "pkcs7/parse-error"     // an encrypted value
)

// A Pair is where the files of a key pair are, both in PEM.
type Pair struct {
	Public  string // path of the certificate
	Private string // path of the private key
}

// The names that a pair has if nobody says otherwise, from the project.
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

// Encrypt returns text encrypted for the pair, in one line. Only the
// certificate is read.
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

// Decrypt returns the text that value was made of. White space in the base64
// and around the whole does not count.
func (p Pair) Decrypt(ctx context.Context, value string) ([]byte, error) {
	message, ok := parse(value)
	if !ok {
		// The value is not shown: whoever mistakes a secret for one that is
		// encrypted would find it in a log.
		return nil, fault.New(KindParse, "Could not parse as an encrypted value: it must have the form %s…%s, with base64 in the middle", prefix, suffix)
	}
	// A new pair cannot decrypt what is there. The certificate is needed, too: by it
	// the message tells which of its keys is for the pair.
	const missing = "A value is decrypted by the key pair that it was encrypted with: copy both of its files to where they are looked for."
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

// parse takes an encrypted value apart.
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

// readKey reads a file of a pair. What to do where there is none is the advice.
func readKey(ctx context.Context, which, path, advice string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil, failed(KindKey, err, "There is no %s key '%s'. %s", which, path, advice)
	}
	return nil, failed(KindKey, err, "The %s key '%s' is unreadable: %v", which, path, fault.WithoutPath(err))
}

// failed makes the error that has err for its cause.
func failed(kind string, err error, format string, args ...any) error {
	return &fault.Error{Kind: kind, Msg: fmt.Sprintf(format, args...), Err: err}
}
