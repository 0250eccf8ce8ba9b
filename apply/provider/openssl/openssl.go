// Package openssl applies resources of the types of the module openssl. The types are private keys (ssl_pkey),
// certificate requests (x509_request), certificates (x509_cert), parameters for Diffie-Hellman (dhparam), and
// certificates that are downloaded (cert_file).
//
// Keys, requests and certificates are made with openssl(1). The templates are configuration files of openssl, and
// Go's own packages would make the helper larger by 15 %. Passwords reach openssl in its environment.
//
// A file is written as a whole, so a run that is killed leaves no part of a key. A file that exists is replaced only
// if bolt can read it as a certificate or a request.
package openssl

import (
	"context"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

// A program can read a large configuration, but must not hang. Parameters for Diffie-Hellman need much longer.
const (
	timeout         = 5 * time.Minute
	timeoutOfPrimes = time.Hour
)

// A call is a run of openssl.
type call struct {
	args     []string
	password string // of the private key; "" for none
	protect  bool   // the private key that is written gets the password
	stdin    []byte
	timeout  time.Duration // 0 for timeout
}

// run runs openssl and returns its standard output.
func run(ctx context.Context, h *resource.Host, c call) (string, error) {
	if c.timeout == 0 {
		c.timeout = timeout
	}
	openssl := &tool.Tool{Name: "openssl", Hint: "Install it on the target", Limit: c.timeout}
	argv := c.args
	if c.password != "" {
		const name = "BOLT_KEY_PASSWORD"
		option := "-passin"
		if c.protect {
			option = "-passout"
		}
		argv, openssl.Vars = append(slices.Clip(argv), option, "env:"+name), []string{name + "=" + c.password}
	}
	out, err := openssl.Run(ctx, h, &resource.Command{Argv: argv, Stdin: c.stdin})
	if err != nil {
		return "", err
	}
	return string(out.Stdout), out.Failure("openssl " + c.args[0])
}

// make runs openssl and returns the PEM block of a type that it prints, without text around it.
func (c call) make(ctx context.Context, h *resource.Host, kinds ...string) (string, error) {
	out, err := run(ctx, h, c)
	if err != nil {
		return "", err
	}
	block := find([]byte(out), kinds...)
	if block == nil {
		return "", fmt.Errorf("openssl %s printed no PEM block of the type %s", c.args[0], kinds[0])
	}
	return string(pem.EncodeToMemory(block)), nil
}

// find returns the first PEM block that has one of these types; nil if there is none.
func find(data []byte, kinds ...string) *pem.Block {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return nil
		}
		for _, kind := range kinds {
			if block.Type == kind {
				return block
			}
		}
		data = rest
	}
}

// The types of PEM blocks.
const (
	pemCertificate = "CERTIFICATE"
	pemTrusted     = "TRUSTED CERTIFICATE"
	pemOldX509     = "X509 CERTIFICATE"
	pemRequest     = "CERTIFICATE REQUEST"
	pemOldRequest  = "NEW CERTIFICATE REQUEST"
	pemDH          = "DH PARAMETERS"
	pemX942        = "X9.42 DH PARAMETERS"
	pemRSA         = "RSA PRIVATE KEY"
	pemEC          = "EC PRIVATE KEY"
	pemPKCS8       = "PRIVATE KEY"
	pemEncrypted   = "ENCRYPTED PRIVATE KEY"
	pemPublic      = "PUBLIC KEY"
)

// A key is the private key of a request or of a certificate.
type key struct{ path, password string }

// fits reports whether a request or a certificate has the public key of the private key. It is false if the
// private key does not exist, such as with noop before the key is made. program is req or x509.
func (k key) fits(ctx context.Context, h *resource.Host, program string, of *pem.Block) (bool, error) {
	text, exists, err := textfile.Read(ctx, k.path)
	if err != nil || !exists {
		return false, err
	}
	private, err := call{args: []string{"pkey", "-pubout"}, password: k.password, stdin: []byte(text)}.make(ctx, h, pemPublic)
	if err != nil {
		return false, err
	}
	public, err := call{args: []string{program, "-noout", "-pubkey"}, stdin: pem.EncodeToMemory(of)}.make(ctx, h, pemPublic)
	return private == public, err
}

// beside returns the default of a path: the path of the resource with another extension.
func beside(path, extension string) string {
	base := filepath.Base(path)
	if short := strings.TrimSuffix(base, filepath.Ext(base)); short != "" {
		base = short
	}
	return filepath.Join(filepath.Dir(path), base+extension)
}
