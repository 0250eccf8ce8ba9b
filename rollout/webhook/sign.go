package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A secret is the key with which messages are signed. No verb of package fmt and no encoder prints it.
type secret struct{ key []byte }

// The form of a secret (Standard Webhooks, "Signature scheme").
const (
	secretPrefix = "whsec_"
	minSecret    = 24 // bytes
	maxSecret    = 64
)

const secretHint = `A new secret: echo "whsec_$(openssl rand -base64 32)"`

// parseSecret reads a secret: whsec_ and 24 to 64 bytes in base64. The error does not have the text.
func parseSecret(text string) (secret, error) {
	encoded, is := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !is || err != nil {
		return secret{}, errors.New("must be whsec_ and base64")
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return secret{}, fmt.Errorf("must have from %d to %d bytes, but it has %d", minSecret, maxSecret, len(key))
	}
	return secret{key}, nil
}

// Format implements fmt.Formatter.
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[secret]")) }

// sign returns the header webhook-signature of a message.
func (s secret) sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
