package stdlib

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// certificates returns the function validate_x509_rsa_key_pair.
func certificates() []*eval.Function {
	return []*eval.Function{
		old("validate_x509_rsa_key_pair", "Any $certificate, Any $key", "Returns an error unless a certificate, in PEM, is signed with an RSA key, in PEM.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				var texts [2][]byte
				for i, v := range args {
					s, ok := v.(value.String)
					if !ok {
						return nil, wrong(c, v, "strings")
					}
					texts[i] = []byte(s)
				}
				cert, err := certificateOf(texts[0])
				if err != nil {
					return nil, invalid(c, "the certificate: %v", err)
				}
				key, err := rsaKeyOf(texts[1])
				if err != nil {
					return nil, invalid(c, "the key: %v", err)
				}
				signer := x509.Certificate{PublicKeyAlgorithm: x509.RSA, PublicKey: key}
				if err := signer.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
					return nil, invalid(c, "the certificate is not signed with the key: %v", err)
				}
				return value.Undef{}, nil
			}),
	}
}

var errNoPEM = errors.New("not found in PEM")

func certificateOf(text []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errNoPEM
}

// rsaKeyOf returns the public part of the first key.
func rsaKeyOf(text []byte) (crypto.PublicKey, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PUBLIC KEY":
			key, err = x509.ParsePKCS1PublicKey(block.Bytes)
		case "PUBLIC KEY":
			key, err = x509.ParsePKIXPublicKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		switch key := key.(type) {
		case *rsa.PrivateKey:
			return &key.PublicKey, nil
		case *rsa.PublicKey:
			return key, nil
		}
		return nil, errors.New("it is not an RSA key")
	}
	return nil, errNoPEM
}
