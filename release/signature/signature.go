// Package signature signs documents and verifies signatures as "ssh-keygen -Y" does.
//
// A signature is made with an SSH key of any type that x/crypto supports, and has the armored format of OpenSSH
// (PROTOCOL.sshsig). Keys come from a file or from the ssh-agent. An allowed signers file (ssh-keygen(1),
// ALLOWED SIGNERS) lists the keys that can sign: [Signers].
package signature

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"bolt/internal/readfile"
)

// Key describes the location of the key that signs.
type Key struct {
	// File has a private key, or a public key whose private key is in the agent.
	File string
	// Agent is the socket of the ssh-agent; "" for none.
	Agent string
	// Passphrase returns the passphrase of an encrypted private key.
	Passphrase func(ctx context.Context, file string) (string, error)
}

// Sign signs a message, and returns the armored signature.
func (k *Key) Sign(ctx context.Context, message []byte, namespace string) (string, error) {
	text, err := readfile.Read(ctx, k.File, readfile.Key)
	if err != nil {
		return "", err
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return k.byAgent(ctx, public, message, namespace)
	}
	signer, err := k.private(ctx, text)
	if err != nil {
		return "", err
	}
	return sign(signer, message, namespace)
}

func sign(s ssh.Signer, message []byte, namespace string) (string, error) {
	sig, err := sshsig.Sign(bytes.NewReader(message), s, sshsig.HashSHA512, namespace)
	if err != nil {
		return "", err
	}
	return string(sshsig.Armor(sig)), nil
}

func (k *Key) private(ctx context.Context, text []byte) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted && k.Passphrase != nil {
		passphrase, err := k.Passphrase(ctx, k.File)
		if err != nil {
			return nil, err
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(passphrase)); err != nil {
			return nil, fmt.Errorf("the private key %s could not be decrypted: %w", k.File, err)
		}
		return signer, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not an SSH key: %w", k.File, err)
	}
	return signer, nil
}

// byAgent signs with the agent's private key of a public key.
func (k *Key) byAgent(ctx context.Context, public ssh.PublicKey, message []byte, namespace string) (string, error) {
	if k.Agent == "" {
		return "", fmt.Errorf("%s is a public key, but no ssh-agent is running that could hold the private key", k.File)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", k.Agent)
	if err != nil {
		return "", fmt.Errorf("the ssh-agent: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return "", fmt.Errorf("the ssh-agent: %w", err)
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), public.Marshal()) {
			return sign(s, message, namespace)
		}
	}
	return "", fmt.Errorf("the ssh-agent does not have the private key of %s (%s)", k.File, ssh.FingerprintSHA256(public))
}

// Check returns the fingerprint of the key that has signed a message: SHA256:… It does not check that the key
// is allowed to sign.
func Check(armored string, message []byte, namespace string) (fingerprint string, err error) {
	sig, err := check(armored, message, namespace)
	if err != nil {
		return "", err
	}
	return ssh.FingerprintSHA256(keyOf(sig)), nil
}

func check(armored string, message []byte, namespace string) (*sshsig.Signature, error) {
	sig, err := parse(armored)
	if err != nil {
		return nil, err
	}
	err = sshsig.Verify(bytes.NewReader(message), sig, sig.PublicKey, sig.HashAlgorithm, namespace)
	if errors.Is(err, sshsig.ErrNamespaceMismatch) {
		return nil, fmt.Errorf("the signature is for %q, and not for %q", sig.Namespace, namespace)
	}
	if err != nil {
		return nil, errors.New("the signature does not match this document")
	}
	return sig, nil
}

// keyOf returns the key of a signature, without its certificate.
func keyOf(sig *sshsig.Signature) ssh.PublicKey {
	if c, is := sig.PublicKey.(*ssh.Certificate); is {
		return c.Key
	}
	return sig.PublicKey
}

// parse reads an armored signature. PROTOCOL.sshsig forbids signatures of RSA keys with SHA-1.
func parse(armored string) (*sshsig.Signature, error) {
	sig, err := sshsig.Unarmor([]byte(armored))
	if err != nil {
		return nil, fmt.Errorf("the signature cannot be read: %w", err)
	}
	if f := sig.Signature.Format; f == ssh.KeyAlgoRSA || strings.HasPrefix(f, "ssh-dss") {
		return nil, fmt.Errorf("the signature is of the type %s, which is not safe", f)
	}
	return sig, nil
}
