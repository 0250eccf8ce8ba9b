package machine

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The files of the web server in a root.
const (
	webKey   = "srv/web/key.pem" // with the certificate
	webTable = "srv/web/downloads"
)

// changedAt is the time of all files that the web server sends.
var changedAt = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// writeWeb makes a CA certificate for the machine and a key for the servers with the names hosts.
func writeWeb(root string, standins fs.FS, hosts []string) error {
	table, err := fs.ReadFile(standins, "downloads")
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, NotBefore: changedAt, NotAfter: changedAt.AddDate(100, 0, 0),
		DNSNames: append([]string{"localhost"}, hosts...), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	names := "127.0.0.1 localhost " + strings.Join(hosts, " ") + "\n192.0.2.10 web1.example.com web1\n"
	for name, data := range map[string][]byte{
		"usr/local/share/ca-certificates/stand-in.crt": certificate,
		webKey:      append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...),
		webTable:    table,
		"etc/hosts": []byte(names),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// serve starts the web server for HTTP and HTTPS on the loopback interface. It runs until this process ends. It starts nothing in a root
// without the key.
func serve(ctx context.Context) error {
	pair, err := tls.LoadX509KeyPair("/"+webKey, "/"+webKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	text, err := os.ReadFile("/" + webTable)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: &web{table(text)}, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ReadHeaderTimeout: time.Minute,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
	}
	var listen net.ListenConfig
	for port, start := range map[string]func(net.Listener) error{
		"80": server.Serve, "443": func(l net.Listener) error { return server.ServeTLS(l, "", "") },
	} {
		l, err := listen.Listen(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		go func() { _ = start(l) }() // ends with the process
	}
	return nil
}

// A web sends an archive for the URL of an archive, and a short text for any other URL.
type web struct {
	downloads map[string][]string
}

func (w *web) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	data, err := w.content(r.Host + r.URL.Path)
	if err != nil {
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	http.ServeContent(to, r, "", changedAt, bytes.NewReader(data))
}

// content returns the file of a URL without its scheme.
func (w *web) content(url string) ([]byte, error) {
	name := path.Base(url)
	for _, suffix := range []string{".tar.gz", ".tgz", ".zip"} {
		top, found := strings.CutSuffix(name, suffix)
		if !found {
			continue
		}
		var entries []string
		for prefix, list := range w.downloads {
			if strings.HasPrefix(name, prefix) {
				entries = list
			}
		}
		if suffix == ".zip" {
			return zipped(entries)
		}
		return tarred(top, entries)
	}
	return []byte("stand-in for " + url + "\n"), nil
}

// text is the content of a file in an archive, which is executable if it is a program.
func text(name string) (data string, mode int64) {
	switch {
	case strings.HasSuffix(name, ".xml"):
		return "<?xml version=\"1.0\"?>\n<Server>\n  <Service name=\"Catalina\">\n  </Service>\n</Server>\n", 0o644
	case path.Ext(name) == "" || path.Ext(name) == ".sh":
		return "#!/bin/sh\nexit 0\n", 0o755
	}
	return "# stand-in\n", 0o644
}

func tarred(top string, entries []string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range append([]string{""}, entries...) {
		data, mode := text(name)
		h := &tar.Header{Name: top + "/" + name, Mode: mode, ModTime: changedAt, Typeflag: tar.TypeReg, Size: int64(len(data))}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag, h.Mode, h.Size, data = tar.TypeDir, 0o755, 0, ""
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(t, data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func zipped(entries []string) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range entries {
		data, mode := text(name)
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: changedAt}
		h.SetMode(fs.FileMode(mode))
		f, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(f, data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// table reads a table of the stand-ins: a name and its contents in each line.
func table(text []byte) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			all[fields[0]] = slices.Clone(fields[1:])
		}
	}
	return all
}
