package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A Context is the client's side of one GSS-API security context: one login to
// one host. It implements the interface GSSAPIClient of golang.org/x/crypto/ssh.
// It is for one goroutine.
type Context struct {
	client, server principal
	t              *ticket
	token          []byte // the first token
	auth           types.Authenticator
	key            types.EncryptionKey // key of messages, after the host has answered
	flags          byte                // of its MIC tokens
	state          State
	turns          int
}

// State is the progress of a Context.
type State uint8

// The states, in order.
const (
	Unused   State = iota // the host has not asked for a token
	Offered               // the host has the ticket but has not proven its identity
	Complete              // both sides are authenticated
)

// maxTurns limits the length of a handshake; Kerberos takes two turns.
const maxTurns = 4

// Context gets everything that a login to a host needs: a ticket for its
// service "host" and, with delegate, a forwarded ticket for the host. So a
// missing requirement is known before anything is sent to the host.
func (s *Session) Context(ctx context.Context, host string, delegate bool) (*Context, error) {
	conf, cred, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.hostTicket(ctx, conf, cred, host)
	if err != nil {
		return nil, err
	}
	c := &Context{client: cred.client, server: t.server, t: t}
	now := s.o.Now().Add(cred.offset).UTC()
	var forwarded []byte
	if delegate {
		if forwarded, err = s.forward(ctx, conf, cred, t, now); err != nil {
			return nil, err
		}
	}
	if err := c.prepare(cred, now, forwarded); err != nil {
		return nil, err
	}
	return c, nil
}

// Client returns the client's name, as name@REALM.
func (c *Context) Client() string { return c.client.String() }

// Server returns the name of the ticket's service, as name@REALM.
func (c *Context) Server() string { return c.server.String() }

// State returns the progress of the handshake.
func (c *Context) State() State { return c.state }

// The services that a context requests (RFC 2743, RFC 4121 4.1.1.1).
const (
	flagDelegate  = 1
	flagMutual    = 2
	flagIntegrity = 32
)

// usageInitiatorSign is the key usage of the MIC tokens of a client (RFC 4121 2).
const usageInitiatorSign = 25

// prepare creates the first token: an AP-REQ in the frame of RFC 2743 3.1. The
// checksum of its authenticator holds the requested services (RFC 4121 4.1.1).
func (c *Context) prepare(cred *credentials, now time.Time, forwarded []byte) error {
	wants := uint32(flagMutual | flagIntegrity)
	if forwarded != nil {
		wants |= flagDelegate
	}
	sum := binary.LittleEndian.AppendUint32(nil, 16)
	sum = append(sum, make([]byte, 16)...) // no channel bindings
	sum = binary.LittleEndian.AppendUint32(sum, wants)
	if forwarded != nil {
		if len(forwarded) > 0xffff {
			return refuse(fmt.Sprintf("The Kerberos ticket of %s is too large to be delegated", c.client), "Disable delegation.", nil)
		}
		sum = binary.LittleEndian.AppendUint16(sum, 1)
		sum = binary.LittleEndian.AppendUint16(sum, uint16(len(forwarded)))
		sum = append(sum, forwarded...)
	}
	c.auth = authenticator(cred, now)
	c.auth.Cksum = types.Checksum{CksumType: 0x8003, Checksum: sum}
	c.auth.SeqNumber = int64(nonce()&0x3fffffff | 1) // a 0 would be omitted
	enctype, err := crypto.GetEtype(c.t.key.KeyType)
	if err != nil {
		return err
	}
	if c.auth.SubKey, err = types.GenerateEncryptionKey(enctype); err != nil {
		return err
	}
	req, err := apReq(c.t, c.auth, keyusage.AP_REQ_AUTHENTICATOR)
	if err != nil {
		return err
	}
	types.SetFlag(&req.APOptions, flags.APOptionMutualRequired)
	der, err := req.Marshal()
	if err != nil {
		return err
	}
	oid, err := asn1.Marshal(mechanism())
	if err != nil {
		return err
	}
	c.token = asn1tools.AddASNAppTag(append(append(oid, tokenRequest...), der...), 0)
	return nil
}

// mechanism returns the OID of Kerberos 5 (RFC 4121 4.1).
func mechanism() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113554, 1, 2, 2}
}

