package server

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
)

// The hint for a certificate that is refused depends on the reason.
func TestCertificateHints(t *testing.T) {
	s := &Service{Name: "PuppetDB"}
	for want, err := range map[string]error{
		"a host name that is in PuppetDB's certificate": x509.HostnameError{Certificate: &x509.Certificate{}, Host: "db"},
		"renew PuppetDB's certificate":                  x509.CertificateInvalidError{Reason: x509.Expired},
		"cacert must name the CA that signed":           x509.UnknownAuthorityError{},
		"the CA that signed PuppetDB's certificate":     x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign},
	} {
		if got := s.hintCertificate(&tls.CertificateVerificationError{Err: err}); !strings.Contains(got, want) {
			t.Errorf("%v: the hint is %q", err, got)
		}
	}
}
