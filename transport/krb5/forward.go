package krb5

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// forward returns a KRB-CRED with a TGT of the caller for the host (RFC 4120
// 3.6, RFC 4121 4.1.1.1).
func (s *Session) forward(ctx context.Context, conf *config, c *credentials, host *ticket, now time.Time) (der []byte, err error) {
	defer recovered(&err)
	if c.tgt.flags&(1<<(31-flags.Forwardable)) == 0 {
		return nil, refuse(fmt.Sprintf("The Kerberos ticket of %s in %s is not forwardable, so it cannot be delegated", c.client, c.where),
			"Run kinit -f, or disable delegation.", nil)
	}
	tgt, err := s.tgs(ctx, conf, c, c.tgt, krbtgt(c.client.realm), flags.Forwarded)
	if err != nil {
		return nil, err
	}
	info := credInfo{
		Key: tgt.key, PRealm: c.client.realm, PName: c.client.name, Flags: types.NewKrbFlags(),
		AuthTime: tgt.authTime.UTC(), StartTime: tgt.start.UTC(), EndTime: tgt.end.UTC(), RenewTill: tgt.renewTill.UTC(),
		SRealm: tgt.server.realm, SName: tgt.server.name,
	}
	binary.BigEndian.PutUint32(info.Flags.Bytes, tgt.flags)
	plain, err := asn1.Marshal(credPart{Info: []credInfo{info}, Timestamp: now.Truncate(time.Second), Usec: now.Nanosecond() / 1000})
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(plain, asnAppTag.EncKrbCredPart), host.key, keyusage.KRB_CRED_ENCPART, 0)
	if err != nil {
		return nil, err
	}
	tickets, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: tgt.raw})
	if err != nil {
		return nil, err
	}
	der, err = asn1.Marshal(cred{PVNO: 5, MsgType: msgtype.KRB_CRED, EncPart: sealed,
		Tickets: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 2, IsCompound: true, Bytes: tickets}})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(der, asnAppTag.KRBCred), nil
}

// cred is a KRB-CRED, and credPart is its encrypted part (RFC 4120 5.8.1).
// gokrb5 can only read these.
type cred struct {
	PVNO    int                 `asn1:"explicit,tag:0"`
	MsgType int                 `asn1:"explicit,tag:1"`
	Tickets asn1.RawValue       // with its tag
	EncPart types.EncryptedData `asn1:"explicit,tag:3"`
}

type credPart struct {
	Info      []credInfo `asn1:"explicit,tag:0"`
	Timestamp time.Time  `asn1:"generalized,explicit,tag:2"`
	Usec      int        `asn1:"explicit,tag:3"`
}

// credInfo holds the KDC's data about a ticket.
type credInfo struct {
	Key       types.EncryptionKey `asn1:"explicit,tag:0"`
	PRealm    string              `asn1:"generalstring,explicit,tag:1"`
	PName     types.PrincipalName `asn1:"explicit,tag:2"`
	Flags     asn1.BitString      `asn1:"explicit,tag:3"`
	AuthTime  time.Time           `asn1:"generalized,explicit,tag:4"`
	StartTime time.Time           `asn1:"generalized,optional,explicit,tag:5"`
	EndTime   time.Time           `asn1:"generalized,explicit,tag:6"`
	RenewTill time.Time           `asn1:"generalized,optional,explicit,tag:7"`
	SRealm    string              `asn1:"generalstring,explicit,tag:8"`
	SName     types.PrincipalName `asn1:"explicit,tag:9"`
}
