package krb5

import (
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// encode writes the data that a reader reads.
type encode []byte

func (e *encode) u8(n uint8)   { *e = append(*e, n) }
func (e *encode) u16(n uint16) { *e = binary.BigEndian.AppendUint16(*e, n) }
func (e *encode) u32(n uint32) { *e = binary.BigEndian.AppendUint32(*e, n) }
func (e *encode) data(s string) {
	e.u32(uint32(len(s)))
	*e = append(*e, s...)
}

func (e *encode) principal(realm string, parts ...string) {
	e.u32(1)
	e.u32(uint32(len(parts)))
	e.data(realm)
	for _, p := range parts {
		e.data(p)
	}
}

// cacheBytes returns a cache with a TGT, an entry of configuration data and a
// ticket.
func cacheBytes(version uint8, end time.Time) []byte {
	e := encode{5, version}
	if version == 4 {
		e.u16(12)
		e.u16(1)
		e.u16(8)
		e.u32(uint32(0xffffffff)) // the KDC's clock is a second behind
		e.u32(0)
	}
	e.principal("TEST", "me")
	for _, s := range [][]string{{"TEST", "krbtgt", "TEST"}, {"X-CACHECONF:", "krb5_ccache_conf_data", "fast_avail"}, {"TEST", "host", "web"}} {
		e.principal("TEST", "me")
		e.principal(s[0], s[1:]...)
		e.u16(18)
		if version == 3 {
			e.u16(18)
		}
		e.data("01234567890123456789012345678901")
		for range 2 {
			e.u32(1)
		}
		e.u32(uint32(end.Unix()))
		e.u32(0)
		e.u8(0)
		e.u32(0x40000000)
		e.u32(1) // an address
		e.u16(2)
		e.data("\x7f\x00\x00\x01")
		e.u32(0)
		e.data("ticket")
		e.data("")
	}
	return e
}

func TestParseCache(t *testing.T) {
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, version := range []uint8{3, 4} {
		data := cacheBytes(version, end)
		c, err := parseCache(data)
		if err != nil {
			t.Fatal(err)
		}
		if c.client.String() != "me@TEST" || c.tgt == nil || !c.tgt.end.Equal(end) || len(c.tickets) != 1 || c.tickets[0].server.String() != "host/web@TEST" {
			t.Errorf("version %d: %+v", version, c)
		}
		if version == 4 && c.offset != -time.Second {
			t.Errorf("offset %v", c.offset)
		}
		// A truncated cache must not cause a panic or another client name.
		for n := range data {
			if c, err := parseCache(data[:n]); err == nil && c.client.String() != "me@TEST" {
				t.Errorf("cut to %d bytes: %v", n, c.client)
			}
		}
	}
	wantError(t, "nonsense", second(parseCache([]byte("hello"))), "it is not a credential cache")
	wantError(t, "an old one", second(parseCache([]byte{5, 2, 0})), "its format 2 is not known")
}

func second[T any](_ T, err error) error { return err }

func TestCacheErrors(t *testing.T) {
	dir := files(t, map[string]string{"broken": "\x05\x04\x00", "empty": "", "d/primary": "../x\n", "e/primary": "tktX\n"})
	for _, tt := range []struct{ cache, want string }{
		{"FILE:none", "No Kerberos ticket: FILE:none does not exist\nRun kinit."},
		{"empty", "No Kerberos ticket: empty does not exist"},
		{"FILE:broken", "The Kerberos tickets in FILE:broken cannot be read: it is truncated"},
		{"FILE:" + dir, "it is not a file"},
		{"DIR:none", "No Kerberos ticket: DIR:none does not exist"},
		{"DIR:d", "the file primary does not name a cache"},
		{"DIR:e", "No Kerberos ticket: DIR:e does not exist"},
		{"API:x", `Credential caches of the type "API" cannot be read`},
		{"KEYRING:thread:x", "keyrings of the type"},
	} {
		s := New(Options{Dir: dir, Env: lookup([]string{"KRB5_CONFIG=/none", "KRB5CCNAME=" + tt.cache})})
		_, err := s.Context(t.Context(), "web", false)
		wantError(t, tt.cache, err, tt.want)
		if who := s.Principal(t.Context()); who != "" {
			t.Errorf("%s: principal %q", tt.cache, who)
		}
	}
	// A keytab is used instead, if there is a readable one.
	s := New(Options{Dir: dir, Env: lookup([]string{"KRB5_CONFIG=/none", "KRB5CCNAME=FILE:none", "KRB5_CLIENT_KTNAME=broken"})})
	wantError(t, "keytab", second(s.Context(t.Context(), "web", false)), "The Kerberos keytab broken cannot be read: it is not a keytab")
	s = New(Options{Dir: dir, Env: lookup([]string{"KRB5_CONFIG=/none", "KRB5CCNAME=FILE:none", "KRB5_CLIENT_KTNAME=nowhere"})})
	wantError(t, "keytab", second(s.Context(t.Context(), "web", false)), "The Kerberos keytab nowhere cannot be read: no such file")
}

// TestPrincipalOfExpiredTicket checks that the principal of an expired ticket is known, too.
func TestPrincipalOfExpiredTicket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cc")
	if err := os.WriteFile(path, cacheBytes(4, time.Now().Add(-time.Hour)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Env: lookup([]string{"KRB5_CONFIG=/none", "KRB5CCNAME=" + path})})
	if who := s.Principal(t.Context()); who != "me@TEST" {
		t.Errorf("principal %q", who)
	}
	wantError(t, "expired", second(s.Context(t.Context(), "web", false)), "The Kerberos ticket of me@TEST in "+path+" has expired")
}

