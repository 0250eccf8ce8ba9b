package winrm

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"github.com/bodgit/ntlmssp"

	"bolt/transport"
)

// An ntlm is the security context of one TCP connection (MS-NLMP). It encrypts
// messages by MS-WSMV section 2.2.9.1.
type ntlm struct{ client *ntlmssp.Client }

// Flags of a challenge (MS-NLMP section 2.2.2.5). An attacker on the network
// could remove them. Then messages would not be encrypted, or only weakly.
const (
	flagUnicode          = 0x00000001
	flagSign             = 0x00000010
	flagSeal             = 0x00000020
	flagExtendedSecurity = 0x00080000
	flag128              = 0x20000000
	flagKeyExchange      = 0x40000000

	wantedFlags = flagUnicode | flagSign | flagSeal | flagExtendedSecurity | flag128 | flagKeyExchange
)

func newNTLM(user string, password transport.Secret) (*ntlm, error) {
	name, domain := splitUser(user)
	c, err := ntlmssp.NewClient(ntlmssp.SetUserInfo(name, password.Reveal()), ntlmssp.SetDomain(domain),
		ntlmssp.SetVersion(ntlmssp.DefaultVersion()))
	return &ntlm{c}, err
}

// splitUser parses DOMAIN\user and user@domain.
func splitUser(user string) (name, domain string) {
	if d, n, ok := strings.Cut(user, `\`); ok {
		return n, d
	}
	if i := strings.LastIndex(user, "@"); i >= 0 {
		return user[:i], user[i+1:]
	}
	return user, ""
}

// token returns the answer to a challenge, which may be any data. A nil
// challenge starts the handshake.
func (n *ntlm) token(challenge []byte, cert *x509.Certificate) (token []byte, err error) {
	// The library indexes into the data without checks. An invalid challenge
	// must not cause a panic.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the NTLM challenge is invalid")
		}
	}()
	if challenge == nil {
		return n.client.Authenticate(nil, nil)
	}
	if len(challenge) < 48 {
		return nil, errors.New("the NTLM challenge is too short")
	}
	if flags := binary.LittleEndian.Uint32(challenge[20:]); flags&wantedFlags != wantedFlags {
		return nil, fmt.Errorf("NTLM with strong encryption is not offered (flags %#x)", flags)
	}
	return n.client.Authenticate(challenge, bindings(cert))
}

// bindings bind the context to a TLS connection ("tls-server-end-point", RFC
// 5929 section 4).
func bindings(cert *x509.Certificate) *ntlmssp.ChannelBindings {
	if cert == nil {
		return nil
	}
	hash := crypto.SHA256
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		hash = crypto.SHA384
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		hash = crypto.SHA512
	}
	h := hash.New()
	h.Write(cert.Raw)
	return &ntlmssp.ChannelBindings{ApplicationData: h.Sum([]byte(ntlmssp.TLSServerEndPoint + ":"))}
}

const (
	boundary      = "Encrypted Boundary"
	spnegoSession = "application/HTTP-SPNEGO-session-encrypted"
	sealedType    = `multipart/encrypted;protocol="` + spnegoSession + `";boundary="` + boundary + `"`
	soapType      = "application/soap+xml;charset=UTF-8"
)

// seal encrypts a message.
func (n *ntlm) seal(message []byte) ([]byte, error) {
	sealed, signature, err := n.client.SecuritySession().Wrap(message)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "--%s\r\nContent-Type: %s\r\nOriginalContent: type=%s;Length=%d\r\n--%s\r\nContent-Type: application/octet-stream\r\n",
		boundary, spnegoSession, soapType, len(message), boundary)
	_ = binary.Write(&b, binary.LittleEndian, uint32(len(signature)))
	b.Write(signature)
	b.Write(sealed)
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	return b.Bytes(), nil
}

// isSealed reports whether a message is encrypted.
func isSealed(contentType string) bool {
	kind, params, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "multipart/encrypted" && strings.EqualFold(params["protocol"], spnegoSession)
}

// unseal decrypts an answer.
func (n *ntlm) unseal(body []byte) ([]byte, error) {
	length, sealed, err := openParts(body)
	if err != nil {
		return nil, err
	}
	message, err := n.client.SecuritySession().Unwrap(sealed[20:], sealed[4:20])
	if err != nil {
		return nil, fmt.Errorf("the encrypted answer cannot be trusted: %w", err)
	}
	if len(message) != length {
		return nil, errors.New("the encrypted answer does not have the length in its header")
	}
	return message, nil
}

// openParts parses the two parts of an encrypted answer. The first contains the
// length of the message. The second contains the length of the signature (16),
// the signature, and the encrypted message. The format differs from MIME: a
// boundary has no line end before it.
func openParts(body []byte) (length int, sealed []byte, err error) {
	odd := errors.New("the encrypted answer has an invalid format")
	mark := []byte("--" + boundary)
	head, rest, ok := bytes.Cut(bytes.TrimPrefix(body, mark), mark)
	if !ok || !bytes.HasPrefix(body, mark) {
		return 0, nil, odd
	}
	_, size, ok := bytes.Cut(head, []byte("Length="))
	if !ok {
		return 0, nil, odd
	}
	digits := strings.TrimSpace(string(size[:min(len(size), 32)]))
	if length, err = strconv.Atoi(digits); err != nil || length < 0 {
		return 0, nil, odd
	}
	_, sealed, ok = bytes.Cut(rest, []byte("application/octet-stream\r\n"))
	if !ok {
		return 0, nil, odd
	}
	sealed = bytes.TrimSuffix(bytes.TrimSuffix(sealed, []byte("\r\n")), []byte(string(mark)+"--"))
	if len(sealed) < 20 || binary.LittleEndian.Uint32(sealed) != 16 {
		return 0, nil, odd
	}
	return length, sealed, nil
}

// challengeOf returns the challenge for Negotiate, or nil, and whether the
// server offers Negotiate and Basic.
func challengeOf(headers []string) (challenge []byte, negotiate, basic bool) {
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			scheme, param, _ := strings.Cut(strings.TrimSpace(part), " ")
			switch strings.ToLower(scheme) {
			case "negotiate":
				negotiate = true
				if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(param)); err == nil && len(b) > 0 {
					challenge = b
				}
			case "basic":
				basic = true
			}
		}
	}
	return challenge, negotiate, basic
}
