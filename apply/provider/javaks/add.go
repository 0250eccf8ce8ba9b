package javaks

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

// A source has the certificates and the key of an entry, each in a file or as text.
type source struct {
	certificate, certificateText string
	key, keyText                 string
	chain                        string
	password, alias              string // of a PKCS #12 file
	keyPassword                  string // that the key gets
}

// hasKey reports whether the entry has a private key that is not from a PKCS #12 file.
func (s *source) hasKey() bool { return s.key != "" || s.keyText != "" }

// certificates returns the certificates of the entry; nil if their file does not exist.
func (s *source) certificates(ctx context.Context) ([][]byte, error) {
	if s.certificate == "" {
		certs := blocks([]byte(s.certificateText))
		if certs == nil {
			return nil, &resource.ParamError{Param: "certificate_content", Problem: "has no certificate in PEM format"}
		}
		return certs, nil
	}
	return certificatesOf(ctx, s.certificate)
}

// certificatesOf returns the certificates in a PEM file, or the certificate in a DER file; nil if the file does not exist.
func certificatesOf(ctx context.Context, path string) ([][]byte, error) {
	text, exists, err := textfile.Read(ctx, path)
	if err != nil || !exists {
		return nil, err
	}
	certs := blocks([]byte(text))
	if certs == nil && strings.HasPrefix(text, "\x30") { // a sequence of DER
		certs = [][]byte{[]byte(text)}
	}
	if certs == nil {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return certs, nil
}

// needed is certificates for an entry that is made.
func (s *source) needed(ctx context.Context, path string) ([][]byte, error) {
	certs, err := s.certificates(ctx)
	if path != s.certificate {
		certs, err = certificatesOf(ctx, path)
	}
	if err == nil && certs == nil {
		err = fmt.Errorf("%s does not exist", path)
	}
	return certs, err
}

// add adds the entry to the copy of the keystore.
func (x *item) add(ctx context.Context, h *resource.Host, k *keytool, w *work) error {
	s := &x.source
	switch {
	case s.hasKey():
		return x.addKey(ctx, h, k, w)
	case k.storeIs == "pkcs12":
		return x.addStore(ctx, k, w)
	}
	certs, err := s.needed(ctx, s.certificate)
	if err != nil {
		return err
	}
	// As keytool does with a file of several certificates, it gets the first.
	file, err := w.file("certificate", certs[0])
	if err != nil {
		return err
	}
	return k.run(ctx, "-importcert", "-noprompt", "-alias", x.alias, "-file", file, "-keystore", w.store, k.kind("-storetype", "jceks"), x.trusted())
}

func (x *item) trusted() option {
	if x.trust {
		return option{"-trustcacerts"}
	}
	return nil
}

// addKey adds a key with its certificates. keytool imports keys only from a keystore, which openssl makes.
func (x *item) addKey(ctx context.Context, h *resource.Host, k *keytool, w *work) error {
	s := &x.source
	certs, err := s.needed(ctx, s.certificate)
	if err != nil {
		return err
	}
	if s.chain != "" {
		chain, err := s.needed(ctx, s.chain)
		if err != nil {
			return err
		}
		certs = append(certs[:1:1], chain...)
	}
	key := s.keyText
	if s.key != "" {
		var exists bool
		if key, exists, err = textfile.Read(ctx, s.key); err == nil && !exists {
			err = fmt.Errorf("%s does not exist", s.key)
		}
		if err != nil {
			return err
		}
	}
	var in bytes.Buffer
	in.WriteString(key + "\n")
	for _, der := range certs {
		if err := pem.Encode(&in, &pem.Block{Type: certificateBlock, Bytes: der}); err != nil {
			return err
		}
	}
	openssl := &tool.Tool{Name: "openssl", Hint: "Install it on the target", Limit: k.timeout, Vars: []string{storePassword + "=" + k.password}}
	out, err := openssl.Run(ctx, h, &resource.Command{
		Argv: []string{"pkcs12", "-export", "-name", x.alias, "-passin", "env:" + storePassword, "-passout", "env:" + storePassword}, Stdin: in.Bytes(),
	})
	if err != nil {
		return err
	}
	if err := out.Failure("openssl pkcs12"); err != nil {
		return err
	}
	file, err := w.file("new", out.Stdout)
	if err != nil {
		return err
	}
	vars, keyOption := x.keyOption()
	_, err = k.output(ctx, append(vars, sourcePassword+"="+k.password), "-importkeystore", "-noprompt", "-srcstoretype", "PKCS12", "-srckeystore", file, "-srcstorepass:env", sourcePassword,
		"-destkeystore", w.store, "-srcalias", x.alias, "-destalias", x.alias, k.kind("-deststoretype"), keyOption)
	return err
}

// keyOption returns the option for the password that a key gets, and its variable.
func (x *item) keyOption() (vars []string, o option) {
	if x.source.keyPassword == "" {
		return nil, nil
	}
	return []string{keyPassword + "=" + x.source.keyPassword}, option{"-destkeypass:env", keyPassword}
}

// addStore adds the entries of a PKCS #12 file.
func (x *item) addStore(ctx context.Context, k *keytool, w *work) error {
	text, exists, err := textfile.Read(ctx, x.source.certificate)
	if err == nil && !exists {
		err = fmt.Errorf("%s does not exist", x.source.certificate)
	}
	if err != nil {
		return err
	}
	file, err := w.file("source", []byte(text))
	if err != nil {
		return err
	}
	var aliases option
	if x.source.alias != "" {
		aliases = option{"-srcalias", x.source.alias, "-destalias", x.alias}
	}
	vars, keyOption := x.keyOption()
	_, err = k.output(ctx, append(vars, sourcePassword+"="+x.source.password), "-importkeystore", "-noprompt", "-srcstoretype", "PKCS12", "-srckeystore", file, "-srcstorepass:env", sourcePassword,
		"-destkeystore", w.store, aliases, keyOption)
	return err
}
