package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/krb5test"
	"golang.org/x/net/dns/dnsmessage"
)

// peer listens on TCP and calls do for each connection.
func peer(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				defer atEnd(t, func() { c.Close() })()
				do(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return l.Addr().String()
}

// datagrams forwards datagrams to a KDC, and does not listen on TCP.
func datagrams(t *testing.T, to string) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			k, err := net.Dial("udp", to)
			if err != nil {
				return
			}
			k.SetDeadline(time.Now().Add(5 * time.Second))
			k.Write(buffer[:n])
			if n, err = k.Read(buffer); err == nil {
				c.WriteTo(buffer[:n], from)
			}
			k.Close()
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return c.LocalAddr().String()
}

// TestKDCFailures checks that KDCs that are down, do not answer, or send
// invalid data cause no long delay, and no failure if another one answers.
func TestKDCFailures(t *testing.T) {
	r := krb5test.Start(t)
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester")
	silent := peer(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	reads := func(then func(net.Conn)) string {
		return peer(t, func(c net.Conn) {
			head := make([]byte, 4)
			io.ReadFull(c, head)
			io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)))
			then(c)
		})
	}
	huge := reads(func(c net.Conn) { c.Write([]byte{0x7f, 0xff, 0xff, 0xff}) })
	half := reads(func(c net.Conn) { c.Write([]byte{0, 0, 1, 0, 0x7e}) })
	nonsense := reads(func(c net.Conn) { c.Write([]byte("\x00\x00\x00\x08HTTP/1.1")) })
	broken := reads(func(c net.Conn) { c.Write([]byte("\x00\x00\x00\x05\x7e\x82\xff\xff\x01")) })
	real := net.JoinHostPort("127.0.0.1", strconv.Itoa(r.KDCPort))
	session := func(kdcs ...string) *Session {
		dir := files(t, map[string]string{"krb5.conf": "[libdefaults]\ndns_canonicalize_hostname = false\ndns_lookup_kdc = false\nqualify_shortname =\n[realms]\nBOLT.TEST = {\nkdc = " + strings.Join(kdcs, "\nkdc = ") + "\n}\n"})
		return New(Options{Env: lookup([]string{"KRB5_CONFIG=" + dir + "/krb5.conf", "KRB5CCNAME=" + cache})})
	}
	for _, tt := range []struct {
		name string
		kdcs []string
		most time.Duration
		want string // text of the error; "" for no error
	}{
		{"by UDP alone", []string{datagrams(t, real)}, time.Second, ""},
		{"dead, then real", []string{"127.0.0.1:1", real}, time.Second, ""},
		{"silent, then real", []string{silent, real}, 2 * time.Second, ""},
		{"nonsense, then real", []string{nonsense, huge, half, broken, real}, time.Second, ""},
		{"dead", []string{"127.0.0.1:1"}, time.Second, "No KDC of the realm BOLT.TEST answers (127.0.0.1:1): 127.0.0.1:1/tcp: connect: connection refused"},
		{"silent", []string{silent}, kdcPatience + time.Second, "no answer in time"},
		{"huge", []string{huge}, time.Second, "its answer is not a KDC's answer"},
		{"half", []string{half}, time.Second, "it closed the connection"},
		{"broken", []string{broken}, time.Second, "the KDC's answer cannot be read; "},
		{"proxy", []string{"https://proxy/KdcProxy"}, time.Second, "only KDCs behind HTTPS proxies"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var took, again time.Duration
			for range 5 { // a busy machine makes some of them slow
				s := session(tt.kdcs...)
				before := time.Now()
				_, err := s.Context(t.Context(), "localhost", false)
				took = time.Since(before)
				before = time.Now()
				if tt.want != "" {
					wantError(t, "error", err, tt.want)
					wantError(t, "the same again", second(s.Context(t.Context(), "localhost", false)), tt.want)
				} else if err != nil {
					t.Error(err)
				}
				if again = time.Since(before); took <= tt.most+2*time.Second && again <= time.Second {
					return
				}
			}
			t.Errorf("it took %v. KDCs that do not answer were asked again, for %v", took, again)
		})
	}
	t.Run("many at once", func(t *testing.T) {
		t.Parallel()
		var work sync.WaitGroup
		s := session(real)
		for range 100 {
			work.Go(func() {
				if _, err := s.Context(t.Context(), "localhost", false); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		log, err := os.ReadFile(filepath.Join(r.Dir, "run", "krb5kdc.log"))
		if err != nil || strings.Count(string(log), "TGS_REQ") == 0 {
			t.Errorf("the KDC's log: %v", err)
		}
	})
}

// A dnsServer answers from its fields.
type dnsServer struct {
	cname map[string]string
	a     map[string][4]byte
	ptr   map[string]string
	srv   map[string]uint16 // port on 127.0.0.1
}

func (d *dnsServer) start(t *testing.T) *net.Resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			if out := d.answer(buffer[:n]); out != nil {
				c.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var nd net.Dialer
		return nd.DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

func (d *dnsServer) answer(q []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(q) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	ask := m.Questions[0]
	name := strings.ToLower(ask.Name.String())
	add := func(owner string, body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(owner), Class: dnsmessage.ClassINET, TTL: 1}, Body: body})
	}
	m.RCode = dnsmessage.RCodeNameError
	if to, ok := d.cname[name]; ok {
		m.RCode = 0
		add(name, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to)})
		name = to
	}
	if a, ok := d.a[name]; ok {
		m.RCode = 0
		if ask.Type == dnsmessage.TypeA {
			add(name, &dnsmessage.AResource{A: a})
		}
	}
	if to, ok := d.ptr[name]; ok && ask.Type == dnsmessage.TypePTR {
		m.RCode = 0
		add(name, &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName(to)})
	}
	if port, ok := d.srv[name]; ok && ask.Type == dnsmessage.TypeSRV {
		m.RCode = 0
		add(name, &dnsmessage.SRVResource{Port: port, Target: dnsmessage.MustNewName("kdc.test.")})
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// TestHostNames checks the host names that are requested, and those that are
// not.
func TestHostNames(t *testing.T) {
	dns := (&dnsServer{
		cname: map[string]string{"www.example.test.": "web1.example.test."},
		a:     map[string][4]byte{"web1.example.test.": {192, 0, 2, 1}, "lonely.example.test.": {192, 0, 2, 9}},
		ptr:   map[string]string{"1.2.0.192.in-addr.arpa.": "real1.example.test."},
	}).start(t)
	for _, tt := range []struct{ lines, host, want string }{
		{"", "www.example.test", "real1.example.test www.example.test"},
		{"rdns = false", "WWW.example.test.", "web1.example.test www.example.test"},
		{"dns_canonicalize_hostname = false", "www.example.test", "www.example.test"},
		{"dns_canonicalize_hostname = fallback\nrdns = false", "www.example.test", "www.example.test web1.example.test"},
		{"dns_canonicalize_hostname = fallback", "www.example.test", "www.example.test real1.example.test"},
		{"", "lonely.example.test", "lonely.example.test"},
		{"", "unknown.example.test", "unknown.example.test"},
		{"", "192.0.2.1", "real1.example.test 192.0.2.1"},
		{"rdns = false", "192.0.2.1", "192.0.2.1"},
		{"dns_canonicalize_hostname = false\nqualify_shortname = example.test", "web", "web.example.test web"},
		{"dns_canonicalize_hostname = false\nqualify_shortname = \"\"", "web", "web"},
	} {
		dir := files(t, map[string]string{"krb5.conf": "[libdefaults]\n" + tt.lines + "\n"})
		c, err := configOf(t, dir, "krb5.conf")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.hostNames(t.Context(), dns, tt.host), " "); got != tt.want {
			t.Errorf("%q, %s: %s, want %s", tt.lines, tt.host, got, tt.want)
		}
	}
	silent := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }}
	c, _ := configOf(t, t.TempDir(), "none")
	if got := c.hostNames(t.Context(), silent, "web.example.test"); len(got) != 1 {
		t.Errorf("without a name server: %q", got)
	}
}

