package krb5

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/internal/safetext"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// maxReferrals limits the number of realms on the way to a service.
const maxReferrals = 10

// recovered turns a panic of gokrb5 about remote data into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("a Kerberos message cannot be read: %v", p)
	}
}

// errNoAnswer is the error for an answer that is not valid. It replaces the
// errors of gokrb5, which mention its own types.
var errNoAnswer = errors.New("the KDC's answer cannot be read")

// nonce returns a number that links an answer to its request.
func nonce() int {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return int(binary.BigEndian.Uint32(b[:]) & 0x7fffffff)
}

// isUnknownService reports whether it makes sense to try another name of the
// host.
func isUnknownService(err error) bool {
	k, ok := errors.AsType[messages.KRBError](err)
	return ok && k.ErrorCode == errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN
}

// serviceTicket gets a ticket from the KDCs: first from the client's own realm,
// then from the realms that a KDC refers to (RFC 4120 3.3, RFC 6806 8).
func (s *Session) serviceTicket(ctx context.Context, conf *config, c *credentials, name types.PrincipalName, realm string) (*ticket, error) {
	tgt := c.tgt
	if realm != c.client.realm {
		for _, t := range c.tickets { // the cache may have the TGT of that realm
			if t.server.name.Equal(krbtgt(realm)) && t.validAt(s.o.Now().Add(c.offset)) {
				tgt = t
			}
		}
	}
	for range maxReferrals {
		at := tgt.server.name.NameString[1] // the realm whose KDC takes this TGT
		want := name
		if at != realm {
			want = krbtgt(realm)
		}
		t, err := s.tgs(ctx, conf, c, tgt, want)
		if err != nil {
			return nil, err
		}
		if t.server.name.Equal(name) {
			return t, nil
		}
		parts := t.server.name.NameString
		if len(parts) != 2 || parts[0] != "krbtgt" || parts[1] == at {
			return nil, fmt.Errorf("the KDC of %s gave a ticket for %s instead of %s", at, t.server, principal{want, at})
		}
		tgt = t
		if at == realm {
			realm = parts[1] // this KDC knows the next realm
		}
	}
	return nil, refuse(fmt.Sprintf("The KDCs refer to each other for %s", principal{name, realm}), "Set the realm of the machine under [domain_realm] in krb5.conf.", nil)
}

// tgs makes one exchange with the KDC of the realm that a TGT is for. options
// are added to the options of the request.
func (s *Session) tgs(ctx context.Context, conf *config, c *credentials, tgt *ticket, name types.PrincipalName, options ...int) (t *ticket, err error) {
	defer recovered(&err)
	realm := tgt.server.name.NameString[1]
	req := messages.TGSReq{KDCReqFields: messages.KDCReqFields{PVNO: 5, MsgType: msgtype.KRB_TGS_REQ, ReqBody: messages.KDCReqBody{
		KDCOptions: types.NewKrbFlags(), Realm: realm, SName: name, Till: tgt.end.UTC(), Nonce: nonce(), EType: conf.enctypes,
	}}}
	types.SetFlag(&req.ReqBody.KDCOptions, flags.Canonicalize)
	for _, o := range options {
		types.SetFlag(&req.ReqBody.KDCOptions, o)
	}
	if tgt.flags&(1<<(31-flags.Forwardable)) != 0 {
		types.SetFlag(&req.ReqBody.KDCOptions, flags.Forwardable)
	}
	now := s.o.Now().Add(c.offset).UTC()
	proof, err := possession(&req.ReqBody, c, tgt, now)
	if err != nil {
		return nil, err
	}
	req.PAData = types.PADataSequence{{PADataType: patype.PA_TGS_REQ, PADataValue: proof}}
	out, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	in, err := s.ask(ctx, conf, realm, out)
	if err != nil {
		return nil, err
	}
	refusal, err := asKRBError(in)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, conf.refusal(refusal, c.client, principal{name, realm}, c.where, now)
	}
	var rep messages.TGSRep
	if err := rep.Unmarshal(in); err != nil {
		return nil, fmt.Errorf("%w (realm %s)", errNoAnswer, realm)
	}
	if err := rep.DecryptEncPart(tgt.key); err != nil {
		return nil, fmt.Errorf("the answer of the KDC of %s is not for this ticket", realm)
	}
	part := &rep.DecryptedEncPart
	if part.Nonce != req.ReqBody.Nonce || !part.SName.Equal(rep.Ticket.SName) || part.SRealm != rep.Ticket.Realm {
		return nil, fmt.Errorf("the answer of the KDC of %s belongs to another request", realm)
	}
	return newTicket(&rep.Ticket, part)
}

// possession returns the proof for a KDC that we may use the TGT: an AP-REQ for
// the request's body (RFC 4120 7.2 and 5.2.7.1).
func possession(body *messages.KDCReqBody, c *credentials, tgt *ticket, now time.Time) ([]byte, error) {
	text, err := body.Marshal()
	if err != nil {
		return nil, err
	}
	enctype, err := crypto.GetEtype(tgt.key.KeyType)
	if err != nil {
		return nil, refuse(fmt.Sprintf("The ticket of %s in %s has a key of the type %d, which cannot be used", c.client, c.where, tgt.key.KeyType), "Run kinit.", err)
	}
	sum, err := enctype.GetChecksumHash(tgt.key.KeyValue, text, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return nil, err
	}
	a := authenticator(c, now)
	a.Cksum = types.Checksum{CksumType: enctype.GetHashID(), Checksum: sum}
	req, err := apReq(tgt, a, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR)
	if err != nil {
		return nil, err
	}
	return req.Marshal()
}