func FuzzCache(f *testing.F) {
	for _, version := range []uint8{3, 4} {
		f.Add(cacheBytes(version, time.Unix(1_800_000_000, 0)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseCache(data); err == nil {
			c.valid(time.Now())
			_ = c.client.String()
		}
	})
}

func FuzzKeytab(f *testing.F) {
	// tester@BOLT.TEST with a key of each type, as written by ktadd.
	data, err := base64.StdEncoding.DecodeString(recordedKeytab)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := parseKeytab(data); err == nil {
			if who, ok := k.owner(principal{}.name, ""); ok {
				k.of(who)
			}
		}
	})
}

// recordedKeytab was written by ktadd of MIT Kerberos 1.20, for a realm that no
// longer exists.
const recordedKeytab = `BQIAAABGAAEACUJPTFQuVEVTVAAGdGVzdGVyAAAAAWsCPaIBABQAIJrzr46MbA4HrNnPY/Mt7Fy3KVEr81a8i+1ZH/QHlpWKAAAAAQAAAEYAAQAJQk9MVC5URVNUAAZ0ZXN0ZXIAAAABawI9ogEAEgAgHCSAJrw9mEE8m5AOqCtTZ5Ta94moV7dQO52VYVJnbwgAAAABAAAANgABAAlCT0xULlRFU1QABnRlc3RlcgAAAAFrAj2iAQARABCXosjXhgKXECBFcGacv2YYAAAAAQ==`

// BenchmarkPrincipal measures the time that a dial on a cached connection needs
// to determine the principal.
func BenchmarkPrincipal(b *testing.B) {
	path := filepath.Join(b.TempDir(), "cc")
	if err := os.WriteFile(path, cacheBytes(4, time.Now().Add(time.Hour)), 0o600); err != nil {
		b.Fatal(err)
	}
	env := lookup([]string{"KRB5CCNAME=" + path})
	b.Run("first of an invocation", func(b *testing.B) {
		for b.Loop() {
			New(Options{Env: env}).Principal(b.Context())
		}
	})
	b.Run("next", func(b *testing.B) {
		s := New(Options{Env: env})
		for b.Loop() {
			s.Principal(b.Context())
		}
	})
}