// The kinds of tokens (RFC 4121 4.1).
const (
	tokenRequest = "\x01\x00"
	tokenAnswer  = "\x02\x00"
	tokenError   = "\x03\x00"
)

// InitSecContext implements ssh.GSSAPIClient. It ignores the target and the
// delegation flag, because the Context was created for them.
func (c *Context) InitSecContext(_ string, token []byte, _ bool) (out []byte, more bool, err error) {
	defer recovered(&err)
	if c.turns++; c.turns > maxTurns {
		return nil, false, errors.New("the server keeps asking for Kerberos tokens")
	}
	switch {
	case c.state == Unused:
		c.state = Offered
		return c.token, true, nil
	case token == nil:
		// The server has sent an error token, which x/crypto ignores. The
		// refusal follows.
		return nil, true, nil
	}
	if err := c.accept(token); err != nil {
		return nil, false, err
	}
	c.state = Complete
	return nil, false, nil
}

// errUnreadable replaces the errors of gokrb5 for invalid messages, which
// mention its own types.
var errUnreadable = errors.New("the server's Kerberos token cannot be read")

// accept reads the host's answer, an AP-REP. The host proves with it that it
// could read our token.
func (c *Context) accept(token []byte) error {
	kind, body, err := unframe(token)
	if err != nil {
		return err
	}
	if kind == tokenError {
		return errors.New("the server answered with a Kerberos error")
	}
	if kind != tokenAnswer {
		return errors.New("the server's Kerberos token has the wrong type")
	}
	var rep messages.APRep
	if err := rep.Unmarshal(body); err != nil {
		return errUnreadable
	}
	plain, err := crypto.DecryptEncPart(rep.EncPart, c.t.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return errors.New("the server does not have the key of " + c.server.String())
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return errUnreadable
	}
	if !part.CTime.Equal(c.auth.CTime) || part.Cusec != c.auth.Cusec {
		return errors.New("the server's Kerberos token is the answer to another token")
	}
	c.key, c.flags = c.auth.SubKey, 0
	if len(part.Subkey.KeyValue) > 0 {
		c.key, c.flags = part.Subkey, micAcceptorSubkey
	}
	return nil
}

// unframe returns a token without its frame (RFC 2743 3.1).
func unframe(token []byte) (kind string, body []byte, err error) {
	var frame asn1.RawValue
	rest, err := asn1.Unmarshal(token, &frame)
	if err != nil || len(rest) > 0 || frame.Class != asn1.ClassApplication || frame.Tag != 0 {
		return "", nil, errors.New("the server's answer is not a GSS-API token")
	}
	var oid asn1.ObjectIdentifier
	rest, err = asn1.Unmarshal(frame.Bytes, &oid)
	if err != nil || !oid.Equal(mechanism()) || len(rest) < 2 {
		return "", nil, errors.New("the server's answer is not a Kerberos token")
	}
	return string(rest[:2]), rest[2:], nil
}

// micAcceptorSubkey is set if the host has chosen the key.
const micAcceptorSubkey = 4

// GetMIC implements ssh.GSSAPIClient: it returns a MIC token for data (RFC 4121
// 4.2.6.1).
func (c *Context) GetMIC(data []byte) (out []byte, err error) {
	defer recovered(&err)
	if c.state != Complete {
		return nil, errors.New("the Kerberos handshake is not complete")
	}
	head := []byte{4, 4, c.flags, 0xff, 0xff, 0xff, 0xff, 0xff}
	head = binary.BigEndian.AppendUint64(head, uint64(c.auth.SeqNumber))
	enctype, err := crypto.GetEtype(c.key.KeyType)
	if err != nil {
		return nil, err
	}
	sum, err := enctype.GetChecksumHash(c.key.KeyValue, append(data[:len(data):len(data)], head...), usageInitiatorSign)
	if err != nil {
		return nil, err
	}
	return append(head, sum...), nil
}

// DeleteSecContext implements ssh.GSSAPIClient: it forgets the keys.
func (c *Context) DeleteSecContext() error {
	c.t, c.token, c.key, c.auth = nil, nil, types.EncryptionKey{}, types.Authenticator{}
	return nil
}
