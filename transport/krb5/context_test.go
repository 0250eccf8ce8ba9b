package krb5

import (
	"bytes"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

func testKey(t *testing.T, fill byte) types.EncryptionKey {
	t.Helper()
	return types.EncryptionKey{KeyType: aes256SHA1, KeyValue: bytes.Repeat([]byte{fill}, 32)}
}

// answer returns a host's token: an AP-REP with a part, encrypted with a key.
func answer(t *testing.T, part any, key types.EncryptionKey, kind string) []byte {
	t.Helper()
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(must(asn1.Marshal(part)), 27), key, 12, 0)
	if err != nil {
		t.Fatal(err)
	}
	rep := asn1tools.AddASNAppTag(must(asn1.Marshal(messages.APRep{PVNO: 5, MsgType: 15, EncPart: sealed})), 15)
	return asn1tools.AddASNAppTag(append(append(must(asn1.Marshal(mechanism())), kind...), rep...), 0)
}

// TestContextChecksAnswer checks that a host is not accepted if it cannot read the ticket or
// repeats an earlier answer, and that signatures use the key that the host
// chose.
func TestContextChecksAnswer(t *testing.T) {
	type withSubkey struct {
		CTime  time.Time           `asn1:"generalized,explicit,tag:0"`
		Cusec  int                 `asn1:"explicit,tag:1"`
		Subkey types.EncryptionKey `asn1:"explicit,tag:2"`
	}
	type plain struct {
		CTime time.Time `asn1:"generalized,explicit,tag:0"`
		Cusec int       `asn1:"explicit,tag:1"`
	}
	now := time.Now().UTC().Truncate(time.Second)
	session, chosen, ours := testKey(t, 1), testKey(t, 2), testKey(t, 3)
	fresh := func() *Context {
		return &Context{t: &ticket{key: session}, state: Offered, turns: 1,
			auth: types.Authenticator{CTime: now, Cusec: 7, SeqNumber: 42, SubKey: ours}}
	}
	for _, tt := range []struct {
		name  string
		token []byte
		want  string
	}{
		{"another key", answer(t, plain{now, 7}, chosen, tokenAnswer), "does not have the key"},
		{"another time", answer(t, plain{now.Add(time.Second), 7}, session, tokenAnswer), "the answer to another token"},
		{"other microseconds", answer(t, plain{now, 8}, session, tokenAnswer), "the answer to another token"},
		{"an error", answer(t, plain{now, 7}, session, tokenError), "Kerberos error"},
		{"a request", answer(t, plain{now, 7}, session, tokenRequest), "has the wrong type"},
		{"nonsense", []byte("hello"), "not a GSS-API token"},
		{"nothing", []byte{}, "not a GSS-API token"},
	} {
		c := fresh()
		_, _, err := c.InitSecContext("", tt.token, false)
		wantError(t, tt.name, err, tt.want)
		if _, err := c.GetMIC([]byte("x")); err == nil {
			t.Errorf("%s: it signs", tt.name)
		}
	}
	for _, tt := range []struct {
		name  string
		part  any
		key   types.EncryptionKey
		flags byte
	}{
		{"with a key of its own", withSubkey{now, 7, chosen}, chosen, micAcceptorSubkey},
		{"without one", plain{now, 7}, ours, 0},
	} {
		c := fresh()
		if _, more, err := c.InitSecContext("", answer(t, tt.part, session, tokenAnswer), false); err != nil || more || c.State() != Complete {
			t.Fatalf("%s: %v", tt.name, err)
		}
		mic, err := c.GetMIC([]byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		token := gssapi.MICToken{}
		if err := token.Unmarshal(mic, false); err != nil {
			t.Fatal(err)
		}
		token.Payload = []byte("data")
		if ok, err := token.Verify(tt.key, usageInitiatorSign); !ok || token.SndSeqNum != 42 || token.Flags != tt.flags {
			t.Errorf("%s: %v, number %d, flags %x", tt.name, err, token.SndSeqNum, token.Flags)
		}
	}
	// A server that keeps asking gets an error.
	c := fresh()
	var err error
	for range maxTurns + 1 {
		_, _, err = c.InitSecContext("", nil, false)
	}
	wantError(t, "turns", err, "keeps asking")
}

func TestPrincipalString(t *testing.T) {
	for want, p := range map[string]principal{
		"me@TEST":         {types.PrincipalName{NameString: []string{"me"}}, "TEST"},
		"host/web@TEST":   {types.PrincipalName{NameString: []string{"host", "web"}}, "TEST"},
		`a\/b@TEST`:       {types.PrincipalName{NameString: []string{"a/b"}}, "TEST"},
		`a\@b/c\n@TE\@ST`: {types.PrincipalName{NameString: []string{"a@b", "c\n"}}, "TE@ST"},
		"@":               {},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