// TestLoginWithoutConfigUsesDNS checks a login without any krb5.conf: the KDCs and the host name come
// from DNS.
func TestLoginWithoutConfigUsesDNS(t *testing.T) {
	r := krb5test.Start(t)
	cache := "FILE:" + filepath.Join(t.TempDir(), "cc")
	r.Kinit(t, cache, "tester")
	dns := (&dnsServer{
		cname: map[string]string{"alias.test.": "localhost."},
		a:     map[string][4]byte{"localhost.": {127, 0, 0, 1}, "kdc.test.": {127, 0, 0, 1}},
		ptr:   map[string]string{"1.0.0.127.in-addr.arpa.": "localhost."},
		srv:   map[string]uint16{"_kerberos._tcp.bolt.test.": uint16(r.KDCPort)},
	}).start(t)
	s := New(Options{Resolver: dns, Env: lookup([]string{"KRB5_CONFIG=/none", "KRB5CCNAME=" + cache})})
	c, err := s.Context(t.Context(), "alias.test", false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Server() != "host/localhost@BOLT.TEST" {
		t.Errorf("a ticket for %s", c.Server())
	}
}

// FuzzKDCAnswer tests any data from a KDC in place of its answer.
func FuzzKDCAnswer(f *testing.F) {
	f.Add([]byte{0x7e, 0x03, 0x30, 0x01, 0x00})
	f.Add(binary.BigEndian.AppendUint32([]byte{0x6d, 0x82}, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = plausible(data)
		k, err := asKRBError(data)
		if err == nil && k != nil {
			(&config{}).refusal(k, principal{}, principal{realm: "X"}, "", time.Now())
		}
		c := &Context{t: &ticket{}}
		func() (err error) {
			defer recovered(&err)
			return c.accept(data)
		}()
		ticketRealm(data)
	})
}