// authenticator contains our name and the time.
func authenticator(c *credentials, now time.Time) types.Authenticator {
	return types.Authenticator{AVNO: 5, CRealm: c.client.realm, CName: c.client.name,
		CTime: now.Truncate(time.Second), Cusec: now.Nanosecond() / 1000}
}

// apReq combines a ticket and an authenticator that is encrypted with the
// ticket's key.
func apReq(t *ticket, a types.Authenticator, usage uint32) (*messages.APReq, error) {
	var raw messages.Ticket
	if err := raw.Unmarshal(t.raw); err != nil {
		return nil, fmt.Errorf("the ticket for %s cannot be read: %w", t.server, err)
	}
	text, err := a.Marshal()
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(text, t.key, usage, 0)
	if err != nil {
		return nil, err
	}
	return &messages.APReq{PVNO: 5, MsgType: msgtype.KRB_AP_REQ, APOptions: types.NewKrbFlags(), Ticket: raw, EncryptedAuthenticator: sealed}, nil
}

// newTicket returns the ticket in a KDC's answer.
func newTicket(raw *messages.Ticket, part *messages.EncKDCRepPart) (*ticket, error) {
	der, err := raw.Marshal()
	if err != nil {
		return nil, err
	}
	t := &ticket{server: principal{part.SName, part.SRealm}, raw: der, key: part.Key,
		start: part.StartTime, end: part.EndTime, authTime: part.AuthTime, renewTill: part.RenewTill}
	if len(part.Flags.Bytes) >= 4 {
		t.flags = binary.BigEndian.Uint32(part.Flags.Bytes)
	}
	if len(part.SName.NameString) == 0 {
		return nil, errors.New("the KDC's ticket names no service")
	}
	return t, nil
}

// asKRBError parses a KRB-ERROR. It returns nil for other messages.
func asKRBError(b []byte) (k *messages.KRBError, err error) {
	defer recovered(&err)
	if len(b) == 0 || b[0] != 0x7e { // [APPLICATION 30]
		return nil, nil
	}
	k = new(messages.KRBError)
	if err := k.Unmarshal(b); err != nil {
		return nil, errNoAnswer
	}
	return k, nil
}

// refusal returns the error for a KDC's KRB-ERROR.
func (c *config) refusal(k *messages.KRBError, client, server principal, where string, now time.Time) error {
	// The sender of a KRB-ERROR is not authenticated, so its text is only
	// shown.
	kdc := "the KDC of " + server.realm
	switch k.ErrorCode {
	case errorcode.KRB_AP_ERR_SKEW, errorcode.KRB_AP_ERR_TKT_NYV:
		return refuse(fmt.Sprintf("The clock of this machine and that of %s differ by %v", kdc, k.STime.Sub(now).Abs().Round(time.Second)),
			"Set the clock of this machine, and synchronize it with chronyd or systemd-timesyncd.", *k)
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		if len(server.name.NameString) == 2 && server.name.NameString[0] == "krbtgt" {
			realm := server.name.NameString[1]
			return refuse(fmt.Sprintf("The KDC of %s does not know a path to the realm %s", server.realm, realm),
				fmt.Sprintf("Run kinit for a principal of %s, or correct [domain_realm] in krb5.conf.", realm), *k)
		}
		return refuse(fmt.Sprintf("%s does not know the service %s", upper(kdc), server),
			fmt.Sprintf("Use the machine's name in Kerberos, map that name to its realm under [domain_realm] in krb5.conf, or create the key (in kadmin: addprinc -randkey %s).", strings.Join(server.name.NameString, "/")), *k)
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return refuse(fmt.Sprintf("%s does not know %s", upper(kdc), client), "Correct the principal or the realm.", *k)
	case errorcode.KRB_AP_ERR_TKT_EXPIRED, errorcode.KDC_ERR_NEVER_VALID:
		return refuse(fmt.Sprintf("The Kerberos ticket of %s in %s has expired", client, where), "Run kinit.", *k)
	case errorcode.KDC_ERR_PREAUTH_FAILED:
		return refuse(fmt.Sprintf("%s does not accept the key of %s in the %s", upper(kdc), client, where), "Create a new keytab (ktadd in kadmin), or run kinit.", *k)
	case errorcode.KRB_AP_ERR_BAD_INTEGRITY, errorcode.KRB_AP_ERR_MODIFIED, errorcode.KRB_AP_ERR_BADKEYVER, errorcode.KDC_ERR_TGT_REVOKED:
		return refuse(fmt.Sprintf("%s does not accept the ticket of %s in %s", upper(kdc), client, where),
			"Run kinit. If that does not help, krb5.conf names a KDC of another realm.", *k)
	case errorcode.KDC_ERR_CLIENT_REVOKED, errorcode.KDC_ERR_NAME_EXP, errorcode.KDC_ERR_KEY_EXPIRED:
		return refuse(fmt.Sprintf("The principal %s is locked, or it or its password has expired", client), "Contact the administrator of the KDC.", *k)
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return refuse(fmt.Sprintf("%s does not issue a ticket for %s with an AES key", upper(kdc), server), "Create AES keys for the service, or correct permitted_enctypes in krb5.conf.", *k)
	}
	return refuse(fmt.Sprintf("%s refuses a ticket for %s: %s", upper(kdc), server, cmp.Or(safetext.TerminalString(k.EText), errorcode.Lookup(k.ErrorCode))), "", *k)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
