package openssl

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// Key returns the type ssl_pkey.
func Key() resource.Type { return keyType{} }

type keyType struct{}

// A privateKey is one private key.
type privateKey struct {
	file
	rsa      bool
	bits     int64
	curve    string
	password string
}

// The sizes of RSA keys that are made, in bits.
const (
	minRSA = 512
	maxRSA = 16384
)

var word = lazyregexp.New(`^[A-Za-z0-9][-A-Za-z0-9_.:]*$`)

// New implements resource.Type.
func (keyType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &privateKey{
		file:     newFile(&f, "ssl_pkey", "private key"),
		rsa:      f.Text("authentication", "rsa") == "rsa",
		curve:    f.Text("curve", "secp384r1"),
		password: f.Text("password", ""),
	}
	var err error
	if x.bits, err = r.Int("size", 2048); err != nil {
		return nil, err
	}
	if x.rsa && (x.bits < minRSA || x.bits > maxRSA) {
		f.Refuse("size", fmt.Sprintf("must be from %d to %d, and is %d", minRSA, maxRSA, x.bits))
	}
	if !word().MatchString(x.curve) {
		f.RefuseValue("curve", "must be the name of a curve, such as secp384r1", x.curve)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *privateKey) Read(ctx context.Context, h *resource.Host) error {
	if err := x.read(ctx, h); err != nil {
		return err
	}
	if x.is.exists && x.ensure == "present" && !isKey(x.is.text) {
		h.Logf(x.r.Ref, report.Warning, "%s has no private key in PEM format. bolt leaves it as it is", x.path)
	}
	return nil
}

// isKey reports whether a text has a private key.
func isKey(text string) bool {
	for data := []byte(text); ; {
		block, rest := pem.Decode(data)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, pemPKCS8) {
			return true
		}
		data = rest
	}
}

// Do implements resource.Item.
func (x *privateKey) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return x.change(ctx, h, c, 0o600, func() (string, error) { return x.generate(ctx, h) })
}

// generate makes a key. Its format is the same as in Puppet: PKCS #1 or SEC 1. A key with a password has PKCS #8.
func (x *privateKey) generate(ctx context.Context, h *resource.Host) (string, error) {
	c := call{args: []string{"ecparam", "-name", x.curve, "-genkey", "-noout"}}
	if x.rsa {
		c.args = []string{"genrsa", strconv.FormatInt(x.bits, 10)}
	}
	text, err := c.make(ctx, h, pemRSA, pemEC, pemPKCS8)
	switch {
	case err != nil:
		return "", err
	case x.password == "":
		return traditional(text)
	}
	return call{
		args:     []string{"pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-iter", iterations},
		password: x.password, protect: true, stdin: []byte(text),
	}.make(ctx, h, pemEncrypted)
}

// iterations is the cost of a guess at the password. OWASP advises it for PBKDF2 with HMAC-SHA-256.
const iterations = "600000"

// traditional returns an RSA key in PKCS #1 format, which openssl before version 3 prints. Other keys stay.
func traditional(text string) (string, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != pemPKCS8 {
		return text, nil
	}
	// PrivateKeyInfo of RFC 5208 is a sequence of a version, an algorithm and the key.
	rest := block.Bytes
	fields := [...]byte{derSequence, derInteger, derSequence, derOctets}
	var value []byte
	for i, tag := range fields {
		var ok bool
		if value, rest, ok = element(rest, tag); !ok {
			return "", errors.New("openssl genrsa printed a key that is not in PKCS #8 format")
		}
		if i == 0 {
			rest = value
		}
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: pemRSA, Bytes: value})), nil
}
