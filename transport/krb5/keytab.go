package krb5

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A keytab holds long-term keys.
type keytab struct {
	where string
	keys  []longTerm
}

type longTerm struct {
	owner principal
	kvno  uint32
	key   types.EncryptionKey
}

// maxKeytab limits the size of a keytab; a key takes some 100 bytes.
const maxKeytab = 4 << 20

// clientKeytab reads the keytab that is used instead of kinit:
// KRB5_CLIENT_KTNAME, else default_client_keytab_name, else the default path of
// the distribution. It returns nil if the default does not exist.
func (c *config) clientKeytab(o Options) (*keytab, error) {
	name, _ := o.Env("KRB5_CLIENT_KTNAME")
	named := name != ""
	names := []string{name}
	switch {
	case named:
	case c.keytab != "":
		names[0] = c.keytab
	default: // paths of Debian and Fedora
		names = []string{"/etc/krb5/user/%{euid}/client.keytab", "/var/kerberos/krb5/user/%{euid}/client.keytab"}
	}
	for _, name := range names {
		expanded := name
		if !named {
			var err error
			if expanded, err = expand(name); err != nil {
				return nil, refuse(fmt.Sprintf("default_client_keytab_name in %s: %v", c.where, err), "Set KRB5_CLIENT_KTNAME.", err)
			}
		}
		path := expanded
		if kind, rest, ok := strings.Cut(path, ":"); ok && !strings.Contains(kind, "/") {
			if kind != "FILE" && kind != "WRFILE" {
				return nil, refuse(fmt.Sprintf("Keytabs of the type %s cannot be read", quote(kind)), "Set KRB5_CLIENT_KTNAME to a file.", nil)
			}
			path = rest
		}
		data, err := readBounded(o.path(path), maxKeytab)
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue
		}
		var k *keytab
		if err == nil {
			k, err = parseKeytab(data)
		}
		if err != nil {
			return nil, refuse(fmt.Sprintf("The Kerberos keytab %s cannot be read: %v", shown(path), withoutPath(err)), "Correct KRB5_CLIENT_KTNAME, or run kinit.", err)
		}
		k.where = "keytab " + shown(path)
		return k, nil
	}
	return nil, nil
}

// parseKeytab parses version 2 of MIT's "Keytab file format".
func parseKeytab(data []byte) (*keytab, error) {
	r := &reader{rest: data}
	if r.u16() != 0x0502 {
		return nil, errors.New("it is not a keytab")
	}
	k := new(keytab)
	for len(r.rest) >= 4 {
		size := int(int32(r.u32()))
		if size <= 0 { // a hole
			if size == 0 || -size > len(r.rest) {
				break
			}
			r.bytes(-size)
			continue
		}
		e := &reader{rest: r.bytes(size)}
		if r.err != nil {
			return nil, r.err
		}
		var l longTerm
		n := int(e.u16())
		text := func() string { return string(e.bytes(int(e.u16()))) }
		l.owner.realm = text()
		for range n {
			if l.owner.name.NameString = append(l.owner.name.NameString, text()); e.err != nil {
				return nil, e.err
			}
		}
		l.owner.name.NameType = int32(e.u32())
		e.u32() // time of writing
		l.kvno = uint32(e.u8())
		l.key.KeyType = int32(e.u16())
		l.key.KeyValue = e.bytes(int(e.u16()))
		if e.err != nil {
			return nil, e.err
		}
		if len(e.rest) >= 4 {
			if v := e.u32(); v != 0 {
				l.kvno = v
			}
		}
		k.keys = append(k.keys, l)
	}
	return k, nil
}

// owner returns the wanted principal if the keytab has it, or the first
// principal if none is wanted.
func (k *keytab) owner(want types.PrincipalName, realm string) (principal, bool) {
	for _, l := range k.keys {
		if realm == "" || l.owner.realm == realm && l.owner.name.Equal(want) {
			return l.owner, true
		}
	}
	return principal{}, false
}

// of returns the newest key of each type that a principal has, and the types in
// order.
func (k *keytab) of(who principal) (map[int32]longTerm, []int32) {
	newest, order := make(map[int32]longTerm), []int32(nil)
	for _, l := range k.keys {
		if l.owner.realm != who.realm || !l.owner.name.Equal(who.name) {
			continue
		}
		if _, err := crypto.GetEtype(l.key.KeyType); err != nil {
			continue
		}
		old, ok := newest[l.key.KeyType]
		if !ok {
			order = append(order, l.key.KeyType)
		}
		if !ok || l.kvno >= old.kvno {
			newest[l.key.KeyType] = l
		}
	}
	return newest, order
}

