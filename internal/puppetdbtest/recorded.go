package puppetdbtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

//go:embed testdata/recorded.jsonl
var recorded []byte

// An exchange is a request and the response of a PuppetDB.
type exchange struct {
	Method   string `json:"method"`
	Path     string `json:"path"` // with the query
	Body     string `json:"body,omitempty"`
	Status   int    `json:"status"`
	Type     string `json:"type,omitempty"`
	Location string `json:"location,omitempty"`
	Answer   string `json:"answer"`
}

// maxBody is the length up to which the body of a request is stored as it is. A
// longer body is stored as its digest.
const maxBody = 2 << 10

func (e *exchange) setBody(b []byte) {
	e.Body = string(b)
	if len(b) > maxBody {
		sum := sha256.Sum256(b)
		e.Body = "sha256:" + hex.EncodeToString(sum[:])
	}
}

func (e *exchange) question() string { return e.Method + " " + e.Path + "\n" + e.Body }

func (e *exchange) write(w http.ResponseWriter) {
	if e.Type != "" {
		w.Header().Set("Content-Type", e.Type)
	}
	if e.Location != "" {
		w.Header().Set("Location", e.Location)
	}
	w.WriteHeader(e.Status)
	io.WriteString(w, e.Answer)
}

// A player sends recorded responses. If a client repeats a request, it gets the
// next response to it, and in the end always the last one.
type player struct {
	mu      sync.Mutex
	answers map[string][]*exchange
}

func newPlayer(recording []byte) (*player, error) {
	p := &player{answers: make(map[string][]*exchange)}
	d := json.NewDecoder(bytes.NewReader(recording))
	for {
		e := new(exchange)
		switch err := d.Decode(e); err {
		case nil:
			p.answers[e.question()] = append(p.answers[e.question()], e)
		case io.EOF:
			return p, nil
		default:
			return nil, err
		}
	}
}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	asked := exchange{Method: r.Method, Path: r.URL.RequestURI()}
	asked.setBody(body)
	p.mu.Lock()
	list := p.answers[asked.question()]
	if len(list) > 1 {
		p.answers[asked.question()] = list[1:]
	}
	p.mu.Unlock()
	if len(list) == 0 {
		http.Error(w, "this was never asked when the answers were recorded: "+asked.question(), http.StatusNotImplemented)
		return
	}
	list[0].write(w)
}

// A recorder sends requests to a PuppetDB and records its responses.
type recorder struct {
	plain string
	mu    sync.Mutex
	to    io.Writer
}

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(err error) { http.Error(w, "recording: "+err.Error(), http.StatusNotImplemented) }
	body, err := io.ReadAll(r.Body)
	if err != nil {
		fail(err)
		return
	}
	e := &exchange{Method: r.Method, Path: r.URL.RequestURI()}
	e.setBody(body)
	ask, err := http.NewRequestWithContext(r.Context(), r.Method, rec.plain+e.Path, bytes.NewReader(body))
	if err != nil {
		fail(err)
		return
	}
	ask.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	ask.Header.Set("Accept", r.Header.Get("Accept"))
	answer, err := http.DefaultTransport.RoundTrip(ask) // which follows no redirects
	if err != nil {
		fail(err)
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		fail(err)
		return
	}
	e.Status, e.Type, e.Location, e.Answer = answer.StatusCode, answer.Header.Get("Content-Type"), answer.Header.Get("Location"), string(text)
	rec.mu.Lock()
	err = json.NewEncoder(rec.to).Encode(e)
	rec.mu.Unlock()
	if err != nil {
		fail(err)
		return
	}
	e.write(w)
}

func (s *Shared) startRecorded() error {
	p, err := newPlayer(recorded)
	if err != nil {
		return fmt.Errorf("testdata/recorded.jsonl: %w", err)
	}
	return s.front(p)
}

func (s *Shared) startRecording(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	s.stop = append(s.stop, f.Close)
	return s.front(&recorder{plain: s.server.Plain, to: f})
}

// client is the only name on the certificate allowlist, as in
// scripts/puppetdb.sh.
const client = "client"

// front serves h with certificates of a CA of its own, to clients whose
// certificates that CA signed.
func (s *Shared) front(h http.Handler) error {
	dir, err := s.directory()
	if err != nil {
		return err
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	a, err := newAuthority(path("ca.pem"), path("ca.key"))
	if err != nil {
		return err
	}
	for _, name := range []string{"localhost", client} {
		if err := a.sign(name, path(name+".pem"), path(name+".key")); err != nil {
			return err
		}
	}
	pair, err := tls.LoadX509KeyPair(path("localhost.pem"), path("localhost.key"))
	if err != nil {
		return err
	}
	known := x509.NewCertPool()
	known.AddCert(a.cert)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.TLS.PeerCertificates[0].Subject.CommonName; name != client {
			http.Error(w, "Permission denied: Client certificate CN '"+name+"' is not on the certificate-allowlist", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: known, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.StartTLS()
	s.stop = append(s.stop, func() error { server.Close(); return nil })
	port := server.Listener.Addr().String()[len("127.0.0.1:"):]
	s.server = Server{URL: "https://localhost:" + port, CACert: path("ca.pem"), CAKey: path("ca.key"),
		Cert: path(client + ".pem"), Key: path(client + ".key")}
	return nil
}

// An authority is a CA that signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(certPath, keyPath string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{Subject: pkix.Name{CommonName: "authority of a test"}, SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	a := &authority{cert: t, key: key}
	if err := a.write(t, key, certPath, keyPath); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(certPath)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// sign makes a certificate for a name, valid for servers and clients.
func (a *authority) sign(name, certPath, keyPath string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	return a.write(&x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, SerialNumber: serial,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}, key, certPath, keyPath)
}

func (a *authority) write(c *x509.Certificate, key *ecdsa.PrivateKey, certPath, keyPath string) error {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
	}{{certPath, "CERTIFICATE", der}, {keyPath, "PRIVATE KEY", secret}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600); err != nil {
			return err
		}
	}
	return nil
}
