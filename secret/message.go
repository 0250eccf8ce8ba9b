package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
)

// The messages' ASN.1, of RFC 5652 sections 3, 6.1 and 10.2.4.

type contentInfo struct {
	ContentType asn1.ObjectIdentifier
	Content     envelopedData `asn1:"explicit,tag:0"`
}

type envelopedData struct {
	Version    int
	Recipients []recipient `asn1:"set"`
	Content    encryptedContent
}

type recipient struct {
	Version      int
	Certificate  issuerAndSerial
	Algorithm    pkix.AlgorithmIdentifier
	EncryptedKey []byte
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

type encryptedContent struct {
	ContentType asn1.ObjectIdentifier
	Algorithm   pkix.AlgorithmIdentifier
	Content     []byte `asn1:"tag:0"`
}

// seal returns the enveloped-data message with text for the certificate's owner.
func seal(cert *x509.Certificate, text []byte) ([]byte, error) {
	public, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("it is not an RSA key")
	}
	key, iv := make([]byte, 32), make([]byte, aes.BlockSize)
	_, _ = rand.Read(key) // it never fails
	_, _ = rand.Read(iv)
	//lint:ignore SA1019 the format has this padding, and OpenSSL below Ruby and eyaml reads no other by default
	wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, public, key)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	fill := aes.BlockSize - len(text)%aes.BlockSize // RFC 5652, section 6.3
	content := append(bytes.Clone(text), bytes.Repeat([]byte{byte(fill)}, fill)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(content, content)

	return asn1.Marshal(contentInfo{
		ContentType: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 3}, // id-envelopedData
		Content: envelopedData{
			Recipients: []recipient{{
				Certificate:  issuerAndSerial{asn1.RawValue{FullBytes: cert.RawIssuer}, cert.SerialNumber},
				Algorithm:    pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}, // rsaEncryption
				EncryptedKey: wrapped,
			}},
			Content: encryptedContent{
				ContentType: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}, // id-data
				Algorithm: pkix.AlgorithmIdentifier{
					Algorithm:  asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}, // aes256-CBC
					Parameters: asn1.RawValue{Tag: asn1.TagOctetString, Bytes: iv},
				},
				Content: content,
			},
		},
	})
}