// initial gets a TGT with the client keytab: an AS exchange (RFC 4120 3.1) with
// an encrypted time stamp. The caller must hold the lock.
func (s *Session) initial(ctx context.Context) (t *ticket, err error) {
	defer recovered(&err)
	who := s.cred.client
	keys, enctypes := s.keys.of(who)
	if len(enctypes) == 0 {
		return nil, refuse(fmt.Sprintf("The %s does not have a usable key of %s", s.keys.where, who), "Create a keytab with AES keys (ktadd in kadmin), or run kinit.", nil)
	}
	now := s.o.Now().UTC()
	req := messages.ASReq{KDCReqFields: messages.KDCReqFields{PVNO: 5, MsgType: msgtype.KRB_AS_REQ, ReqBody: messages.KDCReqBody{
		KDCOptions: types.NewKrbFlags(), Realm: who.realm, CName: who.name, SName: krbtgt(who.realm),
		Till: now.Add(s.conf.lifetime), Nonce: nonce(), EType: enctypes,
	}}}
	if s.conf.forward {
		types.SetFlag(&req.ReqBody.KDCOptions, flags.Forwardable)
	}
	var key types.EncryptionKey
	for range 2 {
		out, err := req.Marshal()
		if err != nil {
			return nil, err
		}
		in, err := s.ask(ctx, s.conf, who.realm, out)
		if err != nil {
			return nil, err
		}
		refusal, err := asKRBError(in)
		switch {
		case err != nil:
			return nil, err
		case refusal == nil:
			return initialTicket(&req, in, keys)
		case refusal.ErrorCode != errorcode.KDC_ERR_PREAUTH_REQUIRED || len(req.PAData) > 0:
			return nil, s.conf.refusal(refusal, who, principal{req.ReqBody.SName, who.realm}, s.keys.where, s.o.Now())
		}
		chosen, err := chooseEnctype(refusal, enctypes)
		if err != nil {
			return nil, err
		}
		key = keys[chosen].key
		stamp, err := asn1.Marshal(types.PAEncTSEnc{PATimestamp: now.Truncate(1e9), PAUSec: now.Nanosecond() / 1000})
		if err != nil {
			return nil, err
		}
		sealed, err := crypto.GetEncryptedData(stamp, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, int(keys[chosen].kvno))
		if err != nil {
			return nil, err
		}
		value, err := sealed.Marshal()
		if err != nil {
			return nil, err
		}
		req.PAData = types.PADataSequence{{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: value}}
	}
	return nil, errors.New("the KDC asks for the time stamp again")
}

// chooseEnctype returns the type of our key that the KDC requires (RFC 4120
// 5.2.7.5).
func chooseEnctype(refusal *messages.KRBError, ours []int32) (int32, error) {
	var list types.PADataSequence
	if err := list.Unmarshal(refusal.EData); err != nil {
		return 0, errNoAnswer
	}
	stamps := false
	for _, pa := range list {
		stamps = stamps || pa.PADataType == patype.PA_ENC_TIMESTAMP
		if pa.PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		info, err := pa.GetETypeInfo2()
		if err != nil {
			return 0, errNoAnswer
		}
		for _, i := range info {
			if slices.Contains(ours, i.EType) {
				return i.EType, nil
			}
		}
	}
	if !stamps {
		return 0, refuse("The KDC requires a pre-authentication type that a keytab does not support", "Run kinit.", nil)
	}
	return ours[0], nil
}

// initialTicket decrypts the KDC's answer.
func initialTicket(req *messages.ASReq, in []byte, keys map[int32]longTerm) (*ticket, error) {
	var rep messages.ASRep
	if err := rep.Unmarshal(in); err != nil {
		return nil, errNoAnswer
	}
	l, ok := keys[rep.EncPart.EType]
	if !ok {
		return nil, fmt.Errorf("the KDC's answer is encrypted with type %d, but the keytab has no key of this type", rep.EncPart.EType)
	}
	plain, err := crypto.DecryptEncPart(rep.EncPart, l.key, keyusage.AS_REP_ENCPART)
	if err != nil {
		return nil, refuse("The KDC's answer cannot be decrypted: the key in the keytab is not the principal's current key", "Create a new keytab (ktadd in kadmin), or run kinit.", nil)
	}
	var part messages.EncKDCRepPart
	if err := part.Unmarshal(plain); err != nil {
		return nil, errNoAnswer
	}
	if part.Nonce != req.ReqBody.Nonce || !part.SName.Equal(req.ReqBody.SName) || !rep.CName.Equal(req.ReqBody.CName) || rep.CRealm != req.ReqBody.Realm {
		return nil, errors.New("the KDC's answer belongs to another request")
	}
	return newTicket(&rep.Ticket, &part)
}
